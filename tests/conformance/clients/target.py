"""A cluster as a client sees it: a configuration folder, and the unmodified Hadoop release that reads it.

The scripts beside this file take a ``Target`` and nothing else, so the same script runs on Hadoop's own ResourceManager
and on Yodel.
"""

from __future__ import annotations

import getpass
import itertools
import json
import os
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from tests.conformance.cluster import wait_for
from tests.conformance.spark_submit import Result, Submission
from tests.support.hadoop_jars import client_jars, jars
from tests.support.hdfs import Hdfs
from tests.support.java import java_home

CALL_TIMEOUT_S = 600
COMMAND_TIMEOUT_S = 600
JOB_TIMEOUT_S = 600
ENDED = ("FINISHED", "FAILED", "KILLED")
CLI = "org.apache.hadoop.yarn.client.cli."
YARN_MAINS = {
    "application": "ApplicationCLI",
    "app": "ApplicationCLI",
    "applicationattempt": "ApplicationCLI",
    "container": "ApplicationCLI",
    "node": "NodeCLI",
    "queue": "QueueCLI",
    "logs": "LogsCLI",
    "top": "TopCLI",
    "cluster": "ClusterCLI",
    "rmadmin": "RMAdminCLI",
    "schedulerconf": "SchedConfCLI",
    "nodeattributes": "NodeAttributesCLI",
}
NAMES_ITSELF = ("application", "app", "applicationattempt", "container")
MAPRED_MAINS = {"job": "org.apache.hadoop.mapred.JobClient", "queue": "org.apache.hadoop.mapred.JobQueueClient"}
FOLDERS = "/user/conformance"
_folders = itertools.count(10001)  # all of one length, because Hadoop counts the bytes of paths it reads


class Surroundings(Protocol):
    """Offer what a ResourceManager has beside it: a file system, a JobHistoryServer, folders of configuration."""

    @property
    def hdfs(self) -> Hdfs: ...

    @property
    def default_fs(self) -> str: ...

    @property
    def history_url(self) -> str: ...

    @property
    def home(self) -> Path:
        """A folder for HADOOP_HOME, any."""

    def conf_for(self, name: str, line: str, rm: Mapping[str, str]) -> Path: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """``line`` is the client's release line (``3.5``), ``addresses`` are the ResourceManager's properties."""

    name: str
    line: str
    addresses: Mapping[str, str]
    hadoop: Surroundings
    user: str = ""
    """Whom HDFS and the ResourceManager believe the client to be; empty: who runs the tests."""
    spark_shuffle_port: int = 0
    """The port of the node's external shuffle service; 0 without one."""
    jars: Path = field(init=False)
    conf_dir: Path = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "jars", client_jars(self.line))
        conf_dir = self.hadoop.conf_for(f"{self.name}-{self.line}", self.line, self.addresses)
        object.__setattr__(self, "conf_dir", conf_dir)

    @property
    def rest_url(self) -> str:
        return f"http://{self.addresses['yarn.resourcemanager.webapp.address']}"

    def environment(self) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("HADOOP_", "YARN_", "SPARK_", "PYSPARK_"))}
        here = {"HADOOP_CONF_DIR": str(self.conf_dir), "YARN_CONF_DIR": str(self.conf_dir), "USER": getpass.getuser()}
        named = {"HADOOP_USER_NAME": self.user} if self.user else {}
        return {**kept, **here, **named, "HADOOP_HOME": str(self.hadoop.home), "JAVA_HOME": str(java_home())}

    def java(self, main: str, *arguments: object, options: tuple[str, ...] = (), more_classes: str = "") -> Submission:
        """A class of the release's, started."""
        classes = f"{self.conf_dir}:{self.jars}/*" + (f":{more_classes}" if more_classes else "")
        java = [f"{java_home()}/bin/java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", *options]
        return Submission([*java, "-cp", classes, main, *(str(a) for a in arguments)], self.environment())

    def yarn(self, command: str, *arguments: object, timeout_s: float = COMMAND_TIMEOUT_S) -> Result:
        """``yarn COMMAND …`` to its end."""
        words = (command, *arguments) if command in NAMES_ITSELF else arguments
        return self.java(CLI + YARN_MAINS[command], *words).result(timeout_s)

    def mapred(self, command: str, *arguments: object, timeout_s: float = COMMAND_TIMEOUT_S) -> Result:
        """``mapred COMMAND …`` to its end."""
        return self.java(MAPRED_MAINS[command], *arguments).result(timeout_s)

    def shell_extra(self) -> str:
        """Class path of what the distributed shell needs beside Hadoop 3.5."""
        return f"{jars('dshell')}/*"

    def jar(self, name: str) -> Path:
        """The one jar of the release whose name begins so."""
        found = [p for p in self.jars.glob(f"{name}-*.jar") if "tests" not in p.name]
        assert len(found) == 1, f"{name}: {found}"
        return found[0]

    def rest(self, path: str) -> Any:
        """The JSON at ``/ws/v1/cluster`` + path."""
        request = urllib.request.Request(f"{self.rest_url}/ws/v1/cluster{path}", headers={"Accept": "application/json"})
        with urllib.request.urlopen(request, timeout=CALL_TIMEOUT_S) as answer:
            return json.load(answer)

    def application(self, application_id: str) -> dict[str, Any]:
        app: dict[str, Any] = self.rest(f"/apps/{application_id}")["app"]
        return app

    def ended(self, application_id: str) -> dict[str, Any]:
        """The application once it is over."""

        def probe() -> dict[str, Any] | None:
            app = self.application(application_id)
            return app if app["state"] in ENDED else None

        return wait_for(f"the end of {application_id}", probe)

    def in_state(self, application_id: str, state: str) -> dict[str, Any]:
        """The application once it is in ``state``; AssertionError when it is over before."""

        def probe() -> dict[str, Any] | None:
            app = self.application(application_id)
            assert app["state"] == state or app["state"] not in ENDED, app["diagnostics"]
            return app if app["state"] == state else None

        return wait_for(f"{application_id} {state}", probe)

    def idle(self) -> None:
        """Returns once no container is left of whatever ran before."""

        def probe() -> bool:
            return not self.rest("/metrics")["clusterMetrics"]["containersAllocated"]

        wait_for(f"no container on {self.name}", probe)

    def folder(self) -> str:
        """A new folder in HDFS for one run; everyone may write into it."""
        hdfs = self.hadoop.hdfs
        hdfs.make_dir(FOLDERS, user="hdfs", mode="755")
        used = set(hdfs.names(FOLDERS))  # of a run before, on a cluster that stays
        path = f"{FOLDERS}/{next(name for name in map(str, _folders) if name not in used)}"
        hdfs.make_dir(path, user="hdfs", mode="1777")
        return path


def settings(values: Mapping[str, object]) -> list[str]:
    """Return the values as ``-D`` options of Hadoop's tools."""
    return [f"-D{name}={value}" for name, value in values.items()]
