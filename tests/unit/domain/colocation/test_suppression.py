"""The quota of best-effort pods falls at once, grows by steps and never goes below what keeps a node's pods alive."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from yodel.domain.colocation.estimate import estimate
from yodel.domain.colocation.measured import InstantUse
from yodel.domain.colocation.policy import Formula
from yodel.domain.colocation.shaping import Numbers
from yodel.domain.colocation.suppression import CpuHeadroom, quota_of

ROUND = 100


def _room(
    *online: int,
    capacity: int = 10_000,
    formula: Formula | None = None,
    agent_most: int | None = None,
    is_watched: bool = True,
    step_up_percent: int = 10,
) -> CpuHeadroom:
    numbers = Numbers(
        formula=formula or Formula(share_percent=60),
        step_up_percent=step_up_percent,
        dead_band_percent=10,
        dead_band=100,
        round_to=ROUND,
    )
    recent = [InstantUse(node=amount + 700, pods=amount + 300, best_effort=300) for amount in online]
    return CpuHeadroom(numbers=numbers, capacity=capacity, recent=recent, agent_most=agent_most, is_watched=is_watched)


def test_what_online_pods_leave_of_the_share_may_be_used() -> None:
    assert quota_of(_room(2000), masters=0, last=None) == 4000


def test_it_falls_at_once_to_what_the_largest_use_of_the_last_seconds_leaves() -> None:
    assert quota_of(_room(1000, 4000, 1000), masters=0, last=5000) == 2000


def test_it_grows_by_a_tenth_of_the_node_a_second() -> None:
    found, last = [], 2000
    for _ in range(5):
        last = quota_of(_room(1000), masters=0, last=last)
        found.append(last)
    assert found == [3000, 4000, 5000, 5000, 5000]
    assert quota_of(_room(1000, step_up_percent=50), masters=0, last=1000) == 5000, "by the policy's own step"
    assert quota_of(_room(0, capacity=1000), masters=0, last=50) == 100, "a small node grows, too"


def test_before_a_node_was_watched_a_quota_falls_and_does_not_grow() -> None:
    assert quota_of(_room(1000, is_watched=False), masters=0, last=3000) == 3000
    assert quota_of(_room(4000, is_watched=False), masters=0, last=3000) == 2000
    assert quota_of(_room(1000, is_watched=False), masters=0, last=None) == 5000


def test_the_floor_keeps_a_twentieth_and_each_master_alive() -> None:
    assert quota_of(_room(9000), masters=0, last=None) == 500
    assert quota_of(_room(9000), masters=5, last=None) == 500
    assert quota_of(_room(9000), masters=6, last=2000) == 600
    assert quota_of(_room(0, formula=Formula(share_percent=0)), masters=12, last=1200) == 1200


def test_no_more_may_be_used_than_may_be_lent_at_most() -> None:
    assert quota_of(_room(0, agent_most=1000), masters=0, last=None) == 1000
    assert quota_of(_room(0, formula=Formula(most_percent=30)), masters=0, last=None) == 3000


formulas = st.builds(
    Formula,
    part_percent=st.integers(1, 100),
    share_percent=st.integers(0, 100),
    counts_system=st.booleans(),
    reserved=st.integers(0, 5000),
    online_percent=st.integers(100, 300),
    kept=st.integers(0, 5000),
    most_percent=st.integers(0, 100),
)
onlines = st.lists(st.integers(0, 80_000), min_size=1, max_size=10)


@given(
    onlines,
    formulas,
    st.integers(1, 128_000),
    st.one_of(st.none(), st.integers(0, 128_000)),
    st.integers(0, 20),
    st.one_of(st.none(), st.integers(0, 64_000)),
    st.booleans(),
)
def test_a_quota_is_bounded_on_both_sides(
    online: list[int],
    formula: Formula,
    capacity: int,
    last: int | None,
    masters: int,
    agent_most: int | None,
    is_watched: bool,
) -> None:
    room = _room(*online, capacity=capacity, formula=formula, agent_most=agent_most, is_watched=is_watched)
    quota = quota_of(room, masters=masters, last=last)
    floor = max(-(-capacity * 5 // 100), 100 * masters)
    assert quota >= floor > 0
    assert quota <= max(floor, capacity * formula.share_percent // 100 - max(online))
    assert quota <= max(floor, capacity * formula.most_percent // 100)
    if agent_most is not None:
        assert quota <= max(floor, agent_most)
    if last is not None:
        assert quota <= max(floor, last + max(ROUND, capacity // 10))
    if last is not None and not is_watched:
        assert quota <= max(floor, last)
    assert quota_of(
        _room(*online, max(online) + 1, capacity=capacity, formula=formula), masters=0, last=None
    ) <= quota_of(_room(*online, capacity=capacity, formula=formula), masters=0, last=None)


@given(onlines, formulas, st.integers(1, 128_000))
def test_what_is_lent_may_be_used(online: list[int], formula: Formula, capacity: int) -> None:
    """The quota covers what is lent where both are first decided; after that both grow by the same steps."""
    room = _room(*online, capacity=capacity, formula=formula)
    lent = min(
        min(estimate(formula, capacity=capacity, online=use.online, system=use.system) for use in room.recent),
        capacity * formula.most_percent // 100,
    )
    assert quota_of(room, masters=0, last=None) >= lent - lent % ROUND
