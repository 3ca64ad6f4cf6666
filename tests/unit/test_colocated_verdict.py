"""A measurement of a service beside batch work may prove nothing, and the verdict says why."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.colocated_service import CONDITIONS, interval, verdict, void_run
from tests.e2e.colocated import Figures

ALONE = Figures(
    latencies=[1.0] * 5900 + [4.0] * 100,
    seconds=40.0,
    service_cores=0.2,
    node_cores=0.2,
    pressure=0.03,
    rounds=(),
)
"""Of 40 seconds at a rate of 150; P99 4 ms."""


def slower(factor: float) -> Figures:
    return replace(ALONE, latencies=[one * factor for one in ALONE.latencies])


def reasons(run: Figures, busy: float = 0.0) -> list[str]:
    return void_run(run, ALONE, seconds=40, rate=150, busy=busy)


def test_a_quiet_run_counts() -> None:
    assert reasons(slower(3.0), busy=0.2) == []


@pytest.mark.parametrize(
    ("run", "busy", "said"),
    [
        (ALONE, 0.21, "the machine was busy"),
        (replace(ALONE, latencies=ALONE.latencies[:5000], service_cores=0.2 * 5 / 6), 0.0, "the rate was missed: 5000"),
        (replace(ALONE, service_cores=0.23), 0.0, "1.15 times the processor time"),
    ],
)
def test_why_a_run_is_void(run: Figures, busy: float, said: str) -> None:
    (found,) = reasons(run, busy)
    assert said in found


def test_runs_are_compared_with_that_of_their_round() -> None:
    rounds = [dict(zip(CONDITIONS, map(slower, (1.0, 4.0, 1.2, 1.3)), strict=True))] * 3
    assert verdict(rounds, {}) == [
        "B: P99 4.00 times that of A', 3 rounds",
        "C: P99 1.20 times that of A', 3 rounds; at most 1.25: holds",
        "D: P99 1.30 times that of A', 3 rounds; at most 1.25: does not hold",
    ]
    void = {(number, "C"): ["busy"] for number in range(3)} | {(0, "A'"): ["busy"]}
    assert verdict(rounds, void)[1:] == [
        "C: void, no run is left",
        "D: P99 1.30 times that of A', 2 rounds; at most 1.25: does not hold",
    ]


def test_all_is_void_where_alone_differs_by_itself() -> None:
    rounds = [dict.fromkeys(CONDITIONS, slower(factor)) for factor in (1.0, 1.16)]
    assert verdict(rounds, {}) == ["void: A' itself differs between rounds: P99 4.0 to 4.6 ms"]


def test_an_interval_holds_the_percentile() -> None:
    low, high = interval(ALONE.latencies, 99)
    assert low <= ALONE.percentile(99) <= high
