"""Indexes applications: the live ones, their number by state, and all on pages in the order of submission.

Answers with many applications are built page by page: a page's version grows when one of its ended applications
changes, so that rendered ones can be reused.  Versions do not cover live ones, which change with every heartbeat.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from yodel.domain.application import Application
from yodel.domain.ids import ApplicationId
from yodel.domain.states import YarnApplicationState

PAGE_MAX = 64
"""Applications on a page: some hundred kilobytes when rendered, a few milliseconds to render."""


Key = tuple[int, int, int]
"""Submission time in epoch milliseconds, and the id: the sort key of lists."""
Trait = tuple[str, str | YarnApplicationState]
"""Property by which lists are filtered: ``user``, ``queue`` or ``state``, and its value."""


@dataclass(slots=True)
class IndexPage:
    """Oldest first.  Numbers of pages are never used again, so a number and a version name one content."""

    version: int = 0
    ids: dict[ApplicationId, None] = field(default_factory=dict)
    newest: Key = (-1, 0, 0)
    """No application of this page and of those before it has a greater key."""
    oldest: Key = (2**63, 0, 0)
    """No application of this page and of those behind it has a lesser key."""


def key_of(row: Application) -> Key:
    """Return the application's key in sorted lists."""
    return row.submitted_ms, row.id.cluster_timestamp_ms, row.id.sequence


class ApplicationIndex:
    """Only ``ClusterState`` changes it."""

    def __init__(self) -> None:
        self.live: dict[ApplicationId, None] = {}
        self.finished: dict[ApplicationId, None] = {}
        """In the order they ended."""
        self.counts: Counter[YarnApplicationState] = Counter()
        self.context_bytes: Counter[str] = Counter()
        """Launch contexts of the living, by user; only users with some."""
        self.pages: dict[int, IndexPage] = {}
        """By number, oldest first; none is empty."""
        self.traits: dict[Trait, Counter[int]] = {}
        """The numbers of the pages on which applications have a trait, and how many there do."""
        self._newest: Key = (-1, 0, 0)
        self._page_of: dict[ApplicationId, int] = {}
        self._count = 0
        """The number of all that ever came."""

    def put(self, new: Application, old: Application | None) -> None:
        """A row that is new, or takes the place of an older one."""
        if old is None:
            number = self._page_of[new.id] = self._count // PAGE_MAX
            self.pages.setdefault(number, IndexPage()).ids[new.id] = None
            self._bound(number, key_of(new))
            self._count += 1
        else:
            self._weigh(old, -1)
        self._weigh(new, 1)
        if new.state.is_final:
            self.live.pop(new.id, None)
            self.finished[new.id] = None
        else:
            self.live[new.id] = None
        if old is None or old.state.is_final or new.state.is_final:
            self.pages[self._page_of[new.id]].version += 1

    def order_finished(self, rows: Iterable[Application]) -> None:
        """Put all that have ended in the order of their ends: rows that were read come in the order of their ids."""
        self.finished = {row.id: None for row in sorted(rows, key=lambda row: row.finished_ms)}

    def touch(self, application_id: ApplicationId) -> None:
        """Something that hangs on an application changed."""
        number = self._page_of.get(application_id)
        if number is not None and application_id not in self.live:
            self.pages[number].version += 1

    def remove(self, row: Application) -> None:
        self._weigh(row, -1)
        self.live.pop(row.id, None)
        self.finished.pop(row.id, None)
        number = self._page_of.pop(row.id)
        page = self.pages[number]
        del page.ids[row.id]
        page.version += 1
        if not page.ids:
            del self.pages[number]

    def page_of(self, application_id: ApplicationId) -> int | None:
        """The number of the page it is on; None when it is not known."""
        return self._page_of.get(application_id)

    def _bound(self, number: int, key: Key) -> None:
        """Widen the bounds: the last page has a new key, which hardly ever is lesser than one before."""
        self._newest = self.pages[number].newest = max(self._newest, key)
        for page in reversed(self.pages.values()):
            if page.oldest <= key:
                break
            page.oldest = key

    def _weigh(self, application: Application, sign: int) -> None:
        self.counts[application.yarn_state] += sign
        number = self._page_of[application.id]
        for trait in _traits(application):
            numbers = self.traits.setdefault(trait, Counter())
            numbers[number] += sign
            if not numbers[number]:
                del numbers[number]
                if not numbers:
                    del self.traits[trait]
        if not application.state.is_final:
            submission = application.submission
            self.context_bytes[submission.user] += sign * len(submission.context)
            if not self.context_bytes[submission.user]:
                del self.context_bytes[submission.user]


def _traits(row: Application) -> Iterator[Trait]:
    yield "user", row.submission.user
    yield "queue", row.submission.queue
    yield "state", row.yarn_state
