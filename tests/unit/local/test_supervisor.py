"""The supervisor on real, tiny processes.  Every wait is for an event; nothing sleeps."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from yodel.local import supervisor
from yodel.local.supervisor import Child, ChildFailed, Supervised

TIMEOUT_S = 60
# The shell gets "--ready-fd N" behind its own arguments: $1 is the option and $2 the descriptor.
READY = "echo ready > /dev/fd/$2; exec sleep 600"


@pytest.fixture(autouse=True)
async def in_time() -> AsyncIterator[None]:
    async with asyncio.timeout(TIMEOUT_S):
        yield


def child(tmp_path: Path, script: str, **fields: object) -> Child:
    values = {"role": "rm", "log_path": tmp_path / "rm.log", "command": ("/bin/sh", "-c", script, "sh"), **fields}
    return Child(**values)  # type: ignore[arg-type]


async def test_start_waits_for_the_word_ready(tmp_path: Path) -> None:
    supervised = Supervised(child(tmp_path, READY, tells_readiness=True))
    await supervised.start()
    assert supervised.is_alive
    assert psutil.pid_exists(supervised.pid)
    await supervised.stop()
    assert not supervised.is_alive


async def test_child_that_ends_before_it_is_ready_tells_its_status_and_log(tmp_path: Path) -> None:
    supervised = Supervised(child(tmp_path, "echo no such table >&2; exit 3", tells_readiness=True))
    with pytest.raises(ChildFailed, match=r"rm ended with status 3; end of .*rm\.log:\nno such table"):
        await supervised.start()


async def test_child_that_is_not_ready_in_time_is_killed(tmp_path: Path) -> None:
    supervised = Supervised(child(tmp_path, "exec sleep 600", tells_readiness=True, ready_timeout_s=0.05))
    with pytest.raises(ChildFailed, match="was not ready"):
        await supervised.start()
    assert not supervised.is_alive


async def test_child_that_wrote_nothing_is_said_to_have_written_nothing(tmp_path: Path) -> None:
    silent = child(tmp_path, "exec sleep 600", tells_readiness=True, ready_timeout_s=0.05)
    with pytest.raises(ChildFailed, match=r"rm was not ready after 0 s; it wrote nothing to .*/rm\.log$"):
        await Supervised(silent).start()


async def test_child_whose_log_cannot_be_opened_is_tried_again_until_it_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log cannot be opened, as on a disk without a free inode."""
    monkeypatch.setattr(supervisor, "RESTART_DELAYS_S", (0.01,))
    log_dir = tmp_path / "logs"
    log_dir.mkdir()
    supervised = Supervised(child(tmp_path, READY, tells_readiness=True, log_path=log_dir / "rm.log"))
    await supervised.start()
    before, restarted, opened = supervised.pid, asyncio.Event(), Path.open
    refused = asyncio.Event()

    def full(path: Path, *mode: str) -> object:
        refused.set()
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(Path, "open", full)
    keeping = asyncio.create_task(supervised.keep(restarted))
    os.kill(before, signal.SIGKILL)
    await refused.wait()
    assert not restarted.is_set()
    monkeypatch.setattr(Path, "open", opened)
    await restarted.wait()
    assert supervised.pid != before
    keeping.cancel()
    await supervised.stop()


async def test_child_stays_in_our_process_group_and_dies_with_us(tmp_path: Path) -> None:
    supervised = Supervised(child(tmp_path, READY, tells_readiness=True))
    await supervised.start()
    assert os.getpgid(supervised.pid) == os.getpgid(0)
    await supervised.stop()


async def test_killed_child_is_started_again_with_a_new_pid(tmp_path: Path) -> None:
    supervised = Supervised(child(tmp_path, READY, tells_readiness=True))
    await supervised.start()
    before, restarted = supervised.pid, asyncio.Event()
    keeping = asyncio.create_task(supervised.keep(restarted))
    os.kill(before, signal.SIGKILL)
    await restarted.wait()
    assert supervised.pid != before
    assert supervised.is_alive
    await supervised.stop()
    await keeping


async def test_child_that_fails_at_its_return_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "RESTART_DELAYS_S", (0.0,))
    script = f"echo x >> {tmp_path}/starts; [ $(wc -l < {tmp_path}/starts) = 2 ] && exit 1; {READY}"
    supervised = Supervised(child(tmp_path, script, tells_readiness=True))
    await supervised.start()
    restarted = asyncio.Event()
    keeping = asyncio.create_task(supervised.keep(restarted))
    os.kill(supervised.pid, signal.SIGKILL)
    await restarted.wait()
    assert (tmp_path / "starts").read_text() == "x\nx\nx\n"
    await supervised.stop()
    await keeping


async def test_stopped_child_is_not_started_again(tmp_path: Path) -> None:
    supervised = Supervised(child(tmp_path, READY, tells_readiness=True))
    await supervised.start()
    restarted = asyncio.Event()
    keeping = asyncio.create_task(supervised.keep(restarted))
    await supervised.stop()
    await keeping
    assert not restarted.is_set()


async def test_child_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    script = "trap '' TERM; echo ready > /dev/fd/$2; while :; do sleep 600; done"
    supervised = Supervised(child(tmp_path, script, tells_readiness=True, stop_timeout_s=0.05))
    await supervised.start()
    leaves = psutil.Process(supervised.pid).children()
    await supervised.stop()
    assert not supervised.is_alive
    for leaf in leaves:
        with contextlib.suppress(psutil.NoSuchProcess):
            leaf.kill()


async def test_stop_before_the_start_and_twice_is_nothing(tmp_path: Path) -> None:
    supervised = Supervised(child(tmp_path, "exit 0"))
    await supervised.stop()
    await supervised.stop()
    assert supervised.pid == 0


async def test_output_is_appended_and_a_long_log_begins_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(2):
        supervised = Supervised(child(tmp_path, "echo hello"))
        await supervised.start()
        await supervised.failed()
    assert (tmp_path / "rm.log").read_text() == "hello\nhello\n"
    monkeypatch.setattr(supervisor, "LOG_BYTES_MAX", 5)
    supervised = Supervised(child(tmp_path, "echo again"))
    await supervised.start()
    await supervised.failed()
    assert (tmp_path / "rm.log").read_text() == "again\n"


async def test_failure_names_the_role_and_quotes_a_bounded_end_of_the_log(tmp_path: Path) -> None:
    supervised = Supervised(child(tmp_path, "seq 1 10000; exit 1"))
    await supervised.start()
    error = await supervised.failed()
    assert (error.role, error.status) == ("rm", 1)
    assert str(error).endswith("\n10000")
    assert len(str(error).splitlines()) == supervisor.LOG_TAIL_LINES + 1
