"""The parked shell as a real process: launch, exits, signals and deaths, under every shell an image may bring."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from yodel.translator.parked_script import SCRIPT

TIMEOUT_S = 60.0
"""An idle parked pod has to go long before the grace period of a pod (5 s and more) is over."""
SHELLS = [["dash"], ["bash"], ["bash", "--posix"], ["busybox", "sh"]]


@dataclass(slots=True)
class Parked:
    """One parked shell and the node agent's side of its hand-over directory."""

    process: asyncio.subprocess.Process
    directory: Path

    async def launch(self, script: str) -> None:
        """Do what a node agent does: FIFOs, launch script, and the two lines."""
        logs = self.directory / "logs"
        logs.mkdir()
        (self.directory / "launch.sh").write_text(script)
        self.make_fifos()
        lines = f"{self.directory / 'launch.sh'}\n{logs}\n"
        await self.say("go", lines)

    def make_fifos(self) -> None:
        os.mkfifo(self.directory / "signal")
        os.mkfifo(self.directory / "go")

    async def say(self, fifo: str, text: str) -> None:
        """Write to a FIFO as soon as somebody reads it."""
        async with asyncio.timeout(TIMEOUT_S):
            while True:
                with suppress(OSError):
                    descriptor = os.open(self.directory / fifo, os.O_WRONLY | os.O_NONBLOCK)
                    break
                await asyncio.sleep(0.01)
        os.write(descriptor, text.encode())
        os.close(descriptor)

    async def file(self, name: str, is_there: Callable[[str], bool] = bool) -> str:
        """A file's text, once it is there and says what is waited for."""
        async with asyncio.timeout(TIMEOUT_S):
            while True:
                with suppress(FileNotFoundError):
                    text = (self.directory / name).read_text().strip()
                    if is_there(text):
                        return text
                await asyncio.sleep(0.01)

    async def end(self) -> int:
        """The shell's exit status."""
        async with asyncio.timeout(TIMEOUT_S):
            return await self.process.wait()

    async def output(self) -> str:
        assert self.process.stdout is not None
        async with asyncio.timeout(TIMEOUT_S):
            return (await self.process.stdout.read()).decode()


def is_running(pid: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def tools(directory: Path, without: str) -> str:
    """A PATH with what the script may use, less one tool."""
    bin_dir = directory / "bin"
    bin_dir.mkdir()
    for tool in {"sleep", "mv", "tail", "setsid", "cat", "sh", "bash"} - {without}:
        found = shutil.which(tool)
        assert found is not None, f"{tool} is missing on this machine"
        (bin_dir / tool).symlink_to(found)
    return str(bin_dir)


async def start(directory: Path, shell: list[str], path: str | None = None) -> Parked:
    executable = shutil.which(shell[0])
    assert executable is not None
    process = await asyncio.create_subprocess_exec(
        executable,
        *shell[1:],
        "-c",
        SCRIPT,
        env={
            "PATH": path or os.environ["PATH"],
            "YODEL_HANDOVER_DIR": str(directory),
            "YODEL_CONTAINER_ID": "container_1_0001_01_000002",
        },
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    return Parked(process, directory)


@pytest.fixture(params=[s for s in SHELLS if shutil.which(s[0])], ids=" ".join)
async def parked(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Parked]:
    """A shell that waits; whatever is left of it is killed at the end."""
    handover = tmp_path / "handover"
    handover.mkdir()
    pod = await start(handover, request.param)
    yield pod
    groups = [pod.process.pid]
    with suppress(FileNotFoundError, ValueError):
        groups.append(int((handover / "pid").read_text()))
    for group in groups:
        with suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)
    await pod.end()


@pytest.mark.parametrize("status", [0, 1, 42, 255])
async def test_exit_status_of_the_script_is_the_pods(parked: Parked, status: int) -> None:
    await parked.launch(f"exit {status}\n")

    assert await parked.end() == status
    assert (parked.directory / "exit").read_text().strip() == str(status)


async def test_output_goes_to_the_containers_logs_and_into_the_pods_own(parked: Parked) -> None:
    logs = parked.directory / "logs"
    await parked.launch(f"echo hello >{logs}/stdout; echo trouble >{logs}/stderr; exit 3\n")

    text = await parked.output()
    assert await parked.end() == 3
    assert "hello" in text
    assert "trouble" in text
    assert "container_1_0001_01_000002 exited with status 3" in text


async def test_script_runs_in_a_session_of_its_own_without_input(parked: Parked) -> None:
    result = parked.directory / "result"
    session = "read -r pid comm state parent group session rest </proc/$$/stat"
    await parked.launch(f'read -r x; code=$?; {session}; echo "$code $$ $session" >{result}\n')

    await parked.end()
    code, pid, session = result.read_text().split()
    assert code == "1"
    assert pid == session == (parked.directory / "pid").read_text().strip()


async def test_term_ends_an_idle_pod_at_once(parked: Parked) -> None:
    assert parked.process.stdout is not None
    await parked.process.stdout.readline()
    parked.process.terminate()
    assert await parked.end() == 143


async def test_term_ends_a_pod_that_waits_at_the_fifo_at_once(parked: Parked) -> None:
    assert parked.process.stdout is not None
    await parked.process.stdout.readline()  # its trap is set: a busy machine may start a shell late
    parked.make_fifos()
    await asyncio.sleep(0.7)  # past the poll's longest step: it is in open() now
    parked.process.terminate()

    assert await parked.end() == 143
    assert not (parked.directory / "exit").exists()


async def test_pod_that_was_told_half_ends(parked: Parked) -> None:
    """A node agent that dies between the two lines."""
    parked.make_fifos()
    await parked.say("go", "/no/such/script")
    assert await parked.end() == 1
    assert not (parked.directory / "pid").exists()


async def test_term_reaches_the_script_which_decides_its_own_exit(parked: Parked) -> None:
    ready = parked.directory / "ready"
    await parked.launch(f"trap 'exit 7' TERM; echo y >{ready}; while :; do sleep 0.05; done\n")
    await parked.file("ready")
    parked.process.terminate()

    assert await parked.end() == 7
    assert await parked.file("exit") == "7"


async def test_script_that_ignores_term_keeps_its_pod(parked: Parked) -> None:
    ready, go_on = parked.directory / "ready", parked.directory / "go-on"
    await parked.launch(f"trap '' TERM; echo y >{ready}; until [ -e {go_on} ]; do sleep 0.05; done; exit 5\n")
    await parked.file("ready")
    for _ in range(3):
        parked.process.terminate()
        await asyncio.sleep(0.05)
    assert parked.process.returncode is None
    go_on.touch()

    assert await parked.end() == 5
    assert await parked.file("exit") == "5"


@pytest.mark.parametrize(("name", "status"), [("TERM", 143), ("KILL", 137), ("HUP", 129), ("USR1", 138)])
async def test_signal_by_fifo_reaches_the_whole_group(parked: Parked, name: str, status: int) -> None:
    ready = parked.directory / "ready"
    await parked.launch(f"echo y >{ready}; sleep 60\n")
    await parked.file("ready")
    await parked.say("signal", f"{name}\n")

    assert await parked.end() == status
    assert await parked.file("exit") == str(status)


@pytest.mark.parametrize("shell", [s for s in SHELLS if shutil.which(s[0])], ids=" ".join)
@pytest.mark.parametrize("name", ["TERM", "KILL"])
async def test_signal_that_comes_before_the_script_has_its_session_is_not_lost(
    tmp_path: Path, shell: list[str], name: str
) -> None:
    """A machine that is busy takes its time between the fork and the new session."""
    handover, bin_dir = tmp_path / "handover", tools(tmp_path, without="setsid")
    handover.mkdir()
    slow = Path(bin_dir) / "setsid"
    slow.write_text(f'#!/bin/sh\nsleep 0.5\nexec {shutil.which("setsid")} "$@"\n')
    slow.chmod(0o755)
    parked = await start(handover, shell, bin_dir)
    try:
        await parked.launch("sleep 30\n")
        await parked.file("pid")
        await parked.say("signal", f"{name}\n")
        assert await parked.end() == 128 + signal.Signals[f"SIG{name}"]
    finally:
        for group in (parked.process.pid, int((handover / "pid").read_text())):
            with suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)


async def test_several_signals_one_after_another(parked: Parked) -> None:
    """A node agent stops a container like this: TERM, and KILL when its patience ends."""
    ready, seen = parked.directory / "ready", parked.directory / "seen"
    await parked.launch(f"trap 'echo t >>{seen}' TERM; echo y >{ready}; while :; do sleep 0.05; done\n")
    await parked.file("ready")
    for count in (1, 2):
        await parked.say("signal", "TERM\n")
        await parked.file("seen", lambda text, count=count: len(text.split()) == count)  # type: ignore[misc]
    await parked.say("signal", "NONSENSE; touch /tmp/never\n")
    await parked.say("signal", "KILL\n")

    assert await parked.end() == 137


async def test_children_of_the_script_go_with_its_group(parked: Parked) -> None:
    child = parked.directory / "child"
    await parked.launch(f"sleep 60 & echo $! >{child}; wait\n")
    pid = int(await parked.file("child"))
    await parked.say("signal", "KILL\n")

    assert await parked.end() == 137
    async with asyncio.timeout(TIMEOUT_S):
        while True:
            if not is_running(pid):
                return
            await asyncio.sleep(0.01)


async def test_script_killed_from_outside_is_told_as_such(parked: Parked) -> None:
    ready = parked.directory / "ready"
    await parked.launch(f"echo y >{ready}; sleep 60\n")
    await parked.file("ready")
    os.killpg(int(await parked.file("pid")), signal.SIGKILL)

    assert await parked.end() == 137
    assert await parked.file("exit") == "137"


async def test_script_that_does_not_exist_exits_as_bash_says(parked: Parked) -> None:
    (parked.directory / "logs").mkdir()
    parked.make_fifos()
    await parked.say("go", f"{parked.directory}/nothing\n{parked.directory}/logs\n")
    assert await parked.end() == 127


@pytest.mark.parametrize("missing", ["setsid", "tail"])
async def test_image_without_a_tool_that_is_optional_works(tmp_path: Path, missing: str) -> None:
    handover = tmp_path / "handover"
    handover.mkdir()
    parked = await start(handover, ["dash"], tools(tmp_path, missing))
    await parked.launch("exit 9\n")
    assert await parked.end() == 9
    assert (handover / "exit").read_text().strip() == "9"
