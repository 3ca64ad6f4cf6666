"""``yodel local`` on PostgreSQL, and a second ResourceManager that takes over when the first is killed.

Clients and NodeManagers know both by name (``yarn.resourcemanager.ha.rm-ids``), and agents have one address that leads
to whoever serves, as a Service does.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.conformance.cluster import STOP_TIMEOUT_S, Cluster, Ready, running, wait_for
from tests.support.hadoop_yodel import rm_addresses
from tests.support.ports import free_ports

RM = "yarn.resourcemanager"
ADDRESSES = {
    "client": "address",
    "scheduler": "scheduler.address",
    "tracker": "resource-tracker.address",
    "admin": "admin.address",
    "webapp": "webapp.address",
}
"""The property of each port, below ``yarn.resourcemanager``."""
CHUNK_BYTES = 65_536


class _LedByStandby(Ready):
    """Names the standby as the ResourceManager that answers."""

    def __init__(self, directory: pathlib.Path, web_port: int) -> None:
        super().__init__(directory)
        self._web_port = web_port

    @property
    def rest_url(self) -> str:
        return f"http://127.0.0.1:{self._web_port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WithStandby:
    """Both ResourceManagers listen on 127.0.0.1."""

    cluster: Cluster
    ports: Mapping[str, int]
    """The standby's."""
    tracker_port: int
    """The first leader's."""

    @property
    def properties(self) -> dict[str, str]:
        """Return what clients and NodeManagers have in yarn-site.xml."""
        known = rm_addresses(self.cluster)
        first = {kind: known[f"{RM}.{name}"].rpartition(":")[2] for kind, name in ADDRESSES.items()}
        ports = {"rm1": first | {"tracker": self.tracker_port}, "rm2": self.ports}
        return {
            f"{RM}.ha.enabled": "true",
            f"{RM}.ha.rm-ids": ",".join(ports),
            f"{RM}.cluster-id": "yodel",
            f"{RM}.connect.retry-interval.ms": "1000",
            "yarn.client.failover-sleep-base-ms": "500",
            "yarn.client.failover-sleep-max-ms": "2000",
            **{
                f"{RM}.{name}.{rm_id}": f"localhost:{ports[rm_id][kind]}"
                for rm_id in ports
                for kind, name in ADDRESSES.items()
            },
        }

    def fail_over(self) -> None:
        """Kill the leader, which is not started again; return once the standby serves."""
        wait_for("a standby", lambda: self._standby_status() == 503)
        (self.cluster.directory / "rm" / "rm.toml").unlink()
        self.cluster.kill_rm()
        wait_for("the standby to lead", lambda: self._standby_status() == 200)
        self.cluster.ready = _LedByStandby(self.cluster.directory, self.ports["webapp"])

    def _standby_status(self) -> int:
        """Return the status of its readiness; 0 while nobody answers."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.ports['webapp']}/health/ready", timeout=10) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return 0


@contextlib.contextmanager
def running_with_standby(
    store_url: str, settings: Mapping[str, str], *, of_standby: Mapping[str, str] | None = None, **sizes: Any
) -> Iterator[WithStandby]:
    """Start ``yodel local`` with an empty database and ``settings``, then a standby on it; end both.  The settings of
    ``of_standby`` are the standby's alone."""
    tracker_port, *numbers = free_ports(1 + len(ADDRESSES))
    ports = dict(zip(ADDRESSES, numbers, strict=True))
    with _one_address((tracker_port, ports["tracker"])) as agents_port:
        known = {
            **settings,
            "YODEL_STORE_URL": store_url,
            "YODEL_TRACKER_PORT": str(tracker_port),
            "YODEL_NM_RESOURCE_TRACKER_PORT": str(agents_port),
        }
        with running(settings=known, **sizes) as cluster:
            own = {f"YODEL_{kind.upper()}_PORT": str(port) for kind, port in ports.items()}
            with _serving(cluster.directory, known | own | dict(of_standby or {})):
                yield WithStandby(cluster=cluster, ports=ports, tracker_port=tracker_port)


@contextlib.contextmanager
def _serving(directory: pathlib.Path, settings: Mapping[str, str]) -> Iterator[None]:
    """Run ``yodel serve`` with a copy of the configuration of ``yodel local``, as ``settings`` change it."""
    config = directory / "standby.toml"
    config.write_text((directory / "rm" / "rm.toml").read_text())
    command = [str(pathlib.Path(sys.prefix) / "bin" / "yodel"), "serve", "--config", str(config)]
    with (directory / "logs" / "standby.log").open("wb") as log:
        process = subprocess.Popen(
            command, env={**os.environ, **settings}, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
    try:
        yield
    finally:
        process.terminate()
        process.wait(STOP_TIMEOUT_S)


@contextlib.contextmanager
def _one_address(ports: Sequence[int]) -> Iterator[int]:
    """Return a port that leads to the first of ``ports`` where somebody listens when a connection comes."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_pass_on_all, args=(listener, ports), daemon=True).start()
        yield int(listener.getsockname()[1])
        listener.shutdown(socket.SHUT_RDWR)


def _pass_on_all(listener: socket.socket, ports: Sequence[int]) -> None:
    with contextlib.suppress(OSError):
        while True:
            client, _ = listener.accept()
            server = _first_that_listens(ports)
            if server is None:
                client.close()
                continue
            for source, target in ((client, server), (server, client)):
                threading.Thread(target=_pass_on, args=(source, target), daemon=True).start()


def _first_that_listens(ports: Sequence[int]) -> socket.socket | None:
    for port in ports:
        with contextlib.suppress(OSError):
            return socket.create_connection(("127.0.0.1", port), timeout=10)
    return None


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        source.settimeout(None)
        while data := source.recv(CHUNK_BYTES):
            target.sendall(data)
    for one in (source, target):
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
