"""Containers are chosen to give back what a node holds beyond what it lends."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from yodel.domain.colocation.report import CPU_MILLI, MEMORY_MIB, RESOURCES
from yodel.domain.colocation.taking_back import (
    Amounts,
    LentContainer,
    deficit,
    for_cores_alone,
    in_order,
    shortest_run,
    victims,
)
from yodel.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId


def one(number: int, cores: int = 1, gib: int = 1, **fields: int | bool) -> LentContainer:
    container_id = ContainerId(ApplicationAttemptId(ApplicationId(1, 1), 1), number)
    amounts = {CPU_MILLI: cores * 1000, MEMORY_MIB: gib * 1024}
    return LentContainer(id=container_id, amounts=amounts, **fields)  # type: ignore[arg-type]


def numbers(found: Sequence[LentContainer]) -> list[int]:
    return [each.id.number for each in found]


def cores(amount: int) -> Amounts:
    return {CPU_MILLI: amount * 1000}


def gib(amount: int) -> Amounts:
    return {MEMORY_MIB: amount * 1024}


def covered(found: Sequence[LentContainer], short: Amounts) -> dict[str, int]:
    return {kind: min(most, sum(each.amounts.get(kind, 0) for each in found)) for kind, most in short.items()}


amounts = st.fixed_dictionaries({CPU_MILLI: st.integers(0, 4), MEMORY_MIB: st.integers(0, 4)})
shorts = st.dictionaries(st.sampled_from(RESOURCES), st.integers(1, 12))


@st.composite
def nodes(draw: st.DrawFn) -> list[LentContainer]:
    """A node's containers, in order; small amounts, so that many of them are equal."""
    some = draw(st.lists(st.tuples(amounts, st.integers(-1, 1), st.booleans()), max_size=8))
    app = ApplicationAttemptId(ApplicationId(1, 1), 1)
    return in_order(
        LentContainer(id=ContainerId(app, number), amounts=held, over_milli=over, is_master=is_master)
        for number, (held, over, is_master) in enumerate(some, 1)
    )


@given(nodes(), shorts)
def test_it_is_the_shortest_run_less_what_the_rest_makes_unnecessary(
    ordered: list[LentContainer], short: Amounts
) -> None:
    found = shortest_run(ordered, short)
    assert covered(found, short) == covered(ordered, short), "all that can be is covered"
    prefix = next(n for n in range(len(ordered) + 1) if covered(ordered[:n], short) == covered(ordered, short))
    assert {each.id for each in found} <= {each.id for each in ordered[:prefix]}, "nobody after the shortest run"
    if not any(each.is_master for each in found):
        for each in found:
            rest = [other for other in found if other is not each]
            assert covered(rest, short) != covered(found, short), "nobody who is not needed"


@given(nodes(), shorts)
def test_no_master_goes_while_others_stay(ordered: list[LentContainer], short: Amounts) -> None:
    found = shortest_run(ordered, short)
    if any(each.is_master for each in found):
        assert {each.id for each in ordered if not each.is_master} <= {each.id for each in found}
        masters = [each for each in found if each.is_master]
        for each in masters:
            rest = [other for other in found if other is not each]
            assert covered(rest, short) != covered(found, short), "no master who is not needed"


@given(nodes(), shorts, st.integers(0, 3))
def test_cores_are_taken_back_few_at_a_time_and_memory_at_once(
    ordered: list[LentContainer], short: Amounts, cpu_left: int
) -> None:
    found = victims(ordered, short, cpu_left)
    assert len(for_cores_alone(found, short)) <= cpu_left
    memory = {kind: most for kind, most in short.items() if kind == MEMORY_MIB}
    assert covered(found, memory) == covered(ordered, memory)


@given(nodes(), shorts, st.integers(0, 12))
def test_what_is_going_is_not_asked_for_again(ordered: list[LentContainer], lent: Amounts, going: int) -> None:
    held = {kind: sum(each.amounts[kind] for each in ordered) for kind in RESOURCES}
    first = shortest_run(ordered, deficit(held, lent))
    assert shortest_run(ordered, deficit(held, lent, first)) == []
    some, rest = ordered[:going], ordered[going:]
    more = shortest_run(rest, deficit(held, lent, some))
    left = deficit(held, lent, [*some, *more])
    assert not left, "a loan is not negative: all that is held covers it"


def test_the_order() -> None:
    """Over its guarantee, then priority, submitted last, the container's own, then newest; masters last."""
    order = [
        one(1, over_milli=200),
        one(2, over_milli=100, priority=1),
        one(9, over_milli=100, priority=2, submitted_ms=8, request_priority=0),
        one(3, over_milli=100, priority=2, submitted_ms=5, request_priority=20),
        one(6, over_milli=100, priority=2, submitted_ms=5, request_priority=10),
        one(5, over_milli=100, priority=2, submitted_ms=5, request_priority=10),
        one(7, over_milli=-100),
        one(8, over_milli=900, is_master=True),
    ]
    assert numbers(in_order(order[::-1])) == numbers(order)


def test_a_larger_one_that_covers_it_all_spares_those_before() -> None:
    assert numbers(shortest_run([one(1), one(2), one(3, gib=4), one(4, gib=8)], gib(4))) == [3]
    assert numbers(shortest_run([one(1), one(2), one(3, gib=2)], gib(3))) == [1, 3]


def test_three_go_for_cores_and_as_many_as_it_takes_for_memory() -> None:
    ordered = [one(number) for number in range(1, 9)]
    assert numbers(victims(ordered, cores(6), 3)) == [1, 2, 3]
    assert numbers(victims(ordered, gib(6), 0)) == [1, 2, 3, 4, 5, 6]
    assert numbers(victims(ordered, {**cores(6), **gib(2)}, 3)) == [1, 2, 3, 4, 5]
