"""ApplicationMasters that are registered or expected, and how much all of them wait for: in memory only."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from yodel.domain.ask_book import Tally
from yodel.domain.attempt import Attempt
from yodel.domain.ids import ApplicationAttemptId, ApplicationId
from yodel.domain.states import AttemptState
from yodel.services.writer.attempt_runtime import AttemptRuntime
from yodel.services.writer.outbox import AttemptOutbox


class Masters:
    """``ClusterState`` tells of rows; who waits for an ApplicationMaster, or gives it up, says so."""

    def __init__(self, requests_changed: Callable[[ApplicationId], None]) -> None:
        """``requests_changed`` is called for each application that may want something else."""
        self._requests_changed = requests_changed
        self._runtimes: dict[ApplicationAttemptId, AttemptRuntime] = {}
        self.runtimes: Mapping[ApplicationAttemptId, AttemptRuntime] = self._runtimes
        self.wanted = Tally()
        """Containers that ApplicationMasters have asked for and not been granted."""
        self.awaited = 0
        """Attempts whose ApplicationMaster has no node yet."""

    def expect(self, attempt_id: ApplicationAttemptId, now_s: float, outbox: AttemptOutbox) -> AttemptRuntime:
        """``now_s`` is monotonic; ``outbox`` has what it was not told in an earlier life."""
        runtime = AttemptRuntime.of(attempt_id, now_s, self.wanted, outbox, self._requests_changed)
        self._runtimes[attempt_id] = runtime
        self._requests_changed(attempt_id.application_id)
        return runtime

    def give_up(self, attempt_id: ApplicationAttemptId) -> None:
        """One that has ended: what it wanted counts no more."""
        runtime = self._runtimes.pop(attempt_id, None)
        if runtime is not None:
            runtime.wishes.end()
            self._requests_changed(attempt_id.application_id)

    def put(self, new: Attempt, old: Attempt | None) -> None:
        """A row that is new, or takes the place of an older one."""
        self.awaited += new.state is AttemptState.SCHEDULED
        if old is None:
            return
        self.awaited -= old.state is AttemptState.SCHEDULED
        runtime = self._runtimes.get(new.id)
        if runtime is not None and old.state is AttemptState.RUNNING is not new.state:
            runtime.wishes.end()

    def remove(self, row: Attempt) -> None:
        self.awaited -= row.state is AttemptState.SCHEDULED
