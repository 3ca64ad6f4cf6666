"""One real node: a network namespace with a containerd, a kubelet and a kube-proxy of its own."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil

from tests.rigs.kubernetes import certificates, network, unpacked
from tests.rigs.kubernetes.daemons import Daemons, RigError, command
from tests.rigs.kubernetes.layout import (
    CGROUP,
    PAUSE_IMAGE,
    POD_NETWORK,
    Home,
    namespace,
    node_address,
    node_name,
    pod_subnet,
    run_dir,
)
from tests.rigs.kubernetes.unpacked import IMPORT_TIMEOUT_S

CGROUPS = Path("/sys/fs/cgroup")
CONTROLLERS = ("cpu", "cpuacct", "cpuset", "memory", "pids", "blkio", "devices", "freezer", "systemd", "hugetlb")
CNI_PLUGINS = "/usr/lib/cni"
POD_LOGS = "podlogs"
# Of all pods of all nodes together: each process outside has 1024, the control plane's too, which must not starve.
CPU_SHARES = 4 * 1024
LEASE_S = 20
EVICTS_BELOW_MIB = 100
# Nobody listens there, so that a look-up fails at once.  Without a line pods would get the machine's own file, whose
# server they do not reach: each look-up of an address then takes half a minute.
NO_NAMES = "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n"

# Without restrict_oom_score_adj no pod starts where root lacks CAP_SYS_RESOURCE.
CONTAINERD = """version = 2
root = "{folder}/containerd"
state = "{run}"
oom_score = 0
disabled_plugins = [
  "io.containerd.snapshotter.v1.aufs",
  "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.zfs",
  "io.containerd.internal.v1.opt",
  "io.containerd.tracing.processor.v1.otlp",
]
[grpc]
  address = "{run}/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  disable_apparmor = true
  restrict_oom_score_adj = true
  enable_unprivileged_ports = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{plugins}"
    conf_dir = "{folder}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
        Root = "{run}/runc"
"""


class Node:
    """Number 1 to 9.  Methods that start something do nothing when it runs."""

    def __init__(self, home: Home, daemons: Daemons, binaries: Path, number: int) -> None:
        self.number, self.name, self.address = number, node_name(number), node_address(number)
        self._home, self._daemons, self._binaries = home, daemons, binaries
        self._folder, self._run, self._namespace = home.node(number), run_dir(number), namespace(number)

    def start_containerd(self) -> None:
        network.prepare_node(self.number)
        _make_cgroups(self.number)
        _write_json(self._folder / "cni" / "10-rig.conflist", _network_plugins(self._folder, self.number))
        config = self._folder / "containerd.toml"
        config.write_text(CONTAINERD.format(folder=self._folder, run=self._run, pause=PAUSE_IMAGE, plugins=CNI_PLUGINS))
        self._start("containerd", "containerd", "--config", str(config))

    def take(self, root: Path, archives: Sequence[Path]) -> None:
        """The images of archives, as ``unpacked`` has them.  Before its containerd has started for the first time."""
        if not (self._folder / "containerd").exists():
            unpacked.link(root, self._folder / "containerd")
            for archive in archives:
                self._mark(archive)

    def containerd_answers(self) -> bool:
        return "server:" in self._ctr("version", check=False).lower()

    def import_images(self, archive: Path) -> bool:
        """False when the node has them: an archive's name is of its content."""
        if (self._folder / "imported" / archive.name).exists():
            return False
        self._ctr("images", "import", str(archive), timeout_s=IMPORT_TIMEOUT_S)
        self._mark(archive)
        return True

    def start_kubelet(self, **fields: object) -> None:
        """And kube-proxy, without which there are no Services.  ``fields`` are further ones of its configuration."""
        for folder in (self._folder / "kubelet", self._folder / POD_LOGS):
            folder.mkdir(parents=True, exist_ok=True)
        (self._folder / "resolv.conf").write_text(NO_NAMES)
        configuration = {**_kubelet(self._home, self._folder, self._run, self.number), **fields}
        _write_json(self._folder / "kubelet.json", configuration)
        kubeconfig = certificates.write_kubeconfig(self._home, self.name, certificates.INSIDE)
        self._start(
            "kubelet",
            str(self._binaries / "kubelet"),
            f"--config={self._folder}/kubelet.json",
            f"--kubeconfig={kubeconfig}",
            f"--root-dir={self._folder}/kubelet",
            f"--cert-dir={self._folder}/kubelet/pki",
            f"--hostname-override={self.name}",
            f"--node-ip={self.address}",
            "--v=2",
        )
        _write_json(self._folder / "proxy.json", _proxy(self._home, self.number))
        self._start("proxy", str(self._binaries / "kube-proxy"), f"--config={self._folder}/proxy.json")

    def stop_kubelet(self) -> None:
        """Stop the kubelet as it dies: its containers run on."""
        self._daemons.stop(self._daemon("kubelet"), signal.SIGKILL)

    def crash(self) -> None:
        """Kubelet, containerd and all containers at once."""
        self.stop_kubelet()
        self._daemons.stop(self._daemon("containerd"), signal.SIGKILL)
        self._kill_containers()

    def cut(self) -> None:
        """Off the network; everything on it runs on."""
        network.cut(self.number)

    def join(self) -> None:
        network.join(self.number)

    def restart(self) -> None:
        """After ``stop_kubelet`` or ``crash``."""
        self.start_containerd()
        self._daemons.until(self._daemon("containerd"), self.containerd_answers)
        self.start_kubelet()

    def remove(self) -> None:
        """Everything: processes, containers, mounts, folders, network."""
        for name in ("kubelet", "proxy"):
            self._daemons.stop(self._daemon(name))
        if self._daemons.find(self._daemon("containerd")) is not None:
            for task in self._ctr("tasks", "list", "-q", check=False).split():
                self._ctr("tasks", "kill", "-s", "KILL", task, check=False)
        self._daemons.stop(self._daemon("containerd"), signal.SIGKILL)
        self._kill_containers()
        _unmount_below(self._folder, self._run)
        network.remove_node(self.number)
        for folder in (self._run, self._folder):
            command("rm", "-rf", str(folder), check=False)  # a hundred thousand files

    def _start(self, name: str, *words: str) -> None:
        self._daemons.start(self._daemon(name), words, self._namespace)

    def _mark(self, archive: Path) -> None:
        mark = self._folder / "imported" / archive.name
        mark.parent.mkdir(exist_ok=True)
        mark.touch()

    def _daemon(self, name: str) -> str:
        return f"{name}-{self.name}"

    def _ctr(self, *words: str, check: bool = True, timeout_s: float = 60) -> str:
        socket = f"{self._run}/containerd.sock"
        return command("ctr", "-a", socket, "-n", "k8s.io", *words, check=check, timeout_s=timeout_s)

    def _kill_containers(self) -> None:
        for shim in self._shims():
            with contextlib.suppress(psutil.Error):
                for process in (*shim.children(recursive=True), shim):
                    with contextlib.suppress(psutil.Error):
                        process.kill()

    def _shims(self) -> Iterator[psutil.Process]:
        """They name the socket of their containerd."""
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                words = process.cmdline()
                if (
                    words
                    and os.path.basename(words[0]).startswith("containerd-shim")
                    and f"{self._run}/containerd.sock" in words
                ):
                    yield process


def remove_cgroups() -> None:
    with contextlib.suppress(OSError):  # see cores.py
        (CGROUPS / "cpuset" / f"{CGROUP}-rest").rmdir()
    for controller in (*CONTROLLERS, "unified"):  # runc makes the same path in the v2 hierarchy as well
        for folder, _, _ in os.walk(CGROUPS / controller / CGROUP, topdown=False):
            with contextlib.suppress(OSError):
                os.rmdir(folder)


def _make_cgroups(number: int) -> None:
    if not (CGROUPS / "memory").is_dir():
        raise RigError("the rig's nodes need cgroup v1; use a cluster of your own: KUBECONFIG=… make e2e")
    for controller in CONTROLLERS:
        if not (CGROUPS / controller).is_dir():
            continue
        for path in (CGROUPS / controller / CGROUP, CGROUPS / controller / CGROUP / node_name(number)):
            path.mkdir(exist_ok=True)
            for name in ("cpuset.cpus", "cpuset.mems") if controller == "cpuset" else ():
                if not (path / name).read_text().strip():
                    (path / name).write_text((path.parent / name).read_text())
    (CGROUPS / "cpu" / CGROUP / "cpu.shares").write_text(str(CPU_SHARES))


def _network_plugins(folder: Path, number: int) -> dict[str, object]:
    bridge = {
        "type": "bridge",
        "bridge": "cni0",
        "isGateway": True,
        "ipMasq": False,
        "hairpinMode": True,
        "ipam": {
            "type": "host-local",
            "dataDir": str(folder / "ipam"),
            "ranges": [[{"subnet": pod_subnet(number)}]],
            "routes": [{"dst": "0.0.0.0/0"}],
        },
    }
    ports = {"type": "portmap", "capabilities": {"portMappings": True}}
    return {"cniVersion": "1.0.0", "name": "rig", "plugins": [bridge, ports]}


def _kubelet(home: Home, folder: Path, run: Path, number: int) -> dict[str, object]:
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "containerRuntimeEndpoint": f"unix://{run}/containerd.sock",
        "failCgroupV1": False,
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{CGROUP}/{node_name(number)}",
        "cgroupsPerQOS": True,
        "enforceNodeAllocatable": ["pods"],
        "failSwapOn": False,
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(home.pki / "ca.crt")},
        },
        "authorization": {"mode": "Webhook"},
        "podLogsDir": str(folder / POD_LOGS),
        "resolvConf": str(folder / "resolv.conf"),
        "clusterDomain": "cluster.local",
        "maxPods": 250,
        "serializeImagePulls": False,
        "kubeAPIQPS": 100,
        "kubeAPIBurst": 200,
        "nodeStatusUpdateFrequency": "5s",
        "nodeStatusReportFrequency": "30s",
        "nodeLeaseDurationSeconds": LEASE_S,
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
        "evictionHard": {
            "memory.available": f"{EVICTS_BELOW_MIB}Mi",
            "nodefs.available": "1%",
            "imagefs.available": "1%",
            "nodefs.inodesFree": "1%",
        },
        "makeIPTablesUtilChains": False,
        "registerNode": True,
    }


def _proxy(home: Home, number: int) -> dict[str, object]:
    """Services are kept by iptables in the node's own namespace; the machine's conntrack settings stay as they are."""
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "clientConnection": {"kubeconfig": str(home.path / "proxy.conf")},
        "mode": "iptables",
        "clusterCIDR": POD_NETWORK,
        "hostnameOverride": node_name(number),
        "bindAddress": node_address(number),
        "healthzBindAddress": f"{node_address(number)}:10256",
        "metricsBindAddress": f"{node_address(number)}:10249",
        "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
    }


def _unmount_below(*folders: Path) -> None:
    """Unmount in reverse order of mounting."""
    prefixes = tuple(f"{folder}/" for folder in folders)
    points = [line.split()[4].replace("\\040", " ") for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    for point in reversed(points):
        if point.startswith(prefixes) or point in map(str, folders):
            command("umount", "-l", point, check=False)


def _write_json(path: Path, content: dict[str, object]) -> None:
    """Not when it is there already: kube-proxy ends when somebody touches its configuration."""
    text = json.dumps(content)
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
