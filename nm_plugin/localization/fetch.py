"""Reads a resource from its source, with one ``UrlReader`` per scheme, found in a registry."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from pathlib import Path
from threading import Event
from typing import Protocol

import httpx2

from nm_plugin.host.users import FileThreads, OsUser, acting_as
from nm_plugin.localization.closed_networks import ClosedNetwork, Network, OpenNetworks
from nm_plugin.localization.giving import PRIVATE, PUBLIC
from nm_plugin.localization.plain_paths import InProc, open_plainly
from nm_plugin.localization.plan import SourceUrl
from yodel.errors import Unavailable, YodelError
from yodel.hadoop_http.addresses import Resolve, resolved
from yodel.telemetry.further_limits import DIRECTORY_DEPTH, DIRECTORY_ENTRIES
from yodel.telemetry.limit import Limit
from yodel.telemetry.limits import REFUSALS

COPY_CHUNK_BYTES = 1 << 20
HTTP_CHUNK_BYTES = 1 << 20
DIRECTORY_ENTRIES_MAX = 100_000
DIRECTORY_DEPTH_MAX = 64
HTTP_REDIRECTS_MAX = 5


class FetchFailed(YodelError):
    """The resource is not available; the text goes into the container's diagnostics."""


class NotFetchable(FetchFailed):
    """Reports a resource that nobody may fetch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadRequest:
    """One download.

    ``reader`` is the submitting user; ``owner`` the identity that owns ``destination`` (the agent for PUBLIC).
    ``credentials`` is the container's token stream, for sources that need delegation tokens.  With ``is_by_content``
    the time does not matter: whoever asks compares what came.
    """

    url: SourceUrl
    timestamp_ms: int
    must_be_public: bool
    reader: OsUser
    owner: OsUser
    destination: Path
    bytes_max: int
    credentials: bytes = b""
    is_by_content: bool = False

    def __repr__(self) -> str:
        return f"FetchRequest({self.url}, reader={self.reader.name})"


class UrlReader(Protocol):
    """Reads one scheme."""

    async def fetch(self, request: DownloadRequest) -> int:
        """Write the file (or directory tree) to ``destination``, which does not exist yet; the bytes written.

        Raises:
            FetchFailed: with Hadoop's words where it has some.
            OSError: the local disk refuses.
        """


Sources = Mapping[str, UrlReader]


def source_for(sources: Sources, url: SourceUrl) -> UrlReader:
    """Raises FetchFailed for a scheme nobody reads (Hadoop's UnsupportedFileSystemException)."""
    source = sources.get(url.scheme)
    if source is None:
        raise NotFetchable(f'No FileSystem for scheme "{url.scheme}"')
    return source


def check_unchanged(url: SourceUrl, expected_ms: int, actual_ms: int, now_ms: int) -> None:
    """Raises NotFetchable with FSDownload's text."""
    if expected_ms != actual_ms:
        raise NotFetchable(
            f'Resource {url} changed on src filesystem - expected: "{iso8601(expected_ms)}", '
            f'was: "{iso8601(actual_ms)}", current time: "{iso8601(now_ms)}"'
        )


def check_content(url: SourceUrl, expected: str, path: Path) -> None:
    """Blocks.

    Raises:
        NotFetchable: what came is not what has that SHA-256.
    """
    with path.open("rb") as file:
        actual = hashlib.file_digest(file, "sha256").hexdigest()
    if actual != expected:
        raise NotFetchable(f"Resource {url} has another digest - expected SHA-256: {expected}, was: {actual}")


def check_public(url: SourceUrl, is_public: bool) -> None:
    if not is_public:
        raise NotFetchable(f"Resource {url} is not publicly accessible and as such cannot be part of the public cache.")


def iso8601(time_ms: int) -> str:
    """``Times.formatISO8601``: 2026-11-21T08:43:40.123+0000."""
    moment = datetime.fromtimestamp(time_ms // 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{time_ms % 1000:03d}+0000"


def now_ms() -> int:
    return int(datetime.now(UTC).timestamp() * 1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalFiles:
    """``file:``: a disk that this node shares with the client."""

    threads: FileThreads

    async def fetch(self, request: DownloadRequest) -> int:
        return await self.threads.run_stoppable(partial(_copy_local, request))


def _copy_local(request: DownloadRequest, stop: Event) -> int:
    source = request.url.path
    try:
        with acting_as(request.reader):
            opened = open_plainly(source)
    except FileNotFoundError as error:
        raise FetchFailed(f"File {request.url} does not exist") from error
    except OSError as error:
        raise FetchFailed(f"{source}: {error.strerror} (user {request.reader.name})") from error
    descriptor = opened.descriptor
    try:
        status = os.fstat(descriptor)
        if not request.is_by_content:
            check_unchanged(request.url, request.timestamp_ms, status.st_mtime_ns // 1_000_000, now_ms())
        if request.must_be_public:
            check_public(request.url, opened.all_may_pass and _all_may_read(status))
        budget = _Budget(request.bytes_max, request.owner, stop)
        if stat.S_ISDIR(status.st_mode):
            _copy_directory(descriptor, request, request.destination, budget, 0)
        elif stat.S_ISREG(status.st_mode):
            _copy_file(descriptor, request.destination, request, budget)
        else:
            raise NotFetchable(f"{source} is neither a file nor a directory")
    finally:
        os.close(descriptor)
    return budget.used_bytes


def _all_may_read(status: os.stat_result) -> bool:
    """FSDownload.checkPublicPermsForAll, of one file or directory."""
    needed = 0o005 if stat.S_ISDIR(status.st_mode) else 0o004
    return status.st_mode & needed == needed


class _Budget:
    """Counts bytes and entries of one resource, and raises FetchFailed when they are too many, or it is to ``stop``."""

    def __init__(self, bytes_max: int, owner: OsUser, stop: Event | None = None) -> None:
        self._bytes_max, self._owner, self._stop = bytes_max, owner, stop
        self.used_bytes = 0
        self._entries = 0

    def add(self, count: int) -> None:
        self._go_on()
        self.used_bytes += count
        if self.used_bytes > self._bytes_max:
            raise NotFetchable(f"Resource is larger than {self._bytes_max} bytes")

    def add_entry(self) -> None:
        self._go_on()
        self._entries += 1
        if self._entries > DIRECTORY_ENTRIES_MAX:
            raise too_large(DIRECTORY_ENTRIES, self._entries, DIRECTORY_ENTRIES_MAX, self._owner)

    def _go_on(self) -> None:
        if self._stop is not None and self._stop.is_set():
            raise FetchFailed("It is not needed any more")


def _copy_file(descriptor: int, target: Path, request: DownloadRequest, budget: _Budget) -> None:
    output = create_file(target, request.owner, request.must_be_public)
    try:
        while copied := _copy_range(descriptor, output):
            budget.add(copied)
    finally:
        os.close(output)


def _copy_range(source: int, target: int) -> int:
    """Copy in the kernel, with sendfile if the file systems do not support copy_file_range."""
    try:
        return os.copy_file_range(source, target, COPY_CHUNK_BYTES)
    except OSError:
        return os.sendfile(target, source, None, COPY_CHUNK_BYTES)


def create_file(target: Path, owner: OsUser, public: bool = False) -> int:
    """A new file of the owner's, open for writing here and nowhere else: from now on it is for reading and running."""
    with acting_as(owner):
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o500)
        return _with_mode(descriptor, (PUBLIC if public else PRIVATE).file)


def create_directory(target: Path, owner: OsUser, public: bool) -> None:
    """A new directory of the owner's."""
    with acting_as(owner):
        target.mkdir(mode=0o700)
        descriptor = os.open(target, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        os.close(_with_mode(descriptor, (PUBLIC if public else PRIVATE).directory))


def _with_mode(descriptor: int, mode: int) -> int:
    """Whatever the umask is.  Closed where that fails."""
    try:
        os.fchmod(descriptor, mode)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def too_large(limit: Limit, value: int, maximum: int, owner: OsUser) -> NotFetchable:
    """A directory, by a limit: the refusal is counted."""
    REFUSALS.tell(limit, caller=owner.name, value=value, maximum=maximum)
    return NotFetchable(f"Directory is too large: {limit.words(value, maximum)}")


def _names(descriptor: int, budget: _Budget) -> list[str]:
    """Return the names in a directory, sorted; reading stops at the budget's maximum."""
    names = []
    with os.scandir(descriptor) as entries:
        for entry in entries:
            budget.add_entry()
            names.append(entry.name)
    return sorted(names)


def _copy_directory(descriptor: int, request: DownloadRequest, target: Path, budget: _Budget, depth: int) -> None:
    if depth > DIRECTORY_DEPTH_MAX:
        raise too_large(DIRECTORY_DEPTH, depth, DIRECTORY_DEPTH_MAX, request.owner)
    create_directory(target, request.owner, request.must_be_public)
    for name in _names(descriptor, budget):
        try:
            with acting_as(request.reader):
                opened = open_plainly(name, descriptor)
        except OSError as error:
            if not _leads_nowhere(error) or not _copy_link(descriptor, name, request, target):
                raise FetchFailed(f"{name}: {error.strerror} (user {request.reader.name})") from error
            continue
        child = opened.descriptor
        try:
            status = os.fstat(child)
            if request.must_be_public and (stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode)):
                check_public(request.url, opened.all_may_pass and _all_may_read(status))
            if stat.S_ISDIR(status.st_mode):
                _copy_directory(child, request, target / name, budget, depth + 1)
            elif stat.S_ISREG(status.st_mode):
                _copy_file(child, target / name, request, budget)
        finally:
            os.close(child)


def _leads_nowhere(error: OSError) -> bool:
    return error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP) and not isinstance(error, InProc)


def _copy_link(directory: int, name: str, request: DownloadRequest, target: Path) -> bool:
    """Copy a link as it is, without following it; return False if it is not a link."""
    try:
        with acting_as(request.reader):
            text = os.readlink(name, dir_fd=directory)
    except OSError:
        return False
    with acting_as(request.owner):
        os.symlink(text, target / name)
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpFiles:
    """``http:`` and ``https:``: the timestamp is Last-Modified when the server sends one, and unchecked otherwise.

    Nothing is fetched from networks that are ``closed``.  Hadoop's own file system for HTTP describes every file with
    timestamp 0 (AbstractHttpFileSystem.getFileStatus): that is no time to compare with.  Everything that needs no
    credentials is public.
    """

    threads: FileThreads
    closed: Collection[Network]
    timeout_s: float = 60.0
    resolve: Resolve = resolved

    async def fetch(self, request: DownloadRequest) -> int:
        try:
            async with (
                httpx2.AsyncClient(
                    transport=OpenNetworks(self.closed, self.resolve),
                    timeout=self.timeout_s,
                    follow_redirects=True,
                    max_redirects=HTTP_REDIRECTS_MAX,
                    trust_env=False,
                ) as client,
                client.stream("GET", str(request.url), headers={"Accept-Encoding": "identity"}) as response,
            ):
                if response.status_code != 200:
                    raise FetchFailed(f"{request.url}: HTTP status {response.status_code}")
                self._check(request, response.headers.get("Last-Modified"))
                return await self._store(request, response)
        except ClosedNetwork as error:
            raise NotFetchable(f"{request.url}: {error}") from error
        except (httpx2.HTTPError, httpx2.InvalidURL, Unavailable) as error:
            raise FetchFailed(f"{request.url}: {type(error).__name__}: {error}") from error

    def _check(self, request: DownloadRequest, last_modified: str | None) -> None:
        if last_modified is None or request.timestamp_ms == 0:
            return
        try:
            actual_ms = int(parsedate_to_datetime(last_modified).timestamp() * 1000)
        except ValueError:
            return
        check_unchanged(request.url, request.timestamp_ms, actual_ms, now_ms())

    async def _store(self, request: DownloadRequest, response: httpx2.Response) -> int:
        budget = _Budget(request.bytes_max, request.owner)
        output = await self.threads.run(create_file, request.destination, request.owner, request.must_be_public)
        try:
            async for chunk in response.aiter_bytes(HTTP_CHUNK_BYTES):
                budget.add(len(chunk))
                await self.threads.run(write_all, output, chunk)
        finally:
            os.close(output)
        return budget.used_bytes


def write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
