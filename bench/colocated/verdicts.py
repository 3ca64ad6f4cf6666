"""Judges a measurement: which runs prove nothing, and what the others say of lent capacity."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bench.colocated.quiet import BUSY
from bench.colocated.runs import (
    ALONE,
    CONDITIONS,
    DEFAULT,
    LENT,
    NATIVE,
    SHARE_85,
    SHARES,
    Results,
    Run,
    Window,
    percent,
    round_name,
)

RATE_OFF = 0.01
SPEED_OFF = 0.10
REPEATS_OFF = 0.15
"""If A' of rounds on one level of the core differs by more, it cannot tell what a quarter more is."""
P99_MOST = 1.25
"""P99 next to batch is at most so many times that of A' in the same round."""
CPU_LEAST = 0.90
"""Part of what a condition permits that the node's processors work."""
GOAL = 0.60
"""Part of the node's processors that work with share 85."""
EARLY_MOST = 0.01
CONTAINERS_LEAST = 500


def differs(value: float, reference: float) -> bool:
    """Return True if a processor time is not that of the reference, but for what repetitions differ by."""
    return abs(value / reference - 1) > SPEED_OFF


def disturbed(run: Run, alone: Run) -> str:
    """Return why a run may not be comparable with A' of its round, so that it is repeated; empty: it is."""
    if differs(run.core_ms, alone.core_ms):
        return f"the core worked at {alone.core_ms / run.core_ms:.2f} times its speed in A'"
    ratio = run.window.cpu_ms_a_request / alone.window.cpu_ms_a_request
    if differs(ratio, 1):
        return f"a request took {ratio:.2f} times the processor time that it took in A'"
    return ""


def is_own(run: Run, earlier: Run, alone: Run) -> bool:
    """Return True if the condition itself changes a request's processor time: the core has the speed that it had in
    A', and a repeated run took the same time again.  Batch that uses memory bandwidth does that."""
    same = not differs(run.window.cpu_ms_a_request, earlier.window.cpu_ms_a_request)
    return same and not differs(run.core_ms, alone.core_ms)


def void_run(run: Run, alone: Run) -> list[str]:
    """Return why a run proves nothing; empty: it counts."""
    found = []
    if run.busy > BUSY:
        found.append(f"the machine did not become quiet before it: processes waited in {percent(run.busy)} of the time")
    found += rate_missed(run.window)
    if differs(run.core_ms, alone.core_ms):
        found.append(disturbed(run, alone))
    elif run.disturbed:
        found.append(f"disturbed: {run.disturbed}")
    return found


def rate_missed(window: Window) -> list[str]:
    """Return why the clients were not an open loop of their rate.  Their schedule is a Poisson process."""
    due, asked = window.seconds * window.rate, window.requests
    if abs(asked - due) <= RATE_OFF * due + 3 * math.sqrt(due):
        return []
    return [f"the rate was missed: {asked} requests of {due:.0f}"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """``holds`` None: the measurement cannot tell."""

    claim: str
    holds: bool | None
    figures: str

    @property
    def word(self) -> str:
        return {True: "holds", False: "does not hold", None: "inconclusive"}[self.holds]


def void(results: Results) -> list[str]:
    """Return why the whole measurement proves nothing; empty: it counts."""
    if not results.rounds:
        return ["no round was measured"]
    return [
        f"{round_name(one[ALONE].round)}, {name}: {reason}"
        for one in results.rounds
        for name in CONDITIONS
        for reason in void_run(one[name], one[ALONE])
    ]


def verdicts(results: Results) -> list[Verdict]:
    """Judge what was measured; for the default preset and for share 85 apart."""
    found: list[Verdict] = []
    for name in (LENT, DEFAULT, SHARE_85):
        found += [_below_native(results, name), _near_alone(results, name), _processors(results, name)]
    found.append(_goal(results))
    if results.day is not None:
        found.append(_early(results))
    found.append(_failures(results))
    return found


def p99_ratios(results: Results, name: str, other: str = ALONE) -> list[float]:
    """Return the P99 of a condition by that of another in the same round, round by round."""
    return [one[name].window.p99_ms / one[other].window.p99_ms for one in results.rounds]


def _below_native(results: Results, name: str) -> Verdict:
    ratios = p99_ratios(results, name, NATIVE)
    figures = f"{_numbers(ratios)} times that of B"
    return Verdict(claim=f"{name}: P99 below B's in every round", holds=max(ratios) < 1, figures=figures)


def _near_alone(results: Results, name: str) -> Verdict:
    """Judge rounds in which A' itself repeats: those on its core's level that differ from each other by little."""
    told = [number for number in range(len(results.rounds)) if _can_tell(results, number)]
    ratios = p99_ratios(results, name)
    judged = [ratios[number] <= P99_MOST for number in told]
    claim = f"{name}: P99 at most {P99_MOST:g} times that of A'"
    figures = f"{_numbers(ratios)} times; A' repeats itself in {len(told)} of {len(ratios)} rounds"
    return Verdict(claim=claim, holds=all(judged) if judged else None, figures=figures)


def _can_tell(results: Results, number: int) -> bool:
    own = results.rounds[number][ALONE]
    level = [one[ALONE] for one in results.rounds if not disturbed(one[ALONE], own)]
    p99 = [one.window.p99_ms for one in level]
    return len(p99) > 1 and max(p99) / min(p99) - 1 <= REPEATS_OFF


def _processors(results: Results, name: str) -> Verdict:
    """Compare with what the condition permits, or with what the same batch used without limits if that is less."""
    used, least = [], []
    for one in results.rounds:
        used.append(one[name].window.node_cores)
        reference = one[NATIVE if name == LENT else LENT].window.node_cores
        least.append(CPU_LEAST * min(SHARES[name], reference))
    claim = f"{name}: the node's processors work at least {percent(CPU_LEAST)} of what it permits"
    holds = all(one >= other for one, other in zip(used, least, strict=True))
    return Verdict(claim=claim, holds=holds, figures=f"{_numbers(used)} of the node, at least {_numbers(least)}")


def _goal(results: Results) -> Verdict:
    used = [one[SHARE_85].window.node_cores for one in results.rounds]
    alone = [one[ALONE].window.node_cores for one in results.rounds]
    claim = f"{SHARE_85}: the node's processors work at least {percent(GOAL)} of the time"
    return Verdict(claim=claim, holds=min(used) >= GOAL, figures=f"{_numbers(used)}, alone {_numbers(alone)}")


def _early(results: Results) -> Verdict:
    day = results.day
    assert day is not None
    claim = f"fewer than {percent(EARLY_MOST)} of at least {CONTAINERS_LEAST} batch containers ended early"
    is_refuted = day.ended_early >= EARLY_MOST * max(day.containers, CONTAINERS_LEAST)
    holds = False if is_refuted else True if day.containers >= CONTAINERS_LEAST else None
    return Verdict(claim=claim, holds=holds, figures=f"{day.ended_early} of {day.containers}")


def _failures(results: Results) -> Verdict:
    found = [text for one in results.rounds for run in one.values() for text in run.failures]
    found += results.day.failures if results.day is not None else ()
    return Verdict(claim="no application failed", holds=not found, figures="; ".join(found) or "none")


def median(results: Results, name: str, of: Callable[[Window], float]) -> float:
    """Return the middle one of the rounds."""
    return statistics.median(of(one[name].window) for one in results.rounds)


def _numbers(found: Sequence[float]) -> str:
    return ", ".join(f"{one:.2f}" for one in found)


def job_seconds(one: Mapping[str, Run]) -> dict[str, float | None]:
    """Return the seconds of a round of the batch in each condition of one round."""
    return {name: one[name].window.job_s for name in CONDITIONS if name != ALONE}
