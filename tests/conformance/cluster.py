"""A whole Yodel on this machine as a user starts it: ``yodel local`` in its own process, reached by its ports only.

Nothing here imports Yodel.  What the tests read from ``ready.json`` goes through ``Ready``, the one place that knows
the names of its keys.
"""

from __future__ import annotations

import contextlib
import getpass
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import psutil

from tests.support.java import java_home
from tests.support.processes import command_of

T = TypeVar("T")
ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLS = pathlib.Path(sys.prefix) / "tools"
START_TIMEOUT_S = 60
STOP_TIMEOUT_S = 40
CALL_TIMEOUT_S = 60
LANES_FACTOR = 2  # timeouts are those of a machine that one lane of the tests has for itself
LABEL = "yodel.io/"


def wait_for(what: str, probe: Callable[[], T | None], timeout_s: float, every_s: float = 0.2) -> T:
    """The first truthy answer of ``probe``; AssertionError naming ``what`` when there is none in time."""
    give_up_at = time.monotonic() + timeout_s * LANES_FACTOR
    pause = threading.Event()
    while True:
        answer = probe()
        if answer:
            return answer
        assert time.monotonic() < give_up_at, f"not within {timeout_s * LANES_FACTOR} s: {what}"
        pause.wait(every_s)


class Ready:
    """``ready.json`` as it is now; read again at every use, because a restarted daemon has a new pid."""

    def __init__(self, directory: pathlib.Path) -> None:
        self._directory = directory

    @property
    def _content(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads((self._directory / "ready.json").read_text())
        return content

    @property
    def hadoop_conf_dir(self) -> pathlib.Path:
        return pathlib.Path(self._content["hadoop_conf_dir"])

    @property
    def kubeconfig(self) -> pathlib.Path:
        return pathlib.Path(self._content["kubeconfig"])

    @property
    def rest_url(self) -> str:
        """``http://127.0.0.1:PORT`` without a slash at the end."""
        return str(self._content["rest_url"]).rstrip("/")

    @property
    def nodes(self) -> list[dict[str, str]]:
        """``name``, ``node_id`` (host:port) and ``http`` of each."""
        return list(self._content["nodes"])

    @property
    def pids(self) -> dict[str, int]:
        """Process ids by role; ``rm`` is the ResourceManager."""
        return {name: int(pid) for name, pid in self._content["pids"].items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """A pod as ``kubectl get pods -o json`` tells it."""

    name: str
    namespace: str
    uid: str
    application: str
    container: str
    role: str
    phase: str
    deleting: bool


class Cluster:
    """One running ``yodel local``."""

    def __init__(self, directory: pathlib.Path, process: subprocess.Popen[bytes]) -> None:
        self.directory = directory
        self.process = process
        self.ready = Ready(directory)

    def rest(self, path: str, *, timeout_s: float = 30) -> Any:
        """The JSON at ``/ws/v1/cluster`` + path; raises urllib.error.URLError as urllib does."""
        request = urllib.request.Request(f"{self.ready.rest_url}/ws/v1/cluster{path}")
        request.add_header("Accept", "application/json")
        with urllib.request.urlopen(request, timeout=timeout_s) as answer:
            return json.load(answer)

    def application(self, application_id: str) -> dict[str, Any]:
        application: dict[str, Any] = self.rest(f"/apps/{application_id}")["app"]
        return application

    def ended(self, application_id: str, timeout_s: float = 120) -> dict[str, Any]:
        """The application's record once it is over."""

        def probe() -> dict[str, Any] | None:
            application = self.application(application_id)
            return application if application["state"] in ("FINISHED", "FAILED", "KILLED") else None

        return wait_for(f"the end of {application_id}", probe, timeout_s)

    def kubectl(self, *arguments: str, timeout_s: float = CALL_TIMEOUT_S) -> str:
        """Standard output of stock kubectl; CalledProcessError when it fails."""
        command = [str(TOOLS / "kubectl"), f"--kubeconfig={self.ready.kubeconfig}", *arguments]
        return subprocess.run(command, check=True, timeout=timeout_s, capture_output=True, text=True).stdout

    def pods(self, application_id: str | None = None, role: str | None = None) -> list[Pod]:
        """Pods that Kubernetes has, ended ones left out."""
        selector = ["-l", f"{LABEL}application={application_id}"] if application_id else []
        listing = json.loads(self.kubectl("get", "pods", "-A", "-o", "json", *selector))
        found = [_pod(item) for item in listing["items"]]
        return [p for p in found if p.phase in ("Pending", "Running") and role in (None, p.role)]

    def delete_pod(self, pod: Pod) -> None:
        self.kubectl("delete", "pod", pod.name, "--wait=false", "--namespace", pod.namespace)

    def curl(self, path: str, *arguments: str) -> tuple[int, str]:
        """Plain curl on ``/ws/v1/cluster`` + path as the test's own user: HTTP status and body."""
        url = f"{self.ready.rest_url}/ws/v1/cluster{path}?user.name={getpass.getuser()}"
        command = ["curl", "--silent", "--show-error", "--max-time", "20", "--write-out", "\n%{http_code}"]
        done = subprocess.run([*command, *arguments, url], check=True, timeout=30, capture_output=True, text=True)
        body, status = done.stdout.rsplit("\n", 1)
        return int(status), body

    def curl_json(self, path: str, *arguments: str) -> Any:
        """The JSON of a call that must answer 200."""
        status, body = self.curl(path, "--header", "Accept: application/json", *arguments)
        assert status == 200, body
        return json.loads(body)

    def curl_post(self, path: str, body: Mapping[str, Any]) -> tuple[int, str]:
        return self.curl(path, "--header", "Content-Type: application/json", "--data-binary", json.dumps(body))

    def kill_rm(self) -> int:
        """SIGKILL to the ResourceManager; answers its process id."""
        pid = self.ready.pids["rm"]
        os.kill(pid, signal.SIGKILL)
        return pid

    def log_tail(self, size_bytes: int = 6000) -> str:
        return (self.directory.parent / "yodel-local.log").read_bytes()[-size_bytes:].decode(errors="replace")


def _pod(item: dict[str, Any]) -> Pod:
    labels = item["metadata"].get("labels", {})
    return Pod(
        name=item["metadata"]["name"],
        namespace=item["metadata"]["namespace"],
        uid=item["metadata"]["uid"],
        application=labels.get(LABEL + "application", ""),
        container=labels.get(LABEL + "container-id", ""),
        role=labels.get(LABEL + "role", ""),
        phase=item["status"].get("phase", ""),
        deleting="deletionTimestamp" in item["metadata"],
    )


@contextlib.contextmanager
def running(
    *,
    nodes: int = 2,
    memory_mib: int = 8192,
    vcores: int = 8,
    minimum_mib: int = 1024,
    settings: Mapping[str, str] | None = None,
    colocation: str | None = None,
) -> Iterator[Cluster]:
    """Starts ``yodel local``, waits for it, and stops it; AssertionError when it leaves a process behind.

    With ``colocation``, a preset, there is one node as large as the machine.  ``settings`` are environment variables
    (``YODEL_…``, ``YODEL_NM_…``).  Other OS users' containers work below the directory, so it may be passed through by
    everyone.
    """
    base = pathlib.Path(tempfile.mkdtemp(prefix="yodel-conformance-"))
    base.chmod(0o711)
    directory = base / "local"
    command = [str(pathlib.Path(sys.prefix) / "bin" / "yodel"), "local", "--dir", str(directory), "--ports", "auto"]
    sizes = ["--nodes", str(nodes), "--memory-mib", str(memory_mib), "--vcores", str(vcores)]
    command += sizes if colocation is None else ["--colocation", colocation]
    command += ["--minimum-allocation-mib", str(minimum_mib)]
    environment = {**os.environ, "JAVA_HOME": str(java_home()), **(settings or {})}
    with (base / "yodel-local.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=environment)
    cluster = Cluster(directory, process)
    try:
        wait_for("yodel local ready", lambda: _is_ready(cluster), START_TIMEOUT_S)
        yield cluster
    finally:
        left = _stop(process, directory)
        tail = cluster.log_tail()
        shutil.rmtree(base, ignore_errors=True)
    assert not left, f"left behind after the stop: {left}\n{tail}"


def _is_ready(cluster: Cluster) -> bool:
    assert cluster.process.poll() is None, f"yodel local ended by itself:\n{cluster.log_tail()}"
    return (cluster.directory / "ready.json").exists()


def _stop(process: subprocess.Popen[bytes], directory: pathlib.Path) -> list[str]:
    """SIGTERM, as Ctrl-C's stronger sister; then whatever still belongs to the directory, named and ended."""
    if process.poll() is None:
        process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(STOP_TIMEOUT_S)
    left = list(_processes_of(directory))
    names = [f"{p.pid} {command_of(p)[:200]}" for p in left]
    if process.poll() is None:
        process.kill()
        process.wait(5)
    for survivor in left:
        with contextlib.suppress(psutil.NoSuchProcess):
            survivor.kill()
    return names


def _processes_of(directory: pathlib.Path) -> Iterator[psutil.Process]:
    """Processes that work in the directory or name it on their command line."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
            if process.cwd().startswith(f"{directory}/") or f"{directory}" in command_of(process):
                yield process
