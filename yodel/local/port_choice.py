"""Chooses the ports of a local cluster: YARN's standard ones, or free ones that are kept from start to start.

Each node has a loopback address of its own (127.0.0.1, 127.0.0.2, …), so that all of them can have the same port.  The
API server's port is always a free one.  A chosen port is not held until its process binds it: whoever takes it in
between makes the start fail with a clear message.
"""

from __future__ import annotations

import json
import random
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from yodel.errors import Unavailable
from yodel.local.atomic_file import write_atomically

HOST = "127.0.0.1"
LOWEST = 20_000
TRIES_MAX = 1000
CLIENT_PORTS_PATH = Path("/proc/sys/net/ipv4/ip_local_port_range")
CLIENT_PORTS_DEFAULT = 32_768
STANDARD = {
    "client": 8032,
    "scheduler": 8030,
    "tracker": 8031,
    "admin": 8033,
    "webapp": 8088,
    "node_rpc": 8041,
    "node_http": 8042,
    "node_shuffle": 13562,
}
"""yarn-default.xml, except for the node's RPC port, which there is any free one; 8041 is what distributions set."""
_chosen = random.SystemRandom()


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePorts:
    """One node agent's addresses."""

    name: str
    host: str
    rpc_port: int
    http_port: int
    shuffle_port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPorts:
    """Holds the ports of the whole cluster."""

    client: int
    scheduler: int
    tracker: int
    admin: int
    webapp: int
    kube: int
    nodes: tuple[NodePorts, ...]


def choose_ports(choice: Literal["standard", "auto"], nodes: int, memory: Path) -> ClusterPorts:
    """``memory`` is the file that keeps automatic ports, so that running jobs find a restarted cluster again.

    Raises:
        Unavailable: a standard port is taken; the message names it.
    """
    chooser = _Chooser(choice == "standard", _remembered(memory))
    chosen = ClusterPorts(
        client=chooser.port("client"),
        scheduler=chooser.port("scheduler"),
        tracker=chooser.port("tracker"),
        admin=chooser.port("admin"),
        webapp=chooser.port("webapp"),
        kube=chooser.port("kube"),
        nodes=tuple(chooser.node(index) for index in range(1, nodes + 1)),
    )
    write_atomically(memory, json.dumps(chooser.remembered, indent=2) + "\n", 0o600)
    return chosen


def is_free(host: str, port: int) -> bool:
    """Return True if a server could listen there now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except (OSError, OverflowError):
            return False
    return True


class _Chooser:
    def __init__(self, use_standard: bool, remembered: dict[str, int]) -> None:
        self._use_standard = use_standard
        self.remembered = remembered
        self._given: set[tuple[str, int]] = set()

    def node(self, index: int) -> NodePorts:
        name, host = f"node-{index}", f"127.0.0.{index}"
        return NodePorts(
            name=name,
            host=host,
            rpc_port=self.port(f"{name}/node_rpc", host),
            http_port=self.port(f"{name}/node_http", host),
            shuffle_port=self.port(f"{name}/node_shuffle", host),
        )

    def port(self, name: str, host: str = HOST) -> int:
        standard = STANDARD.get(name.rpartition("/")[2])
        if self._use_standard and standard is not None:
            _require_free(host, standard)
            return standard
        number = self.remembered.get(name, 0)
        while not number or (host, number) in self._given or not is_free(host, number):
            number = _free_port(host)
        self._given.add((host, number))
        self.remembered[name] = number
        return number


def _remembered(memory: Path) -> dict[str, int]:
    """A file that cannot be read is as good as none."""
    try:
        content = json.loads(memory.read_text())
    except (OSError, ValueError):
        return {}
    pairs = content.items() if isinstance(content, dict) else ()
    return {name: port for name, port in pairs if isinstance(port, int) and 0 < port < 65536}


def _require_free(host: str, port: int) -> None:
    if not is_free(host, port):
        raise Unavailable(
            f"port {port} on {host} is taken; stop what listens there (ss -ltnp 'sport = :{port}' shows it), or use "
            "--ports auto"
        )


def _free_port(host: str) -> int:
    """Below the ports that the kernel gives to clients.

    One of those could be a client's by the time it is needed, and a client that calls such a port while nobody listens
    could even meet itself.
    """
    for _ in range(TRIES_MAX):
        port = _chosen.randrange(LOWEST, _lowest_of_clients())
        if is_free(host, port):
            return port
    raise Unavailable(f"no free port found on {host} between {LOWEST} and {_lowest_of_clients()}")


def _lowest_of_clients() -> int:
    try:
        lowest = int(CLIENT_PORTS_PATH.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return CLIENT_PORTS_DEFAULT
    return lowest if lowest > LOWEST + TRIES_MAX else CLIENT_PORTS_DEFAULT
