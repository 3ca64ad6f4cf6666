"""The node's cache of local resources: one download for all who want the same thing, kept until room is needed.

Follows ``ResourceLocalizationService`` and ``LocalResourcesTrackerImpl``: a resource is identified by scope (everybody,
a user, an application) and key (path, timestamp, type, pattern); it lives in a numbered directory of its scope; the
least recently used ones that no container uses are removed when the cache is over its target size.

A download goes to ``N_tmp`` and is renamed when it is whole.  What its source does not give to one who asks is tried
with the user and the tokens of the next, before all of them fail.  Every finished entry has a small file in
``state_dir/cache``, so that a restarted agent finds what its running containers link to; directories without one are
leftovers and are removed at start.

Refuses: to remove anything that a container uses.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import structlog

from nm_plugin.host.atomic_file import write_atomically
from nm_plugin.host.directories import PUBLIC_DIR_MODE, USER_DIR_MODE, make_dir, make_user_dir, remove_tree
from nm_plugin.host.tasks import TaskOwner
from nm_plugin.host.users import FileThreads, OsUser, UserDatabase, acting_as, user_of_path
from nm_plugin.localization import archive
from nm_plugin.localization.below import is_directory_below, names_below
from nm_plugin.localization.fetch import (
    DownloadRequest,
    FetchFailed,
    NotFetchable,
    Sources,
    check_content,
    source_for,
)
from nm_plugin.localization.plan import (
    LOCAL_FILES,
    CacheScope,
    LocalResource,
    ResourceKey,
    ResourceType,
    SourceUrl,
    Visibility,
)
from nm_plugin.localization.turns import LocalizationTurn, LocalizationTurns
from nm_plugin.localization.unpacking import Packed, Unpacking
from yodel.domain.ids import ContainerId
from yodel.errors import YodelError

FIRST_NUMBER = 10  # LocalCacheDirectoryManager numbers from 10
ENTRIES_MAX = 200_000


class LocalizationFailure(YodelError):
    """A resource could not be made available; the text is for the container's diagnostics."""


class _TooLate(Exception):
    """A resource takes longer than it may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheSettings:
    """Limits of the cache; sizes in bytes.  ``unpack_user`` unpacks what would be root's.

    ``default_fs`` is the file system of resources whose URLs have no scheme.
    """

    local_dirs: tuple[Path, ...]
    state_dir: Path
    target_bytes: int
    resource_bytes_max: int
    archive_limits: archive.ArchiveLimits
    unpack_user: OsUser
    concurrency: int
    fetch_timeout_s: float
    default_fs: SourceUrl = LOCAL_FILES


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceClaim:
    """Identifies a container that needs a resource, with the user whose rights are used."""

    container_id: ContainerId
    user: OsUser
    credentials: bytes = field(default=b"", repr=False)

    @property
    def rights(self) -> tuple[str, bytes]:
        """Return the user's name and credentials, by which a source may grant access."""
        return self.user.name, self.credentials


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalizedResource:
    """Locates a localized resource; ``was_cached`` feeds LOCALIZATION_COUNTERS.

    ``root`` is the agent's own directory above it; everything below may have been named by strangers.
    """

    path: Path
    size_bytes: int
    was_cached: bool
    root: Path = Path("/")


@dataclass(slots=True, kw_only=True)
class _Entry:
    number: int
    scope: CacheScope
    key: ResourceKey
    directory: Path
    name: str
    ready: asyncio.Future[int]
    turn: LocalizationTurn | None = None
    """The turn of its download; None: an earlier agent has it done."""
    users: set[ContainerId] = field(default_factory=set)
    askers: dict[ContainerId, ResourceClaim] = field(default_factory=dict)
    """Those who wait for the download, in their order."""
    size_bytes: int = 0
    last_used: int = 0
    task: asyncio.Task[None] | None = None

    @property
    def path(self) -> Path:
        return self.directory / self.name

    def next_asker(self, tried: frozenset[tuple[str, bytes]]) -> ResourceClaim | None:
        """Return a claim whose rights were not tried, preferably of an untried user; None: there is none left."""
        left = [claim for claim in self.askers.values() if claim.rights not in tried]
        users = {user for user, _ in tried}
        return min(left, key=lambda claim: claim.user.name in users, default=None)


class ResourceCache:
    """All entries of a node.  Used on the event loop only; files are touched in the threads."""

    def __init__(
        self, settings: CacheSettings, sources: Sources, threads: FileThreads, agent: OsUser, tasks: TaskOwner
    ) -> None:
        self._settings, self._sources, self._threads = settings, sources, threads
        self._agent, self._tasks = agent, tasks
        self._unpacking = Unpacking(threads=threads, reserved=settings.unpack_user, limits=settings.archive_limits)
        self._entries: dict[tuple[CacheScope, ResourceKey], _Entry] = {}
        self._turns = LocalizationTurns(settings.concurrency)
        self._numbers = itertools.count(FIRST_NUMBER)
        self._uses = itertools.count(1)
        self._dirs = settings.local_dirs
        self._index_dir = settings.state_dir / "cache"
        self._log = structlog.get_logger(__name__)

    @property
    def size_bytes(self) -> int:
        return sum(entry.size_bytes for entry in self._entries.values())

    async def localize(self, wanted: LocalResource, scope: CacheScope, claim: ResourceClaim) -> LocalizedResource:
        """The path of a resource, downloaded once for all who ask at the same time.

        Raises:
            LocalizationFailure: it is not available.
        """
        entry = self._entries.get((scope, self._key(wanted)))
        was_cached = entry is not None
        if entry is None:
            entry = self._begin(wanted, scope, claim)
        if entry.turn is not None:
            entry.turn.ask(claim.user.name)
        entry.users.add(claim.container_id)
        if not entry.ready.done():
            entry.askers.setdefault(claim.container_id, claim)
        entry.last_used = next(self._uses)
        # Shielded: one container that goes away must not cancel what others wait for.
        size_bytes = await asyncio.shield(entry.ready)
        root = self._root_of(entry.path) or Path("/")
        return LocalizedResource(path=entry.path, size_bytes=size_bytes, was_cached=was_cached, root=root)

    def place_of(self, wanted: LocalResource, scope: CacheScope) -> tuple[Path, Path] | None:
        """The local dir and the path below it of what is there already; None when it is not."""
        entry = self._entries.get((scope, self._key(wanted)))
        if entry is None or not entry.ready.done() or entry.ready.cancelled() or entry.ready.exception():
            return None
        root = self._root_of(entry.path)
        return (root, entry.path) if root is not None else None

    def _root_of(self, path: Path) -> Path | None:
        """The local dir that it is in; None when that is none any more."""
        return next((root for root in self._settings.local_dirs if path.is_relative_to(root)), None)

    def use_dirs(self, good: tuple[Path, ...], errored: frozenset[Path]) -> None:
        """Download only to good disks; what lies on errored ones is fetched again by the next who wants it."""
        self._dirs = good
        for key, entry in list(self._entries.items()):
            if entry.ready.done() and any(entry.directory.is_relative_to(path) for path in errored):
                del self._entries[key]

    def release(self, container_id: ContainerId) -> None:
        """The container needs its resources no longer; downloads nobody else waits for are stopped."""
        for key, entry in list(self._entries.items()):
            if container_id not in entry.users:
                continue
            entry.users.discard(container_id)
            entry.askers.pop(container_id, None)
            if not entry.users and not entry.ready.done() and entry.task is not None:
                entry.task.cancel()
                del self._entries[key]

    def adopt(self, container_id: ContainerId, wanted: LocalResource, scope: CacheScope) -> None:
        """A re-adopted container uses this resource."""
        entry = self._entries.get((scope, self._key(wanted)))
        if entry is not None:
            entry.users.add(container_id)

    async def forget_application(self, application: str) -> None:
        """The application's own cache goes with its directories; drop the entries and their index files."""
        gone = [(k, e) for k, e in self._entries.items() if e.scope.application == application]
        for key, entry in gone:
            if entry.task is not None and not entry.ready.done():
                entry.task.cancel()
            del self._entries[key]
            await self._threads.run(self._index_file(entry).unlink, True)

    async def evict(self, users: UserDatabase) -> int:
        """Remove least recently used, unused entries until the target size is met; the bytes freed."""
        idle = [(e.last_used, k, e) for k, e in self._entries.items() if not e.users and e.ready.done()]
        excess = self.size_bytes - self._settings.target_bytes
        freed = 0
        for _, key, entry in sorted(idle, key=lambda item: item[0]):
            if freed >= excess:
                break
            if entry.users or self._entries.get(key) is not entry:
                continue  # since the last removal began somebody may have come for it, or have dropped it
            del self._entries[key]
            await self._remove(entry, users)
            freed += entry.size_bytes
        return freed

    async def recover(self, users: UserDatabase) -> None:
        """Take over at start the indexed entries whose directory is still there and remove all other directories."""
        kept: set[Path] = set()
        for number, content in await self._threads.run(self._read_index):
            entry = _entry_from_json(number, content)
            self._entries[(entry.scope, entry.key)] = entry
            kept.add(entry.directory)
        highest = max((e.number for e in self._entries.values()), default=FIRST_NUMBER - 1)
        stray = await self._threads.run(_numbered_dirs, self._settings.local_dirs)
        for directory in stray:
            digits = directory.name.removesuffix("_tmp")
            highest = max(highest, int(digits))
            if directory not in kept:
                await self._remove_directory(directory, _owner_name(directory, self._settings.local_dirs), users)
        self._numbers = itertools.count(highest + 1)

    def _key(self, wanted: LocalResource) -> ResourceKey:
        """One of the same file however it was named."""
        return replace(wanted.key, url=wanted.key.url.within(self._settings.default_fs))

    def _begin(self, wanted: LocalResource, scope: CacheScope, claim: ResourceClaim) -> _Entry:
        if len(self._entries) >= ENTRIES_MAX:
            raise LocalizationFailure(f"The cache of this node has {ENTRIES_MAX} entries")
        number, key = next(self._numbers), self._key(wanted)
        root = self._dirs[number % len(self._dirs)]
        entry = _Entry(
            number=number,
            scope=scope,
            key=key,
            directory=root / scope.directory() / str(number),
            name=key.url.name,
            ready=asyncio.get_running_loop().create_future(),
            turn=(turn := self._turns.turn()),
        )
        # A failure nobody waits for any more is not worth a warning at garbage collection.
        entry.ready.add_done_callback(lambda future: future.cancelled() or future.exception())
        self._entries[(scope, key)] = entry
        entry.task = self._tasks.create_task(self._download(entry, claim, turn), name=f"localize-{number}")
        entry.task.add_done_callback(lambda _: turn.end())
        entry.task.add_done_callback(lambda _: entry.ready.cancel())  # it may not even have begun
        return entry

    async def _download(self, entry: _Entry, claim: ResourceClaim, turn: LocalizationTurn) -> None:
        """Download for a claim.  Waiters get a failure at once; the turn lasts until the thread has ended."""
        await turn.come()
        fetching = asyncio.ensure_future(self._fetch_for_any(entry, claim))
        try:
            entry.size_bytes = await self._in_time(fetching)
        except asyncio.CancelledError:
            entry.ready.cancel()
            await _end_of(fetching)
            await asyncio.shield(self._discard(entry, claim))
            raise
        except _TooLate:
            self._fail(entry, f"{entry.key.url}: not fetched within {self._settings.fetch_timeout_s:.0f} s")
            await _end_of(fetching)
            await self._discard(entry, claim)
        except (YodelError, OSError) as error:
            self._fail(entry, str(error) or type(error).__name__)
            await self._discard(entry, claim)
        except Exception as error:
            # The boundary of one download: what a stranger named must cost at most this resource.  In the agent's task
            # group it would end the supervision of every container.
            self._fail(entry, f"{entry.key.url}: {type(error).__name__}: {error}")
            await self._discard(entry, claim)
        else:
            if not entry.ready.done():
                entry.ready.set_result(entry.size_bytes)
        finally:
            entry.askers.clear()

    async def _in_time(self, fetching: asyncio.Future[int]) -> int:
        """Raises _TooLate."""
        done, _ = await asyncio.wait({fetching}, timeout=self._settings.fetch_timeout_s)
        if not done:
            raise _TooLate
        return fetching.result()

    def _fail(self, entry: _Entry, text: str) -> None:
        """The next container tries again."""
        if self._entries.get((entry.scope, entry.key)) is entry:
            del self._entries[(entry.scope, entry.key)]
        self._log.warning("localization_failed", url=str(entry.key.url), reason=text[:500])
        if not entry.ready.done():
            entry.ready.set_exception(LocalizationFailure(text))

    async def _discard(self, entry: _Entry, claim: ResourceClaim) -> None:
        owner = self._owner(entry.scope, claim)
        temporary = _temporary(entry.directory)
        for directory in (temporary, entry.directory):
            try:
                await self._threads.run_as(owner, remove_tree, directory)
            except OSError as error:
                self._log.warning("cache_directory_not_removed", directory=str(directory), reason=str(error))

    def _owner(self, scope: CacheScope, claim: ResourceClaim) -> OsUser:
        return self._agent if scope.visibility is Visibility.PUBLIC else claim.user

    async def _fetch_for_any(self, entry: _Entry, claim: ResourceClaim) -> int:
        """Fetch with the rights of one who asks after the other, until the source gives it."""
        tried: frozenset[tuple[str, bytes]] = frozenset()
        while True:
            try:
                return await self._fetch(entry, claim)
            except FetchFailed as error:
                tried |= {claim.rights}
                following = entry.next_asker(tried)
                if following is None or isinstance(error, NotFetchable):
                    raise
                self._log.info("localization_retried", url=str(entry.key.url), reason=str(error)[:500])
                await self._discard(entry, claim)
                claim = following

    async def _fetch(self, entry: _Entry, claim: ResourceClaim) -> int:
        owner = self._owner(entry.scope, claim)
        public = entry.scope.visibility is Visibility.PUBLIC
        temporary = _temporary(entry.directory)
        await self._threads.run(_prepare, entry.scope, entry.directory, owner, self._agent)
        unpacks = entry.key.type is not ResourceType.FILE and archive.is_archive_name(entry.name)
        destination = temporary / (f".{entry.name}.packed" if unpacks else entry.name)
        source = source_for(self._sources, entry.key.url)
        size_bytes = await source.fetch(
            DownloadRequest(
                url=entry.key.url,
                timestamp_ms=entry.key.timestamp_ms,
                must_be_public=public,
                reader=claim.user,
                owner=owner,
                destination=destination,
                bytes_max=self._settings.resource_bytes_max,
                credentials=claim.credentials,
                is_by_content=bool(entry.key.sha256),
            )
        )
        if entry.key.sha256:
            await self._threads.run_as(owner, check_content, entry.key.url, entry.key.sha256, destination)
        if unpacks and not await self._threads.run_as(owner, destination.is_dir):
            size_bytes = await self._unpack(entry, destination, owner)
        elif unpacks:
            await self._threads.run_as(owner, destination.rename, temporary / entry.name)
        if public:
            await self._threads.run(temporary.chmod, PUBLIC_DIR_MODE)
        await self._threads.run_as(owner, temporary.rename, entry.directory)
        entry.size_bytes = size_bytes
        await self._threads.run(self._write_index, entry)
        return size_bytes

    async def _unpack(self, entry: _Entry, file: Path, owner: OsUser) -> int:
        packed = Packed(
            file=file,
            name=entry.name,
            pattern=entry.key.pattern if entry.key.type is ResourceType.PATTERN else "",
            target=file.parent / entry.name,
            owner=owner,
            public=entry.scope.visibility is Visibility.PUBLIC,
        )
        size_bytes = await self._unpacking.unpack(packed)
        await self._threads.run_as(owner, file.unlink)
        return size_bytes

    async def _remove(self, entry: _Entry, users: UserDatabase) -> None:
        await self._threads.run(self._index_file(entry).unlink, True)
        await self._remove_directory(entry.directory, entry.scope.user, users)

    async def _remove_directory(self, directory: Path, user_name: str, users: UserDatabase) -> None:
        try:
            owner = users.lookup(user_name) if user_name else self._agent
            await self._threads.run_as(owner, remove_tree, directory)
        except (OSError, YodelError) as error:
            self._log.warning("cache_directory_not_removed", directory=str(directory), reason=str(error))

    def _index_file(self, entry: _Entry) -> Path:
        return self._index_dir / f"{entry.number}.json"

    def _write_index(self, entry: _Entry) -> None:
        self._index_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        url = entry.key.url
        write_atomically(
            self._index_file(entry),
            {
                "scope": [entry.scope.visibility.value, entry.scope.user, entry.scope.application],
                "url": [url.scheme, url.authority, url.path],
                "timestamp_ms": entry.key.timestamp_ms,
                "type": entry.key.type.value,
                "pattern": entry.key.pattern,
                "sha256": entry.key.sha256,
                "directory": str(entry.directory),
                "size_bytes": entry.size_bytes,
            },
        )

    def _read_index(self) -> list[tuple[int, dict[str, Any]]]:
        result = []
        for path in sorted(self._index_dir.glob("*.json"))[:ENTRIES_MAX]:
            try:
                content = json.loads(path.read_text(encoding="utf-8"))
                present = self._is_there(Path(content["directory"])) and path.stem.isdecimal()
            except (OSError, ValueError, KeyError, TypeError):
                present = False
            if present:
                result.append((int(path.stem), content))
            else:
                path.unlink(missing_ok=True)
        return result

    def _is_there(self, directory: Path) -> bool:
        """Return True if it is a directory in a local dir that still exists."""
        root = self._root_of(directory)
        return root is not None and is_directory_below(root, directory)


def _entry_from_json(number: int, content: dict[str, Any]) -> _Entry:
    """Make an entry on the loop, which its future belongs to, of what this module alone writes and reads."""
    visibility, user, application = content["scope"]
    scheme, authority, path = content["url"]
    url = SourceUrl(scheme=scheme, authority=authority, path=path)
    ready: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    ready.set_result(int(content["size_bytes"]))
    return _Entry(
        number=number,
        scope=CacheScope(visibility=Visibility(visibility), user=user, application=application),
        key=ResourceKey(
            url=url,
            timestamp_ms=int(content["timestamp_ms"]),
            type=ResourceType(content["type"]),
            pattern=content["pattern"],
            sha256=content.get("sha256", ""),
        ),
        directory=Path(content["directory"]),
        name=url.name,
        ready=ready,
        size_bytes=int(content["size_bytes"]),
    )


async def _end_of(fetching: asyncio.Future[int]) -> None:
    fetching.cancel()
    await asyncio.wait({fetching})


def _temporary(directory: Path) -> Path:
    return directory.with_name(directory.name + "_tmp")


def _prepare(scope: CacheScope, directory: Path, owner: OsUser, agent: OsUser) -> None:
    """Make the directories above, and ``N_tmp``, each with the rights of whom it belongs to."""
    cache_dir = directory.parent
    if scope.visibility is Visibility.PUBLIC:
        make_dir(cache_dir, 0o755)
        make_dir(_temporary(directory), 0o700)  # until it is whole
        return
    above = cache_dir.parent if scope.visibility is Visibility.PRIVATE else cache_dir.parent.parent.parent
    make_user_dir(above, owner)
    with acting_as(owner):
        if scope.visibility is Visibility.APPLICATION:
            make_dir(cache_dir.parent.parent)
            make_dir(cache_dir.parent)
        make_dir(cache_dir)
        make_dir(_temporary(directory), USER_DIR_MODE)


def _numbered_dirs(local_dirs: tuple[Path, ...]) -> list[Path]:
    """All ``N`` and ``N_tmp`` below every kind of filecache."""
    found: list[Path] = []
    for root in local_dirs:
        caches = [root / "filecache"]
        for user in _children(root, root / "usercache"):
            caches += [user / "filecache", *(app / "filecache" for app in _children(root, user / "appcache"))]
        for cache in caches:
            found += [path for path in _children(root, cache) if path.name.removesuffix("_tmp").isdecimal()]
    return found


def _children(root: Path, directory: Path) -> list[Path]:
    """None where there is no such directory: a link of the user's is none."""
    try:
        return [directory / name for name in names_below(root, directory, ENTRIES_MAX)]
    except OSError:
        return []


def _owner_name(directory: Path, local_dirs: tuple[Path, ...]) -> str:
    for root in local_dirs:
        if directory.is_relative_to(root):
            parts = directory.relative_to(root).parts
            return user_of_path(parts[1]) if parts[0] == "usercache" else ""
    return ""
