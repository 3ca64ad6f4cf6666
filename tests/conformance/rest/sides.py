"""A real ResourceManager and Yodel, set up alike, and how either answers a step."""

from __future__ import annotations

import contextlib
import getpass
import http.client
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from tests.conformance.cluster import ROOT, wait_for
from tests.conformance.rest.steps import CLUSTER, Call, Until
from tests.support.hadoop import Hadoop, answer, running_hadoop
from tests.support.hadoop_conf import HOST
from tests.support.hadoop_yodel import rm_addresses, running_yodel

CALL_TIMEOUT_S = 600
STATE_TIMEOUT_S = 600
WRITTEN = re.compile(r"\$(APP|ATT|CON)(\d+)(?:_(\d+))?")
PAGES = "http://pages.example.com"
HADOOP_SETTINGS = {
    "core-site.xml": {
        "hadoop.http.cross-origin.allowed-origins": PAGES,
        "hadoop.proxyuser.hue.hosts": "*",
        "hadoop.proxyuser.hue.users": "alice",
    },
    "yarn-site.xml": {
        # The first is what the ResourceManager takes by itself when nothing is said about filters.
        "hadoop.http.filter.initializers": ",".join(
            (
                "org.apache.hadoop.yarn.server.security.http.RMAuthenticationFilterInitializer",
                "org.apache.hadoop.security.HttpCrossOriginFilterInitializer",
                "org.apache.hadoop.http.lib.StaticUserWebFilter",
            )
        ),
        "yarn.resourcemanager.webapp.rest-csrf.enabled": "true",
        "yarn.resourcemanager.webapp.cross-origin.enabled": "true",
        "yarn.node-labels.enabled": "true",
        "yarn.node-labels.fs-store.root-dir": "file://${hadoop.tmp.dir}/node-labels",
        "yarn.scheduler.configuration.store.class": "memory",
    },
}
YODEL_SETTINGS = {
    "YODEL_WEB": json.dumps(
        {"csrf_enabled": True, "cross_origin_enabled": True, "cross_origin_origins": [PAGES]},
    ),
    "YODEL_PROXY_USERS": json.dumps({"hadoop.proxyuser.hue.hosts": "*", "hadoop.proxyuser.hue.users": "alice"}),
    "YODEL_NODE_LABELS_ENABLED": "true",
    "YODEL_HTTP_STATIC_USER": "dr.who",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One ResourceManager.  ``node`` and ``node_http`` are host:port."""

    name: str
    host: str
    port: int
    am_port: int
    cluster_id: int
    node: str
    node_http: str

    @classmethod
    def of(cls, name: str, web: str, am_port: int) -> Side:
        """``web``: host:port.  Waits for the node."""
        url = f"http://{web}{CLUSTER}"
        nodes = wait_for("a node", lambda: (answer(f"{url}/nodes") or {}).get("nodes", {}).get("node"))
        host, _, port = web.partition(":")
        return cls(
            name=name,
            host=host,
            port=int(port),
            am_port=am_port,
            cluster_id=answer(f"{url}/info")["clusterInfo"]["id"],
            node=nodes[0]["id"],
            node_http=nodes[0]["nodeHTTPAddress"],
        )

    def filled(self, text: str) -> str:
        """Ids and names as this side has them."""
        text = WRITTEN.sub(self._id, text)
        names = {"$AMPORT": self.am_port, "$NODE": self.node, "$USER": getpass.getuser(), "$ROOT": ROOT}
        for name, value in names.items():
            text = text.replace(name, str(value))
        return text

    def ask(self, call: Call) -> Answer:
        connection = http.client.HTTPConnection(self.host, self.port, timeout=CALL_TIMEOUT_S)
        with contextlib.closing(connection):
            connection.putrequest(call.method, self.filled(call.path), skip_accept_encoding=True)
            body = self.filled(call.body).encode()
            for name, value in call.headers.items():
                connection.putheader(name, value)
            if body or call.method in ("POST", "PUT", "PATCH"):
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body or None)
            given = connection.getresponse()
            return Answer(status=given.status, headers=tuple(given.getheaders()), body=given.read())

    def wait(self, step: Until) -> None:
        wait_for(f"{step} at {self.name}", lambda: self._is_so(step))

    def _is_so(self, step: Until) -> bool:
        path = f"http://{self.host}:{self.port}{CLUSTER}/apps/{self.filled(step.id)}"
        app = (answer(path) or {}).get("app", {})
        if step.state and app.get("state") != step.state:
            return False
        if step.attempt_state:
            attempts = (answer(f"{path}/appattempts") or {}).get("appAttempts", {}).get("appAttempt", [])
            return bool(attempts) and attempts[0]["appAttemptState"] == step.attempt_state
        if not step.containers:
            return True
        # Yodel takes a request off when the master has fetched its container, at its next beat.
        return app.get("runningContainers") == step.containers and "resourceRequests" not in app

    def _id(self, found: re.Match[str]) -> str:
        kind, number, container = found[1], int(found[2]), int(found[3] or 1)
        application = f"{self.cluster_id}_{number:04d}"
        return {
            "APP": f"application_{application}",
            "ATT": f"appattempt_{application}_000001",
            "CON": f"container_{application}_01_{container:06d}",
        }[kind]


@contextlib.contextmanager
def hadoop_side() -> Iterator[Side]:
    """A real ResourceManager with an HDFS of its own."""
    with running_hadoop(more=HADOOP_SETTINGS) as hadoop:
        hadoop.start_yarn()
        ports = hadoop.servers.ports
        yield Side.of("Hadoop", f"{HOST}:{ports.rm_http}", ports.rm_scheduler)


@contextlib.contextmanager
def yodel_side(hadoop: Hadoop) -> Iterator[Side]:
    """Yodel on that HDFS, of the same size and with the same filters."""
    with running_yodel(hadoop, settings=YODEL_SETTINGS) as cluster:
        theirs = rm_addresses(cluster)
        am_port = int(theirs["yarn.resourcemanager.scheduler.address"].rpartition(":")[2])
        yield Side.of("Yodel", theirs["yarn.resourcemanager.webapp.address"], am_port)
