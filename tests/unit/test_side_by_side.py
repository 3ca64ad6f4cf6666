"""The table of two ResourceManagers: figures are medians, ratios those of pairs."""

from __future__ import annotations

import asyncio

import pytest

from bench.cluster import Cluster
from bench.heartbeats import Figures
from bench.side_by_side import Sides


def test_a_ratio_is_that_of_a_pair_and_who_begins_changes(capsys: pytest.CaptureFixture[str]) -> None:
    speeds = iter([100.0, 200.0, 10.0, 30.0, 60.0, 30.0])  # the machine slows down tenfold for one pair
    order = list[str]()

    async def measure(side: Cluster) -> Figures:
        order.append(side.name)
        return Figures(per_s=next(speeds), cpu_us=50.0 if side.name == "ours" else 100.0)

    sides = Sides(Cluster("theirs", {}), Cluster("ours", {}))
    asyncio.run(sides.row("beats", 3, measure))
    assert order == ["ours", "theirs", "theirs", "ours", "ours", "theirs"]
    cells = [cell.strip() for cell in capsys.readouterr().out.strip().strip("|").split("|")]
    assert cells[:4] == ["beats", "30", "60", "2.00 (0.50 to 3.00)"]
    assert cells[4:7] == ["100.0", "50.0", "0.50 (0.50 to 0.50)"]
    assert cells[7:] == ["–", "–", "–"]  # no p99 was measured
