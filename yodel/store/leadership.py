"""Elects the leader: one lease in the database, renewed by the ResourceManager that serves; the others wait for its
end.

The lease is in the database because that is what has to have one writer: whoever cannot reach it can neither lead nor
take over, and a silent Kubernetes ends nobody's lead.  It is a row and no lock of a session, since a stopped process
and a vanished node keep their session for as long as the network's patience lasts, and a short break of the connection
would cost the lead.

Times in the row are by the database's clock.  The leader counts by its own monotonic clock from the moment *before* it
asked, and stops some time before the lease ends, so that it has stopped when another may begin.  Clocks that jump are
what the fence in the store is for (``yodel.store.sql_store``): the lease decides who serves, the fence who writes.

It refuses to lead again once the lead is lost: what was decided meanwhile is unknown here, so the process ends and
starts again as a standby.  SQLite has no leadership: its file is one machine's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn, Protocol

import structlog

from yodel.errors import Unavailable
from yodel.ports.clock import Clock
from yodel.store.errors import LeadLost

RENEWALS_MAX = 3
"""Attempts under way at once, each on a connection of its own."""
TOGETHER_S = 1.0
"""Within which processes on several nodes hear that they are to end."""
log = structlog.get_logger("yodel.leadership")


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseTimes:
    """All that follows from ``lease_s``, the time after which a silent leader is replaced."""

    lease_s: float

    @property
    def leading_s(self) -> float:
        """Return the seconds for which one renewal lets its holder lead: the rest is for work in progress at its
        end."""
        return self.lease_s * 5 / 6

    @property
    def renewal_s(self) -> float:
        """Between attempts to renew: several may fail."""
        return self.lease_s / 6

    @property
    def answer_s(self) -> float:
        """Return the seconds within which the database has to answer."""
        return self.lease_s / 4

    @property
    def look_s(self) -> float:
        """Between a standby's looks."""
        return min(0.5, self.lease_s / 12)

    @property
    def successor_s(self) -> float:
        """Return the seconds for which a standby counts after it was seen."""
        return max(2.0, 4 * self.look_s)


class Lease(Protocol):
    """The row, asked in one holder's name.  All raise Unavailable when the database does not answer in time."""

    async def claim(self) -> str:
        """Take the lease if it has ended, is free or ours already, else be noted as successor; whose it is then."""

    async def renew(self) -> bool | None:
        """Renew the lease; return True if a successor waits, None if the lease is another's."""

    async def release(self) -> None:
        """End the lease now, if it is ours."""

    async def close(self) -> None:
        """Let go of the database."""


class Leadership:
    """One process's way from standby to leader to its end.

    ``end`` is called, and has to end the process, when the lead is lost; tests let it return.
    """

    def __init__(
        self, lease: Lease, holder: str, times: LeaseTimes, clock: Clock, end: Callable[[str], object]
    ) -> None:
        self.holder = holder
        self._lease, self._times, self._clock, self._end = lease, times, clock, end
        self._leads_until_s = float("-inf")
        self._successor = asyncio.Event()
        self.reason = "starting"
        """Why this process does not lead."""

    @property
    def remaining_s(self) -> float:
        """Return the seconds for which we may lead without another renewal; 0 for a standby."""
        return max(0.0, self._leads_until_s - self._clock.monotonic_s())

    @property
    def lease_s(self) -> float:
        """Return how long a silent leader keeps the lead."""
        return self._times.lease_s

    @property
    def has_successor(self) -> bool:
        """Return True if a standby waited for the lead when the lease was renewed last."""
        return self._successor.is_set()

    def require(self) -> None:
        """Called before whatever only the leader may do; reads a clock and nothing else.

        Raises:
            LeadLost: we do not lead, or cannot know that we still do.
        """
        if self._clock.monotonic_s() >= self._leads_until_s:
            raise LeadLost(self.holder)

    async def gain(self, stop: asyncio.Event) -> bool:
        """Wait for the lead; False when ``stop`` came first.

        A database that does not answer is waited for as well: a process that ended instead would be started later and
        later, and be away when the database is back.

        Raises:
            SchemaNotAtHead: the tables are missing or of another version.
        """
        while not stop.is_set():
            if await self.try_to_gain():
                return True
            try:
                async with asyncio.timeout(self._times.look_s):
                    await stop.wait()
            except TimeoutError:
                pass
        return False

    async def try_to_gain(self) -> bool:
        """One look; the lead if it is free."""
        asked_s = self._clock.monotonic_s()
        try:
            holder = await self._lease.claim()
        except Unavailable as silence:
            if self._stands_by("the database does not answer"):
                log.warning("standby", reason=self.reason, error=str(silence))
            return False
        if holder != self.holder:
            if self._stands_by(f"{holder} leads"):
                log.info("standby", reason=self.reason)
            return False
        self._leads_until_s = asked_s + self._times.leading_s
        if self.remaining_s <= 0:  # the answer was that slow: ask again
            return False
        log.info("leadership gained", holder=self.holder)
        return True

    async def keep(self) -> NoReturn:
        """Renew the lease for as long as we lead.  Ends by cancellation, or with the lead.

        Raises:
            LeadLost: after ``end`` was called; in a group with what the other part left.
        """
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._renew_steadily(tasks), name="lease")
            tasks.create_task(self._watch(), name="end of lease")
        raise AssertionError("neither of the two returns")

    async def wait_for_successor(self, patience_s: float) -> None:
        """Lead on until a standby waits, for at most this long: called at an orderly end.

        One that is told to end together with us, as when all pods are replaced, is none: it is first forgotten.
        """
        if patience_s <= 0:
            return
        log.info("waiting for a standby to take over", patience_s=patience_s)
        try:
            async with asyncio.timeout(patience_s):
                await asyncio.sleep(self._times.successor_s + TOGETHER_S)
                self._successor.clear()
                await self._successor.wait()
        except TimeoutError:
            log.warning("no standby took over", patience_s=patience_s)

    async def release(self) -> None:
        """Give the lead back, if we had it, so that a standby need not wait, and let go of the database.

        Without an answer the lease just ends.
        """
        has_led, self._leads_until_s = self._leads_until_s > float("-inf"), float("-inf")
        try:
            if has_led:
                await self._lease.release()
                log.info("leadership released", holder=self.holder)
            await self._lease.close()
        except Unavailable as silence:
            log.warning("lease not released, it will expire", lease_s=self._times.lease_s, error=str(silence))

    async def _renew_steadily(self, tasks: asyncio.TaskGroup) -> NoReturn:
        """Renew without waiting for earlier attempts: a connection that broke silently may hang longer than we lead."""
        under_way: set[asyncio.Task[None]] = set()
        while True:
            await asyncio.sleep(self._times.renewal_s)
            if len(under_way) < RENEWALS_MAX:
                attempt = tasks.create_task(self.renew(), name="renewal")
                under_way.add(attempt)
                attempt.add_done_callback(under_way.discard)

    async def renew(self) -> None:
        """One attempt; several may be under way.

        Raises:
            LeadLost: another has the lease; ``end`` was called.
        """
        asked_s = self._clock.monotonic_s()
        try:
            has_successor = await self._lease.renew()
        except Unavailable as silence:
            log.warning("lease not renewed", remaining_s=round(self.remaining_s, 3), error=str(silence))
            return
        if has_successor is None:
            self._lose("another ResourceManager has taken it")
        # An answer that comes after the end of the lease is too late: we have said that we stopped.
        if self.remaining_s > 0:
            self._leads_until_s = max(self._leads_until_s, asked_s + self._times.leading_s)
        self._successor.set() if has_successor else self._successor.clear()

    async def _watch(self) -> NoReturn:
        while (left_s := self.remaining_s) > 0:  # noqa: ASYNC110 - time, and no event, is waited for
            await asyncio.sleep(left_s)
        self._lose("the lease was not renewed in time")

    def _lose(self, why: str) -> NoReturn:
        self._leads_until_s = float("-inf")
        log.error("leadership lost", holder=self.holder, why=why)
        self._end(why)
        raise LeadLost(self.holder)

    def _stands_by(self, reason: str) -> bool:
        """Stand by for this reason; return True if it is a new one."""
        before, self.reason = self.reason, reason
        return reason != before
