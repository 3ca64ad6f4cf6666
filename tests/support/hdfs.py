"""A running HDFS in the tests' hands: files are put and looked at over WebHDFS, which answers at once.

``shell`` is Hadoop's own command line and costs a Java start.  Users are believed by name; the superuser is ``hdfs``.
Who starts one is ``tests.support.hadoop``, and ``tests.rigs.kubernetes`` for the scenarios.
"""

from __future__ import annotations

import json
import os
import string
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode
from xml.sax.saxutils import escape

from tests.support.java import java_home

SUPERUSER = "hdfs"
HOST = "127.0.0.1"
STEP_TIMEOUT_S = 600
CALL_TIMEOUT_S = 600
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

    def is_ready(self) -> bool:
        """The NameNode can place blocks: it has a DataNode and no safe mode."""
        query = "Hadoop:service=NameNode,name=FSNamesystemState"
        try:
            found = _request("GET", f"http://{HOST}:{self.http_port}/jmx?qry={query}", timeout_s=5)
            beans = json.loads(found)["beans"]
        except (OSError, urllib.error.URLError, ValueError):
            return False
        return bool(beans) and beans[0]["NumLiveDataNodes"] == 1 and beans[0]["FSState"] == "Operational"

    def wait_until_ready(self) -> None:
        """Blocks until files can be written, at most STEP_TIMEOUT_S."""
        give_up_at = time.monotonic() + STEP_TIMEOUT_S
        while not (self.is_ready() and self._can_write()):
            assert time.monotonic() < give_up_at, "HDFS is not ready"
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


def java_command(conf_dir: Path, jars: Path) -> list[str]:
    """Java with Hadoop on its class path; what is missing is the class and its arguments."""
    return [f"{java_home()}/bin/java", *JVM_OPTIONS, "-cp", f"{conf_dir}:{conf_dir}/web:{jars}/*"]


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
