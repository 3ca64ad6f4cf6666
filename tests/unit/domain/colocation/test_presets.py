"""The presets on one node of 64 cores, where online pods use 18, the system 2 and best-effort pods 10."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from yodel.domain.colocation.measured import InstantUse, UsageWindow
from yodel.domain.colocation.policy import Policy, Shaping
from yodel.domain.colocation.presets import PRESETS
from yodel.domain.colocation.report import CPU_MILLI, Loan
from yodel.domain.colocation.shaping import Before, is_climbing, loan_of, numbers_of

PAGE = Path(__file__).resolve().parents[4] / "docs" / "colocation.md"
WORKED = {
    "koordinator": 18_400,
    "katalyst-canonical": 35_500,
    "crane": 18_400,
    "volcano-corrected": 27_600,
    "baidu": 46_000,
    "bilibili": 24_800,
    "static": 0,
}
WORKED_NODE = InstantUse(node=30_000, pods=28_000, best_effort=10_000)
RESERVED = {
    "koordinator": 16_400,
    "katalyst-canonical": 33_500,
    "crane": 16_400,
    "volcano-corrected": 25_200,
    "baidu": 42_000,
    "bilibili": 22_800,
    "static": 0,
}
"""Where the kubelet keeps 4 cores from pods: the system's 2 are among them."""


def _loan(name: str, uses: list[InstantUse], before: Before, kubelet_reserved: int = 0) -> Loan:
    preset = PRESETS[name]
    policy = Policy(version="1", preset=name, cpu=preset.cpu, memory=preset.memory, shaping=Shaping())
    window = UsageWindow(capacity=64_000, uses=uses, recent=uses, kubelet_reserved=kubelet_reserved)
    return loan_of(CPU_MILLI, numbers_of(policy, CPU_MILLI), window, before)


@pytest.mark.parametrize(("kubelet_reserved", "lent"), [(0, WORKED), (4000, RESERVED)])
@pytest.mark.parametrize("name", PRESETS)
def test_what_a_preset_lends_of_the_worked_node(name: str, kubelet_reserved: int, lent: dict[str, int]) -> None:
    loan = _loan(name, [WORKED_NODE] * 10, Before(), kubelet_reserved)
    assert loan.amount == sum(term.amount for term in loan.terms) == lent[name]


def test_the_page_shows_each_preset_with_what_it_lends_of_the_worked_node() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \| ([0-9.]+) \| ([0-9.]+) \|", PAGE.read_text(), re.MULTILINE)
    assert rows == [(name, f"{WORKED[name] / 1000:g}", f"{RESERVED[name] / 1000:g}") for name in PRESETS]


def test_the_page_shows_the_terms_of_the_example_as_they_are() -> None:
    page = PAGE.read_text()
    for term in _loan("koordinator", [WORKED_NODE] * 10, Before()).terms:
        assert f"{f'{term.amount:+}m':>20} {term.name}: {term.why}\n" in page


def test_the_loan_of_the_example_falls_at_once_and_comes_back_as_the_page_says() -> None:
    """Online pods use 26 cores for a second."""
    burst, last, seen = replace(WORKED_NODE, node=38_000, pods=36_000), Before(last=18_400), []
    for second in range(12):
        uses = [burst if age == second else WORKED_NODE for age in range(9, -1, -1)]
        loan = _loan("koordinator", uses, last)
        last = Before(last=loan.amount, climbing=is_climbing(loan))
        seen.append(loan.amount)
    assert seen == [10_400] * 10 + [16_800, 18_400]
    busy = [burst, *[WORKED_NODE] * 9]
    assert _loan("koordinator", busy, Before(), kubelet_reserved=4000).amount == 8_400, "of the burst too"


def test_each_preset_is_known_by_its_name_and_says_where_it_comes_from() -> None:
    assert all(name == preset.name and preset.source for name, preset in PRESETS.items())
