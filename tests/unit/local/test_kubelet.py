"""The kubelet with real processes of this machine; the tests wait for what happens, never for time."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from yodel.local import processes, start_program, times
from yodel.local.events import EventRecorder
from yodel.local.journal import Journal
from yodel.local.kubelet import Kubelet
from yodel.local.nodes import LocalNode
from yodel.local.objects import ObjectChange, ObjectStore
from yodel.local.processes import list_processes
from yodel.local.registry import DeleteOptions, Registry
from yodel.local.statuses import Json

TIMEOUT_S = 60.0
NODES = (LocalNode(name="n1", address="127.0.0.5"),)


class Machine:
    """A store with a kubelet on it; ``changes`` are all changes of pods so far."""

    def __init__(self, store: ObjectStore, directory: Path) -> None:
        self.store, self.directory = store, directory
        self.registry = Registry(store, times.now)
        self.kubelet = Kubelet(store, EventRecorder(store, times.now), NODES, directory / "pods", times.now)
        self.changes: list[ObjectChange] = []
        self._changed = asyncio.Event()
        store.listen(self._on_change)

    def run_pod(self, script: str, name: str = "p", container: Json | None = None, **spec: Any) -> str:
        """Create a pod on the node; its uid."""
        main = {"name": "main", "image": "x", "command": ["/bin/sh", "-c", script], **(container or {})}
        pod = {"metadata": {"name": name}, "spec": {"restartPolicy": "Never", "nodeName": "n1", "containers": [main]}}
        return self.registry.create("pods", "default", {**pod, "spec": {**pod["spec"], **spec}}).uid  # type: ignore[dict-item]

    def delete(self, grace_s: int, name: str = "p") -> None:
        self.registry.delete("pods", "default", name, DeleteOptions(grace_s=grace_s))

    def pod(self, name: str = "p") -> Json:
        return self.store.get("pods", "default", name).item

    def main(self, name: str = "p") -> Json:
        state: Json = self.pod(name)["status"]["containerStatuses"][0]["state"]
        return state

    async def until(self, check: Callable[[], bool]) -> None:
        async with asyncio.timeout(TIMEOUT_S):
            while not check():
                self._changed.clear()
                await self._changed.wait()

    async def until_phase(self, phase: str, name: str = "p") -> None:
        await self.until(lambda: self.pod(name)["status"]["phase"] == phase)

    async def until_gone(self, name: str = "p") -> None:
        await self.until(lambda: self.store.find("pods", "default", name) is None)

    async def log(self, uid: str) -> str:
        record = self.store.get("pods", "default", "p")
        assert record.uid == uid
        return b"".join([chunk async for chunk in self.kubelet.read(record, {})]).decode()

    def _on_change(self, change: ObjectChange) -> None:
        if change.resource == "pods":
            self.changes.append(change)
        self._changed.set()


@contextlib.asynccontextmanager
async def a_machine(directory: Path) -> AsyncIterator[Machine]:
    """Stopping it leaves the processes alone, as a crash would."""
    store = ObjectStore(Journal(directory / "objects.log"))
    machine = Machine(store, directory)
    if store.find("namespaces", "", "default") is None:
        machine.registry.create("namespaces", "", {"metadata": {"name": "default"}})
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(machine.kubelet.run())
        try:
            yield machine
        finally:
            running.cancel()
    store.close()


@pytest.fixture
async def machine(tmp_path: Path) -> AsyncIterator[Machine]:
    async with a_machine(tmp_path) as machine:
        yield machine
        await machine.kubelet.stop_pods(0.0)


def processes_of(uid: str) -> list[int]:
    return [entry.pid for entry in list_processes() if entry.pod_uid == uid]


async def wait_for_file(path: Path) -> str:
    """Read from a FIFO that the pod writes: the test goes on at the very moment."""
    async with asyncio.timeout(TIMEOUT_S):
        return await asyncio.to_thread(path.read_text)


async def test_pod_runs_and_succeeds(machine: Machine) -> None:
    uid = machine.run_pod("echo hello; echo $YODEL_POD_UID >&2")
    await machine.until_phase("Succeeded")
    phases = [change.record.item["status"]["phase"] for change in machine.changes]
    assert phases == sorted(phases, key=["Pending", "Running", "Succeeded"].index)
    terminated = machine.main()["terminated"]
    assert (terminated["exitCode"], terminated["reason"]) == (0, "Completed")
    assert machine.pod()["status"]["podIP"] == machine.pod()["status"]["hostIP"] == "127.0.0.5"
    assert await machine.log(uid) == f"hello\n{uid}\n"
    reasons = [record.item["reason"] for record in machine.store.records("events")]
    assert reasons == ["Pulled", "Created", "Started"]


@pytest.mark.parametrize(("script", "code"), [("exit 7", 7), ("kill -TERM $$$$", 143), ("kill -KILL $$$$", 137)])
async def test_failure_has_its_exit_code(machine: Machine, script: str, code: int) -> None:
    machine.run_pod(script)
    await machine.until_phase("Failed")
    terminated = machine.main()["terminated"]
    assert (terminated["exitCode"], terminated["reason"]) == (code, "Error")


async def test_pod_that_does_not_fit_is_refused_and_the_next_gets_its_room(machine: Machine) -> None:
    node = machine.registry.create("nodes", "", {"metadata": {"name": "n1"}, "spec": {}})
    status = {"allocatable": {"pods": "10", "kubernetes.io/batch-cpu": "1000"}}
    machine.store.replace("nodes", {**node.item, "status": status})
    size = {"resources": {"requests": {"kubernetes.io/batch-cpu": "600"}}}
    machine.run_pod("exec sleep 60", "first", size)
    uid = machine.run_pod("echo never", "second", size)
    await machine.until_phase("Failed", "second")
    refused = machine.pod("second")["status"]
    assert refused["reason"] == "OutOfkubernetes.io/batch-cpu"
    numbers = "requested: 600, used: 600, capacity: 1000"
    text = f"Node didn't have enough resource: kubernetes.io/batch-cpu, {numbers}"
    assert refused["message"] == f"Pod was rejected: {text}"
    assert not (machine.directory / "pods" / uid).exists()
    await machine.until_phase("Running", "first")
    machine.delete(0, "first")
    await machine.until_gone("first")
    machine.run_pod("true", "third", size)
    await machine.until_phase("Succeeded", "third")


async def test_nothing_of_an_ended_pod_is_left(machine: Machine) -> None:
    uid = machine.run_pod("(trap '' TERM HUP; setsid sleep 300) & (env -i sleep 300) & exit 0")
    await machine.until_phase("Succeeded")
    assert processes_of(uid) == []


async def test_nothing_is_left_of_a_pod_whose_shim_was_killed(machine: Machine, tmp_path: Path) -> None:
    """The kubelet finds the orphan, which nobody adopted, by the mark in its environment."""
    ready = tmp_path / "ready"
    os.mkfifo(ready)
    uid = machine.run_pod(f"(setsid sleep 300) & echo $PPID > {ready}; exec sleep 300")
    os.kill(int(await wait_for_file(ready)), signal.SIGKILL)
    await machine.until_phase("Failed")
    assert machine.main()["terminated"]["exitCode"] == 137
    assert processes_of(uid) == []


async def test_nothing_is_left_of_a_container_whose_start_was_not_answered(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    received = start_program.received

    def lost(connection: socket.socket) -> None:
        received(connection)
        raise EOFError

    monkeypatch.setattr(start_program, "received", lost)
    monkeypatch.setattr(processes, "_SHIM", "sleep 1; " + processes._SHIM)  # nothing is recorded yet when it is killed
    uid = machine.run_pod("exec sleep 300")
    await machine.until_phase("Failed")
    assert machine.main()["terminated"]["reason"] == "RunContainerError"
    async with asyncio.timeout(TIMEOUT_S):
        while processes_of(uid):  # noqa: ASYNC110 - it has failed before they are killed
            await asyncio.sleep(0.01)


async def test_deletion_is_announced_before_the_signal_and_gives_grace(machine: Machine, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    os.mkfifo(ready)
    machine.run_pod(f"trap 'exit 9' TERM; echo yes > {ready}; while :; do sleep 0.02; done")
    await wait_for_file(ready)
    machine.delete(10)
    assert machine.pod()["metadata"]["deletionGracePeriodSeconds"] == 10
    await machine.until_gone()
    kinds = [(change.kind, "deletionTimestamp" in change.record.item["metadata"]) for change in machine.changes]
    assert kinds[-1] == ("DELETED", True)
    last = machine.changes[-1].record.item
    assert last["status"]["phase"] == "Failed"
    assert last["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 9


async def test_stubborn_pod_is_killed_after_its_grace(machine: Machine, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    os.mkfifo(ready)
    uid = machine.run_pod(f"trap '' TERM; echo yes > {ready}; while :; do sleep 0.02; done")
    await wait_for_file(ready)
    machine.delete(1)
    await machine.until_gone()
    state = machine.changes[-1].record.item["status"]["containerStatuses"][0]["state"]
    assert state["terminated"]["exitCode"] == 137
    assert processes_of(uid) == []


async def test_forced_deletion_removes_at_once_and_kills(machine: Machine) -> None:
    uid = machine.run_pod("sleep 300")
    await machine.until_phase("Running")
    machine.delete(0)
    assert machine.store.find("pods", "default", "p") is None
    async with asyncio.timeout(TIMEOUT_S):
        while processes_of(uid):  # noqa: ASYNC110 - the object that could tell is gone
            await asyncio.sleep(0.01)


async def test_missing_directory_keeps_the_pod_waiting_until_it_is_deleted(machine: Machine, tmp_path: Path) -> None:
    path = str(tmp_path / "absent")
    mounts = {"volumeMounts": [{"name": "v", "mountPath": path}]}
    machine.run_pod("true", container=mounts, volumes=[{"name": "v", "hostPath": {"path": path, "type": "Directory"}}])
    await machine.until(lambda: "containerStatuses" in machine.pod()["status"])
    assert machine.pod()["status"]["phase"] == "Pending"
    assert machine.main()["waiting"]["reason"] == "FailedMount"
    assert "FailedMount" in [record.item["reason"] for record in machine.store.records("events")]
    machine.delete(30)
    await machine.until_gone()


async def test_directory_or_create_is_made_with_mode_0755(machine: Machine, tmp_path: Path) -> None:
    path = tmp_path / "made" / "here"
    mounts = {"volumeMounts": [{"name": "v", "mountPath": str(path)}]}
    volume = {"name": "v", "hostPath": {"path": str(path), "type": "DirectoryOrCreate"}}
    machine.run_pod(f"stat -c %a {path}", container=mounts, volumes=[volume])
    await machine.until_phase("Succeeded")
    assert path.stat().st_mode & 0o777 == 0o755


async def test_unknown_program_is_a_start_error(machine: Machine) -> None:
    machine.run_pod("", container={"command": ["no-such-program"]})
    await machine.until_phase("Failed")
    terminated = machine.main()["terminated"]
    assert (terminated["exitCode"], terminated["reason"]) == (128, "StartError")
    assert "no-such-program" in terminated["message"]


async def test_active_deadline_ends_a_pod(machine: Machine) -> None:
    machine.run_pod("sleep 300", activeDeadlineSeconds=1, terminationGracePeriodSeconds=1)
    await machine.until_phase("Failed")
    assert machine.pod()["status"]["reason"] == "DeadlineExceeded"


async def test_pod_runs_as_the_user_it_names(machine: Machine) -> None:
    user, group = (12345, 23456) if os.geteuid() == 0 else (os.geteuid(), os.getegid())
    security = {"runAsUser": user, "runAsGroup": group}
    uid = machine.run_pod("id -u; id -g; echo again > /dev/stdout", securityContext=security)
    await machine.until_phase("Succeeded")
    assert await machine.log(uid) == f"{user}\n{group}\nagain\n"


async def test_several_containers_share_the_pods_fate(machine: Machine) -> None:
    containers = [
        {"name": name, "image": "x", "command": ["/bin/sh", "-c", script]}
        for name, script in (("quick", "exit 0"), ("slow", "exit 3"))
    ]
    machine.run_pod("", containers=containers)
    await machine.until_phase("Failed")
    states = {entry["name"]: entry["state"] for entry in machine.pod()["status"]["containerStatuses"]}
    assert {name: state["terminated"]["exitCode"] for name, state in states.items()} == {"quick": 0, "slow": 3}


async def test_restart_adopts_the_running_and_learns_of_the_ended(tmp_path: Path) -> None:
    go, ready = tmp_path / "go", tmp_path / "ready"
    os.mkfifo(go)
    os.mkfifo(ready)
    async with a_machine(tmp_path) as first:
        running = first.run_pod(f"echo before; read x < {go}; echo after; exit 5")
        ended = first.run_pod(f"echo yes > {ready}; exit 6", name="q")
        gone = first.run_pod("sleep 300", name="r")
        for name in ("p", "r"):
            await first.until_phase("Running", name)
    await wait_for_file(ready)
    async with asyncio.timeout(TIMEOUT_S):
        # The running one is its first process and the shell below.  Nobody is there to tell.
        while processes_of(ended) or len(processes_of(running)) < 2:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    pids = processes_of(running)
    _forget_pod(tmp_path, "r")
    async with a_machine(tmp_path) as second:
        await second.until_phase("Failed", "q")
        assert second.main("q")["terminated"]["exitCode"] == 6
        assert processes_of(running) == pids
        assert processes_of(gone) == []
        await asyncio.to_thread(go.write_text, "go\n")
        await second.until_phase("Failed")
        assert second.main()["terminated"]["exitCode"] == 5
        assert await second.log(running) == "before\nafter\n"


def _forget_pod(directory: Path, name: str) -> None:
    """Its object is removed while no kubelet looks."""
    store = ObjectStore(Journal(directory / "objects.log"))
    store.remove("pods", "default", name)
    store.close()
