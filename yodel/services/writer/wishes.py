"""Keeps the pending requests of an ApplicationMaster, in memory only: it repeats them after a restart."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from yodel.domain.ask_book import Ask, AskBook, AskKey, SchedulingAsk
from yodel.domain.ids import ContainerId
from yodel.domain.resource import Resource


@dataclass(slots=True)
class Wishes:
    """Changed by its own methods only.  Times are monotonic seconds.  ``changed`` is called when a decision may read
    something else."""

    changed: Callable[[], None] = lambda: None

    asks: AskBook = field(default_factory=AskBook)
    """Read by all, changed from here only."""
    blacklist: frozenset[str] = frozenset()
    in_flight: dict[AskKey, set[ContainerId]] = field(default_factory=dict)
    """Planned for a wish, and not handed over."""
    increases: dict[ContainerId, Resource] = field(default_factory=dict)
    """Sizes asked for that nothing was decided about."""
    waits_since_s: Mapping[AskKey, float] = field(default_factory=dict)
    """Since when wishes wait for the places they prefer."""

    def pending(self) -> tuple[int, Resource]:
        """Containers that are wanted and not planned, and their size in all."""
        count, size = self.asks.pending()
        for key, ids in self.in_flight.items():
            planned = min(len(ids), self.asks.count(key))
            count -= planned
            size -= key.capability * planned
        return count, size

    # --- what the ApplicationMaster says ---------------------------------------------------------------------------

    def take(self, asks: Sequence[Ask | SchedulingAsk], count_max: int) -> bool:
        """Take all or nothing; False if no more or less is wanted than before.  Raises as ``AskBook.take``."""
        is_changed = bool(asks) and self.asks.take(asks, count_max)
        if is_changed:
            self.changed()
        return is_changed

    def avoid(self, names: frozenset[str]) -> bool:
        """Hosts and racks to keep away from; whether these are others than before."""
        is_changed, self.blacklist = names != self.blacklist, names
        if is_changed:
            self.changed()
        return is_changed

    def resize(self, increases: Mapping[ContainerId, Resource], withdrawn: Collection[ContainerId]) -> None:
        """An increase waits until there is room, as an ask does; a newer word replaces an older one."""
        for container_id in withdrawn:
            self.increases.pop(container_id, None)
        self.increases.update(increases)
        if increases or withdrawn:
            self.changed()

    def end(self) -> None:
        """Drop all requests: the ApplicationMaster has unregistered, or has ended."""
        self.asks.clear()
        self.increases.clear()
        self.changed()

    # --- what becomes of it ----------------------------------------------------------------------------------------

    def planned(self, key: AskKey, container_id: ContainerId) -> None:
        self.in_flight.setdefault(key, set()).add(container_id)
        self.changed()

    def take_off(self, key: AskKey, container_id: ContainerId) -> None:
        """The container is not in flight any more."""
        self.changed()
        ids = self.in_flight.get(key)
        if ids is not None:
            ids.discard(container_id)
            if not ids:
                del self.in_flight[key]

    def handed_over(self, key: AskKey, container_id: ContainerId, host: str, rack: str) -> None:
        self.take_off(key, container_id)
        self.asks.handed_over(key, host, rack)

    def give_up(self, key: AskKey) -> None:
        """Withdraw the part of a wish that is not in flight."""
        self.asks.withdraw(key, but=len(self.in_flight.get(key, ())))
        self.changed()

    def increase_decided(self, container_id: ContainerId, target: Resource) -> None:
        """The ApplicationMaster may have changed its mind meanwhile."""
        if self.increases.get(container_id) == target:
            del self.increases[container_id]
            self.changed()

    def ended(self, container_id: ContainerId) -> None:
        if self.increases.pop(container_id, None) is not None:
            self.changed()

    # --- patience --------------------------------------------------------------------------------------------------

    def wait(self, waiting: Iterable[AskKey], now_s: float) -> None:
        """Note which wishes wait; the waiting time starts when one is first seen unserved, and ends with it."""
        since_s = self.waits_since_s
        self.waits_since_s = {key: since_s.get(key, now_s) for key in waiting}

    def served_where_preferred(self, key: AskKey, now_s: float) -> None:
        """Patience begins again (SchedulerApplicationAttempt.resetSchedulingOpportunities)."""
        if key in self.waits_since_s:
            self.waits_since_s = {**self.waits_since_s, key: now_s}
