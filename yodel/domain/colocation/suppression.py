"""Computes the processor time that all best-effort pods of a node may use together, to keep them to what is lent.

``share x capacity - online``, where online is the largest use of the last seconds.  It is above what the formula leaves
to be lent, which also takes off what else the policy names: a quota bounds use, and a loan what is promised.

A quota falls at once and grows by the policy's largest step.  It never falls below what lets the kubelet start and end
a pod and an ApplicationMaster send its heartbeats.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from yodel.domain.colocation.measured import InstantUse
from yodel.domain.colocation.shaping import Numbers

FLOOR_PERCENT: Final = 5
"""The floor, as a part of the node."""
MASTER_MILLI: Final = 100
"""For each ApplicationMaster of Yodel's own among the best-effort pods."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuHeadroom:
    """The processors of a node as a quota is decided by; ``recent`` has at least one use.

    ``agent_most`` is the agent's own setting, for nodes that share a machine; None where there is none.
    ``is_watched``: ``recent`` covers as long as a shrink looks back; before that a quota does not grow.
    """

    numbers: Numbers
    capacity: int
    recent: Sequence[InstantUse]
    agent_most: int | None
    is_watched: bool


def quota_of(headroom: CpuHeadroom, *, masters: int, last: int | None) -> int:
    """Return the quota in milli of a core; ``last`` is the one that was decided before, None where there is none."""
    numbers, capacity = headroom.numbers, headroom.capacity
    share, most = (
        capacity * percent // 100 for percent in (numbers.formula.share_percent, numbers.formula.most_percent)
    )
    online = max(use.online for use in headroom.recent)
    left = _rounded(min(share - online, most, most if headroom.agent_most is None else headroom.agent_most), numbers)
    if last is not None and left > last:
        step = max(numbers.round_to, capacity * numbers.step_up_percent // 100)
        left = min(left, _rounded(last + step, numbers)) if headroom.is_watched else last
    return max(left, -(-capacity * FLOOR_PERCENT // 100), masters * MASTER_MILLI)


def _rounded(amount: int, numbers: Numbers) -> int:
    """Down, as a loan is: so the quota of what a loan was rounded from is not below it."""
    return amount - amount % numbers.round_to
