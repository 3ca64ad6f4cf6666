"""The parts of the cluster have folders, addresses and names, which are defined here.  One cluster a machine."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

NODES_MAX = 9
NETWORK = "10.89.0"
"""The network of the bridge between the host and the nodes."""
HOST_ADDRESS = f"{NETWORK}.1"
BRIDGE = "yodelrig0"
POD_NETWORK = "10.244.0.0/16"
SERVICE_NETWORK = "10.96.0.0/16"
KUBERNETES_SERVICE = "10.96.0.1"
API_PORT = 6443
ETCD_PORT = 2379
SCHEDULER_PORT = 10259
CGROUP = "yodel-rig"
PAUSE_IMAGE = "localhost/yodel/pause:1"
SECOND_SCHEDULERS = ("koord-scheduler", "katalyst-scheduler", "volcano")
"""Profiles of kube-scheduler under the names of engines whose own schedulers are not to be had."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """The folder of the running cluster; gone after ``down`` but for ``pki``, ``log`` and the binaries elsewhere."""

    path: Path
    api_port: int = API_PORT
    etcd_port: int = ETCD_PORT
    etcd_peer_port: int = ETCD_PORT + 1
    scheduler_port: int = SCHEDULER_PORT

    @property
    def pki(self) -> Path:
        return self.path / "pki"

    @property
    def logs(self) -> Path:
        return self.path / "log"

    @property
    def pids(self) -> Path:
        return self.path / "pids"

    @property
    def kubeconfig(self) -> Path:
        return self.path / "admin.conf"

    def node(self, number: int) -> Path:
        return self.path / f"n{number}"


def home() -> Home:
    """``YODEL_RIG_HOME``, or a folder of this machine's own."""
    return Home(path=Path(os.environ.get("YODEL_RIG_HOME", "/var/lib/yodel-rig")))


def node_name(number: int) -> str:
    return f"node{number}"


def node_address(number: int) -> str:
    return f"{NETWORK}.{10 + number}"


def pod_subnet(number: int) -> str:
    return f"10.244.{number}.0/24"


def namespace(number: int) -> str:
    """The network namespace."""
    return f"yodel-n{number}"


def run_dir(number: int) -> Path:
    """Sockets and containerd's state; on tmpfs, and short: a socket's path has at most 107 letters."""
    return Path(f"/run/yodel-n{number}")


def rack(number: int) -> str:
    """Two racks: nodes 1 and 2, node 3 and 4, …"""
    return f"rack{(number + 1) // 2}"
