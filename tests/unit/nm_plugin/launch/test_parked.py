"""The hand-over, with real FIFOs and the real shell; and with directories that a user has spoiled."""

from __future__ import annotations

import asyncio
import os
import stat
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from nm_plugin.host.users import FileThreads, OsUser
from nm_plugin.launch import parked
from nm_plugin.launch.parked import HandOverFailed, ParkedPods, ShellGone
from tests.support.node_agent import container_id, eventually
from tests.support.parked_pod import start_parked_pod
from yodel.domain.ids import dns_name

CONTAINER = container_id(2)


@pytest.fixture
async def pods(open_path: Path, threads: FileThreads) -> AsyncIterator[ParkedPods]:
    made = ParkedPods(open_path, threads, threads, threads)
    watch = asyncio.create_task(made.watch())
    await asyncio.sleep(0)
    yield made
    watch.cancel()
    await asyncio.wait({watch})


@pytest.fixture
def script(open_path: Path) -> Path:
    path = open_path / "script.sh"
    path.write_text('trap "exit 9" TERM\nwhile :; do sleep 0.05; done\n')
    return path


async def test_directory_is_the_users_alone(pods: ParkedPods, open_path: Path, alice: OsUser) -> None:
    await pods.prepare(CONTAINER, alice)
    directory = open_path / dns_name(CONTAINER)
    assert (stat.S_IMODE(directory.stat().st_mode), directory.stat().st_uid) == (0o700, alice.uid)
    for name in ("go", "signal"):
        status = (directory / name).stat()
        assert stat.S_ISFIFO(status.st_mode)
        assert (stat.S_IMODE(status.st_mode), status.st_uid) == (0o600, alice.uid)


async def test_script_runs_is_signalled_and_its_exit_arrives(
    pods: ParkedPods, open_path: Path, alice: OsUser, script: Path
) -> None:
    shell = await start_parked_pod(open_path, CONTAINER, alice.uid, alice.gid)
    await pods.prepare(CONTAINER, alice)
    pid = await pods.hand_over(CONTAINER, script, open_path, 10)
    assert pid > 1
    await asyncio.sleep(0.2)
    assert await pods.signal(CONTAINER, "TERM")
    async with asyncio.timeout(60):
        assert await pods.exit_status(CONTAINER) == 9
    assert await shell.wait() == 9
    await pods.forget(CONTAINER)
    assert not (open_path / dns_name(CONTAINER)).exists()


async def test_directory_that_the_kubelet_made_is_taken_over(pods: ParkedPods, open_path: Path, alice: OsUser) -> None:
    (open_path / dns_name(CONTAINER)).mkdir(mode=0o755)
    await pods.prepare(CONTAINER, alice)
    assert (open_path / dns_name(CONTAINER)).stat().st_uid == alice.uid


async def test_missing_pod_is_a_failure_after_the_deadline(
    pods: ParkedPods, open_path: Path, alice: OsUser, script: Path
) -> None:
    await pods.prepare(CONTAINER, alice)
    with pytest.raises(HandOverFailed, match="did not start within 0 s"):
        await pods.hand_over(CONTAINER, script, open_path, 0.1)
    assert not (open_path / dns_name(CONTAINER) / "go").exists()


async def test_withdrawn_script_is_never_run(pods: ParkedPods, open_path: Path, alice: OsUser, script: Path) -> None:
    await pods.prepare(CONTAINER, alice)
    waiting = asyncio.create_task(pods.hand_over(CONTAINER, script, open_path, 10))
    await asyncio.sleep(0.1)
    waiting.cancel()
    await asyncio.wait({waiting})
    assert await pods.withdraw(CONTAINER)
    shell = await start_parked_pod(open_path, CONTAINER, alice.uid, alice.gid)
    await asyncio.sleep(0.3)
    assert not (open_path / dns_name(CONTAINER) / "pid").exists()
    await shell.destroy()


async def test_script_that_was_taken_cannot_be_withdrawn(
    pods: ParkedPods, open_path: Path, alice: OsUser, script: Path
) -> None:
    shell = await start_parked_pod(open_path, CONTAINER, alice.uid, alice.gid)
    await pods.prepare(CONTAINER, alice)
    await pods.hand_over(CONTAINER, script, open_path, 10)
    assert not await pods.withdraw(CONTAINER)
    await asyncio.sleep(0.2)
    assert await pods.signal(CONTAINER, "KILL")
    assert await shell.wait() == 137


async def test_shell_that_disappears_is_noticed(
    pods: ParkedPods, open_path: Path, alice: OsUser, script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parked, "GONE_AFTER_S", 0.2)
    shell = await start_parked_pod(open_path, CONTAINER, alice.uid, alice.gid)
    await pods.prepare(CONTAINER, alice)
    await pods.hand_over(CONTAINER, script, open_path, 10)
    shell.kill_shell()
    with pytest.raises(ShellGone):
        async with asyncio.timeout(60):
            await pods.exit_status(CONTAINER)
    assert not await pods.signal(CONTAINER, "TERM")
    await shell.destroy()


@pytest.mark.parametrize("content", ["", "abc", "-5", "99999999999999999999", "\0", "1 2"])
async def test_nonsense_in_pid_and_exit_is_no_news(
    pods: ParkedPods, open_path: Path, alice: OsUser, content: str
) -> None:
    await pods.prepare(CONTAINER, alice)
    directory = open_path / dns_name(CONTAINER)
    for name in ("pid", "exit"):
        (directory / name).write_text(content)
    assert await pods.started(CONTAINER, 0.1) is None


async def test_links_and_directories_in_place_of_files_are_no_news(
    pods: ParkedPods, open_path: Path, alice: OsUser
) -> None:
    await pods.prepare(CONTAINER, alice)
    directory = open_path / dns_name(CONTAINER)
    (open_path / "number").write_text("77")
    (directory / "pid").symlink_to(open_path / "number")
    (directory / "exit").mkdir()
    assert await pods.started(CONTAINER, 0.1) is None


async def test_file_in_place_of_a_fifo_is_refused(pods: ParkedPods, open_path: Path, alice: OsUser) -> None:
    (open_path / dns_name(CONTAINER)).mkdir()
    (open_path / dns_name(CONTAINER) / "go").write_text("")
    with pytest.raises(OSError, match="is not a FIFO"):
        await pods.prepare(CONTAINER, alice)


async def test_huge_status_is_one_byte(pods: ParkedPods, open_path: Path, alice: OsUser) -> None:
    await pods.prepare(CONTAINER, alice)
    directory = open_path / dns_name(CONTAINER)
    (directory / "pid").write_text("77\n")
    (directory / "exit").write_text("300\n")
    async with asyncio.timeout(60):
        assert await pods.exit_status(CONTAINER) == 44


async def test_line_end_in_a_path_is_refused(pods: ParkedPods, open_path: Path, alice: OsUser) -> None:
    await pods.prepare(CONTAINER, alice)
    with pytest.raises(HandOverFailed):
        await pods.hand_over(CONTAINER, Path("/a\nb"), open_path, 1)


async def test_directories_that_nobody_used_are_swept_after_long(
    pods: ParkedPods, open_path: Path, alice: OsUser
) -> None:
    """A kubelet makes them for pods that it starts after their container's end."""
    await pods.prepare(CONTAINER, alice)
    for name, age_s in (("application-1-0001-01-000001", 7200), ("application-1-0001-01-000002", 600)):
        (open_path / name).mkdir()
        os.utime(open_path / name, (time.time() - age_s,) * 2)
    os.utime(pods.directory(CONTAINER), (time.time() - 7200,) * 2)
    await pods.sweep_empty()
    assert sorted(os.listdir(open_path)) == ["application-1-0001-01-000002", dns_name(CONTAINER)]


async def test_leftover_directories_of_an_application_are_swept(
    pods: ParkedPods, open_path: Path, alice: OsUser
) -> None:
    await pods.prepare(CONTAINER, alice)
    (open_path / dns_name(container_id(3))).mkdir()
    (open_path / "application-5-0001-01-000001").mkdir()
    await pods.sweep_away("application-1700000000000-0007-")
    assert sorted(os.listdir(open_path)) == [dns_name(CONTAINER), "application-5-0001-01-000001"]
    await pods.forget(CONTAINER)
    await eventually(lambda: not pods.knows(CONTAINER))
