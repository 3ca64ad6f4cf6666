"""Pages of the list of applications, newest or oldest first: a page costs what it shows, however many are kept.

Applications are indexed in pages of 64 that know the users, queues and states on them, and between which keys they
are.  Pages that cannot hold what is wanted are passed over, and reading ends where no other page can add a row.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from yodel.domain.application import Application
from yodel.services.views.queries import ApplicationFilter
from yodel.services.views.rows import IndexPage, Key, Rows, Trait, key_of
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
    pages = sorted((begin, number) for number, begin in _pages(rows, wanted, sign, after))
    found, read = list[tuple[Key, Application]](), 0
    async for begin, number in taking_turns(pages, PAGES_A_TURN):
        is_full = len(found) > wanted.limit and found[wanted.limit][0] < begin
        # The next page begins before this index page, so that has to be behind where this one began.
        is_enough = (
            wanted.read_max is not None and read >= wanted.read_max and (after is None or _before(begin) > after)
        )
        if is_full or is_enough:
            return _cut(found, wanted.limit, begin, sign, read)
        page = rows.pages.get(number)
        for application_id in list(page.ids) if page is not None else ():
            row = rows.application(application_id)
            read += 1
            if row is None or not wanted.filter.accepts(row) or not wanted.shows(row):
                continue
            key = _signed(key_of(row), sign)
            if after is None or key > after:
                insort(found, (key, row), key=lambda one: one[0])
    return _cut(found, wanted.limit, None, sign, read)


def _pages(rows: Rows, wanted: Wanted, sign: int, after: Key | None) -> Iterator[tuple[int, Key]]:
    """Yield the number and the first key of each that may hold what is wanted, in the order of the list."""
    groups = list(_trait_groups(wanted.filter))
    for number, page in rows.pages.items():
        begin, end = (page.oldest, page.newest) if sign > 0 else (page.newest, page.oldest)
        if (after is None or _signed(end, sign) > after) and _may_hold(page, wanted.filter, groups):
            yield number, _signed(begin, sign)


def _may_hold(page: IndexPage, wanted: ApplicationFilter, groups: Collection[Collection[Trait]]) -> bool:
    is_in_range = page.newest[0] >= wanted.started_from_ms and (
        wanted.started_to_ms is None or page.oldest[0] <= wanted.started_to_ms
    )
    return is_in_range and all(any(trait in page.traits for trait in group) for group in groups)


def _trait_groups(wanted: ApplicationFilter) -> Iterator[list[Trait]]:
    """Yield groups of which a page has to have one each."""
    for name, values in (
        ("user", wanted.users),
        ("queue", wanted.queues | wanted.live_queues),
        ("state", wanted.states),
    ):
        if values:
            yield [(name, value) for value in values]


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
