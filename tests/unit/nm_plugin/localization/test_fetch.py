"""Sources: files of a shared disk with the user's rights, and HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
from collections.abc import AsyncIterator
from dataclasses import replace
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest

from nm_plugin.host.directories import PUBLIC_DIR_MODE
from nm_plugin.host.users import FileThreads, OsUser
from nm_plugin.localization import fetch
from nm_plugin.localization.fetch import (
    DownloadRequest,
    FetchFailed,
    HttpFiles,
    LocalFiles,
    NotFetchable,
    check_unchanged,
    create_directory,
    create_file,
    source_for,
)
from nm_plugin.localization.plan import SourceUrl
from yodel.telemetry.limits import REFUSALS

LAST_MODIFIED_MS = 1_000_000_000_000
RESPONSE = (
    b"HTTP/1.1 %s\r\nContent-Length: 5\r\nConnection: close\r\n"
    b"Last-Modified: Sun, 09 Sep 2001 01:46:40 GMT\r\n\r\nhello"
)


def local(path: Path, reader: OsUser, destination: Path, **changes: Any) -> DownloadRequest:
    values: dict[str, Any] = {
        "url": SourceUrl(scheme="file", authority="", path=str(path)),
        "timestamp_ms": path.stat().st_mtime_ns // 1_000_000,
        "must_be_public": False,
        "reader": reader,
        "owner": reader,
        "destination": destination,
        "bytes_max": 1000,
    }
    return DownloadRequest(**{**values, **changes})


@pytest.fixture
def cache_dir(open_path: Path, alice: OsUser) -> Path:
    path = open_path / "cache"
    path.mkdir(mode=0o700)
    if os.geteuid() == 0:
        os.chown(path, alice.uid, alice.gid)
    return path


async def test_file_is_copied_for_its_reader(
    open_path: Path, cache_dir: Path, alice: OsUser, threads: FileThreads
) -> None:
    source = open_path / "run.sh"
    source.write_bytes(b"x" * 900)
    source.chmod(0o644)
    written = await LocalFiles(threads=threads).fetch(local(source, alice, cache_dir / "run.sh"))
    status = (cache_dir / "run.sh").stat()
    assert (written, stat.S_IMODE(status.st_mode), status.st_uid) == (900, 0o500, alice.uid)
    assert (cache_dir / "run.sh").read_bytes() == source.read_bytes()


async def test_one_millisecond_is_a_change(
    open_path: Path, cache_dir: Path, alice: OsUser, threads: FileThreads
) -> None:
    source = open_path / "f"
    source.write_text("x")
    source.chmod(0o644)
    os.utime(source, ns=(0, 1_700_000_000_123_000_000))
    files = LocalFiles(threads=threads)
    with pytest.raises(FetchFailed, match="changed on src filesystem"):
        await files.fetch(local(source, alice, cache_dir / "f", timestamp_ms=1_700_000_000_124))
    assert await files.fetch(local(source, alice, cache_dir / "f", timestamp_ms=1_700_000_000_123)) == 1


def test_text_of_a_change_is_hadoops() -> None:
    with pytest.raises(FetchFailed) as changed:
        check_unchanged(SourceUrl(scheme="hdfs", authority="nn:1", path="/a"), 1_000, 2_001, 3_000)
    assert str(changed.value) == (
        'Resource hdfs://nn:1/a changed on src filesystem - expected: "1970-01-01T00:00:01.000+0000", '
        'was: "1970-01-01T00:00:02.001+0000", current time: "1970-01-01T00:00:03.000+0000"'
    )


async def test_too_large_is_refused(open_path: Path, cache_dir: Path, alice: OsUser, threads: FileThreads) -> None:
    source = open_path / "f"
    source.write_bytes(b"x" * 1001)
    source.chmod(0o644)
    with pytest.raises(FetchFailed, match="larger than 1000 bytes"):
        await LocalFiles(threads=threads).fetch(local(source, alice, cache_dir / "f"))


async def test_directory_is_copied_whole(open_path: Path, cache_dir: Path, alice: OsUser, threads: FileThreads) -> None:
    source = open_path / "d"
    (source / "sub").mkdir(parents=True)
    for name in ("a", "sub/b"):
        (source / name).write_text(name)
        (source / name).chmod(0o644)
    assert await LocalFiles(threads=threads).fetch(local(source, alice, cache_dir / "d")) == 6
    assert (cache_dir / "d/sub/b").read_text() == "sub/b"


@pytest.mark.parametrize(("name", "value"), [("directory_entries", 3), ("directory_depth", 3)])
async def test_directory_of_too_much_is_refused_by_a_limit_that_is_named_and_counted(
    open_path: Path,
    cache_dir: Path,
    alice: OsUser,
    threads: FileThreads,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    value: int,
) -> None:
    monkeypatch.setattr(fetch, f"{name.upper()}_MAX", value - 1)
    source, before = open_path / "d", REFUSALS.counts()[name]
    (source / "1" / "2" / "3").mkdir(parents=True)
    with pytest.raises(FetchFailed, match=f"{name} is {value}, where at most {value - 1} are allowed"):
        await LocalFiles(threads=threads).fetch(local(source, alice, cache_dir / "d"))
    assert REFUSALS.counts()[name] == before + 1


async def test_directory_of_too_much_is_refused_before_anything_is_copied(
    open_path: Path, cache_dir: Path, alice: OsUser, threads: FileThreads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "DIRECTORY_ENTRIES_MAX", 2)
    source = open_path / "d"
    source.mkdir()
    for name in ("a", "b", "c"):
        (source / name).write_text(name)
        (source / name).chmod(0o644)
    with pytest.raises(FetchFailed, match="directory_entries is 3, where at most 2 are allowed"):
        await LocalFiles(threads=threads).fetch(local(source, alice, cache_dir / "d"))
    assert list((cache_dir / "d").iterdir()) == []


@pytest.mark.usefixtures("needs_root")
async def test_file_inside_a_directory_needs_the_readers_rights_too(
    open_path: Path, cache_dir: Path, alice: OsUser, threads: FileThreads
) -> None:
    source = open_path / "d"
    source.mkdir()
    (source / "link").symlink_to("/etc/shadow")
    with pytest.raises(FetchFailed, match="Permission denied"):
        await LocalFiles(threads=threads).fetch(local(source, alice, cache_dir / "d"))


@pytest.mark.usefixtures("needs_root")
@pytest.mark.parametrize("form", ["/proc/self/fd/{fd}", "/proc/{pid}/fd/{fd}", "{own}", "{directory}"])
async def test_what_the_agent_has_open_is_neither_read_nor_dated(
    open_path: Path, cache_dir: Path, alice: OsUser, threads: FileThreads, form: str
) -> None:
    """A descriptor passes by the closed directory above; a thread may look into its own process whoever it acts for."""
    closed, own = open_path / "closed", open_path / "alices"
    closed.mkdir(mode=0o700)
    own.mkdir()
    (closed / "f").write_text("bob's")
    (closed / "f").chmod(0o644)
    files = LocalFiles(threads=threads)
    with (closed / "f").open() as opened:
        (own / "link").symlink_to(f"/proc/self/fd/{opened.fileno()}")
        path = form.format(fd=opened.fileno(), pid=os.getpid(), own=own / "link", directory=own)
        for timestamp_ms in ((own if form == "{directory}" else closed / "f").stat().st_mtime_ns // 1_000_000, 1):
            if form == "{directory}" and timestamp_ms == 1:
                break  # alice's own directory may be dated
            asked = local(own, alice, cache_dir / "copy", timestamp_ms=timestamp_ms)
            url = SourceUrl(scheme="file", authority="", path=path)
            with pytest.raises(FetchFailed, match="is in a proc file system") as refused:
                await files.fetch(replace(asked, url=url))
            assert "was:" not in str(refused.value)
        assert not (cache_dir / "copy").is_file()


async def test_a_link_in_the_path_leads_to_the_file(
    open_path: Path, cache_dir: Path, alice: OsUser, threads: FileThreads
) -> None:
    (open_path / "spark-3.5").mkdir()
    (open_path / "spark-3.5/f").write_text("x")
    (open_path / "spark-3.5/f").chmod(0o644)
    (open_path / "spark").symlink_to("spark-3.5")
    assert await LocalFiles(threads=threads).fetch(local(open_path / "spark/f", alice, cache_dir / "f")) == 1


def test_nothing_is_made_through_a_link(cache_dir: Path, alice: OsUser) -> None:
    (cache_dir / "there").write_text("x")
    for name in ("there", "nowhere"):
        (cache_dir / "link").symlink_to(cache_dir / name)
        with pytest.raises(FileExistsError):
            create_file(cache_dir / "link", alice)
        with pytest.raises(FileExistsError):
            create_directory(cache_dir / "link", alice, False)
        (cache_dir / "link").unlink()
    assert ((cache_dir / "there").read_text(), os.listdir(cache_dir)) == ("x", ["there"])


async def test_device_is_refused(cache_dir: Path, alice: OsUser, threads: FileThreads) -> None:
    with pytest.raises(FetchFailed):
        await LocalFiles(threads=threads).fetch(local(Path("/dev/null"), alice, cache_dir / "n"))


async def test_missing_file_is_named(open_path: Path, cache_dir: Path, alice: OsUser, threads: FileThreads) -> None:
    request = local(open_path, alice, cache_dir / "f", url=SourceUrl(scheme="file", authority="", path="/no/such"))
    with pytest.raises(FetchFailed, match="File file:/no/such does not exist"):
        await LocalFiles(threads=threads).fetch(request)


async def test_public_must_be_readable_by_all_on_the_whole_way(
    open_path: Path, agent_user: OsUser, alice: OsUser, threads: FileThreads
) -> None:
    (open_path / "closed").mkdir(mode=0o700)
    source = open_path / "closed/f"
    source.write_text("x")
    source.chmod(0o644)
    files = LocalFiles(threads=threads)
    public = {"must_be_public": True, "owner": agent_user}
    with pytest.raises(FetchFailed, match="is not publicly accessible"):
        await files.fetch(local(source, agent_user, open_path / "copy", **public))
    os.chmod(open_path / "closed", PUBLIC_DIR_MODE)
    os.chmod(source, 0o640)
    with pytest.raises(FetchFailed, match="is not publicly accessible"):
        await files.fetch(local(source, agent_user, open_path / "copy", **public))
    os.chmod(source, 0o644)
    assert await files.fetch(local(source, alice, open_path / "copy", **public)) == 1


@pytest.mark.parametrize("public", [True, False])
async def test_links_of_a_directory_that_lead_nowhere_are_copied(
    open_path: Path, cache_dir: Path, agent_user: OsUser, alice: OsUser, threads: FileThreads, public: bool
) -> None:
    """Links that lead nowhere are copied as they are; those that lead somewhere are what they lead to."""
    nowhere = {"gone": "no/such", "away": "/no/such", "itself": "itself", "below": "f/x", "odd": " \n$(id)\udcff"}
    (open_path / "d/sub").mkdir(parents=True)
    (open_path / "d/f").write_text("x")
    (open_path / "d/f").chmod(0o644)
    for folder in ("d", "d/sub"):
        for name, target in nowhere.items():
            (open_path / folder / name).symlink_to(target)
    (open_path / "d/led").symlink_to("f")
    more: dict[str, Any] = {"must_be_public": public, "owner": agent_user if public else alice}
    copy = (open_path if public else cache_dir) / "copy"
    assert await LocalFiles(threads=threads).fetch(local(open_path / "d", alice, copy, **more)) == 2
    for folder in (copy, copy / "sub"):
        assert {path.name: os.readlink(path) for path in folder.iterdir() if path.is_symlink()} == nowhere
        assert {path.lstat().st_uid for path in folder.iterdir()} == {more["owner"].uid}
    assert (copy / "led").read_text() == "x"


@pytest.mark.parametrize("closed", ["d/f", "d/sub", "d/sub/f"])
async def test_public_directory_with_something_private_in_it_is_refused(
    open_path: Path, agent_user: OsUser, threads: FileThreads, closed: str
) -> None:
    (open_path / "d/sub").mkdir(parents=True)
    for name in ("d/f", "d/sub/f"):
        (open_path / name).write_text("x")
        (open_path / name).chmod(0o644)
    files, public = LocalFiles(threads=threads), {"must_be_public": True, "owner": agent_user}
    assert await files.fetch(local(open_path / "d", agent_user, open_path / "copy", **public)) == 2
    (open_path / closed).chmod(0o750)
    with pytest.raises(FetchFailed, match="is not publicly accessible"):
        await files.fetch(local(open_path / "d", agent_user, open_path / "again", **public))


def test_scheme_without_a_source_is_refused() -> None:
    with pytest.raises(FetchFailed, match='No FileSystem for scheme "x"'):
        source_for({}, SourceUrl(scheme="x", authority="", path="/"))


def test_credentials_are_in_no_repr(open_path: Path, alice: OsUser) -> None:
    assert "hunter2" not in repr(local(open_path, alice, open_path, credentials=b"hunter2"))


@pytest.fixture
async def http_port() -> AsyncIterator[int]:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        writer.write(RESPONSE % (b"200 OK" if head.startswith(b"GET /ok ") else b"404 Not Found"))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    yield server.sockets[0].getsockname()[1]
    server.close()


def remote(port: int, path: str, reader: OsUser, destination: Path, **changes: Any) -> DownloadRequest:
    url = SourceUrl(scheme="http", authority=f"127.0.0.1:{port}", path=path)
    values = {"url": url, "timestamp_ms": LAST_MODIFIED_MS, **changes}
    return local(destination.parent, reader, destination, **values)


async def test_http_is_stored_when_it_is_unchanged(
    http_port: int, cache_dir: Path, alice: OsUser, threads: FileThreads
) -> None:
    files = HttpFiles(threads=threads, closed=())
    assert await files.fetch(remote(http_port, "/ok", alice, cache_dir / "f")) == 5
    assert (cache_dir / "f").read_text() == "hello"
    with pytest.raises(FetchFailed, match="changed on src filesystem"):
        await files.fetch(remote(http_port, "/ok", alice, cache_dir / "g", timestamp_ms=5))
    with pytest.raises(FetchFailed, match="larger than 3 bytes"):
        await files.fetch(remote(http_port, "/ok", alice, cache_dir / "h", bytes_max=3))


@pytest.mark.parametrize(("timestamp_ms", "is_taken"), [(0, True), (1, False), (LAST_MODIFIED_MS, True), (-1, False)])
async def test_http_as_hadoops_file_system_describes_it_is_unchecked(
    http_port: int,
    cache_dir: Path,
    alice: OsUser,
    threads: FileThreads,
    timestamp_ms: int,
    is_taken: bool,
) -> None:
    asked = remote(http_port, "/ok", alice, cache_dir / "f", timestamp_ms=timestamp_ms)
    refused = contextlib.nullcontext() if is_taken else pytest.raises(FetchFailed, match="changed on src filesystem")
    with refused:
        assert await HttpFiles(threads=threads, closed=()).fetch(asked) == 5


async def test_files_of_a_disk_are_checked_whatever_is_said_of_them(
    open_path: Path, cache_dir: Path, alice: OsUser, threads: FileThreads
) -> None:
    asked = local(open_path, alice, cache_dir / "f", timestamp_ms=0)
    with pytest.raises(FetchFailed, match="changed on src filesystem"):
        await LocalFiles(threads=threads).fetch(asked)


async def test_http_from_a_closed_network_is_refused_whoever_asks(
    http_port: int, cache_dir: Path, alice: OsUser, threads: FileThreads
) -> None:
    files = HttpFiles(threads=threads, closed=[ip_network("127.0.0.0/8")])
    with pytest.raises(NotFetchable, match=r"^http://127\.0\.0\.1:\d+/ok: .*fetch_closed_networks"):
        await files.fetch(remote(http_port, "/ok", alice, cache_dir / "f"))
    nowhere = SourceUrl(scheme="http", authority="no-such-host.invalid", path="/f")
    with pytest.raises(FetchFailed, match="is not found"):
        await files.fetch(remote(http_port, "/ok", alice, cache_dir / "f", url=nowhere))


async def test_http_errors_are_failures(http_port: int, cache_dir: Path, alice: OsUser, threads: FileThreads) -> None:
    files = HttpFiles(threads=threads, closed=())
    with pytest.raises(FetchFailed, match="HTTP status 404"):
        await files.fetch(remote(http_port, "/no", alice, cache_dir / "f"))
    with pytest.raises(FetchFailed):
        await files.fetch(remote(1, "/ok", alice, cache_dir / "f"))
