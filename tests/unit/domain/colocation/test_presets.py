"""The presets on one node of 64 cores, where online pods use 18, the system 2 and best-effort pods 10."""

import pytest

from yodel.domain.colocation.measured import Use, Window
from yodel.domain.colocation.policy import Policy, Shaping
from yodel.domain.colocation.presets import PRESETS
from yodel.domain.colocation.report import CPU_MILLI
from yodel.domain.colocation.shaping import Before, loan_of, numbers_of

WORKED_NODE = Use(node=30_000, pods=28_000, best_effort=10_000)


@pytest.mark.parametrize(
    ("name", "cpu_milli"),
    [
        ("koordinator", 18_400),
        ("katalyst-canonical", 35_500),
        ("crane", 18_400),
        ("volcano-corrected", 27_600),
        ("baidu", 46_000),
        ("bilibili", 24_800),
        ("static", 0),
    ],
)
def test_what_a_preset_lends_of_the_worked_node(name: str, cpu_milli: int) -> None:
    preset = PRESETS[name]
    policy = Policy(version="1", preset=name, cpu=preset.cpu, memory=preset.memory, shaping=Shaping())
    window = Window(capacity=64_000, uses=[WORKED_NODE] * 10, recent=[WORKED_NODE] * 10)
    loan = loan_of(CPU_MILLI, numbers_of(policy, CPU_MILLI), window, Before())
    assert loan.amount == sum(term.amount for term in loan.terms) == cpu_milli


def test_each_preset_is_known_by_its_name_and_says_where_it_comes_from() -> None:
    assert all(name == preset.name and preset.source for name, preset in PRESETS.items())
