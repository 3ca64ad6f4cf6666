"""Wishes that no node can serve as things are: kept for reports, told once, and rejected where that is the rule.

YARN lets such a wish wait without a word; so does the ResourceManager, but it says why: in the application's
diagnostics, in one line of the log, in an event on its ApplicationMaster's pod and in a gauge.  No pod is made for it,
so nothing is created and deleted in turns; it is looked at again at every tick.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

import structlog

from yodel.domain.allocation.demands import Decision, Demand, Misfit
from yodel.domain.ask_book import AskKey
from yodel.domain.ids import ApplicationAttemptId
from yodel.ports.clock import Clock
from yodel.services.writer.outbox import RejectedAsk
from yodel.services.writer.state import ClusterState

REJECT_AFTER_S = 3.0
"""yarn.resourcemanager.placement-constraints.retry-attempts is 3; an attempt of ours takes about a second."""
ConstraintsHandler = Literal["disabled", "scheduler", "placement-processor"]
"""yarn.resourcemanager.placement-constraints.handler."""
log = structlog.get_logger("yodel.misfits")


class Misfits:
    """Keeps ``state.reasons.misfits``.  ``tell`` hears of each once per reason."""

    def __init__(
        self,
        state: ClusterState,
        clock: Clock,
        handler: ConstraintsHandler = "scheduler",
        tell: Callable[[Misfit], None] = lambda _: None,
    ) -> None:
        self._state, self._clock, self._handler, self.tell = state, clock, handler, tell
        self._since_s: dict[tuple[ApplicationAttemptId, AskKey | None], float] = {}

    def note(self, demands: Mapping[ApplicationAttemptId, Demand], decision: Decision) -> float | None:
        """Take in what a tick found of all that is wanted.  Returns the seconds after which to look again, or None."""
        if not self._state.reasons.misfits and not decision.misfits:
            return None
        found = {(misfit.attempt_id, misfit.key): misfit for misfit in decision.misfits}
        served = {(plan.attempt_id, plan.key) for plan in decision.plans}
        for key in list(self._state.reasons.misfits):
            if key in served or not _is_wanted(key, demands):
                self._state.reasons.explain_misfit(key, None)
                self._since_s.pop(key, None)
        for key, misfit in found.items():
            self._remember(key, misfit)
        return self._reject()

    def _remember(self, key: tuple[ApplicationAttemptId, AskKey | None], misfit: Misfit) -> None:
        before = self._state.reasons.misfits.get(key)
        self._state.reasons.explain_misfit(key, misfit)
        self._since_s.setdefault(key, self._clock.monotonic_s())
        if before is None or before.reason != misfit.reason:
            fields = {"attempt_id": str(misfit.attempt_id), "capability": str(misfit.capability)}
            log.warning("request cannot be placed", **fields, count=misfit.count, reason=misfit.reason)
            self.tell(misfit)

    def _reject(self) -> float | None:
        """SchedulingRequests that waited long enough, where they are not to wait for ever."""
        if self._handler != "placement-processor":
            return None
        now_s, again_s = self._clock.monotonic_s(), None
        for (attempt_id, key), misfit in list(self._state.reasons.misfits.items()):
            runtime = self._state.masters.runtimes.get(attempt_id)
            request = runtime.wishes.asks.scheduling_ask(key) if runtime is not None and key is not None else None
            if runtime is None or request is None or key is None:
                continue
            left_s = self._since_s[(attempt_id, key)] + REJECT_AFTER_S - now_s
            if left_s > 0:
                again_s = left_s if again_s is None else min(again_s, left_s)
                continue
            runtime.wishes.give_up(key)
            again_s = 0.0
            runtime.outbox.reject(RejectedAsk(request.message, misfit.is_constraint))
            self._state.reasons.explain_misfit((attempt_id, key), None)
            del self._since_s[(attempt_id, key)]
        return again_s


def _is_wanted(key: tuple[ApplicationAttemptId, AskKey | None], demands: Mapping[ApplicationAttemptId, Demand]) -> bool:
    demand = demands.get(key[0])
    if demand is None:
        return False
    if key[1] is None:
        return demand.am_capability is not None
    return any(wish.key == key[1] and wish.number > demand.in_flight.get(wish.key, 0) for wish in demand.wishes)
