import pytest

from yodel.domain.colocation.estimate import estimate, terms
from yodel.domain.colocation.policy import Formula

OUTSIDE, NOT = "(mean use outside of pods)", "used outside of pods is not counted"
COUNTED, NOT_COUNTED = (Formula(counts_system=counts, reserved=2000) for counts in (True, False))


def test_the_terms_are_the_formula_in_its_order() -> None:
    formula = Formula(part_percent=60, share_percent=90, reserved=2000, online_percent=110, kept=500)
    found = [(term.name, term.amount) for term in terms(formula, capacity=64_000, online=18_000, system=1500)]
    assert found == [
        ("capacity", 64_000),
        ("margin", -6400),
        ("system", -2000),
        ("online", -19_800),
        ("kept", -500),
        ("part", -14_120),
    ]


def test_a_term_says_which_figures_it_is_made_of() -> None:
    whys = {term.name: term.why for term in terms(Formula(share_percent=60), capacity=64_000, online=18_000, system=7)}
    assert whys["margin"] == "40 % of 64000 is kept free as margin"
    assert whys["system"] == "the larger of 7 (mean use outside of pods) and 0 (reserved)"
    assert whys["online"] == "100 % of 18000, the mean use of pods that are not best-effort"


def test_a_system_that_is_not_counted_takes_only_what_is_reserved() -> None:
    assert estimate(Formula(counts_system=False, reserved=300), capacity=1000, online=0, system=900) == 700


@pytest.mark.parametrize(
    ("formula", "system", "kubelet_reserved", "taken", "why"),
    [
        (COUNTED, 1500, 2500, 2500, f"the larger of 1500 {OUTSIDE} and 2500 (reserved by the kubelet)"),
        (COUNTED, 3000, 2500, 3000, f"the larger of 3000 {OUTSIDE} and 2500 (reserved by the kubelet)"),
        (COUNTED, 1500, 2000, 2000, f"the larger of 1500 {OUTSIDE} and 2000 (reserved)"),
        (COUNTED, 1500, None, 2000, f"the larger of 1500 {OUTSIDE} and 2000 (reserved)"),
        (NOT_COUNTED, 3000, 2500, 2500, f"2500 is reserved by the kubelet; the 3000 {NOT}"),
        (NOT_COUNTED, 3000, None, 2000, f"2000 is reserved; the 3000 {NOT}"),
    ],
)
def test_what_the_kubelet_keeps_from_pods_is_the_least_that_is_reserved(
    formula: Formula, system: int, kubelet_reserved: int | None, taken: int, why: str
) -> None:
    """The system runs in it, and is not counted beside it."""
    found = terms(formula, capacity=64_000, online=0, system=system, kubelet_reserved=kubelet_reserved)
    assert [(term.amount, term.why) for term in found if term.name == "system"] == [(-taken, why)]


def test_products_are_rounded_so_that_less_is_lent() -> None:
    assert estimate(Formula(share_percent=33), capacity=101, online=0, system=0) == 33
    assert estimate(Formula(online_percent=101), capacity=100, online=1, system=0) == 98
    assert estimate(Formula(part_percent=50), capacity=3, online=0, system=0) == 1


def test_a_static_amount_is_the_only_term() -> None:
    assert [(t.name, t.amount) for t in terms(Formula(static_amount=5), capacity=1, online=9, system=9)] == [
        ("static", 5)
    ]


def test_of_less_than_nothing_no_percent_is_told() -> None:
    """It said "100 % of the -801 that are left may be lent"."""
    part = terms(Formula(share_percent=60), capacity=1_000, online=1_401, system=0)[-1]
    assert (part.name, part.why) == ("part", "nothing remains")
