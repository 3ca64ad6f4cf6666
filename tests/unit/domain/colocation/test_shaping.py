from yodel.domain.colocation.measured import InstantUse, UsageWindow
from yodel.domain.colocation.policy import Formula
from yodel.domain.colocation.report import CPU_MILLI, Loan
from yodel.domain.colocation.shaping import Before, Numbers, is_climbing, loan_of

CAPACITY = 10_000
EVERYTHING = Formula(counts_system=False)
NUMBERS = Numbers(formula=EVERYTHING, step_up_percent=10, dead_band_percent=10, dead_band=100, round_to=100)


def _loan(online: list[int], before: Before, numbers: Numbers = NUMBERS) -> Loan:
    uses = [InstantUse(node=amount, pods=amount, best_effort=0) for amount in online]
    window = UsageWindow(capacity=CAPACITY, uses=uses, recent=uses[-10:])
    return loan_of(CPU_MILLI, numbers, window, before)


def _step(loan: Loan, name: str) -> tuple[int, int, str]:
    step = next(step for step in loan.steps if step.name == name)
    return step.before, step.after, step.why


def test_every_step_is_named_in_order_also_where_it_changes_nothing() -> None:
    loan = _loan([4000], Before())
    assert [step.name for step in loan.steps] == ["down-at-once", "clamp", "largest-step-up", "dead-band", "round"]
    assert {step.after for step in loan.steps} == {6000}


def test_a_burst_takes_its_room_at_once_and_keeps_it_for_ten_seconds() -> None:
    assert _loan([1000] * 9 + [6000], Before(last=9000)).amount == 4000
    assert _step(_loan([6000] + [1000] * 9, Before(last=4000)), "down-at-once")[:2] == (8500, 4000)
    assert _step(_loan([6000] + [1000] * 10, Before(last=4000)), "down-at-once")[1] == 8545


def test_a_long_window_slows_growth_by_its_mean() -> None:
    assert _loan([9000] * 50 + [1000] * 50, Before()).amount == 5000


def test_growth_takes_the_largest_step_at_a_time() -> None:
    loan = _loan([0], Before(last=3000))
    assert loan.amount == 4000
    assert is_climbing(loan)
    assert _step(loan, "largest-step-up") == (10_000, 4000, "at most 1000 above the current 3000")


def test_a_small_node_grows_though_its_step_is_less_than_what_is_rounded_to() -> None:
    numbers = Numbers(formula=EVERYTHING, step_up_percent=1, dead_band_percent=0, dead_band=0, round_to=500)
    assert _loan([0], Before(last=3000), numbers).amount == 3500


def test_a_change_within_the_dead_band_is_not_made_in_either_direction() -> None:
    assert _loan([4999], Before(last=6000)).amount == 6000
    assert _loan([3001], Before(last=6000)).amount == 6000
    assert _loan([5000], Before(last=6000)).amount == 5000
    assert _loan([3000], Before(last=6000)).amount == 7000


def test_a_loan_that_climbs_is_not_left_a_band_below_what_there_is() -> None:
    resting, climbing = Before(last=5500), Before(last=5500, climbing=True)
    assert (_loan([4000], resting).amount, _loan([4000], climbing).amount) == (5500, 6000)


def test_a_climbing_loan_shrinks_only_beyond_the_whole_band() -> None:
    assert _loan([5000], Before(last=5500, climbing=True)).amount == 5500


def test_the_last_of_a_loan_goes_whatever_the_band() -> None:
    assert _loan([10_000], Before(last=900)).amount == 0


def test_the_dead_band_never_holds_a_loan_above_the_most() -> None:
    capped = Numbers(
        formula=Formula(counts_system=False, most_percent=55),
        step_up_percent=10,
        dead_band_percent=10,
        dead_band=100,
        round_to=100,
    )
    assert _loan([0], Before(last=6000), capped).amount == 5500
    assert _loan([0], Before(last=6000, agent_most=5600)).amount == 5600
    assert _loan([5000], Before(last=600, agent_most=0)).amount == 0


def test_the_agents_own_most_is_a_step_with_its_reason() -> None:
    loan = _loan([0], Before(agent_most=2550))
    assert _step(loan, "agent-most") == (10_000, 2550, "this node agent's own maximum is 2550")
    assert loan.amount == 2500


def test_use_above_the_node_lends_nothing_and_still_adds_up() -> None:
    loan = _loan([12_000], Before())
    assert _step(loan, "clamp") == (-2000, 0, "0 to 10000, 100 % of the node")
    assert loan.amount == 0
