"""The resource cache: one download, three visibilities, eviction, restart."""

from __future__ import annotations

import asyncio
import io
import os
import stat
import tarfile
import threading
import zipfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import pytest

from nm_plugin.host.directories import Directories, make_roots
from nm_plugin.host.tasks import TaskOwner
from nm_plugin.host.users import FileThreads, OsUser, acting_as
from nm_plugin.localization import fetch
from nm_plugin.localization.archive import ArchiveLimits
from nm_plugin.localization.cache import (
    CacheSettings,
    LocalizationFailure,
    LocalizedResource,
    ResourceCache,
    ResourceClaim,
)
from nm_plugin.localization.fetch import (
    DownloadRequest,
    FetchFailed,
    HttpFiles,
    LocalFiles,
    NotFetchable,
    UrlReader,
    create_file,
    write_all,
)
from nm_plugin.localization.hdfs import HdfsFiles
from nm_plugin.localization.plan import (
    LOCAL_FILES,
    CacheScope,
    LocalResource,
    ResourceKey,
    ResourceType,
    SourceUrl,
    Visibility,
    scope_of,
)
from tests.support.node_agent import APPLICATION, FakeUsers, container_id, eventually

APP = str(APPLICATION)


@dataclass
class FakeSource:
    """Gives the URL's path as content, once ``gate`` is open."""

    gate: asyncio.Event = field(default_factory=asyncio.Event)
    fetched: list[str] = field(default_factory=list)
    asked: list[tuple[str, bytes]] = field(default_factory=list)
    """By whom and with which tokens."""
    fail: Exception | None = None
    refused: set[str] = field(default_factory=set)
    """Users who may not have it, unless with ``tokens``."""
    tokens: bytes = b"none has these"
    on_refusal: Callable[[], None] = lambda: None
    content: bytes = b"12345"

    async def fetch(self, request: DownloadRequest) -> int:
        self.fetched.append(request.url.path)
        self.asked.append((request.reader.name, request.credentials))
        await self.gate.wait()
        if request.reader.name in self.refused and request.credentials != self.tokens:
            self.on_refusal()
            raise FetchFailed(f"not for {request.reader.name}")
        if self.fail is not None:
            raise self.fail
        descriptor = create_file(request.destination, request.owner)
        write_all(descriptor, self.content)
        return len(self.content)


@dataclass
class Bench:
    """A cache on one disk."""

    root: Path
    source: FakeSource
    threads: FileThreads
    agent: OsUser
    tasks: TaskOwner
    target_bytes: int = 1 << 30
    sources: dict[str, UrlReader] = field(default_factory=dict)
    default_fs: SourceUrl = LOCAL_FILES

    def make(self, fetch_timeout_s: float = 60) -> ResourceCache:
        settings = CacheSettings(
            local_dirs=(self.root / "l",),
            state_dir=self.root / "state",
            target_bytes=self.target_bytes,
            resource_bytes_max=1 << 20,
            archive_limits=ArchiveLimits(entries_max=10, bytes_max=1 << 20, ratio_max=100),
            unpack_user=OsUser(name="", uid=65533, gid=65533),
            concurrency=2,
            fetch_timeout_s=fetch_timeout_s,
            default_fs=self.default_fs,
        )
        return ResourceCache(settings, {"fake": self.source, **self.sources}, self.threads, self.agent, self.tasks)


def want(path: str, kind: ResourceType = ResourceType.FILE, **changes: int) -> LocalResource:
    key = ResourceKey(
        url=SourceUrl(scheme="fake", authority="", path=path), timestamp_ms=changes.get("timestamp", 1), type=kind
    )
    return LocalResource(link="x", key=key, visibility=Visibility.PUBLIC)


@pytest.fixture
async def bench(open_path: Path, agent_user: OsUser) -> AsyncIterator[Bench]:
    make_roots(Directories(local_dirs=(open_path / "l",), log_dirs=(open_path / "g",)))
    (open_path / "state").mkdir()
    source, threads = FakeSource(), FileThreads(4, to_its_end=True)
    source.gate.set()
    async with asyncio.TaskGroup() as group:
        tasks = TaskOwner(group)
        hdfs = HdfsFiles(threads=threads, config_dir=None)
        made = Bench(open_path, source, threads, agent_user, tasks)
        made.sources = {
            "file": LocalFiles(threads=threads),
            "http": HttpFiles(threads=threads, closed=()),
            "hdfs": hdfs,
        }
        yield made
        await hdfs.close()
        tasks.cancel_all()
    threads.close()


def claim(user: OsUser, number: int = 2) -> ResourceClaim:
    return ResourceClaim(container_id=container_id(number), user=user)


PUBLIC = CacheScope(visibility=Visibility.PUBLIC)


async def test_concurrent_requests_download_once(bench: Bench, alice: OsUser, bob: OsUser) -> None:
    cache = bench.make()
    bench.source.gate.clear()
    first = asyncio.create_task(cache.localize(want("/a/f"), PUBLIC, claim(alice)))
    second = asyncio.create_task(cache.localize(want("/a/f"), PUBLIC, claim(bob, 3)))
    await eventually(lambda: bool(bench.source.fetched))
    bench.source.gate.set()
    one, other = await first, await second
    assert one.path == other.path == bench.root / "l/filecache/10/f"
    assert (one.was_cached, other.was_cached) == (False, True)
    assert bench.source.fetched == ["/a/f"]


async def test_one_waiter_may_leave_and_the_last_one_stops_the_download(bench: Bench, alice: OsUser) -> None:
    cache = bench.make()
    bench.source.gate.clear()
    first = asyncio.create_task(cache.localize(want("/f"), PUBLIC, claim(alice)))
    second = asyncio.create_task(cache.localize(want("/f"), PUBLIC, claim(alice, 3)))
    await eventually(lambda: bool(bench.source.fetched))
    first.cancel()
    await asyncio.wait({first})
    cache.release(container_id(2))
    assert not second.done()
    second.cancel()
    await asyncio.wait({second})
    cache.release(container_id(3))
    await eventually(lambda: not list((bench.root / "l/filecache").iterdir()))


class SlowCopies:
    """Files of one path are copied when they may be, or as soon as nobody wants them any more."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, slow: Path) -> None:
        self.may_end, self.begun, self.ended = threading.Event(), 0, 0
        copy = fetch._copy_range

        def wait_and_copy(source: int, target: int) -> int:
            if os.readlink(f"/proc/self/fd/{source}").startswith(str(slow)):
                self.begun += 1
                assert self.may_end.wait(60)
                self.ended += 1
            return copy(source, target)

        monkeypatch.setattr(fetch, "_copy_range", wait_and_copy)


def _local(path: Path) -> LocalResource:
    path.parent.mkdir(exist_ok=True)
    path.write_text(path.name)
    path.chmod(0o644)
    url = SourceUrl(scheme="file", authority="", path=str(path))
    key = ResourceKey(url=url, timestamp_ms=path.stat().st_mtime_ns // 1_000_000, type=ResourceType.FILE)
    return LocalResource(link="x", key=key, visibility=Visibility.PRIVATE)


async def test_slow_files_of_one_user_leave_another_his_turn(
    bench: Bench, alice: OsUser, bob: OsUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = SlowCopies(monkeypatch, bench.root / "slow")
    cache, scope = bench.make(), scope_of(Visibility.PRIVATE, "alice", APP)
    waits = [
        asyncio.create_task(cache.localize(_local(bench.root / f"slow/{number}"), scope, claim(alice)))
        for number in range(9)
    ]
    await eventually(lambda: slow.begun == 1)
    wanted = _local(bench.root / "quick/f")
    localized = await cache.localize(wanted, scope_of(Visibility.PRIVATE, "bob", APP), claim(bob, 3))
    assert localized.path.read_text() == "f"
    assert (slow.begun, slow.ended) == (1, 0)
    slow.may_end.set()
    assert len({one.path for one in await asyncio.gather(*waits)}) == 9


async def test_what_two_users_want_waits_for_the_turn_of_either(
    bench: Bench, alice: OsUser, bob: OsUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = SlowCopies(monkeypatch, bench.root / "slow")
    cache, private = bench.make(), scope_of(Visibility.PRIVATE, "alice", APP)
    held = asyncio.create_task(cache.localize(_local(bench.root / "slow/f"), private, claim(alice)))
    await eventually(lambda: slow.begun == 1)
    queued = asyncio.create_task(cache.localize(want("/shared"), PUBLIC, claim(alice)))
    await asyncio.sleep(0)
    assert bench.source.fetched == []
    assert (await cache.localize(want("/shared"), PUBLIC, claim(bob, 3))).was_cached
    assert (await queued).path.read_bytes() == b"12345"
    slow.may_end.set()
    await held


async def test_copies_for_who_is_gone_stop_and_keep_their_turn_until_they_have(
    bench: Bench, alice: OsUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = SlowCopies(monkeypatch, bench.root / "slow")
    cache, scope = bench.make(), scope_of(Visibility.PRIVATE, "alice", APP)
    folder = bench.root / "slow"
    _local(folder / "a"), _local(folder / "b")
    folder.chmod(0o755)
    url = SourceUrl(scheme="file", authority="", path=str(folder))
    key = ResourceKey(url=url, timestamp_ms=folder.stat().st_mtime_ns // 1_000_000, type=ResourceType.FILE)
    wanted = LocalResource(link="x", key=key, visibility=Visibility.PRIVATE)
    gone = asyncio.create_task(cache.localize(wanted, scope, claim(alice)))
    await eventually(lambda: slow.begun == 1)
    cache.release(container_id(2))
    with pytest.raises(asyncio.CancelledError):
        await gone
    following = asyncio.create_task(cache.localize(want("/f"), scope, claim(alice, 3)))
    never = asyncio.create_task(cache.localize(want("/g"), scope, claim(alice, 4)))
    await asyncio.sleep(0)
    cache.release(container_id(4))
    assert bench.source.fetched == [], "a thread is at work on what it had its turn for"
    slow.may_end.set()
    await following
    assert (slow.begun, bench.source.fetched) == (1, ["/f"]), "the second file was not begun any more"
    with pytest.raises(asyncio.CancelledError):
        await never
    caches = bench.root / "l/usercache/alice/filecache"
    await eventually(lambda: [one.name for one in caches.iterdir()] == ["11"])


async def test_who_waits_is_told_in_time_whatever_a_thread_does(
    bench: Bench, alice: OsUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = SlowCopies(monkeypatch, bench.root / "slow")
    cache = bench.make(fetch_timeout_s=0.1)
    with pytest.raises(LocalizationFailure, match="not fetched within 0 s"):
        await cache.localize(_local(bench.root / "slow/f"), scope_of(Visibility.PRIVATE, "alice", APP), claim(alice))
    assert slow.ended == 0
    slow.may_end.set()


async def test_visibilities_have_their_own_directories_and_owners(bench: Bench, alice: OsUser, bob: OsUser) -> None:
    cache = bench.make()
    for visibility, user, place in (
        (Visibility.PUBLIC, alice, "filecache/10"),
        (Visibility.PRIVATE, alice, "usercache/alice/filecache/11"),
        (Visibility.APPLICATION, alice, f"usercache/alice/appcache/{APP}/filecache/12"),
        (Visibility.PRIVATE, bob, "usercache/bob/filecache/13"),
    ):
        localized = await cache.localize(want("/f"), scope_of(visibility, user.name, APP), claim(user))
        assert localized.path == bench.root / "l" / place / "f"
        owner = bench.agent if visibility is Visibility.PUBLIC else user
        status = localized.path.parent.stat()
        assert (status.st_uid, stat.S_IMODE(status.st_mode)) == (
            owner.uid,
            0o755 if visibility is Visibility.PUBLIC else 0o710,
        )


async def test_failure_is_told_to_all_and_the_next_one_tries_again(bench: Bench, alice: OsUser) -> None:
    cache = bench.make()
    bench.source.fail = FetchFailed("no such thing")
    for _ in range(2):
        with pytest.raises(LocalizationFailure, match="no such thing"):
            await cache.localize(want("/f"), PUBLIC, claim(alice))
    assert len(bench.source.fetched) == 2
    await eventually(lambda: not list((bench.root / "l/filecache").iterdir()))


async def test_whatever_goes_wrong_costs_no_more_than_the_resource(bench: Bench, alice: OsUser) -> None:
    """An exception nobody thought of would end the group that all of the agent's tasks are in."""
    bench.source.fail = ArithmeticError("of a library")
    cache = bench.make()
    with pytest.raises(LocalizationFailure, match="fake:/f: ArithmeticError: of a library"):
        await cache.localize(want("/f"), PUBLIC, claim(alice))
    bench.source.fail = None
    assert (await cache.localize(want("/f"), PUBLIC, claim(alice))).size_bytes == 5


async def together(bench: Bench, *claims: ResourceClaim, cache: ResourceCache | None = None) -> list[str]:
    """Make all claims before anything is fetched, and return what became of each: ``had`` or why not."""
    made = cache or bench.make()
    bench.source.gate.clear()
    async with asyncio.TaskGroup() as group:
        waiting = [group.create_task(outcome(made.localize(want("/f"), PUBLIC, one))) for one in claims]
        await eventually(lambda: bool(bench.source.fetched))
        bench.source.gate.set()
    return [one.result() for one in waiting]


async def outcome(localized: Awaitable[LocalizedResource]) -> str:
    try:
        return "had" if (await localized).path.read_bytes() == b"12345" else "something else"
    except LocalizationFailure as error:
        return str(error)


async def test_what_one_may_not_have_is_tried_with_the_next_ones_rights(
    bench: Bench, alice: OsUser, bob: OsUser
) -> None:
    bench.source.refused = {alice.name}
    assert await together(bench, claim(alice), claim(alice, 3), claim(bob, 4)) == ["had"] * 3
    assert bench.source.asked == [(alice.name, b""), (bob.name, b"")]
    assert [path.name for path in (bench.root / "l/filecache").iterdir()] == ["10"]


async def test_other_tokens_of_a_user_are_tried_and_others_users_first(
    bench: Bench, alice: OsUser, bob: OsUser
) -> None:
    """So that one user's many containers do not keep the next one waiting."""
    bench.source.refused = {alice.name, bob.name}
    bench.source.tokens = b"good"
    tokens = [b"", b"bad", b"good"]
    claims = [replace(claim(alice, number), credentials=one) for number, one in enumerate(tokens, start=2)]
    assert await together(bench, *claims, claim(bob, 5)) == ["had"] * 4
    assert bench.source.asked == [(alice.name, b""), (bob.name, b""), (alice.name, b"bad"), (alice.name, b"good")]


async def test_all_fail_when_nobody_may_have_it(bench: Bench, alice: OsUser, bob: OsUser) -> None:
    bench.source.refused = {alice.name, bob.name}
    assert await together(bench, claim(alice), claim(bob, 3)) == ["not for bob"] * 2
    assert len(bench.source.asked) == 2
    await eventually(lambda: not list((bench.root / "l/filecache").iterdir()))


async def test_who_has_gone_is_not_tried(bench: Bench, alice: OsUser, bob: OsUser) -> None:
    bench.source.refused, cache = {alice.name, bob.name}, bench.make()
    bench.source.on_refusal = lambda: cache.release(container_id(3))
    assert await together(bench, claim(alice), claim(bob, 3), cache=cache) == ["not for alice"] * 2


async def test_what_nobody_may_have_is_tried_once(bench: Bench, alice: OsUser, bob: OsUser) -> None:
    """It changed, or is too large, whoever asks."""
    bench.source.fail = NotFetchable("changed")
    assert await together(bench, claim(alice), claim(bob, 3)) == ["changed"] * 2
    assert len(bench.source.asked) == 1


async def test_unknown_scheme_has_hadoops_words(bench: Bench, alice: OsUser) -> None:
    url = SourceUrl(scheme="s4", authority="", path="/f")
    wanted = LocalResource(
        link="x",
        key=ResourceKey(url=url, timestamp_ms=1, type=ResourceType.FILE),
        visibility=Visibility.PUBLIC,
    )
    with pytest.raises(LocalizationFailure, match='No FileSystem for scheme "s4"'):
        await bench.make().localize(wanted, PUBLIC, claim(alice))


async def test_url_without_a_scheme_is_the_same_file_as_in_the_default_file_system(bench: Bench, alice: OsUser) -> None:
    bench.default_fs = SourceUrl(scheme="fake", authority="nn:1", path="/")
    cache, scope = bench.make(), scope_of(Visibility.PRIVATE, "alice", APP)
    bare, whole = (
        replace(want("/f"), key=replace(want("/f").key, url=url))
        for url in (
            SourceUrl(scheme="", authority="", path="/f"),
            SourceUrl(scheme="fake", authority="nn:1", path="/f"),
        )
    )
    first = await cache.localize(bare, scope, claim(alice))
    assert (first.was_cached, bench.source.fetched) == (False, ["/f"])
    assert (await cache.localize(whole, scope, claim(alice))).was_cached
    assert cache.place_of(bare, scope) == cache.place_of(whole, scope) == (bench.root / "l", first.path)
    bench.default_fs = SourceUrl(scheme="s4", authority="bucket", path="/")
    with pytest.raises(LocalizationFailure, match='No FileSystem for scheme "s4"'):
        await bench.make().localize(bare, scope, claim(alice))


async def test_archive_is_unpacked_under_its_name(bench: Bench, alice: OsUser, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as file:
        file.writestr("inner.txt", "content")
    bench.source.content = (tmp_path / "a.zip").read_bytes()
    cache = bench.make()
    localized = await cache.localize(want("/d/a.zip", ResourceType.ARCHIVE), PUBLIC, claim(alice))
    assert [p.name for p in localized.path.parent.iterdir()] == ["a.zip"]
    assert (localized.path / "inner.txt").read_text() == "content"
    plain = await cache.localize(want("/d/a.txt", ResourceType.ARCHIVE), PUBLIC, claim(alice))
    assert plain.path.is_file()


async def test_broken_archive_is_a_failure(bench: Bench, alice: OsUser) -> None:
    with pytest.raises(LocalizationFailure):
        await bench.make().localize(want("/a.zip", ResourceType.ARCHIVE), PUBLIC, claim(alice))


async def test_eviction_takes_the_oldest_unused_and_nothing_in_use(
    bench: Bench, alice: OsUser, users: FakeUsers
) -> None:
    bench.target_bytes = 10
    cache = bench.make()
    for number, name in enumerate(("/in-use", "/old", "/new"), start=2):
        await cache.localize(want(name), PUBLIC, claim(alice, number))
    cache.release(container_id(3))
    cache.release(container_id(4))
    assert await cache.evict(users) == 5
    assert cache.size_bytes == 10
    left = sorted(path.name for path in (bench.root / "l/filecache").glob("*/*"))
    assert left == ["in-use", "new"]
    bench.target_bytes = 0
    assert await bench.make().evict(users) == 0


@dataclass
class Meanwhile:
    """Users whose lookup, in the middle of an eviction's first removal, lets something else happen."""

    user: OsUser
    happens: Callable[[], None]

    def lookup(self, name: str) -> OsUser:
        assert name == self.user.name
        self.happens()
        return self.user


@pytest.fixture
async def two_idle(bench: Bench, alice: OsUser) -> tuple[ResourceCache, CacheScope]:
    """A full cache with two entries that nobody uses, /old and /new."""
    bench.target_bytes = 0
    cache, scope = bench.make(), scope_of(Visibility.PRIVATE, alice.name, APP)
    for name in ("/old", "/new"):
        await cache.localize(want(name), scope, claim(alice))
    cache.release(container_id(2))
    return cache, scope


async def test_what_is_wanted_again_during_an_eviction_stays(
    two_idle: tuple[ResourceCache, CacheScope], bench: Bench, alice: OsUser
) -> None:
    cache, scope = two_idle
    comes = Meanwhile(user=alice, happens=lambda: cache.adopt(container_id(3), want("/new"), scope))
    assert await cache.evict(comes) == 5
    assert [path.name for path in (bench.root / "l/usercache/alice/filecache").glob("*/*")] == ["new"]
    assert (await cache.localize(want("/new"), scope, claim(alice))).was_cached


async def test_what_is_dropped_during_an_eviction_is_no_trouble(
    two_idle: tuple[ResourceCache, CacheScope], bench: Bench, alice: OsUser
) -> None:
    """It would end housekeeping, and the agent with it."""
    cache, _ = two_idle
    disk = bench.root / "l"
    drops = Meanwhile(user=alice, happens=lambda: cache.use_dirs((disk,), errored=frozenset({disk})))
    assert await cache.evict(drops) == 5
    assert cache.size_bytes == 0


async def test_what_was_stopped_is_downloaded_anew(bench: Bench, alice: OsUser) -> None:
    """Nobody finds a download in the table that was cancelled because its last container went away."""
    cache = bench.make()
    bench.source.gate.clear()
    left = asyncio.create_task(cache.localize(want("/f"), PUBLIC, claim(alice)))
    await eventually(lambda: bool(bench.source.fetched))
    left.cancel()
    await asyncio.wait({left})
    cache.release(container_id(2))
    bench.source.gate.set()
    again = await cache.localize(want("/f"), PUBLIC, claim(alice, 3))
    assert (again.was_cached, again.path.read_bytes()) == (False, b"12345")


async def test_restart_keeps_what_is_whole_and_removes_the_rest(bench: Bench, alice: OsUser, users: FakeUsers) -> None:
    cache = bench.make()
    kept = await cache.localize(want("/f"), scope_of(Visibility.PRIVATE, "alice", APP), claim(alice))
    (bench.root / "l/filecache/77_tmp").mkdir()
    (bench.root / "l/filecache/78").mkdir()
    again = bench.make()
    await again.recover(users)
    assert not list((bench.root / "l/filecache").iterdir())
    localized = await again.localize(want("/f"), scope_of(Visibility.PRIVATE, "alice", APP), claim(alice))
    assert (localized.path, localized.was_cached, localized.size_bytes) == (kept.path, True, 5)
    other = await again.localize(want("/g"), PUBLIC, claim(alice))
    assert other.path.parent.name == "79"


@pytest.mark.parametrize("linked", ["cache", "directory"])
async def test_restart_follows_no_link_of_a_users(bench: Bench, alice: OsUser, users: FakeUsers, linked: str) -> None:
    """The agent looks for what was left with its own rights, and what was a directory may be a link of the user's."""
    scope, cache = scope_of(Visibility.PRIVATE, "alice", APP), bench.make()
    kept = await cache.localize(want("/f"), scope, claim(alice))
    elsewhere = bench.root / "elsewhere"
    moved = kept.path.parents[1] if linked == "cache" else kept.path.parent
    moved.rename(elsewhere)
    moved.symlink_to(elsewhere)
    for left in ("77", "78_tmp"):
        (elsewhere / left).mkdir()
        os.chown(elsewhere / left, alice.uid, alice.gid)
    again = bench.make()
    await again.recover(users)
    assert {"77", "78_tmp"} < set(os.listdir(elsewhere))
    assert again.size_bytes == 0


async def test_forgotten_application_is_downloaded_anew(bench: Bench, alice: OsUser) -> None:
    cache = bench.make()
    scope = scope_of(Visibility.APPLICATION, "alice", APP)
    await cache.localize(want("/f"), scope, claim(alice))
    await cache.forget_application(APP)
    assert cache.size_bytes == 0
    await cache.localize(want("/f"), scope, claim(alice))
    assert len(bench.source.fetched) == 2


SCRIPT = b"#!/bin/sh\n"
HDFS_CLIENT = """
import stat
from dataclasses import dataclass
from types import SimpleNamespace

FILES = {"/hdfs/f": 0, "/hdfs/d/f": 0, "/hdfs/d/sub/f": 0}

def status(path):
    isdir = path not in FILES
    return SimpleNamespace(
        path=path, isdir=isdir, permission=0o755 if isdir else 0o644, length=0 if isdir else 10, modification_time=1
    )

class Read:
    def __enter__(self): return self
    def __exit__(self, *_): pass
    def read_range_stream(self, start, length): return [b"#!/bin/sh\\n"]

class Client:
    def __init__(self, url, config=None): pass
    def get_file_info(self, path): return status(path)
    def read(self, path): return Read()
    def list_status(self, path, recursive):
        below = ("/hdfs/d/f", "/hdfs/d/sub", "/hdfs/d/sub/f")
        return [status(one) for one in below if recursive or one.rpartition("/")[0] == path]
"""


def zipped(mode: int) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in ("f", "d/f"):
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            archive.writestr(info, SCRIPT)
    return packed.getvalue()


def tarred(mode: int, form: Literal["w", "w:gz"]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=form) as archive:
        for name in ("f", "d/f"):
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(SCRIPT), mode
            archive.addfile(info, io.BytesIO(SCRIPT))
    return packed.getvalue()


PACKED = {
    "bare.zip": zipped(0),
    "plain.zip": zipped(stat.S_IFREG | 0o644),
    "open.jar": zipped(stat.S_IFREG | 0o777),
    "closed.tar": tarred(0, "w"),
    "plain.tgz": tarred(0o644, "w:gz"),
    "setuid.tar.gz": tarred(0o6755, "w:gz"),
    "no-archive.dat": b"",
}


@pytest.fixture
async def places(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[dict[str, LocalResource]]:
    """One resource from each place that any comes from, none of them executable there."""
    (tmp_path / "hdfs_native.py").write_text(HDFS_CLIENT)
    monkeypatch.syspath_prepend(tmp_path)
    folder = bench.root / "sources"
    (folder / "d/sub").mkdir(parents=True)
    for name, content in {"f": SCRIPT, "d/f": SCRIPT, "d/sub/f": SCRIPT, **PACKED}.items():
        (folder / name).write_bytes(content)
        (folder / name).chmod(0o644)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\nConnection: close\r\n\r\n" + SCRIPT)
        await writer.drain()
        writer.close()

    def place(scheme: str, authority: str, path: str, kind: ResourceType) -> LocalResource:
        at_ms = (folder / path).stat().st_mtime_ns // 1_000_000 if scheme == "file" else 1
        url = SourceUrl(scheme=scheme, authority=authority, path=str(folder / path) if scheme == "file" else path)
        key = ResourceKey(url=url, timestamp_ms=at_ms, type=kind, pattern=".*" if kind is ResourceType.PATTERN else "")
        return LocalResource(link="x", key=key, visibility=Visibility.PUBLIC)

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    host = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    made = {
        "file": place("file", "", "f", ResourceType.FILE),
        "directory": place("file", "", "d", ResourceType.FILE),
        "http": place("http", host, "/f", ResourceType.FILE),
        "hdfs": place("hdfs", "nn:1", "/hdfs/f", ResourceType.FILE),
        "hdfs directory": place("hdfs", "nn:1", "/hdfs/d", ResourceType.FILE),
        "pattern": place("file", "", "open.jar", ResourceType.PATTERN),
    }
    yield made | {name: place("file", "", name, ResourceType.ARCHIVE) for name in PACKED}
    server.close()


@pytest.fixture(params=[0o022, 0o077], ids=["umask 022", "umask 077"])
def umask(request: pytest.FixtureRequest, places: dict[str, LocalResource]) -> Iterator[None]:
    """The agent's; what ``places`` are made of is older."""
    before = os.umask(request.param)
    yield
    os.umask(before)


def appended(path: Path, user: OsUser) -> bool:
    try:
        with acting_as(user), path.open("ab"):
            return True
    except PermissionError:
        return False


@pytest.mark.usefixtures("needs_root", "umask")
@pytest.mark.parametrize("visibility", list(Visibility))
async def test_every_localized_file_may_be_run_and_not_written(
    bench: Bench, places: dict[str, LocalResource], alice: OsUser, bob: OsUser, visibility: Visibility
) -> None:
    """FSDownload's modes, whatever they were and wherever it comes from."""
    is_public = visibility is Visibility.PUBLIC
    cache, owner = bench.make(), bench.agent if is_public else alice
    for place, wanted in places.items():
        found = (await cache.localize(wanted, scope_of(visibility, "alice", APP), claim(alice))).path
        for path in (found, *found.rglob("*")):
            status, what = path.lstat(), f"{place}: {path}"
            right = (0o755, 0o555) if is_public else (0o700, 0o500)
            assert oct(stat.S_IMODE(status.st_mode)) == oct(right[path.is_file()]), what
            assert status.st_uid == owner.uid, what
            assert path.is_dir() or not (appended(path, alice) or appended(path, bob)), what
        assert found.is_file() or len(list(found.rglob("f"))) == 2, place
