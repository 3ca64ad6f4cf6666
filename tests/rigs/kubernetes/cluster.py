"""A whole Kubernetes on this machine: a control plane on the host and real nodes in network namespaces.

Nothing is pulled: binaries come from ``binaries``, images from archives that are made of local files.  It stays when
the program that started it ends; starting it again adds what is missing.  As root only.
"""

from __future__ import annotations

import concurrent.futures
import functools
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.rigs.kubernetes import certificates, layout, network
from tests.rigs.kubernetes.control_plane import API_SERVER, CONTROL_PLANE, ControlPlane
from tests.rigs.kubernetes.daemons import Daemons, RigError
from tests.rigs.kubernetes.images import cache_dir
from tests.rigs.kubernetes.layout import NODES_MAX, Home
from tests.rigs.kubernetes.node import Node, remove_cgroups
from tests.rigs.kubernetes.unpacked import unpacked

RIG = Path(__file__).parent
PACKAGES_TIMEOUT_S = 600.0
RACK_LABEL = "topology.kubernetes.io/rack"
MERGE = "application/merge-patch+json"


def binaries(part: str) -> Path:
    """Return the folder of ``binaries PART``, built when it is not there; the script ends a build that has hung."""
    script = RIG / "binaries"
    done = subprocess.run([str(script), part], check=True, stdout=subprocess.PIPE, text=True)
    return Path(done.stdout.strip())


class Cluster:
    """``say`` is told what was done, a line each."""

    def __init__(self, home: Home, *, nodes: int = 3, say: Callable[[str], None] = lambda line: None) -> None:
        self.home, self._say = home, say
        self._unpacked = cache_dir() / "unpacked"
        self.daemons = Daemons(home)
        kubernetes = binaries("kubernetes")
        self.control_plane = ControlPlane(home, self.daemons, kubernetes, binaries("etcd"))
        self.nodes = [Node(home, self.daemons, kubernetes, number) for number in range(1, nodes + 1)]

    def up(self, archives: Sequence[Path], when_connected: Callable[[], object] = lambda: None) -> None:
        """Raises RigError with the end of the log of what did not start.

        ``when_connected`` is called once the nodes have their networks, and should return at once.
        """
        prepare_host()
        self.home.path.mkdir(parents=True, exist_ok=True)
        certificates.prepare(self.home)
        network.prepare_host()
        plane = self.control_plane
        plane.start_etcd()
        plane.start_api_server()
        # The last archive is Yodel's code: another one with each change, and small.
        lasting = archives[:-1]
        root = unpacked(lasting, self._unpacked)
        for node in self.nodes:
            node.take(root, lasting)
            node.start_containerd()
        when_connected()
        self.daemons.until(API_SERVER, plane.is_ready)
        plane.start_controllers()
        plane.start_scheduler()
        self._import(archives)
        for node in self.nodes:
            node.start_kubelet()
        for node in self.nodes:
            # All kubelets of a machine have one socket for devices, and one that meets another there ends.
            is_ready = functools.partial(self.node_is_ready, node.name)
            self.daemons.until(f"kubelet-{node.name}", is_ready, again=node.start_kubelet)
            self._label(node)
        self.daemons.until("kube-controller-manager", self._has_service_account)
        self._say(f"{len(self.nodes)} nodes are Ready")

    @staticmethod
    def down(home: Home, daemons: Daemons) -> None:
        """Nothing is left but certificates and logs, which the next one uses."""
        numbers = [number for number in range(1, NODES_MAX + 1) if home.node(number).exists()]
        existing = [Node(home, daemons, Path(), number) for number in numbers]
        daemons.stop("kwok")
        for node in existing:
            node.stop_kubelet()
        for name in CONTROL_PLANE:
            daemons.stop(name, signal.SIGKILL)
        with concurrent.futures.ThreadPoolExecutor(NODES_MAX) as threads:
            list(threads.map(Node.remove, existing))
        network.remove_host()
        remove_cgroups()
        for path in home.path.iterdir():
            if path not in (home.pki, home.logs) and path.suffix != ".conf":
                shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink()

    def is_up(self) -> bool:
        return self.daemons.find(API_SERVER) is not None and self.control_plane.is_ready()

    def node_is_ready(self, name: str) -> bool:
        status, node = self.control_plane.call("GET", f"/api/v1/nodes/{name}")
        conditions = node["status"].get("conditions", []) if status == 200 else []
        return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)

    def _label(self, node: Node) -> None:
        """Label a node with what a kubelet may not say of itself."""
        labels = {"metadata": {"labels": {RACK_LABEL: layout.rack(node.number)}}}
        self.control_plane.call("PATCH", f"/api/v1/nodes/{node.name}", labels, MERGE)

    def _has_service_account(self) -> bool:
        return self.control_plane.call("GET", "/api/v1/namespaces/default/serviceaccounts/default")[0] == 200

    def _import(self, archives: Sequence[Path]) -> None:
        for node in self.nodes:
            self.daemons.until(f"containerd-{node.name}", node.containerd_answers)

        def fill(node: Node) -> int:
            return sum(map(node.import_images, archives))

        with concurrent.futures.ThreadPoolExecutor(2) as threads:
            for node, count in zip(self.nodes, threads.map(fill, self.nodes), strict=True):
                if count:
                    self._say(f"{count} archives of images on {node.name}")


def prepare_host() -> None:
    """Install what the machine lacks.  Raises RigError that says what to install, or to be root."""
    if os.getuid() != 0:
        raise RigError("a cluster on this machine needs root; or use one of your own: KUBECONFIG=… make e2e")
    done = subprocess.run([str(RIG / "packages")], timeout=PACKAGES_TIMEOUT_S)
    if done.returncode:
        raise RigError("the cluster's packages are missing")
