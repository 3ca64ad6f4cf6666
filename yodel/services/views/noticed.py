"""Shows which containers will be preempted, when and why.  Reads only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from yodel.domain.ids import ApplicationId, ContainerId
from yodel.domain.notices import NoticeReason, PreemptionNotice, Teller
from yodel.ports.clock import Clock
from yodel.services.writer.state import ClusterState

LINES_MAX = 5
"""Notices of one application that are listed, one for each reason and explanation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeView:
    """Describes the containers that have a notice for one reason.

    ``left_s`` is the number of seconds until the last of them is stopped; None: there is no deadline.
    """

    reason: NoticeReason
    why: str
    containers: int
    left_s: float | None

    @property
    def text(self) -> str:
        what = "1 container" if self.containers == 1 else f"{self.containers} containers"
        verb = "has" if self.containers == 1 else "have"
        when = f"{verb} a preemption notice" if self.left_s is None else f"will be stopped within {self.left_s:.0f} s"
        return f"{what} {when} ({self.reason}): {self.why}."


class Noticed:
    def __init__(self, state: ClusterState, clock: Clock) -> None:
        self._state, self._clock = state, clock

    def of(self, container_id: ContainerId) -> NoticeView | None:
        notice = self._state.notices.of(container_id)
        return self._view([notice]) if notice is not None else None

    def since_ms(self, container_id: ContainerId, now_ms: int) -> int | None:
        """Return when a container got its notice, in epoch ms; None: it has none."""
        notice = self._state.notices.of(container_id)
        return now_ms - round((self._clock.monotonic_s() - notice.given_s) * 1000) if notice is not None else None

    def of_application(self, application_id: ApplicationId) -> list[NoticeView]:
        """Return the notices of an application, one for each reason and explanation, at most ``LINES_MAX``."""
        found: dict[tuple[NoticeReason, str], list[PreemptionNotice]] = {}
        for container_id in self._state.notices.noted_of(application_id):
            notice = self._state.notices.of(container_id)
            if notice is not None:
                found.setdefault((notice.reason, notice.why), []).append(notice)
        return [self._view(notices) for notices in list(found.values())[:LINES_MAX]]

    def for_queue(self, path: str) -> tuple[list[ContainerId], float]:
        """Return the containers preempted for a leaf queue, and the seconds until the last of them is stopped."""
        notices = self._state.notices.of_teller(Teller.QUEUES)
        found = {one: notice for one, notice in notices.items() if notice.for_queue == path and not notice.is_resting}
        return list(found), self._left_s(list(found.values())) or 0.0

    def _view(self, notices: Sequence[PreemptionNotice]) -> NoticeView:
        first = notices[0]
        return NoticeView(reason=first.reason, why=first.why, containers=len(notices), left_s=self._left_s(notices))

    def _left_s(self, notices: Sequence[PreemptionNotice]) -> float | None:
        last_s = max((notice.deadline_s for notice in notices), default=inf)
        return max(0.0, last_s - self._clock.monotonic_s()) if last_s < inf else None
