"""Pages of the list of applications, newest or oldest first: a page costs what it shows, however many are kept.

Applications are indexed in pages of 64.  The index knows on which pages a user, a queue or a state is, and that no key
on a page and behind it is beyond a bound: reading begins at the cursor, and ends where no other page can add a row.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from yodel.domain.application import Application
from yodel.domain.ids import ApplicationId
from yodel.services.views.queries import ApplicationFilter
from yodel.services.views.rows import Key, Rows, key_of
from yodel.serving.pieces import taking_turns

PAGES_A_TURN = 8
"""Pages that are read in one go: 512 rows, two milliseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Selects the applications of a page.  ``shows`` decides next to the filter, whose limit does not count here.

    ``after`` is the key behind which the page begins.  At most ``read_max`` rows are read, rounded up to whole index
    pages: where that is reached, the next page goes on searching.
    """

    filter: ApplicationFilter
    shows: Callable[[Application], bool]
    limit: int
    after: Key | None = None
    is_oldest_first: bool = False
    read_max: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """``next_after`` is behind what was read, None where nothing is left; ``read`` counts the rows that were read."""

    rows: list[Application]
    next_after: Key | None
    read: int


async def applications_page(rows: Rows, wanted: Wanted) -> Found:
    """Return one page; other callers are answered between its pieces."""
    sign = 1 if wanted.is_oldest_first else -1
    after = _signed(wanted.after, sign) if wanted.after is not None else None
    found, read = list[tuple[Key, Application]](), 0
    async for number in taking_turns(_numbers(rows, wanted), PAGES_A_TURN):
        page = rows.pages.get(number)
        if page is None:
            continue
        begin = _signed(page.oldest if wanted.is_oldest_first else page.newest, sign)
        is_full = len(found) > wanted.limit and found[wanted.limit][0] < begin
        # The next page begins before this index page, so that has to be behind where this one began.
        has_read_enough = wanted.read_max is not None and read >= wanted.read_max
        if is_full or (has_read_enough and (after is None or _before(begin) > after)):
            return _cut(found, wanted.limit, begin, sign, read)
        for application_id in list(page.ids):
            row = rows.application(application_id)
            read += 1
            if row is None or not wanted.filter.accepts(row) or not wanted.shows(row):
                continue
            key = _signed(key_of(row), sign)
            if after is None or key > after:
                insort(found, (key, row), key=lambda one: one[0])
    return _cut(found, wanted.limit, None, sign, read)


def _numbers(rows: Rows, wanted: Wanted) -> Sequence[int]:
    """Return the numbers of index pages that may hold what is wanted, in the order of the list."""
    pages, after, kept = rows.pages, wanted.after, wanted.filter
    numbers = index_pages(rows, kept)
    first, last = 0, len(numbers)
    earliest = (kept.started_from_ms, 0, 0)
    if wanted.is_oldest_first and after is not None:
        earliest = max(earliest, after)
    if earliest > (0, 0, 0):
        first = bisect_left(numbers, earliest, key=lambda number: pages[number].newest)
    latest = (kept.started_to_ms + 1, 0, 0) if kept.started_to_ms is not None else None
    if not wanted.is_oldest_first and after is not None:
        latest = after if latest is None else min(latest, after)
    if latest is not None:
        last = bisect_left(numbers, latest, key=lambda number: pages[number].oldest)
    return numbers[first:last] if wanted.is_oldest_first else numbers[first:last][::-1]


def newest_first(rows: Rows, wanted: ApplicationFilter) -> Iterator[ApplicationId]:
    """Yield the ids among which the wanted applications are, as each page is when its turn comes."""
    for number in reversed(index_pages(rows, wanted)):
        page = rows.pages.get(number)
        yield from list(reversed(page.ids)) if page is not None else ()


def index_pages(rows: Rows, wanted: ApplicationFilter) -> list[int]:
    """Return the numbers of index pages on which something has each of the wanted traits, oldest first."""
    found: set[int] | None = None
    for name, values in (
        ("user", wanted.users),
        ("queue", wanted.queues | wanted.live_queues),
        ("state", wanted.states),
    ):
        if values:
            having = set[int]().union(*(rows.pages_having((name, value)) for value in values))
            found = having if found is None else found & having
    return list(rows.pages) if found is None else sorted(found)


def _cut(found: list[tuple[Key, Application]], limit: int, unread: Key | None, sign: int, read: int) -> Found:
    """Return the certain part of a page: ``unread`` is the first key of the pages that were not read."""
    sure = [(key, row) for key, row in found if unread is None or key < unread]
    shown = sure[:limit]
    next_after: Key | None = None
    if len(sure) > limit:
        next_after = shown[-1][0]
    elif unread is not None:
        next_after = _before(unread)
    return Found(
        rows=[row for _, row in shown],
        next_after=_signed(next_after, sign) if next_after is not None else None,
        read=read,
    )


def _before(key: Key) -> Key:
    """Return the key behind which this one comes first."""
    return key[0], key[1], key[2] - 1


def _signed(key: Key, sign: int) -> Key:
    return (key[0] * sign, key[1] * sign, key[2] * sign)
