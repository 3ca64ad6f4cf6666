"""The table of two ResourceManagers: figures are medians, ratios those of pairs."""

from __future__ import annotations

import argparse
import asyncio

import pytest

from bench.cluster import Cluster
from bench.heartbeats import Figures
from bench.side_by_side import PARTS, Part, Sides, within


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


def test_a_part_ends_by_its_limit_and_leaves_no_connection() -> None:
    class Connection:
        is_open = True

        def abort(self) -> None:
            self.is_open = False

    class Master:
        transport = Connection()

    async def hangs(sides: Sides, _arguments: argparse.Namespace) -> None:
        sides.masters["ours"] = [Master()]  # type: ignore[list-item]
        await asyncio.Event().wait()

    sides = Sides(Cluster("theirs", {}), Cluster("ours", {}))
    with pytest.raises(TimeoutError):
        asyncio.run(within(0.01, sides, Part(limit_s=0.01, rows=hangs), argparse.Namespace()))
    assert not Master.transport.is_open


def test_all_parts_together_take_eighteen_minutes_at_most() -> None:
    assert sum(part.limit_s for part in PARTS.values()) <= 18 * 60
