"""Queues have an ideal share where priorities count."""

from __future__ import annotations

import pytest

from yodel.domain.preemption.ideal import Branch, assign
from yodel.domain.resource import Resource

SIZE = Resource(1024, 1)


@pytest.mark.parametrize(
    ("priorities", "ideal"),
    [
        ((0, 0, 0), [45, 45, 10]),
        ((0, 1, 0), [40, 50, 10]),  # the guarantees first, and then what the highest holds above its own
        ((2, 1, 0), [60, 30, 10]),
        ((-1, -1, 5), [45, 45, 10]),  # who has it all already takes nothing from a guarantee
    ],
)
def test_what_is_left_above_guarantees_stays_with_the_highest_priority(
    priorities: tuple[int, ...], ideal: list[int]
) -> None:
    root = branch("root", 100, 100)
    for name, priority, guaranteed, used in zip("abc", priorities, (30, 30, 10), (60, 50, 10), strict=True):
        root.below.append(branch(f"root.{name}", guaranteed, used, priority))
    assign(root, SIZE * 100)
    assert [child.ideal.vcores for child in root.below] == ideal


def branch(path: str, guaranteed: int, used: int, priority: int = 0) -> Branch:
    return Branch(path=path, guaranteed=SIZE * guaranteed, maximum=SIZE * 100, used=SIZE * used, priority=priority)


def test_low_priority_gets_its_guarantee_before_a_high_one_keeps_more() -> None:
    root = branch("root", 100, 100)
    root.below += [branch("root.a", 30, 60, 9), branch("root.b", 30, 40, 9), branch("root.c", 10, 0)]
    root.below[2].pending = SIZE * 50
    assign(root, SIZE * 100)
    assert root.below[2].ideal == SIZE * 10
    assert sum(child.ideal.vcores for child in root.below) == 100
