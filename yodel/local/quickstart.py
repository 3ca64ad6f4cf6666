"""``yodel local``: a whole cluster on one machine, in the foreground, out of the same programs as in production.

A supervisor and its processes: the RM on SQLite, the small Kubernetes with its process kubelet, and N node agents.  All
they keep is below one directory; ``ready.json`` there is written last and removed first.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import getpass
import json
import os
import secrets
import shutil
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import httpx2
import psutil

from yodel.errors import InvalidValue, Refused, Unavailable
from yodel.local.auth import prepare_credentials, write_kubeconfig
from yodel.local.client_config import client_files, write_hadoop_conf
from yodel.local.supervisor import Child, Supervised

HOST = "127.0.0.1"
NODES_MAX = 50
READY_TIMEOUT_S = 60.0
STANDARD = {"client": 8032, "scheduler": 8030, "tracker": 8031, "webapp": 8088, "node_rpc": 8041, "node_http": 8042}
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalOptions:
    """What the command line says.  Memory and vcores are of each node."""

    directory: Path
    nodes: int = 1
    ports: Literal["standard", "auto"] = "standard"
    memory_mib: int = 8192
    vcores: int = 8
    minimum_allocation_mib: int = 1024
    dialect: str = "native"

    def __post_init__(self) -> None:
        if not 1 <= self.nodes <= NODES_MAX:
            raise InvalidValue("--nodes", self.nodes, f"1 to {NODES_MAX}")
        if self.memory_mib < self.minimum_allocation_mib:
            raise InvalidValue("--memory-mib", self.memory_mib, f"at least {self.minimum_allocation_mib}")
        if self.vcores < 1:
            raise InvalidValue("--vcores", self.vcores, "at least 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePorts:
    name: str
    host: str
    rpc_port: int
    http_port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    client: int
    scheduler: int
    tracker: int
    webapp: int
    kube: int
    nodes: tuple[NodePorts, ...]


async def run_local(options: LocalOptions, stop: asyncio.Event, say: Say) -> None:
    """Serve until ``stop`` is set; everything started is stopped before it returns.

    Raises:
        Refused: another ``yodel local`` uses the directory.
        Unavailable: a port is taken, or a process did not come up; its log's end is in the message.
    """
    directory = options.directory.absolute()
    _make_directories(directory)
    with _locked(directory):
        (directory / "ready.json").unlink(missing_ok=True)
        ports = _choose_ports(options, directory)
        cluster = _Cluster(options, directory, ports, say)
        try:
            await cluster.start(stop)
            if not stop.is_set():
                cluster.announce()
                await cluster.watch(stop)
        finally:
            (directory / "ready.json").unlink(missing_ok=True)
            await cluster.stop()


class _Cluster:
    """The processes of one local cluster."""

    def __init__(self, options: LocalOptions, directory: Path, ports: Ports, say: Say) -> None:
        self._options, self._directory, self._ports, self._say = options, directory, ports, say
        self._kube = Supervised(self._kube_child())
        self._rm = Supervised(self._rm_child())
        self._agents = [Supervised(self._agent_child(node)) for node in ports.nodes]

    async def start(self, stop: asyncio.Event) -> None:
        self._write_configuration()
        self._say("starting the small Kubernetes …")
        await self._kube.start(READY_TIMEOUT_S)
        if stop.is_set():
            return
        self._say("starting the ResourceManager …")
        await self._rm.start(READY_TIMEOUT_S)
        self._say(f"starting {len(self._agents)} node agent{'s' if len(self._agents) > 1 else ''} …")
        for agent in self._agents:
            await agent.start()
        await self._until_nodes_run(stop)

    async def watch(self, stop: asyncio.Event) -> None:
        """Keep all alive, and ready.json true, until told to stop."""
        restarted = asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            keepers = [tasks.create_task(c.keep(restarted), name=c.child.role) for c in self._all()]
            stopping = tasks.create_task(stop.wait(), name="stop")
            while not stop.is_set():
                again = tasks.create_task(restarted.wait(), name="restarted")
                await asyncio.wait([stopping, again], return_when=asyncio.FIRST_COMPLETED)
                again.cancel()
                if restarted.is_set():
                    restarted.clear()
                    self._write_ready()
            for keeper in keepers:
                keeper.cancel()

    async def stop(self) -> None:
        """Agents first (containers go on without them), then the RM, at last Kubernetes, which ends every pod."""
        await asyncio.gather(*(agent.stop() for agent in self._agents))
        await self._rm.stop()
        await self._kube.stop()

    def announce(self) -> None:
        self._write_ready()
        conf = self._directory / "hadoop-conf"
        self._say(
            "\n".join(
                (
                    "",
                    f"Ready.  ResourceManager: http://{HOST}:{self._ports.webapp}/cluster",
                    "",
                    "Submit to it from another terminal:",
                    f"  export HADOOP_CONF_DIR={conf}",
                    "  spark-submit --master yarn --deploy-mode cluster your_job.py",
                    "See what became of it:",
                    f"  curl http://{HOST}:{self._ports.webapp}/ws/v1/cluster/apps",
                    f"  kubectl --kubeconfig {self._directory / 'kubeconfig'} get pods -L yodel.io/role,yodel.io/user",
                    "",
                    "Ctrl-C stops everything.",
                )
            )
        )

    def _all(self) -> list[Supervised]:
        return [self._kube, self._rm, *self._agents]

    def _write_ready(self) -> None:
        ports = self._ports
        content = {
            "rm": {
                "host": HOST,
                "client": f"{HOST}:{ports.client}",
                "scheduler": f"{HOST}:{ports.scheduler}",
                "tracker": f"{HOST}:{ports.tracker}",
                "webapp": f"{HOST}:{ports.webapp}",
            },
            "rest_url": f"http://{HOST}:{ports.webapp}",
            "kube_url": f"https://{HOST}:{ports.kube}",
            "kubeconfig": str(self._directory / "kubeconfig"),
            "hadoop_conf_dir": str(self._directory / "hadoop-conf"),
            "nodes": [
                {"name": n.name, "node_id": f"{n.host}:{n.rpc_port}", "http": f"{n.host}:{n.http_port}"}
                for n in ports.nodes
            ],
            "pids": {"supervisor": os.getpid(), **{c.child.role: c.pid for c in self._all()}},
        }
        _write_atomically(self._directory / "ready.json", json.dumps(content, indent=2) + "\n", 0o644)

    async def _until_nodes_run(self, stop: asyncio.Event) -> None:
        url = f"http://{HOST}:{self._ports.webapp}/ws/v1/cluster/metrics"
        deadline_s = asyncio.get_running_loop().time() + READY_TIMEOUT_S
        async with httpx2.AsyncClient(timeout=5.0, trust_env=False) as client:
            while not stop.is_set():
                with contextlib.suppress(httpx2.HTTPError):
                    metrics = (await client.get(url)).json()["clusterMetrics"]
                    if metrics["activeNodes"] >= len(self._agents):
                        return
                if asyncio.get_running_loop().time() > deadline_s:
                    logs = ", ".join(str(a.child.log_path) for a in self._agents)
                    raise Unavailable(f"node agents did not register within {READY_TIMEOUT_S:.0f} s; see {logs}")
                await asyncio.sleep(0.05)

    # --- configuration -----------------------------------------------------------------------------------------------

    def _write_configuration(self) -> None:
        options, ports, directory = self._options, self._ports, self._directory
        credentials = prepare_credentials(directory / "kube")
        write_kubeconfig(
            directory / "kubeconfig",
            server=f"https://{HOST}:{ports.kube}",
            ca_certificate=credentials.ca_certificate,
            token=credentials.token,
            name="yodel-local",
        )
        write_hadoop_conf(
            directory / "hadoop-conf",
            client_files(
                host=HOST,
                client_port=ports.client,
                scheduler_port=ports.scheduler,
                tracker_port=ports.tracker,
                webapp_port=ports.webapp,
                maximum_mib=options.memory_mib,
                maximum_vcores=options.vcores,
                minimum_mib=options.minimum_allocation_mib,
            ),
        )
        _write_toml(directory / "rm" / "rm.toml", self._rm_settings())
        _write_atomically(directory / "kube" / "kube.json", json.dumps(self._kube_settings()), 0o600)
        for node in ports.nodes:
            _write_toml(directory / "nodes" / node.name / "nm.toml", self._agent_settings(node))

    def _rm_settings(self) -> dict[str, Any]:
        options, ports, directory = self._options, self._ports, self._directory
        return {
            "store_url": f"sqlite+aiosqlite:///{directory / 'rm' / 'rm.db'}",
            "kubeconfig": str(directory / "kubeconfig"),
            "cluster_name": "local",
            "bind_host": HOST,
            "host": HOST,
            "client_port": ports.client,
            "scheduler_port": ports.scheduler,
            "tracker_port": ports.tracker,
            "webapp_port": ports.webapp,
            "minimum_allocation_mib": options.minimum_allocation_mib,
            "maximum_allocation_mib": options.memory_mib,
            "maximum_allocation_vcores": options.vcores,
            "dialect": options.dialect,
            "handover_dir": str(directory / "handover"),
            "host_paths": [str(directory / "nodes")],
            "allowed_system_users": [getpass.getuser()],
            "node_token_file": str(directory / "node-token"),
            "node_expiry_s": 30.0,
            "pod_creates_per_second": 500.0,
        }

    def _kube_settings(self) -> dict[str, Any]:
        options = self._options
        return {
            "data_dir": str(self._directory / "kube"),
            "host": HOST,
            "port": self._ports.kube,
            "nodes": [
                {
                    "name": node.name,
                    "address": node.host,
                    "cpu_milli": options.vcores * 1000,
                    "memory_bytes": options.memory_mib * 1024 * 1024,
                    "batch_cpu_milli": options.vcores * 1000,
                    "batch_memory_bytes": options.memory_mib * 1024 * 1024,
                }
                for node in self._ports.nodes
            ],
        }

    def _agent_settings(self, node: NodePorts) -> dict[str, Any]:
        base = self._directory / "nodes" / node.name
        return {
            "host": node.host,
            "bind_host": node.host,
            "rpc_port": node.rpc_port,
            "http_port": node.http_port,
            "resource_tracker_host": HOST,
            "resource_tracker_port": self._ports.tracker,
            "kubernetes_node_name": node.name,
            "node_token_file": str(self._directory / "node-token"),
            "memory_mib": self._options.memory_mib,
            "vcores": self._options.vcores,
            "local_dirs": [str(base / "local")],
            "log_dirs": [str(base / "logs")],
            "handover_dir": str(self._directory / "handover"),
            "state_dir": str(base / "state"),
            "allowed_system_users": [getpass.getuser()],
            "java_home": java_home() or "",
            "hadoop_conf_dir": str(self._directory / "hadoop-conf"),
        }

    def _kube_child(self) -> Child:
        config = self._directory / "kube" / "kube.json"
        return self._child("kube", "yodel", ["local-kubernetes", "--config", str(config)])

    def _rm_child(self) -> Child:
        config = self._directory / "rm" / "rm.toml"
        return self._child("rm", "yodel", ["serve", "--migrate", "--config", str(config)])

    def _agent_child(self, node: NodePorts) -> Child:
        config = self._directory / "nodes" / node.name / "nm.toml"
        arguments = ["--config", str(config)]
        return self._child(node.name, "nm_plugin", arguments, tells_readiness=False)

    def _child(self, role: str, module: str, arguments: list[str], *, tells_readiness: bool = True) -> Child:
        return Child(
            role=role,
            command=(sys.executable, "-m", module, *arguments),
            log_path=self._directory / "logs" / f"{role}.log",
            tells_readiness=tells_readiness,
        )


def java_home() -> str | None:
    """``$JAVA_HOME``, or where the ``java`` on the path really lives."""
    if os.environ.get("JAVA_HOME"):
        return os.environ["JAVA_HOME"]
    java = shutil.which("java")
    return str(Path(java).resolve().parent.parent) if java else None


def default_memory_mib(nodes: int) -> int:
    """Three quarters of the machine, shared by the nodes, at most YARN's own default of 8192."""
    share = psutil.virtual_memory().total // (1024 * 1024) * 3 // 4 // max(1, nodes)
    return max(2048, min(8192, share // 1024 * 1024))


def _make_directories(directory: Path) -> None:
    """Containers of other users pass through, and read only what is theirs."""
    for path, mode in (
        (directory, 0o755),
        (directory / "logs", 0o700),
        (directory / "rm", 0o700),
        (directory / "kube", 0o700),
        (directory / "nodes", 0o755),
        (directory / "handover", 0o711),
    ):
        path.mkdir(parents=True, exist_ok=True)
        path.chmod(mode)
    token = directory / "node-token"
    if not token.exists():
        _write_atomically(token, secrets.token_hex(32) + "\n", 0o600)


@contextlib.contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """One supervisor a directory.  The kernel lets go of the lock however the process ends."""
    with (directory / "lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            lock.seek(0)
            raise Refused(
                f"yodel local already runs on {directory} (pid {lock.read().strip() or 'unknown'}); stop it first, or "
                "choose another --dir"
            ) from error
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield


def _choose_ports(options: LocalOptions, directory: Path) -> Ports:
    """Standard ports must be free; automatic ones are kept from the last start, so that running jobs find us again."""
    remembered = _remembered(directory)
    taken: set[tuple[str, int]] = set()

    def port(name: str, host: str = HOST) -> int:
        standard = STANDARD.get(name.split("/")[-1])
        if options.ports == "standard" and standard is not None:
            _require_free(host, standard)
            return standard
        number = remembered.get(name, 0)
        if not number or (host, number) in taken or not _is_free(host, number):
            number = _free_port(host)
        taken.add((host, number))
        remembered[name] = number
        return number

    nodes = []
    for index in range(1, options.nodes + 1):
        name, host = f"node-{index}", f"127.0.0.{index}"
        nodes.append(
            NodePorts(
                name=name,
                host=host,
                rpc_port=port(f"{name}/node_rpc", host),
                http_port=port(f"{name}/node_http", host),
            )
        )
    chosen = Ports(
        client=port("client"),
        scheduler=port("scheduler"),
        tracker=port("tracker"),
        webapp=port("webapp"),
        kube=port("kube"),
        nodes=tuple(nodes),
    )
    _write_atomically(directory / "ports.json", json.dumps(remembered), 0o600)
    return chosen


def _remembered(directory: Path) -> dict[str, int]:
    try:
        content = json.loads((directory / "ports.json").read_text())
    except (OSError, ValueError):
        return {}
    return {str(k): v for k, v in content.items() if isinstance(v, int)} if isinstance(content, dict) else {}


def _require_free(host: str, port: int) -> None:
    if not _is_free(host, port):
        raise Unavailable(
            f"port {port} on {host} is taken; stop what listens there (ss -ltnp 'sport = :{port}' shows it), or use "
            "--ports auto"
        )


def _is_free(host: str, port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def _free_port(host: str) -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def _write_toml(path: Path, values: dict[str, Any]) -> None:
    """JSON's strings, numbers and lists of strings are TOML's too."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(f"{name} = {json.dumps(value)}\n" for name, value in values.items())
    _write_atomically(path, text, 0o600)


def _write_atomically(path: Path, text: str, mode: int) -> None:
    temporary = path.with_name(f".{path.name}.tmp")
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(fd, "w") as file:
        os.fchmod(fd, mode)
        file.write(text)
    temporary.replace(path)


def stop_on_signals(stop: asyncio.Event) -> None:
    """SIGINT and SIGTERM ask for an orderly end; a second one changes nothing."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
