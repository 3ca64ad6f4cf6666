"""Finds a container's user, and touches files with that user's rights.

An agent that runs as root writes into directories that belong to users, and reads files that users name.  Done with
root's rights either is a hole: a symbolic link planted by the user would make root read or write anywhere.  So every
such operation runs in a pool thread that has taken on the user's *file system* identity (``setfsuid`` and friends are
per thread on Linux) and has put aside all capabilities.  ``setfsuid`` itself drops those over files only: with
CAP_SYS_PTRACE left, ``/proc/<pid>/root`` would lead a user into other containers' and the node's own directories.
Nothing is ever checked first and done later.

Refuses: unknown users, uids below ``min_user_id`` that are not allowed by name, and architectures whose ``setgroups``
system call number is not known (the C library's wrapper would change all threads).
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import platform
import pwd
import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ParamSpec, Protocol, TypeVar
from urllib.parse import unquote

from yodel.errors import AccessDenied, NotFound, NotSupported, YodelError

P = ParamSpec("P")
T = TypeVar("T")

_SETGROUPS_NUMBER = {"x86_64": 116, "aarch64": 159, "riscv64": 159, "s390x": 206, "ppc64le": 81}
_CAPABILITY_VERSION_3 = 0x20080522  # linux/capability.h: 64 bits in two halves
USER_NAME_LENGTH_MAX = 255
_MEANS_SOMETHING = re.compile(r"[^A-Za-z0-9._@+=\-\x80-\U0010ffff]")


class UserNotFound(NotFound):
    """The node does not know the submitting user; the text begins with the container-executor's."""

    def __init__(self, name: str, advice: str = "") -> None:
        self.name = name
        super().__init__(f"User {name} not found{advice}")


@dataclass(frozen=True, slots=True, kw_only=True)
class OsUser:
    """A submitting user and the identity the file system knows it by."""

    name: str
    uid: int
    gid: int
    groups: tuple[int, ...] = ()


class UserDatabase(Protocol):
    """Resolves a submitting user."""

    def lookup(self, name: str) -> OsUser:
        """Raises UserNotFound or AccessDenied."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PwdUsers:
    """The node's own user database with container-executor's rules (min.user.id, allowed.system.users)."""

    min_user_id: int
    allowed_system_users: frozenset[str]
    reserved_uid: int
    """The agent's own for what strangers made; nobody's container may have it."""

    def lookup(self, name: str) -> OsUser:
        if not is_safe_name(name):
            raise UserNotFound(name[:USER_NAME_LENGTH_MAX])
        try:
            entry = pwd.getpwnam(name)
        except KeyError as error:
            raise UserNotFound(name, self._advice()) from error
        if entry.pw_uid < self.min_user_id and name not in self.allowed_system_users:
            raise AccessDenied(
                f"Requested user {name} is not whitelisted and has id {entry.pw_uid},"
                f"which is below the minimum allowed {self.min_user_id}"
            )
        if entry.pw_uid == self.reserved_uid:
            raise AccessDenied(
                f"Requested user {name} has id {entry.pw_uid}, which the node agent reserves for unpacking archives "
                "(unpack_uid); submit as another user, or change unpack_uid"
            )
        groups = tuple(os.getgrouplist(name, entry.pw_gid))
        return OsUser(name=name, uid=entry.pw_uid, gid=entry.pw_gid, groups=groups)

    def _advice(self) -> str:
        return (
            f" on this node ({platform.node()}), where containers run as the submitting user: create the account on "
            f"every node, with the same uid of at least {self.min_user_id} (with the chart: users.accounts), submit as "
            'a user who exists there (HADOOP_USER_NAME), or let all containers run as one user (user_mode = "single")'
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SingleUser:
    """Everything belongs to the agent's own user (yarn.nodemanager.linux-container-executor is not in use)."""

    uid: int
    gid: int

    def lookup(self, name: str) -> OsUser:
        if not is_safe_name(name):
            raise UserNotFound(name[:USER_NAME_LENGTH_MAX])
        return OsUser(name=name, uid=self.uid, gid=self.gid, groups=())


def is_safe_name(name: str) -> bool:
    """User names become one path component (``path_name``) and a comma list's element."""
    return (
        0 < len(name.encode("utf-8", "replace")) <= USER_NAME_LENGTH_MAX
        and name not in (".", "..")
        and not name.startswith("-")
        and all(c.isprintable() and c not in "/,:" for c in name)
    )


def path_name(user: str) -> str:
    """Return the user's name as it stands in the agent's paths.

    Commands have ``$PWD`` in them without quotes, so what means something to a shell is written as in a URL.
    """
    return _MEANS_SOMETHING.sub(lambda found: f"%{ord(found[0]):02X}", user)


def user_of_path(name: str) -> str:
    """Return the user of a ``path_name``."""
    return unquote(name)


class FileThreads:
    """A bounded pool in which blocking file operations run, as the agent or as a user.

    Who is cancelled leaves what runs to itself, unless all is run ``to_its_end``: then he waits for that, for
    descriptors must not be closed, and their numbers reused, under it.
    """

    def __init__(self, size: int, name: str = "files", *, to_its_end: bool = False) -> None:
        self._pool = ThreadPoolExecutor(max_workers=size, thread_name_prefix=name)
        self._to_its_end = to_its_end

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run with the agent's own rights."""
        return await self._do(lambda: function(*args, **kwargs))

    async def run_as(self, user: OsUser, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run with the user's file system rights."""

        def work() -> T:
            with acting_as(user):
                return function(*args, **kwargs)

        return await self._do(work)

    async def run_stoppable(self, function: Callable[[threading.Event], T]) -> T:
        """Run with the agent's own rights what looks now and then at an event, which is set when it is to stop."""
        stop = threading.Event()
        return await self._do(lambda: function(stop), stop)

    def close(self) -> None:
        """Waits for what runs; nothing queued is started."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    async def _do(self, work: Callable[[], T], stop: threading.Event | None = None) -> T:
        begun = self._pool.submit(work)
        done = asyncio.wrap_future(begun)
        try:
            return await asyncio.shield(done)
        except asyncio.CancelledError:
            if stop is not None:
                stop.set()
            if not begun.cancel() and self._to_its_end:
                await asyncio.wait({done})
            done.add_done_callback(lambda over: over.cancelled() or over.exception())  # nobody is interested any more
            raise


@dataclass(frozen=True, slots=True)
class Accounts:
    """Users by name, and blocking work with their rights: both in the file threads."""

    users: UserDatabase
    threads: FileThreads

    async def lookup(self, name: str) -> OsUser:
        """Raises YodelError: no such user, or none that may have containers."""
        return await self.threads.run(self.users.lookup, name)

    async def uid(self, name: str) -> int | None:
        """Return None where ``lookup`` raises."""
        try:
            return (await self.lookup(name)).uid
        except YodelError:
            return None

    async def run_as(self, user: OsUser, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.threads.run_as(user, function, *args, **kwargs)


@contextmanager
def acting_as(user: OsUser) -> Iterator[None]:
    """Take on the user's file system identity in *this thread* for the block.

    Does nothing when the agent is not root or the user is the agent's own.  Never use it on the event loop's thread.
    """
    if os.geteuid() != 0 or user.uid == os.geteuid():
        yield
        return
    own_groups = tuple(os.getgroups())
    own_gid = os.getegid()
    own_capabilities = _thread_capabilities()
    _thread_setgroups(user.groups or (user.gid,))
    try:
        _setfsid("setfsgid", user.gid)
        _setfsid("setfsuid", user.uid)
        _thread_set_effective(own_capabilities, (0, 0))
        yield
    finally:
        _setfsid("setfsuid", 0)
        _thread_set_effective(own_capabilities, (own_capabilities[0].effective, own_capabilities[1].effective))
        _setfsid("setfsgid", own_gid)
        _thread_setgroups(own_groups)


_LIBC = ctypes.CDLL(None, use_errno=True)


class _CapabilityHeader(ctypes.Structure):
    """``__user_cap_header_struct``; pid 0 is the calling thread."""

    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _CapabilityHalf(ctypes.Structure):
    """``__user_cap_data_struct``."""

    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


_Capabilities = ctypes.Array[_CapabilityHalf]


def _thread_capabilities() -> _Capabilities:
    halves = (_CapabilityHalf * 2)()
    if _LIBC.capget(ctypes.byref(_CapabilityHeader(_CAPABILITY_VERSION_3, 0)), halves) != 0:
        raise OSError(ctypes.get_errno(), "capget")
    return halves


def _thread_set_effective(known: _Capabilities, effective: tuple[int, int]) -> None:
    """Set the effective capabilities; the permitted ones stay, so that the thread can take them up again."""
    pairs = zip(known, effective, strict=True)
    halves = (_CapabilityHalf * 2)(*(_CapabilityHalf(now, half.permitted, half.inheritable) for half, now in pairs))
    if _LIBC.capset(ctypes.byref(_CapabilityHeader(_CAPABILITY_VERSION_3, 0)), halves) != 0:
        raise OSError(ctypes.get_errno(), "capset")


def _setfsid(name: str, value: int) -> None:
    """``setfsuid`` and ``setfsgid`` report no errors: the second call returns what is in force."""
    function = getattr(_LIBC, name)
    function(ctypes.c_uint(value))
    if function(ctypes.c_uint(0xFFFFFFFF)) != value:
        raise PermissionError(f"{name}({value}) was not permitted")


def _thread_setgroups(groups: tuple[int, ...]) -> None:
    number = _SETGROUPS_NUMBER.get(platform.machine())
    if number is None:
        raise NotSupported(f"User separation is not supported on {platform.machine()}")
    array = (ctypes.c_uint * max(1, len(groups)))(*groups)
    if _LIBC.syscall(ctypes.c_long(number), ctypes.c_long(len(groups)), array) != 0:
        raise OSError(ctypes.get_errno(), "setgroups")
