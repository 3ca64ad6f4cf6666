"""A real HDFS for tests: one NameNode and one DataNode of a released Hadoop, as processes of their own on 127.0.0.1.

Import the fixture ``hdfs`` into a conftest.py or test module, or use ``running_hdfs`` as a context manager.  The jars
come from ``tests/rigs/hdfs``.  Files are put and looked at over WebHDFS, which answers at once; ``shell`` is Hadoop's
own command line and costs a Java start.  Users are believed by name; the superuser is ``hdfs``.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import string
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode
from xml.sax.saxutils import escape

import pytest

from tests.support.java import java_home
from tests.support.ports import free_ports

SUPERUSER = "hdfs"
HOST = "127.0.0.1"
RIG = Path(__file__).resolve().parents[1] / "rigs" / "hdfs"
FETCH_TIMEOUT_S = 900
STEP_TIMEOUT_S = 120
STOP_TIMEOUT_S = 10
CALL_TIMEOUT_S = 60
START_ATTEMPTS_MAX = 3  # a port that was free a moment ago may be taken
NAME_NODE = "org.apache.hadoop.hdfs.server.namenode.NameNode"
DATA_NODE = "org.apache.hadoop.hdfs.server.datanode.DataNode"
SHELL = "org.apache.hadoop.fs.FsShell"
# The JVM's first tier compiles quicker, and these live for seconds.
JVM_OPTIONS = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
LOGGING = """log4j.rootLogger=${rig.log},console
rig.log=INFO
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.target=System.err
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d{ISO8601} %p %c{2}: %m%n
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hdfs:
    """A running file system.  ``directory`` holds its configuration (``conf``), logs and data."""

    directory: Path
    jars: Path
    rpc_port: int
    http_port: int
    daemons: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def stop_name_node(self) -> None:
        """It goes without a word, as a machine does."""
        _stop(self.daemons["namenode"])

    def start_name_node(self) -> None:
        """Again, on the same port; returns at once."""
        self.daemons["namenode"] = _daemon(self, "namenode", NAME_NODE)

    def wait_until_ready(self) -> None:
        """Blocks, at most STEP_TIMEOUT_S."""
        give_up_at = time.monotonic() + STEP_TIMEOUT_S
        while not (_is_ready(self) and self._can_write()):
            assert time.monotonic() < give_up_at, f"not ready:\n{_tail(self, 'namenode')}"
            threading.Event().wait(0.1)

    def _can_write(self) -> bool:
        try:
            self.put("/tmp/.probe", b"", user=SUPERUSER)
        except AssertionError:
            return False
        return True

    @property
    def url(self) -> str:
        """``hdfs://127.0.0.1:PORT`` without a slash at the end."""
        return f"hdfs://{self.authority}"

    @property
    def authority(self) -> str:
        return f"{HOST}:{self.rpc_port}"

    @property
    def conf_dir(self) -> Path:
        return self.directory / "conf"

    def put(self, path: str, content: bytes, *, user: str, mode: str = "644") -> dict[str, Any]:
        """Write a file and the directories above it; answers its status."""
        query = {"permission": mode, "overwrite": "true", "noredirect": "true"}
        location = json.loads(self._call("PUT", path, "CREATE", user, query))["Location"]
        target = quote(location, safe=string.punctuation)  # the NameNode leaves umlauts as they are
        try:
            _request("PUT", target, content)
        except AssertionError as error:
            # A DataNode keeps each user's connection to the NameNode of before for one more call.
            if "EOFException" not in str(error):
                raise
            _request("PUT", target, content)
        return self.status(path)

    def make_dir(self, path: str, *, user: str, mode: str = "755") -> dict[str, Any]:
        """Make a directory with those above it; answers its status."""
        self._call("PUT", path, "MKDIRS", user, {"permission": mode})
        return self.status(path)

    def status(self, path: str) -> dict[str, Any]:
        """WebHDFS' FileStatus: ``modificationTime`` in milliseconds, ``length`` in bytes, ``owner``, ``permission``."""
        answer = json.loads(self._call("GET", path, "GETFILESTATUS", SUPERUSER))
        status: dict[str, Any] = answer["FileStatus"]
        return status

    def delete(self, path: str, *, user: str) -> None:
        self._call("DELETE", path, "DELETE", user, {"recursive": "true"})

    def names(self, path: str) -> list[str]:
        """Names in a directory."""
        answer = json.loads(self._call("GET", path, "LISTSTATUS", SUPERUSER))
        return [entry["pathSuffix"] for entry in answer["FileStatuses"]["FileStatus"]]

    def read(self, path: str) -> bytes:
        return self._call("GET", path, "OPEN", SUPERUSER)

    def shell(self, *arguments: str, user: str) -> str:
        """``hadoop fs`` + arguments: its standard output; CalledProcessError when it fails."""
        command = [*java_command(self.conf_dir, self.jars), "-Drig.log=WARN", SHELL, *arguments]
        done = subprocess.run(
            command,
            check=True,
            timeout=STEP_TIMEOUT_S,
            capture_output=True,
            text=True,
            env=_environment(self.directory, user),
        )
        return done.stdout

    def _call(self, method: str, path: str, operation: str, user: str, query: Mapping[str, str] | None = None) -> bytes:
        words = urlencode({"op": operation, "user.name": user, **(query or {})})
        return _request(method, f"http://{HOST}:{self.http_port}/webhdfs/v1{quote(path)}?{words}")


@pytest.fixture(scope="session")
def hdfs() -> Iterator[Hdfs]:
    """One file system for the session."""
    with running_hdfs() as started:
        yield started


@contextlib.contextmanager
def running_hdfs() -> Iterator[Hdfs]:
    """Format, start, and at the end stop and remove a file system; ``/user`` and ``/tmp`` are open to all."""
    jars = _jars()
    for attempt in range(START_ATTEMPTS_MAX):
        with contextlib.ExitStack() as stack:
            try:
                started = _start(jars, stack)
            except _PortTaken:
                assert attempt + 1 < START_ATTEMPTS_MAX, "no free ports for a NameNode"
                continue
            for path in ("/user", "/tmp"):
                started.make_dir(path, user=SUPERUSER, mode="1777")
            yield started
            return


def java_command(conf_dir: Path, jars: Path) -> list[str]:
    """Java with Hadoop on its class path; what is missing is the class and its arguments."""
    return [f"{java_home()}/bin/java", *JVM_OPTIONS, "-cp", f"{conf_dir}:{conf_dir}/web:{jars}/*"]


class _PortTaken(Exception):
    pass


def _jars() -> Path:
    """The rig's jars, fetched when they are not there."""
    command = [str(RIG / "jars")]
    done = subprocess.run(command, check=True, timeout=FETCH_TIMEOUT_S, stdout=subprocess.PIPE, text=True)
    return Path(done.stdout.strip().splitlines()[-1])


def _start(jars: Path, stack: contextlib.ExitStack) -> Hdfs:
    """Raises _PortTaken; whatever was started is on the stack."""
    directory = Path(tempfile.mkdtemp(prefix="yodel-hdfs-"))
    stack.callback(shutil.rmtree, directory, ignore_errors=True)
    directory.chmod(0o755)  # other users' containers read the configuration
    rpc_port, http_port = free_ports(2)
    hdfs = Hdfs(directory=directory, jars=jars, rpc_port=rpc_port, http_port=http_port)
    _write_configuration(hdfs)
    _format(hdfs)
    for name, main in _DAEMONS.items():
        hdfs.daemons[name] = _daemon(hdfs, name, main)
        stack.callback(lambda name=name: _stop(hdfs.daemons[name]))
    give_up_at = time.monotonic() + STEP_TIMEOUT_S
    pause = threading.Event()
    while not _is_ready(hdfs):
        for name, daemon in hdfs.daemons.items():
            _check_running(hdfs, name, daemon)
        assert time.monotonic() < give_up_at, f"HDFS not ready within {STEP_TIMEOUT_S} s:\n{_tail(hdfs, 'namenode')}"
        pause.wait(0.1)
    return hdfs


_DAEMONS = {"namenode": NAME_NODE, "datanode": DATA_NODE}


def _format(hdfs: Hdfs) -> None:
    command = [*java_command(hdfs.conf_dir, hdfs.jars), NAME_NODE, "-format", "-nonInteractive"]
    environment = _environment(hdfs.directory, SUPERUSER)
    done = subprocess.run(command, timeout=STEP_TIMEOUT_S, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr[-4000:]


def _daemon(hdfs: Hdfs, name: str, main: str) -> subprocess.Popen[bytes]:
    """Started so that it cannot outlive the tests, even killed ones."""
    command = ["setpriv", "--pdeathsig", "KILL", *java_command(hdfs.conf_dir, hdfs.jars), main]
    with (hdfs.directory / f"{name}.log").open("wb") as log:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=_environment(hdfs.directory, SUPERUSER),
        )


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Nothing in it is kept, so it need not end in order."""
    process.kill()
    process.wait(STOP_TIMEOUT_S)


def _check_running(hdfs: Hdfs, name: str, process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        return
    tail = _tail(hdfs, name)
    if "BindException" in tail:
        raise _PortTaken
    raise AssertionError(f"the {name} ended with {process.returncode}:\n{tail}")


def _tail(hdfs: Hdfs, name: str) -> str:
    return (hdfs.directory / f"{name}.log").read_bytes()[-6000:].decode(errors="replace")


def _is_ready(hdfs: Hdfs) -> bool:
    """The NameNode can place blocks: it has a DataNode and no safe mode."""
    query = "Hadoop:service=NameNode,name=FSNamesystemState"
    try:
        beans = json.loads(_request("GET", f"http://{HOST}:{hdfs.http_port}/jmx?qry={query}", timeout_s=5))["beans"]
    except (OSError, urllib.error.URLError, ValueError):
        return False
    return bool(beans) and beans[0]["NumLiveDataNodes"] == 1 and beans[0]["FSState"] == "Operational"


def _write_configuration(hdfs: Hdfs) -> None:
    for name in ("hdfs", "datanode", "static"):  # the Maven artifacts lack them; they are looked for, not into
        (hdfs.conf_dir / "web" / "webapps" / name).mkdir(parents=True)
    (hdfs.conf_dir / "log4j.properties").write_text(LOGGING)
    core = {"fs.defaultFS": hdfs.url, "hadoop.tmp.dir": f"{hdfs.directory}/tmp"}
    settings = {
        "dfs.replication": "1",
        "dfs.permissions.enabled": "true",
        "dfs.namenode.rpc-address": hdfs.authority,
        "dfs.namenode.http-address": f"{HOST}:{hdfs.http_port}",
        "dfs.namenode.name.dir": f"file://{hdfs.directory}/name",
        "dfs.namenode.safemode.extension": "0",
        "dfs.namenode.datanode.registration.ip-hostname-check": "false",
        "dfs.datanode.address": f"{HOST}:0",
        "dfs.datanode.ipc.address": f"{HOST}:0",
        "dfs.datanode.http.address": f"{HOST}:0",
        "dfs.datanode.hostname": HOST,
        "dfs.datanode.data.dir": f"file://{hdfs.directory}/data",
    }
    (hdfs.conf_dir / "core-site.xml").write_text(configuration_xml(core))
    (hdfs.conf_dir / "hdfs-site.xml").write_text(configuration_xml(settings))


def configuration_xml(settings: Mapping[str, str]) -> str:
    """A Hadoop configuration file."""
    lines = [f"  <property><name>{escape(k)}</name><value>{escape(v)}</value></property>" for k, v in settings.items()]
    return "\n".join(["<configuration>", *lines, "</configuration>", ""])


def _environment(directory: Path, user: str) -> dict[str, str]:
    return {"PATH": os.environ.get("PATH", os.defpath), "HADOOP_USER_NAME": user, "HADOOP_HOME": str(directory)}


def _request(method: str, url: str, content: bytes | None = None, timeout_s: float = CALL_TIMEOUT_S) -> bytes:
    """Raises AssertionError with HDFS' words when it refuses."""
    request = urllib.request.Request(url, data=content, method=method)
    request.add_header("Content-Type", "application/octet-stream")
    try:
        with urllib.request.urlopen(request, timeout=timeout_s) as answer:
            body: bytes = answer.read()
            return body
    except urllib.error.HTTPError as error:
        with error:
            raise AssertionError(f"{method} {url}: {error.code} {error.read()[:2000]!r}") from None
