"""A process belongs to its pod, whatever it says: real processes in groups of the kernel, as the kubelet makes them.

A pod is a shell that is the first of its pid namespace, and beside it what a runtime keeps the namespaces with.  Needs
cgroup v1 and root.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from nm_plugin.cgroups.layout import BEST_EFFORT
from nm_plugin.launch.members import SANDBOX_PROGRAM
from tests.support.agent_process import AgentProcess, agent_process
from tests.support.node_agent import container_id, context_of, eventually
from tests.support.parked_pod import ParkedPod
from yodel.domain.resource import Resource
from yodel.domain.states import ContainerExitStatus
from yodel.hadoop_pb import yarn_protos_pb2 as pb

MOUNT = Path("/sys/fs/cgroup")
CONTROLLERS = ("cpu", "cpuacct", "memory")
UID, FOREIGN = f"0a-{os.getpid():x}", f"0b-{os.getpid():x}"
"""As unique on a machine as a pod's are: other tests make groups of pods beside."""
CONTAINER = container_id(2)
GRANTED = Resource(64, 1)
HOLD = """
import time
held = bytearray(160 << 20)
time.sleep(600)
"""
HEADLESS = """
import ctypes, threading, time
held = bytearray(160 << 20)
threading.Thread(target=time.sleep, args=[600]).start()
ctypes.CDLL(None).syscall(EXIT, 0)
""".replace("EXIT", {"x86_64": "60", "aarch64": "93"}[os.uname().machine])
"""The first thread of a process alone ends, so the process looks as if it had."""
DEAF = """
until [ -e ROOT/go ]; do sleep 0.05; done
for other in $(seq 2 60); do [ $other = $$ ] || kill -9 $other; done 2>/dev/null
exec 9<>"$YODEL_HANDOVER_DIR/signal"
trap '' TERM
touch ROOT/held
while :; do sleep 1; done
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A node with one pod that is named for the container, and a foreign one."""

    root: str
    agent: AgentProcess
    sandbox: asyncio.subprocess.Process

    def groups(self, uid: str, name: str) -> list[Path]:
        return [MOUNT / controller / self.root / Path(*BEST_EFFORT, f"pod{uid}", name) for controller in CONTROLLERS]

    def left(self) -> list[str]:
        """Return what runs in the container's pod, beside the sandbox."""
        (procs,) = (group / "cgroup.procs" for group in self.groups(UID, "container") if "memory" in group.parts)
        return procs.read_text().split()

    async def runs(self, script: str, retries: int = 0) -> ParkedPod:
        """A container with a script of the user's own, which is started again so often."""
        pod = await self.agent.pod(CONTAINER, self.groups(UID, "container"))
        files = {
            "hold.py": HOLD,
            "headless.py": HEADLESS,
            "user.sh": script.replace("PYTHON", sys.executable).replace("ROOT", str(self.agent.root)),
        }
        for name, text in files.items():
            (self.agent.root / name).write_text(text)
        context = context_of(f"exec /bin/bash {self.agent.root}/user.sh")
        if retries:
            context.container_retry_context.retry_policy = pb.RETRY_ON_ALL_ERRORS
            context.container_retry_context.max_retries = retries
        await self.agent.launch(CONTAINER, context, resource=GRANTED, pod_uid=UID)
        await self.agent.tracker.until_running(CONTAINER)
        return pod

    async def ended(self) -> int:
        """Its exit status, once it is complete: then nothing but the sandbox is in its pod."""
        status = await self.agent.tracker.until_complete(CONTAINER)
        assert self.left() == []
        assert self.sandbox.returncode is None
        return int(status.exit_status)


@pytest.fixture
def root() -> Iterator[str]:
    name = f"yodel-pods-{os.getpid()}"
    pods = [
        (*BEST_EFFORT, f"pod{uid}", *below) for uid in (UID, FOREIGN) for below in ((), ("sandbox",), ("container",))
    ]
    groups = [(), BEST_EFFORT[:1], BEST_EFFORT, *pods]
    paths = [MOUNT / controller / Path(name, *names) for controller in CONTROLLERS for names in groups]
    for path in paths:
        path.mkdir()
    yield name
    for path in reversed(paths):
        path.rmdir()


async def _start(groups: list[Path], *words: str, **environment: str) -> asyncio.subprocess.Process:
    joins = "".join(f"echo 0 > {group}/cgroup.procs; " for group in groups)
    return await asyncio.create_subprocess_exec("/bin/sh", "-c", f'{joins} exec "$@"', "sh", *words, env=environment)


@pytest.fixture(params=["groups are seen", "processes only"])
async def node(root: str, tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Node]:
    pause = shutil.copy(shutil.which("sleep") or "", tmp_path / SANDBOX_PROGRAM)
    seen = {"cgroup_mount": str(MOUNT), "cgroup_root": f"/{root}"} if request.param == "groups are seen" else {}
    async with agent_process(kill_wait_s=0.5, **seen) as agent:
        await agent.start()
        made = Node(root=root, agent=agent, sandbox=await _start([], "true"))
        sandbox = await _start(made.groups(UID, "sandbox"), pause, "600")
        try:
            yield Node(root=root, agent=agent, sandbox=sandbox)
        finally:
            sandbox.kill()
            await sandbox.wait()
            for pid in made.left():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), 9)
            await eventually(lambda: not made.left())


@pytest.mark.parametrize(
    "hides",
    [
        "exec env -i PYTHON ROOT/hold.py",
        "(setsid env -i PYTHON ROOT/hold.py &); sleep 600",
        "(setsid env -i PYTHON ROOT/headless.py &); sleep 600",
    ],
)
async def test_what_has_shaken_off_its_environment_and_session_is_measured(node: Node, hides: str) -> None:
    await node.runs(hides)
    assert await node.ended() == ContainerExitStatus.KILLED_EXCEEDED_PMEM
    status = node.agent.tracker.last_status(CONTAINER)
    assert status is not None
    assert "beyond the 'PHYSICAL' memory limit" in status.diagnostics


async def test_who_holds_the_fifo_of_his_signals_ends_with_all_of_his_pod(node: Node) -> None:
    await node.runs(DEAF)
    (node.agent.root / "go").touch()  # not before its shell has written that it runs
    await eventually((node.agent.root / "held").exists)
    await node.agent.stop(CONTAINER)
    assert await node.ended() == ContainerExitStatus.KILLED_BY_APPMASTER


async def test_who_is_killed_and_says_that_he_has_ended_has_not(node: Node) -> None:
    says = 'echo 0 > "$YODEL_HANDOVER_DIR/exit.mine"; mv "$YODEL_HANDOVER_DIR/exit.mine" "$YODEL_HANDOVER_DIR/exit"'
    await node.runs(f"trap '{says}' TERM; (trap '' TERM; setsid sleep 600 &); while :; do sleep 1; done")
    await node.agent.stop(CONTAINER)
    assert await node.ended() == ContainerExitStatus.KILLED_BY_APPMASTER


async def test_who_says_that_he_has_ended_and_lives_on_is_ended(node: Node) -> None:
    await node.runs('sleep 1; echo 0 > "$YODEL_HANDOVER_DIR/exit"; while :; do sleep 1; done')
    status = await node.agent.tracker.until_complete(CONTAINER)
    assert status.exit_status == 0
    await eventually(lambda: not node.left())


async def test_a_script_that_ends_by_itself_leaves_its_pod_to_its_shell(node: Node) -> None:
    pod = await node.runs("sleep 1; exit 4")
    assert await pod.wait() == 4
    status = await node.agent.tracker.until_complete(CONTAINER)
    assert status.exit_status == 4


async def test_a_pod_that_takes_another_script_keeps_its_shell_and_nothing_else(node: Node) -> None:
    """The pod does not wait for a third script when it is killed."""
    once = "touch ROOT/once; setsid sleep 601 & sleep 1; exit 3"
    pod = await node.runs(f"[ ! -e ROOT/once ] || {{ touch ROOT/again; exec sleep 600; }}; {once}", retries=1)
    await eventually((node.agent.root / "again").exists)
    await node.agent.tracker.until_running(CONTAINER)
    await eventually(lambda: not any(b"601" in Path("/proc", pid, "cmdline").read_bytes() for pid in node.left()))
    await node.agent.stop(CONTAINER)
    assert await node.ended() == ContainerExitStatus.KILLED_BY_APPMASTER
    assert await pod.wait() == 128 + signal.SIGTERM, "its shell has ended by itself"


async def test_a_process_of_another_pod_that_bears_the_marks_is_nobody_s(node: Node) -> None:
    pod = await node.runs("sleep 600")
    marks = {"CONTAINER_ID": str(CONTAINER), "LOCAL_DIRS": str(node.agent.root / "local")}
    foreign = await _start(node.groups(FOREIGN, "container"), "sleep", "600", **marks)
    try:
        await node.agent.stop(CONTAINER)
        assert await node.ended() == ContainerExitStatus.KILLED_BY_APPMASTER
        await pod.wait()
        await eventually(lambda: node.agent.state(CONTAINER) == "")
        assert foreign.returncode is None
    finally:
        foreign.kill()
        await foreign.wait()
