"""Keeps an ApplicationMaster's state that is in memory only: its dialogue, its wishes, and its outbox.

Each of the three is changed by its own methods alone; a test checks that nobody else assigns their fields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import count

from yodel.domain.ask_book import AskBook, Tally
from yodel.domain.ids import ApplicationAttemptId, ApplicationId
from yodel.services.writer.dialogue import Dialogue
from yodel.services.writer.outbox import AttemptOutbox
from yodel.services.writer.wishes import Wishes

FIRST_TASK = 2
"""The container's number that follows the ApplicationMaster's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptRuntime:
    """Holds the state of an ApplicationMaster that is registered, or expected."""

    attempt_id: ApplicationAttemptId
    dialogue: Dialogue
    wishes: Wishes = field(default_factory=Wishes)
    outbox: AttemptOutbox = field(default_factory=AttemptOutbox)
    sequences: Iterator[int] = field(default_factory=partial(count, FIRST_TASK))
    """Numbers of its next containers, unique within the epoch that their ids have too (containerIdCounter of
    SchedulerApplicationAttempt).  A commit that fails leaves a gap."""

    @classmethod
    def of(
        cls,
        attempt_id: ApplicationAttemptId,
        now_s: float,
        wanted: Tally,
        outbox: AttemptOutbox,
        requests_changed: Callable[[ApplicationId], None] = lambda _: None,
    ) -> AttemptRuntime:
        """``now_s`` is monotonic; ``wanted`` counts what all ApplicationMasters ask for, and ``requests_changed`` is
        told when this one wants something else."""
        wishes = Wishes(asks=AskBook(wanted), changed=partial(requests_changed, attempt_id.application_id))
        return cls(attempt_id=attempt_id, dialogue=Dialogue(now_s), wishes=wishes, outbox=outbox)
