"""The numbers of known colocation engines, by name: each a setting of the one formula, with where it comes from.

What an engine does beyond the formula is left out, and said in ``note``.  Lending by the clock is not among them: the
windows of queues do that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from yodel.domain.colocation.policy import Formula


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """``own_window_s`` is the window the engine itself uses, None where it names none; a policy may set it."""

    name: str
    cpu: Formula
    memory: Formula
    own_window_s: int | None
    source: str
    note: str


_PRESETS = (
    Preset(
        name="koordinator",
        cpu=Formula(share_percent=60),
        memory=Formula(share_percent=65),
        own_window_s=300,
        source="Koordinator slo-controller, batchresource plugin, policy usage: "
        "cpuReclaimThresholdPercent 60, memoryReclaimThresholdPercent 65, metricAggregateDurationSeconds 300",
        note="a pod without a metric counts by its use, not by its request",
    ),
    Preset(
        name="katalyst-canonical",
        cpu=Formula(counts_system=False, reserved=2000, online_percent=125, kept=4000),
        memory=Formula(counts_system=False, online_percent=110, kept=5120),
        own_window_s=120,
        source="Katalyst headroom policy canonical: usage x 1.25 and x 1.1, reserved for allocation 4 cores and 5 Gi, "
        "reserve pool 2 cores",
        note="without load averages; memory counts the working set, not the page cache",
    ),
    Preset(
        name="crane",
        cpu=Formula(share_percent=60),
        memory=Formula(share_percent=60),
        own_window_s=10,
        source="Crane node resource controller: reserve 40 % of the node, local use",
        note="without the predicted peak",
    ),
    Preset(
        name="volcano-corrected",
        cpu=Formula(part_percent=60, counts_system=False),
        memory=Formula(part_percent=60, counts_system=False),
        own_window_s=100,
        source="Volcano agent, over-subscription ratio 60 %, CPU manager policy none, include-system-usage false",
        note="best-effort pods' own use does not count against what is lent to them, as it does in Volcano",
    ),
    Preset(
        name="baidu",
        cpu=Formula(counts_system=False),
        memory=Formula(counts_system=False),
        own_window_s=None,
        source="Baidu's colocation: low = host - use of high - use of medium",
        note="without the cap, whose value is not published: set one",
    ),
    Preset(
        name="bilibili",
        cpu=Formula(share_percent=70),
        memory=Formula(share_percent=70),
        own_window_s=None,
        source="Bilibili's dynamic policy: n % of the node - use online",
        note="n is not published; 70 is taken here",
    ),
    Preset(
        name="static",
        cpu=Formula(static_amount=0),
        memory=Formula(static_amount=0),
        own_window_s=None,
        source="a fixed amount per node",
        note="lends no capacity until amounts are set",
    ),
)
PRESETS: Final[Mapping[str, Preset]] = {preset.name: preset for preset in _PRESETS}
