"""A real Hadoop for tests: HDFS, ResourceManager, NodeManager and JobHistoryServer as processes of their own.

Everything listens on 127.0.0.1 at free ports and keeps its data in one temporary folder.  The parts start when they are
asked for, can be killed and started again on their data, and end with the tests, even killed ones.  Jars come from
``tests/rigs/hadoop``.  HDFS' superuser is ``hdfs``, whoever runs the tests; YARN's daemons are the tests' own user.
"""

from __future__ import annotations

import contextlib
import getpass
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.hadoop_conf import (
    HISTORY,
    HOST,
    STAGING,
    NodeSize,
    Ports,
    Servers,
    addresses,
    client_files,
    server_files,
    write_files,
)
from tests.support.hadoop_jars import client_jars, jars
from tests.support.hdfs import DATA_NODE, NAME_NODE, SUPERUSER, Hdfs, java_command
from tests.support.java import is_quick, java_home
from tests.support.ports import free_ports

READY_TIMEOUT_S = 600
STOP_TIMEOUT_S = 15
FORMAT_TIMEOUT_S = 600
START_ATTEMPTS_MAX = 3  # a port that was free a moment ago may be taken
RESOURCE_MANAGER = "org.apache.hadoop.yarn.server.resourcemanager.ResourceManager"
NODE_MANAGER = "org.apache.hadoop.yarn.server.nodemanager.NodeManager"
HISTORY_SERVER = "org.apache.hadoop.mapreduce.v2.hs.JobHistoryServer"


class PortTaken(Exception):
    """A daemon could not listen where it was told to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonSpec:
    """Describes a daemon to run; ``is_ready`` asks the daemon itself.  An empty ``user`` is the tests' own."""

    name: str
    main: str
    heap_mib: int
    user: str
    is_ready: Callable[[], bool]
    all_compilers: bool = False

    @property
    def options(self) -> list[str]:
        """Later options win over ``java_command``'s."""
        return [f"-Xmx{self.heap_mib}m", *(["-XX:TieredStopAtLevel=4"] if self.all_compilers else [])]


class Daemon:
    """One JVM of the rig.  Its log grows over restarts."""

    def __init__(self, spec: DaemonSpec, servers: Servers) -> None:
        self.spec = spec
        self._servers = servers
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        assert self._process is not None, f"the {self.spec.name} was never started"
        return self._process.pid

    @property
    def log_path(self) -> Path:
        return self._servers.directory / "logs" / f"{self.spec.name}.log"

    def launch(self) -> None:
        """Start without waiting; nothing happens when it runs."""
        if self.is_running:
            return
        java = [*java_command(self._servers.conf_dir, self._servers.jars), *self.spec.options]
        # Started so that it cannot outlive the tests; a NodeManager that is asked to end takes its containers along.
        last = "TERM" if self.spec.main == NODE_MANAGER else "KILL"
        command = ["setpriv", "--pdeathsig", last, *java, self.spec.main]
        with self.log_path.open("ab") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment(self._servers, self.spec.user),
                cwd=self._servers.directory,
            )

    def wait(self, timeout_s: float = READY_TIMEOUT_S) -> None:
        """Until it is ready.  Raises PortTaken, or AssertionError with the log's end."""
        give_up_at = time.monotonic() + timeout_s
        pause = threading.Event()
        while not self.spec.is_ready():
            if not self.is_running:
                tail = self.log_tail()
                if "BindException" in tail:
                    raise PortTaken
                raise AssertionError(f"the {self.spec.name} ended by itself:\n{tail}")
            assert time.monotonic() < give_up_at, f"{self.spec.name} not ready in {timeout_s} s:\n{self.log_tail()}"
            pause.wait(0.2)

    def start(self) -> None:
        self.launch()
        self.wait()

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        """End it; SIGKILL after a while."""
        if self._process is None:
            return
        if self._process.poll() is None:
            self._process.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(STOP_TIMEOUT_S)
            return
        self._process.kill()
        self._process.wait(STOP_TIMEOUT_S)

    def kill(self) -> None:
        self.stop(signal.SIGKILL)

    def log_tail(self, size_bytes: int = 6000) -> str:
        return self.log_path.read_bytes()[-size_bytes:].decode(errors="replace") if self.log_path.exists() else ""


class Hadoop:
    """The rig: ``hdfs`` is up as soon as it exists, ``start_yarn`` and ``start_history`` bring the rest."""

    def __init__(self, servers: Servers) -> None:
        self.servers = servers
        self.hdfs = Hdfs(
            directory=servers.directory,
            jars=servers.jars,
            rpc_port=servers.ports.name_node,
            http_port=servers.ports.name_node_http,
        )
        self.name_node = self._daemon("name-node", NAME_NODE, 256, SUPERUSER, self.hdfs.is_ready)
        self.data_node = self._daemon("data-node", DATA_NODE, 256, SUPERUSER, self.hdfs.is_ready)
        self.resource_manager = self._daemon("resource-manager", RESOURCE_MANAGER, 512, "", self._yarn_is_up)
        self.node_manager = self._daemon("node-manager", NODE_MANAGER, 512, "", self._node_is_registered)
        self.history_server = self._daemon("history-server", HISTORY_SERVER, 256, SUPERUSER, self._history_is_up)
        self.daemons = (
            self.history_server,
            self.node_manager,
            self.resource_manager,
            self.data_node,
            self.name_node,
        )

    @property
    def rest_url(self) -> str:
        """``http://127.0.0.1:PORT`` of the ResourceManager."""
        return f"http://{HOST}:{self.servers.ports.rm_http}"

    @property
    def default_fs(self) -> str:
        return self.servers.default_fs

    @property
    def home(self) -> Path:
        return self.servers.directory

    @property
    def history_url(self) -> str:
        return f"http://{HOST}:{self.servers.ports.history_http}"

    def start_hdfs(self) -> None:
        """``/user``, ``/tmp`` and MapReduce's staging folder are open to all."""
        if not (self.servers.directory / "name").exists():
            _format(self.servers)
        self.name_node.launch()
        self.data_node.launch()
        self.name_node.wait()
        for path in ("/user", "/tmp", STAGING):
            self.hdfs.make_dir(path, user=SUPERUSER, mode="1777")
        self.hdfs.make_dir(HISTORY, user=SUPERUSER)

    def start_yarn(self) -> None:
        """ResourceManager and NodeManager; at once when they run."""
        self.resource_manager.launch()
        self.node_manager.launch()
        self.resource_manager.wait()
        self.node_manager.wait()

    def stop_yarn(self) -> None:
        self.node_manager.stop()
        self.resource_manager.stop()

    def start_history(self) -> None:
        """Start it with the folder that a user's first job makes, so that all jobs count the same operations."""
        self.history_server.start()
        user = getpass.getuser()
        self.hdfs.make_dir(f"{HISTORY}/intermediate/{user}", user=user, mode="770")

    def stop(self) -> None:
        """The NodeManager in order, since only then it ends its containers; then whatever is left of the rig."""
        self.node_manager.stop()
        for daemon in self.daemons:
            daemon.kill()  # nothing in it is kept
        for process in _processes_of(self.servers.directory):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()

    def client_conf(self, line: str = "3.5") -> Path:
        """A client's configuration of the rig's own ResourceManager, for the release line."""
        return self.conf_for(f"real-{line}", line, addresses(self.servers.ports))

    def conf_for(self, name: str, line: str, rm: Mapping[str, str]) -> Path:
        """The client configuration folder ``name`` for any ResourceManager, with this HDFS and JobHistoryServer."""
        directory = self.servers.directory / "clients" / name
        release = client_jars(line)
        classes = f"{directory},{release}/*,{jars('dshell')}/*"
        write_files(directory, client_files(self.servers, release, classes, rm), log_level="WARN")
        return directory

    def _daemon(self, name: str, main: str, heap_mib: int, user: str, is_ready: Callable[[], bool]) -> Daemon:
        measured = main in (RESOURCE_MANAGER, NODE_MANAGER) and not is_quick()  # benchmarks compare with these
        spec = DaemonSpec(name=name, main=main, heap_mib=heap_mib, user=user, is_ready=is_ready, all_compilers=measured)
        return Daemon(spec, self.servers)

    def _yarn_is_up(self) -> bool:
        found = answer(f"{self.rest_url}/ws/v1/cluster/info")
        return bool(found) and found["clusterInfo"]["state"] == "STARTED"

    def _node_is_registered(self) -> bool:
        found = answer(f"{self.rest_url}/ws/v1/cluster/metrics")
        return bool(found) and found["clusterMetrics"]["activeNodes"] == 1

    def _history_is_up(self) -> bool:
        return bool(answer(f"{self.history_url}/ws/v1/history/info"))


@pytest.fixture(scope="session")
def hadoop() -> Iterator[Hadoop]:
    """One rig for the session, with HDFS up; import it into a conftest.py or test module."""
    with running_hadoop() as started:
        yield started


@contextlib.contextmanager
def running_hadoop(
    *,
    node: NodeSize | None = None,
    spark_shuffle_jars: str = "",
    more: Mapping[str, Mapping[str, str]] | None = None,
    with_hdfs: bool = True,
) -> Iterator[Hadoop]:
    """The rig, with HDFS up unless told otherwise; at the end all of it is ended and removed.  ``more``: properties by
    file."""
    for attempt in range(START_ATTEMPTS_MAX):
        servers = new_servers("yodel-hadoop-", node=node, spark_shuffle_jars=spark_shuffle_jars, more=more)
        _write_servers(servers)
        hadoop = Hadoop(servers)
        try:
            if with_hdfs:
                hadoop.start_hdfs()
            yield hadoop
            return
        except PortTaken:
            assert attempt + 1 < START_ATTEMPTS_MAX, "no free ports for a NameNode"
        finally:
            hadoop.stop()
            shutil.rmtree(servers.directory, ignore_errors=True)


def new_servers(
    prefix: str,
    *,
    node: NodeSize | None = None,
    spark_shuffle_jars: str = "",
    more: Mapping[str, Mapping[str, str]] | None = None,
) -> Servers:
    """A new folder with a name that begins so, and free ports; nothing is configured or started."""
    directory = Path(tempfile.mkdtemp(prefix=prefix))
    directory.chmod(0o755)  # other users' containers read the configuration
    (directory / "logs").mkdir()
    return Servers(
        directory=directory,
        ports=Ports.of(free_ports(Ports.count())),
        jars=jars("hadoop"),
        node=node or NodeSize(),
        spark_shuffle_jars=spark_shuffle_jars,
        more=more or {},
    )


def environment(servers: Servers, user: str = "") -> dict[str, str]:
    """Return the environment of a daemon or a client; HADOOP_HOME has to be a folder, any."""
    named = {"HADOOP_USER_NAME": user} if user else {}
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": os.environ.get("HOME", "/"),
        "LANG": os.environ.get("LANG", "C.UTF-8"),
        "HADOOP_HOME": str(servers.directory),
        "HADOOP_CONF_DIR": str(servers.conf_dir),
        "JAVA_HOME": str(java_home()),
        **named,
    }


def answer(url: str, timeout_s: float = 5) -> Any:
    """The JSON at ``url``; None when nobody answers yet."""
    request = urllib.request.Request(url, headers={"Accept": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=timeout_s) as response:
            return json.load(response)
    except (OSError, urllib.error.URLError, ValueError):
        return None


def _processes_of(directory: Path) -> list[psutil.Process]:
    """Return the processes that work in the directory or name it on their command line."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
            if process.cwd().startswith(f"{directory}/") or f"{directory}/" in " ".join(process.cmdline()):
                found.append(process)
    return found


def _write_servers(servers: Servers) -> None:
    for name in ("hdfs", "datanode", "static"):  # the Maven artifacts lack them; they are looked for, not into
        (servers.conf_dir / "web" / "webapps" / name).mkdir(parents=True)
    write_files(servers.conf_dir, server_files(servers), log_level="INFO")


def _format(servers: Servers) -> None:
    command = [*java_command(servers.conf_dir, servers.jars), NAME_NODE, "-format", "-nonInteractive"]
    env = environment(servers, SUPERUSER)
    done = subprocess.run(command, timeout=FORMAT_TIMEOUT_S, capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr[-4000:]
