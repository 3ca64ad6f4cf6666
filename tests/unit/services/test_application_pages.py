"""Pages of the list of applications: whole, in order, and as dear as what they show."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace
from itertools import product

import pytest

from tests.support.records import CLUSTER_TIMESTAMP_MS, a_submission, an_application
from yodel.domain.application import Application
from yodel.domain.states import ApplicationState, YarnApplicationState
from yodel.ports.store import ClusterIdentity
from yodel.services.views.application_pages import Wanted, applications_page
from yodel.services.views.queries import ApplicationFilter
from yodel.services.views.rows import Rows, key_of
from yodel.services.writer import application_index
from yodel.services.writer.state import ClusterState

STATES = (ApplicationState.ACCEPTED, ApplicationState.FINISHED, ApplicationState.FAILED)
BASE = an_application(1)


def some(number: int, submitted_ms: int, user: str = "alice", state: ApplicationState = STATES[1]) -> Application:
    submission = a_submission(user=user, name=f"job-{number % 10}")
    return replace(an_application(number, state=state), submitted_ms=submitted_ms, submission=submission)


def state_of(rows: Iterable[Application]) -> ClusterState:
    state = ClusterState(ClusterIdentity(cluster_timestamp_ms=CLUSTER_TIMESTAMP_MS, epoch=1, application_sequence=0))
    state.publish(rows)
    return state


FILTERS = (
    ApplicationFilter(),
    ApplicationFilter(users=frozenset({"bob"})),
    ApplicationFilter(users=frozenset({"nobody"})),
    ApplicationFilter(states=frozenset({YarnApplicationState.FAILED, YarnApplicationState.ACCEPTED})),
    ApplicationFilter(queues=frozenset({"root.default"}), name_prefix="job-7"),
    ApplicationFilter(started_from_ms=20, started_to_ms=40),
)


@pytest.mark.parametrize(("seed", "read_max"), list(product(range(3), (None, 1, 20))))
async def test_pages_joined_are_the_sorted_list(
    monkeypatch: pytest.MonkeyPatch, seed: int, read_max: int | None
) -> None:
    """Applications came in another order than that of their times, and some were forgotten or changed."""
    monkeypatch.setattr(application_index, "PAGE_MAX", 4)
    chance = random.Random(seed)
    kept = {
        number: some(number, chance.randrange(60), chance.choice(("alice", "bob")), chance.choice(STATES))
        for number in chance.sample(range(1, 100), 60)
    }
    state = state_of(kept.values())
    for number in chance.sample(sorted(kept), 10):
        state.remove_application(kept.pop(number).id)
    for number in chance.sample(sorted(kept), 10):
        kept[number] = replace(kept[number], state=chance.choice(STATES), submission=a_submission(user="bob"))
        state.publish([kept[number]])
    rows = Rows(state)
    for wanted, is_oldest_first in product(FILTERS, (False, True)):
        expected = sorted(
            (row for row in kept.values() if wanted.accepts(row) and row.id.sequence % 5),
            key=key_of,
            reverse=not is_oldest_first,
        )
        asked = Wanted(
            filter=wanted,
            shows=lambda row: bool(row.id.sequence % 5),
            limit=3,
            is_oldest_first=is_oldest_first,
            read_max=read_max,
        )
        found, pages = list[Application](), 0
        while True:
            page = await applications_page(rows, asked)
            assert len(page.rows) <= 3
            found += page.rows
            pages += 1
            assert pages < 200
            if page.next_after is None:
                break
            asked = replace(asked, after=page.next_after)
        assert [row.id for row in found] == [row.id for row in expected]


@pytest.mark.parametrize(
    "wanted",
    [
        ApplicationFilter(),
        ApplicationFilter(users=frozenset({"rare"})),
        ApplicationFilter(users=frozenset({"nobody"})),
        ApplicationFilter(states=frozenset({YarnApplicationState.FAILED})),
        ApplicationFilter(states=frozenset({YarnApplicationState.RUNNING})),
        ApplicationFilter(queues=frozenset({"root.etl"})),
        ApplicationFilter(name_prefix="job-7"),
        ApplicationFilter(name_prefix="no job"),
        ApplicationFilter(started_from_ms=10**9),
    ],
)
@pytest.mark.parametrize("is_oldest_first", [False, True])
async def test_page_costs_as_much_with_20_times_as_many_kept(
    few_and_many: tuple[Rows, Rows], wanted: ApplicationFilter, is_oldest_first: bool
) -> None:
    """The cost is counted in rows that are read; a row that is found among others costs its index page."""
    few, many = few_and_many
    asked = Wanted(filter=wanted, shows=lambda _: True, limit=100, is_oldest_first=is_oldest_first, read_max=1_000)
    little, much = await applications_page(few, asked), await applications_page(many, asked)
    more_found = len(much.rows) - len(little.rows)
    assert more_found >= 0
    assert much.read <= little.read + (more_found + 1) * application_index.PAGE_MAX
    assert much.read <= 1.2 * 1_000


@pytest.fixture(scope="module")
def few_and_many() -> tuple[Rows, Rows]:
    return _rows(1_000), _rows(20_000)


def _rows(count: int) -> Rows:
    ended = a_submission(user="alice", name="job-7")
    rare = replace(ended, user="rare", queue="root.etl")
    base = replace(an_application(1, state=ApplicationState.FINISHED), submission=ended)
    return Rows(
        state_of(
            replace(base, id=replace(base.id, sequence=n), submitted_ms=n, submission=rare if n % 500 == 1 else ended)
            for n in range(1, count + 1)
        )
    )
