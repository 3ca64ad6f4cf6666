"""A process of the agent that becomes somebody else for good: as text on a command line, and as system calls.

Unlike a thread that acts for a user (``users.acting_as``), such a process has nothing left to go back to.  Imported by
small programs: no module here that takes long to load.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
from typing import Protocol

_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38  # linux/prctl.h


class UserIdentity(Protocol):
    """Describes a user as the file system knows it."""

    @property
    def uid(self) -> int: ...
    @property
    def gid(self) -> int: ...
    @property
    def groups(self) -> tuple[int, ...]: ...


def as_argument(user: UserIdentity) -> tuple[str, ...]:
    """``UID:GID:GROUP,…``, what a process is to become; nothing when it is that already, or cannot."""
    if os.geteuid() != 0 or user.uid == os.geteuid():
        return ()
    return (f"{user.uid}:{user.gid}:{','.join(map(str, user.groups or (user.gid,)))}",)


def become(identity: str) -> None:
    """Raises OSError when this process may not; there is no way back."""
    uid, gid, groups = identity.split(":")
    os.setgroups([int(group) for group in groups.split(",")])
    os.setgid(int(gid))
    os.setuid(int(uid))


def end_with_parent() -> None:
    """No program gives this process more rights, and it is killed when the thread that started it ends.

    After ``become``, which would undo the second.  Raises OSError.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    parent = os.getppid()
    for option, value in ((_PR_SET_NO_NEW_PRIVS, 1), (_PR_SET_PDEATHSIG, int(signal.SIGKILL))):
        if libc.prctl(ctypes.c_int(option), *(ctypes.c_ulong(n) for n in (value, 0, 0, 0))) != 0:
            raise OSError(ctypes.get_errno(), "prctl")
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def start_nothing() -> None:
    """This process forks no more, so that whoever ends it has ended all of it.  The kernel makes root an exception."""
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
