"""Keeps the pending requests of each attempt, as the last decisions of the scheduler left them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from yodel.domain.allocation.demands import Decision
from yodel.domain.allocation.figures import Figures
from yodel.domain.ids import ApplicationAttemptId
from yodel.domain.waiting import Obstacles, Waiting


class WaitingBook:
    """Written by the scheduler at each look; everybody else reads."""

    def __init__(self) -> None:
        self.looked_at_ms = 0
        """When the last decision was made, epoch ms; 0: none yet.  Nothing that a decision reads has changed since, or
        another is under way."""
        self._waiting: dict[ApplicationAttemptId, Waiting] = {}
        self._figures: Mapping[str, Figures] = {}
        self._told: dict[ApplicationAttemptId, tuple[Obstacles, ...]] = {}
        """The obstacles that were read of this look."""

    def __len__(self) -> int:
        return len(self._waiting)

    def __iter__(self) -> Iterator[ApplicationAttemptId]:
        return iter(self._waiting)

    def take(self, decision: Decision, now_ms: int) -> bool:
        """Take in what a decision found, before anything of it is acted upon.  Return whether it is something else than
        before."""
        is_news = self._take(decision)
        self._figures, self.looked_at_ms = decision.figures, now_ms
        self._told.clear()
        if self._waiting:
            for figures in self._figures.values():
                figures.ledger.hold_still()
        return is_news

    def _take(self, decision: Decision) -> bool:
        if decision.heard is None:
            is_news = self._waiting != decision.waiting
            self._waiting = dict(decision.waiting)
            return is_news
        is_news = False
        for attempt_id in decision.heard:
            waiting = decision.waiting.get(attempt_id)
            is_news = is_news or waiting != self._waiting.get(attempt_id)
            if waiting is not None:
                self._waiting[attempt_id] = waiting
            else:
                self._waiting.pop(attempt_id, None)
        return is_news

    def of(self, attempt_id: ApplicationAttemptId) -> Waiting | None:
        """Return the attempt's pending requests; None: all are in progress."""
        return self._waiting.get(attempt_id)

    def told(self, attempt_id: ApplicationAttemptId) -> tuple[Obstacles, ...]:
        """The same with all that is in the way of each wish."""
        waiting = self._waiting.get(attempt_id)
        if waiting is None:
            return ()
        found = self._told.get(attempt_id)
        if found is None:
            found = self._told[attempt_id] = tuple(self._figures[waiting.pool].told(waiting))
        return found

    def figures(self, attempt_id: ApplicationAttemptId) -> Figures | None:
        """Return the figures of the decision; None: nothing is pending."""
        waiting = self._waiting.get(attempt_id)
        return self._figures[waiting.pool] if waiting is not None else None
