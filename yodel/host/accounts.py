"""Accounts of the operating system are kept for a while (Hadoop's ``Groups`` over ShellBasedUnixGroupsMapping).

A directory service may stand behind the operating system's look-ups and take seconds, so they run in threads.  Whoever
is still in use is looked up again in the background, with the old answer in force meanwhile.
"""

from __future__ import annotations

import asyncio
import grp
import os
import pwd
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from yodel.errors import Unavailable
from yodel.ports.identity import PosixUser
from yodel.telemetry.rates import Rate

KEPT_MAX = 10_000
"""Users in memory; beyond, the one that was looked up longest ago is forgotten."""
LOOKUPS_AT_ONCE = 4
LOOKUPS_WAITING_MAX = 1_000
"""Look-ups that run or wait for a thread; beyond it whoever would wait for another is refused."""
LOOKUP_TIMEOUT_S = 10.0
EXPIRY_FACTOR = 10  # Groups: expireAfterWrite(10 * cacheTimeout)


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Holds a user's ids and the names of the groups; ``user`` is None for somebody who is not known."""

    user: PosixUser | None = None
    groups: Sequence[str] = ()


class Accounts:
    """``kept_s`` is hadoop.security.groups.cache.secs, ``unknown_kept_s`` …negative-cache.secs.  ``find`` asks the
    operating system: it blocks, and raises OSError if there is no answer."""

    def __init__(
        self,
        kept_s: float,
        unknown_kept_s: float,
        *,
        find: Callable[[str], Account] | None = None,
        monotonic_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._kept_s, self._unknown_kept_s = kept_s, unknown_kept_s
        self._find, self._monotonic_s = find or found, monotonic_s
        self._threads = ThreadPoolExecutor(LOOKUPS_AT_ONCE, thread_name_prefix="accounts")
        self._lock = threading.Lock()
        self._kept: dict[str, tuple[Account, float]] = {}
        """With the time on the monotonic clock; the one looked up longest ago first."""
        self._running: dict[str, Future[Account]] = {}
        self._generation = 0
        self.lookups = Rate()

    def of(self, user: str) -> Account:
        """Blocks unless the answer is in memory.  Raises Unavailable."""
        account = self._in_memory(user)
        try:
            return account if account is not None else self._asked(user, self._generation)
        except OSError as error:
            raise Unavailable(f"user {user} could not be looked up: {error}") from error

    def is_known(self, user: str) -> bool:
        """See the port."""
        return self._in_memory(user) is not None

    async def look_up(self, user: str) -> None:
        """See the port."""
        if self.is_known(user):
            return
        if len(self._running) >= LOOKUPS_WAITING_MAX:
            raise Unavailable(f"user {user} was not looked up: {LOOKUPS_WAITING_MAX} others are waiting for that")
        try:
            async with asyncio.timeout(LOOKUP_TIMEOUT_S):
                await asyncio.shield(asyncio.wrap_future(self._running_for(user)))
        except TimeoutError as error:
            raise Unavailable(f"user {user} could not be looked up in {LOOKUP_TIMEOUT_S:.0f} s") from error
        except OSError as error:
            raise Unavailable(f"user {user} could not be looked up: {error}") from error

    def forget(self) -> None:
        """See the port.  An answer that was asked for before does not count."""
        with self._lock:
            self._generation += 1
            self._kept.clear()
            self._running.clear()

    def _in_memory(self, user: str) -> Account | None:
        account, since_s = self._kept.get(user, (None, 0.0))
        if account is None:
            return None
        age_s = self._monotonic_s() - since_s
        if account.user is None:
            return account if age_s < self._unknown_kept_s else None
        if age_s >= EXPIRY_FACTOR * self._kept_s:
            return None
        if age_s >= self._kept_s and len(self._running) < LOOKUPS_WAITING_MAX:
            self._running_for(user)
        return account

    def _running_for(self, user: str) -> Future[Account]:
        """Return the look-up that runs for this user, begun now if there is none."""
        with self._lock:
            if (running := self._running.get(user)) is not None:
                return running
            begun = self._running[user] = self._threads.submit(self._asked, user, self._generation)
        begun.add_done_callback(lambda done: self._done(user, done))
        return begun

    def _done(self, user: str, done: Future[Account]) -> None:
        with self._lock:
            if self._running.get(user) is done:
                del self._running[user]

    def _asked(self, user: str, generation: int) -> Account:
        """Blocks.  Raises OSError."""
        started_s = self._monotonic_s()
        account = self._find(user)
        now_s = self._monotonic_s()
        with self._lock:
            self.lookups.add(now_s - started_s, now_s)
            if generation == self._generation:
                self._kept.pop(user, None)
                self._kept[user] = (account, now_s)
                if len(self._kept) > KEPT_MAX:
                    del self._kept[next(iter(self._kept))]
        return account


def found(user: str) -> Account:
    """Ask the operating system.  Blocks; raises OSError."""
    try:
        entry = pwd.getpwnam(user)
    except (KeyError, ValueError):  # nobody, or a name that is none
        return Account()
    gids = os.getgrouplist(user, entry.pw_gid)
    others = [gid for gid in gids if gid != entry.pw_gid]
    return Account(
        user=PosixUser(uid=entry.pw_uid, gid=entry.pw_gid, groups=others),
        groups=[name for gid in gids if (name := _name_of(gid)) is not None],
    )


def _name_of(gid: int) -> str | None:
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return None
