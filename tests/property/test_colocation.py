"""The formula and its shaping on any node, any use and any policy: what must be so whatever the numbers are."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from yodel.domain.colocation.measured import InstantUse, UsageWindow
from yodel.domain.colocation.policy import FORMULA_RANGES, Formula
from yodel.domain.colocation.report import CPU_MILLI
from yodel.domain.colocation.shaping import Before, Numbers, loan_of

AMOUNTS = st.integers(0, 300_000)


def _in_range(name: str) -> st.SearchStrategy[int]:
    least, most = FORMULA_RANGES[name]
    return st.integers(least, min(most, 300_000))


FORMULAS = st.builds(
    Formula,
    part_percent=_in_range("part_percent"),
    share_percent=_in_range("share_percent"),
    counts_system=st.booleans(),
    reserved=_in_range("reserved"),
    online_percent=_in_range("online_percent"),
    kept=_in_range("kept"),
    most_percent=_in_range("most_percent"),
    static_amount=st.none() | AMOUNTS,
)
NUMBERS = st.builds(
    Numbers,
    formula=FORMULAS,
    step_up_percent=st.integers(1, 100),
    dead_band_percent=st.integers(0, 100),
    dead_band=st.integers(0, 1000),
    round_to=st.integers(1, 1000),
)
USES = st.lists(st.builds(InstantUse, node=AMOUNTS, pods=AMOUNTS, best_effort=AMOUNTS), min_size=1, max_size=30)
BEFORE = st.builds(
    Before, last=st.none() | AMOUNTS, climbing=st.booleans(), agent_most=st.none() | st.integers(0, 300_000)
)


def _window(capacity: int, uses: list[InstantUse], kubelet_reserved: int | None = None) -> UsageWindow:
    return UsageWindow(capacity=capacity, uses=uses, recent=uses[-10:], kubelet_reserved=kubelet_reserved)


@given(NUMBERS, AMOUNTS, USES, BEFORE)
def test_a_loan_is_whole_adds_up_and_stays_within_what_may_be_lent(
    numbers: Numbers, capacity: int, uses: list[InstantUse], before: Before
) -> None:
    loan = loan_of(CPU_MILLI, numbers, _window(capacity, uses), before)  # a sum that does not add up cannot be built
    assert 0 <= loan.amount <= capacity * numbers.formula.most_percent // 100
    assert before.agent_most is None or loan.amount <= before.agent_most


@given(NUMBERS, AMOUNTS, USES, BEFORE, st.integers(0, 29), st.integers(0, 100_000))
def test_more_online_use_never_lends_more(
    numbers: Numbers, capacity: int, uses: list[InstantUse], last: Before, at: int, more: int
) -> None:
    at = min(at, len(uses) - 1)
    busier = [*uses]
    busier[at] = replace(uses[at], node=uses[at].node + more, pods=uses[at].pods + more)
    before, after = (loan_of(CPU_MILLI, numbers, _window(capacity, each), last).amount for each in (uses, busier))
    assert after <= before


@given(NUMBERS, AMOUNTS, USES, BEFORE, st.integers(0, 100_000))
def test_what_best_effort_pods_use_changes_nothing(
    numbers: Numbers, capacity: int, uses: list[InstantUse], before: Before, added: int
) -> None:
    lively = [
        InstantUse(node=use.node + added, pods=use.pods + added, best_effort=use.best_effort + added) for use in uses
    ]
    loans = [loan_of(CPU_MILLI, numbers, _window(capacity, each), before).amount for each in (uses, lively)]
    assert loans[0] == loans[1]


@given(NUMBERS, AMOUNTS, USES, AMOUNTS, st.none() | AMOUNTS)
def test_what_the_kubelet_keeps_is_never_lent_and_less_of_it_never_lends_less(
    numbers: Numbers, capacity: int, uses: list[InstantUse], kept: int, less: int | None
) -> None:
    found = loan_of(CPU_MILLI, numbers, _window(capacity, uses, kept), Before())
    assert numbers.formula.static_amount is not None or found.amount <= max(0, capacity - kept)
    if less is None or less <= kept:
        assert loan_of(CPU_MILLI, numbers, _window(capacity, uses, less), Before()).amount >= found.amount


@given(NUMBERS, BEFORE)
def test_a_node_of_nothing_lends_nothing(numbers: Numbers, before: Before) -> None:
    nothing = [InstantUse(node=0, pods=0, best_effort=0)]
    assert loan_of(CPU_MILLI, numbers, _window(0, nothing), before).amount == 0


@given(NUMBERS, AMOUNTS, USES)
def test_under_constant_use_a_loan_comes_to_rest(numbers: Numbers, capacity: int, uses: list[InstantUse]) -> None:
    """Within as many steps as the largest step takes to the top, and then it does not move any more."""
    window, before, seen = _window(capacity, uses), Before(last=0), []
    for _ in range(210):
        loan = loan_of(CPU_MILLI, numbers, window, before)
        climbing = any(s.name == "largest-step-up" and s.after < s.before for s in loan.steps)
        before = Before(last=loan.amount, climbing=climbing)
        seen.append(loan.amount)
    assert seen == sorted(seen)
    assert seen[-1] == seen[-2]
