"""A MapReduce job on Yodel in the test's hand: its tasks are stopped where a test wants them, and looked at.

A held task is its real process, stopped by a signal, so the job is surely in the middle of its work while something is
broken around it.  How far the tasks are is asked of the ApplicationMaster itself, through the web proxy.
"""

from __future__ import annotations

import contextlib
import getpass
import json
import os
import signal
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import psutil

from tests.conformance.clients.mapreduce import EXAMPLES
from tests.conformance.clients.outcome import counters_in
from tests.conformance.clients.target import JOB_TIMEOUT_S, Target, settings
from tests.conformance.cluster import Cluster, wait_for
from tests.conformance.spark_submit import Submission

CALL_TIMEOUT_S = 600
START_TIMEOUT_S = 600  # a JVM of a task, on a machine that is busy with other things
WORDS_OF_A_FILE = [f"word{number % 50}" for number in range(2000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A Yodel on the rig's HDFS, and a Hadoop client of it."""

    cluster: Cluster
    target: Target

    def agent_dir(self, node: int = 0) -> Path:
        return self.cluster.directory / "nodes" / self.cluster.ready.nodes[node]["name"]

    def example(self, name: str, *arguments: object, **options: object) -> HeldMapReduce:
        """One of Hadoop's examples, started; ``options`` are properties with ``_`` for ``.``."""
        words = settings({key.replace("_", "."): value for key, value in options.items()})
        return HeldMapReduce(self, self.target.java(EXAMPLES, name, *words, *arguments))

    def word_files(self, maps: int) -> str:
        """A new folder with ``in``, which makes that many maps of a wordcount."""
        folder = self.target.folder()
        text = " ".join(WORDS_OF_A_FILE).encode()
        for number in range(maps):
            self.target.hadoop.hdfs.put(f"{folder}/in/{number}", text, user="hdfs")
        return folder

    def counted(self, folder: str) -> Counter[str]:
        """Return what a wordcount wrote to ``folder``."""
        hdfs = self.target.hadoop.hdfs
        parts = [hdfs.read(f"{folder}/{name}").decode() for name in hdfs.names(folder) if name.startswith("part-")]
        rows = (line.split("\t") for part in parts for line in part.splitlines())
        return Counter({word: int(count) for word, count in rows})


def expected_count(maps: int) -> Counter[str]:
    return Counter({word: count * maps for word, count in Counter(WORDS_OF_A_FILE).items()})


class HeldMapReduce:
    """A running job.  Task names are ``m_000000`` or ``r_000001``; attempts count from 0 as Hadoop's do."""

    def __init__(self, site: Site, client: Submission) -> None:
        self.site, self.client = site, client
        self.application_id = client.application_id()
        self._held: dict[str, psutil.Process] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Clean up after a test that gave up: nothing of it stays stopped."""
        for task in list(self._held):
            self.release(task)
        self.client.stop()

    def hold(self, task: str, attempt: int = 0) -> psutil.Process:
        """Stops the task's process as soon as there is one."""
        self._held[task] = held_task(self.application_id, task, attempt)
        return self._held[task]

    def release(self, task: str) -> None:
        with contextlib.suppress(psutil.NoSuchProcess):
            self._held.pop(task).send_signal(signal.SIGCONT)

    def tasks(self) -> dict[str, dict[str, Any]]:
        """Return what the ApplicationMaster knows of each task; empty while nobody answers."""
        url = f"{self._job_url}/tasks?user.name={getpass.getuser()}"
        answer = _answer(url) or {}
        return {task["id"][-8:]: task for task in (answer.get("tasks") or {}).get("task", [])}

    def until(self, what: str, states: Mapping[str, str]) -> None:
        """Until each of the tasks is in its state."""

        def reached() -> bool:
            tasks = self.tasks()
            return all(task in tasks and tasks[task]["state"] == state for task, state in states.items())

        wait_for(what, reached)

    def until_copied(self, reduce: str, maps: int) -> None:
        """Until the reducer has fetched the output of that many maps."""

        def copied() -> bool:
            task = self.tasks().get(reduce, {"status": ""})
            return f"({maps} of " in (task.get("status") or "")

        wait_for(f"{reduce} with the output of {maps} maps", copied)

    def counters(self) -> dict[str, int]:
        """Waits for the end of a job that must succeed; its counters without the groups' names."""
        result = self.client.result(JOB_TIMEOUT_S)
        assert result.returncode == 0, result.text[-6000:]
        app = self.site.cluster.ended(self.application_id)
        assert (app["state"], app["finalStatus"]) == ("FINISHED", "SUCCEEDED"), app["diagnostics"]
        return {name.rpartition(": ")[2]: value for name, value in counters_in(result.text).items()}

    def attempts(self) -> list[int]:
        """Return the attempts of the application, as the ResourceManager lists them."""
        listed = self.site.cluster.rest(f"/apps/{self.application_id}/appattempts")
        return [attempt["id"] for attempt in listed["appAttempts"]["appAttempt"]]

    def pods(self, role: str | None = None) -> dict[str, str]:
        """Uid by container."""
        return {pod.container: pod.uid for pod in self.site.cluster.pods(self.application_id, role)}

    def nodes_of(self, role: str) -> dict[str, str]:
        """Kubernetes node by container, of the pods that have one."""
        listed = json.loads(self.site.cluster.kubectl("get", "pods", "-A", "-o", "json"))["items"]
        placed = {item["metadata"]["name"]: item["spec"].get("nodeName", "") for item in listed}
        pods = self.site.cluster.pods(self.application_id, role)
        return {pod.container: placed[pod.name] for pod in pods if placed.get(pod.name)}

    def successful_attempts(self) -> dict[str, list[str]]:
        """Ids of each task's attempts that succeeded, from the JobHistoryServer."""
        job = self.application_id.replace("application", "job")
        url = f"{self.site.target.hadoop.history_url}/ws/v1/history/mapreduce/jobs/{job}/tasks"
        tasks = wait_for(f"{job} in the history", lambda: _answer(url))["tasks"]["task"]
        return {task["id"][-8:]: [task["successfulAttempt"]] for task in tasks}

    @property
    def _job_url(self) -> str:
        job = self.application_id.replace("application", "job")
        return f"{self.site.cluster.ready.rest_url}/proxy/{self.application_id}/ws/v1/mapreduce/jobs/{job}"


def held_task(application_id: str, task: str, attempt: int = 0) -> psutil.Process:
    """Return the task's process, stopped as soon as there is one."""

    def probe() -> psutil.Process | None:
        for process in processes_of(application_id):
            with contextlib.suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
                if process.name() == "java" and any(f"_{task}_{attempt}" in part for part in process.cmdline()):
                    return process
        return None

    process = wait_for(f"a process of {task}", probe, every_s=0.05)
    process.send_signal(signal.SIGSTOP)
    return process


def processes_of(application_id: str) -> Iterator[psutil.Process]:
    """Processes that a container of the application started, wherever they work now."""
    digits = application_id.replace("application_", "")
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
            container = process.environ().get("CONTAINER_ID", "")
            if f"_{digits}_" in container or f"application_{digits}/" in f"{process.cwd()}/":
                yield process


def assert_nothing_is_left(site: Site, application_id: str) -> None:
    """No pod, no process, no file of it but the aggregated logs and what the ResourceManager tells about it."""
    cluster, digits = site.cluster, application_id.replace("application_", "")
    wait_for("the end of its pods", lambda: not cluster.pods(application_id))
    wait_for("the end of its processes", lambda: not list(processes_of(application_id)))

    def files() -> list[Path]:
        return [
            path for top in ("nodes", "handover") for path in _below(cluster.directory / top) if digits in path.name
        ]

    try:
        wait_for("the removal of its files", lambda: not files())
    except AssertionError as error:
        raise AssertionError(f"{error}: {[str(path) for path in files()][:20]}") from None


def _below(top: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(top):
        yield from (Path(folder, name) for name in (*folders, *files))


def _answer(url: str) -> dict[str, Any] | None:
    """The JSON there; None while nobody answers with any."""
    request = urllib.request.Request(url, headers={"Accept": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=CALL_TIMEOUT_S) as answer:
            content: dict[str, Any] = json.load(answer)
            return content
    except (OSError, urllib.error.URLError, ValueError):
        return None
