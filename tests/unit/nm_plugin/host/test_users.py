"""Identities: who may run, and with whose rights files are touched."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path

import pytest

from nm_plugin.host.users import (
    FileThreads,
    OsUser,
    PwdUsers,
    SingleUser,
    UserNotFound,
    is_safe_name,
    path_name,
    user_of_path,
)
from tests.support.node_agent import eventually
from yodel.errors import AccessDenied


@pytest.mark.usefixtures("needs_root")
async def test_files_are_touched_with_the_users_rights(open_path: Path, alice: OsUser, threads: FileThreads) -> None:
    secret = open_path / "secret"
    secret.write_text("root's")
    secret.chmod(0o600)
    with pytest.raises(PermissionError):
        await threads.run_as(alice, secret.read_text)
    with pytest.raises(PermissionError):
        await threads.run_as(alice, (open_path / "new").write_text, "x")
    assert await threads.run(secret.read_text) == "root's"
    assert os.stat(secret).st_uid == os.geteuid()


@pytest.mark.usefixtures("needs_root")
async def test_new_files_belong_to_the_user(open_path: Path, alice: OsUser, threads: FileThreads) -> None:
    (open_path / "d").mkdir()
    os.chown(open_path / "d", alice.uid, alice.gid)
    await threads.run_as(alice, (open_path / "d/file").write_text, "x")
    status = (open_path / "d/file").stat()
    assert (status.st_uid, status.st_gid) == (alice.uid, alice.gid)


@pytest.mark.usefixtures("needs_root")
async def test_group_rights_are_the_users_and_not_the_agents(
    open_path: Path, alice: OsUser, threads: FileThreads
) -> None:
    for name, gid in (("agents", os.getegid()), ("groups", 24000)):
        (open_path / name).write_text(name)
        os.chown(open_path / name, 0, gid)
        os.chmod(open_path / name, 0o640)
    member = OsUser(name="alice", uid=alice.uid, gid=alice.gid, groups=(alice.gid, 24000))
    assert await threads.run_as(member, (open_path / "groups").read_text) == "groups"
    with pytest.raises(PermissionError):
        await threads.run_as(member, (open_path / "agents").read_text)


@pytest.mark.usefixtures("needs_root")
async def test_thread_has_the_agents_rights_back_after_an_error(open_path: Path, alice: OsUser) -> None:
    one = FileThreads(1)
    with pytest.raises(FileNotFoundError):
        await one.run_as(alice, (open_path / "missing").read_text)
    await one.run((open_path / "mine").write_text, "x")
    assert (open_path / "mine").stat().st_uid == 0
    one.close()


@pytest.mark.usefixtures("needs_root")
async def test_processes_lead_nowhere_their_user_could_not_go(open_path: Path, alice: OsUser) -> None:
    """``/proc/<pid>/cwd`` passes by the directories above, and ``root`` leaves the container of whoever looks."""
    closed = open_path / "closed"
    (closed / "inside").mkdir(parents=True)
    (closed / "inside" / "file").write_text("bob's")
    closed.chmod(0o700)
    (closed / "inside").chmod(0o755)
    one = FileThreads(1)
    other = await asyncio.create_subprocess_exec("sleep", "60", cwd=closed / "inside", user=alice.uid + 1)
    links = [Path(f"/proc/{other.pid}/cwd/file"), Path(f"/proc/{other.pid}/root/etc/passwd")]
    try:
        for link in links:
            with pytest.raises(PermissionError):
                await one.run_as(alice, link.read_text)
        assert [bool(await one.run(link.read_text)) for link in links] == [True, True]
    finally:
        other.kill()
        await other.wait()
        one.close()


def test_unknown_user_has_the_executors_words_and_what_to_do() -> None:
    with pytest.raises(
        UserNotFound, match=r"^User nobody-such not found on this node .* uid of at least 1000 .*accounts"
    ):
        PwdUsers(min_user_id=1000, allowed_system_users=frozenset(), reserved_uid=65533).lookup("nobody-such")


def test_system_users_need_permission_by_name() -> None:
    with pytest.raises(AccessDenied, match="below the minimum allowed 1000"):
        PwdUsers(min_user_id=1000, allowed_system_users=frozenset(), reserved_uid=65533).lookup("root")
    allowed = PwdUsers(min_user_id=1000, allowed_system_users=frozenset({"root"}), reserved_uid=65533).lookup("root")
    assert (allowed.uid, allowed.name) == (0, "root")


def test_uid_that_unpacks_is_no_containers() -> None:
    """Not even by name, as nothing else that this uid does may touch what it unpacks."""
    users = PwdUsers(min_user_id=0, allowed_system_users=frozenset({"nobody"}), reserved_uid=65534)
    with pytest.raises(AccessDenied, match=r"nobody has id 65534, which the node agent reserves .* \(unpack_uid\)"):
        users.lookup("nobody")
    assert users.lookup("daemon").uid == 1


def test_single_user_mode_keeps_the_name() -> None:
    assert SingleUser(uid=5, gid=6).lookup("bob") == OsUser(name="bob", uid=5, gid=6)
    with pytest.raises(UserNotFound):
        SingleUser(uid=5, gid=6).lookup("../bob")


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a,b", "a:b", "-a", "a\n", "a\x7f", "x" * 256, "ü" * 128])
def test_names_that_could_be_something_else_are_refused(name: str) -> None:
    assert not is_safe_name(name)


@pytest.mark.parametrize("name", ["alice", "a.b-c_d", "user@REALM.ORG", "ünï", "First Last", "DOM\\user", 'a"$`b'])
def test_ordinary_names_are_taken(name: str) -> None:
    assert is_safe_name(name)
    assert user_of_path(path_name(name)) == name
    assert not {*path_name(name)} & {*" \\\"'$`;&|<>(){}[]*?!#~/"}


def test_plain_names_are_themselves_in_paths() -> None:
    assert [path_name(name) for name in ("a.b-c_d", "user@REALM", "ünï")] == ["a.b-c_d", "user@REALM", "ünï"]


@pytest.mark.parametrize("to_its_end", [True, False])
async def test_who_is_cancelled_waits_for_what_runs_where_that_is_to_come_to_its_end(to_its_end: bool) -> None:
    """Work that has not begun never does."""
    pool, done = FileThreads(1, to_its_end=to_its_end), list[str]()
    has_begun, may_end = threading.Event(), threading.Event()

    def work(name: str) -> None:
        has_begun.set()
        assert may_end.wait(60)
        done.append(name)

    try:
        runs = asyncio.create_task(pool.run(work, "first"))
        waits = asyncio.create_task(pool.run(work, "second"))
        await eventually(has_begun.is_set)
        for task in (runs, waits):
            task.cancel()
        await asyncio.wait({waits})
        for _ in range(10):
            await asyncio.sleep(0)
        assert runs.done() is not to_its_end
        may_end.set()
        await asyncio.wait({runs})
    finally:
        may_end.set()
        pool.close()
    assert done == ["first"]


async def test_what_can_be_stopped_is_told_when_who_wants_it_is_cancelled() -> None:
    pool, has_begun, told = FileThreads(1, to_its_end=True), threading.Event(), list[bool]()

    def work(stop: threading.Event) -> None:
        has_begun.set()
        told.append(stop.wait(60))

    wanted = asyncio.create_task(pool.run_stoppable(work))
    try:
        await eventually(has_begun.is_set)
        wanted.cancel()
        await asyncio.wait({wanted})
        assert told == [True]
    finally:
        pool.close()
