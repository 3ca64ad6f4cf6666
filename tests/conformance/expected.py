"""The right answers of the Spark programs, from Python's integers."""

from __future__ import annotations

import math


def points_inside(side: int) -> int:
    return sum(math.isqrt(side * side - 1 - x * x) + 1 for x in range(side))


def expected_groups(rows: int, keys: int, groups: int) -> list[list[object]]:
    """Every key k meets the ids k, k + keys, k + 2*keys, …: an arithmetic series of rows/keys members."""
    members = rows // keys
    answer = []
    for group in range(groups):
        own = range(group, keys, groups)
        total = sum((members * k + keys * members * (members - 1) // 2) * (k * k + 1) for k in own)
        answer.append([group, members * len(own), str(total)])
    return answer
