"""Defines what is measured, in which order and for how long, and keeps each run so that an ended measurement goes on.

A run is one condition in one round: the service's figures in a window, in a spike of requests, and (in the first round)
without the spinner.  Rounds that are whole are kept; one that is not is measured again from its beginning, because its
runs are compared with each other.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.e2e.colocated import Figures
from yodel.client.service_load import interval

ALONE, NATIVE, LENT, DEFAULT, SHARE_85 = "A'", "B", "C", "D60", "D85"
CONDITIONS: Mapping[str, str] = {
    ALONE: "the service alone",
    NATIVE: "batch as native pods of equal weight",
    LENT: "batch on lent capacity, no limits",
    DEFAULT: "limits and quota, share 60 % (the default preset)",
    SHARE_85: "limits and quota, share 85 %",
}
POLICIES: Mapping[str, tuple[str, ...]] = {DEFAULT: ("cpu.share-percent=",), SHARE_85: ("cpu.share-percent=85",)}
SHARES: Mapping[str, float] = {NATIVE: 1.0, LENT: 1.0, DEFAULT: 0.60, SHARE_85: 0.85}
"""Part of the node that a condition lets all pods use together."""
QUOTAS = (None, 80, 60, 40, 20)
"""Percents of the node that best-effort pods may use, of the curve."""
SPIKE_FACTOR = 3
# Seconds of a run that are not measured: quiet reading, batch's start and end, policy; of the rest, once.
START_S = {"Spark": 50, "terasort": 30, "memory": 22}
ALONE_START_S, ONCE_S, CURVE_S, AGAIN_SHARE = 10, 120, 150, 0.10
SECONDS_MIN, SECONDS_MAX = 5, 120
PART_LONGER, ALL_LONGER = 3.0, 1.5
"""A part may take so many times what is expected of it, and all of them together; what hangs is ended."""
LATE_PART = 1.5
"""Containers that are left at the end of the day have at most so much of its length more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Says how much is measured.  ``seconds`` of a window, ``containers`` of the day; a curve of 0 rounds is left out.
    A machine that is not quiet within ``quiet_s`` makes a run void."""

    kinds: tuple[str, ...]
    seconds: int
    spike_s: int = 20
    bare_s: int = 10
    curve_rounds: int = 4
    day_s: int = 288
    containers: int = 520
    quiet_s: int = 90

    def __post_init__(self) -> None:
        if not self.kinds or min(self.seconds, self.spike_s, self.bare_s) < 1:
            raise ValueError(f"{self}: at least one round, and a second of each window")

    @property
    def expected_s(self) -> int:
        """Return about how long all of it takes, without runs that have to be repeated."""
        each = len(CONDITIONS) * (self.seconds + self.spike_s)
        starts = sum(ALONE_START_S + (len(CONDITIONS) - 1) * START_S[kind] for kind in self.kinds)
        bare = len(CONDITIONS) * self.bare_s
        return ONCE_S + len(self.kinds) * each + starts + bare + self._curve_s + self._whole_day_s

    @property
    def _curve_s(self) -> int:
        return CURVE_S * self.curve_rounds // 4

    @property
    def _whole_day_s(self) -> int:
        return 2 * self.day_s + ALONE_START_S

    @property
    def most_s(self) -> float:
        """Return how long all of it may take, once its cluster is up."""
        return ALL_LONGER * self.expected_s

    def run_most_s(self, kind: str) -> float:
        return self.quiet_s + PART_LONGER * (START_S[kind] + self.seconds + self.spike_s + self.bare_s)

    @property
    def curve_most_s(self) -> float:
        return self.quiet_s + PART_LONGER * (START_S["Spark"] + self._curve_s)

    @property
    def day_most_s(self) -> float:
        return ONCE_S + PART_LONGER * self.day_s * (1 + LATE_PART)


def plan_for(minutes: float, kinds: tuple[str, ...]) -> Plan:
    """Return the plan whose windows fill so many minutes, a tenth of them kept for runs that are repeated."""
    without = Plan(kinds=kinds, seconds=1)
    left = minutes * 60 * (1 - AGAIN_SHARE) - without.expected_s
    seconds = 1 + int(left / (len(kinds) * len(CONDITIONS)))
    if seconds < SECONDS_MIN:
        need = (without.expected_s + SECONDS_MIN * len(kinds) * len(CONDITIONS)) / (1 - AGAIN_SHARE) / 60
        raise ValueError(f"{minutes:g} minutes are too few for {len(kinds)} rounds: at least {need:.0f}")
    return Plan(kinds=kinds, seconds=min(SECONDS_MAX, seconds))


def percent(part: float, digits: int = 0) -> str:
    """Return a part of one as people write percents."""
    return f"{100 * part:.{digits}f} %"


def order(number: int) -> tuple[str, ...]:
    """Return the conditions of a round, which begin with another one each time."""
    names, turn = tuple(CONDITIONS), number % len(CONDITIONS)
    return (*names[turn:], *names[:turn])


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Keeps what was measured over some seconds; latencies in milliseconds, ``jobs_s`` the seconds of batch rounds."""

    seconds: float
    rate: int
    requests: int
    p50_ms: float
    p99_ms: float
    p999_ms: float
    p99_low_ms: float
    p99_high_ms: float
    service_cores: float
    node_cores: float
    pressure: float
    jobs_s: tuple[float, ...] = ()

    @property
    def cpu_ms_a_request(self) -> float:
        return self.service_cores * self.seconds * 1000 / self.requests

    @property
    def job_s(self) -> float | None:
        """Return the mean of a round of the batch."""
        return sum(self.jobs_s) / len(self.jobs_s) if self.jobs_s else None


def window(figures: Figures, rate: int) -> Window:
    """Return the figures of a window without its raw latencies, which stay in the folder of the measurement."""
    low, high = interval(figures.latencies, 99)
    return Window(
        seconds=figures.seconds,
        rate=rate,
        requests=len(figures.latencies),
        p50_ms=figures.percentile(50),
        p99_ms=figures.percentile(99),
        p999_ms=figures.percentile(99.9),
        p99_low_ms=low,
        p99_high_ms=high,
        service_cores=figures.service_cores,
        node_cores=figures.node_cores,
        pressure=figures.pressure,
        jobs_s=tuple(figures.rounds),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One condition in one round.  ``core_ms``: processor time of a fixed piece of work on the node's core, without the
    batch; ``busy``: part of the time in which a process of the machine waited before the run; ``disturbed``: why it
    cannot be compared with A' of its round, although it was repeated."""

    round: int
    condition: str
    kind: str
    window: Window
    spike: Window
    bare: Window | None = None
    core_ms: float
    busy: float
    failures: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    disturbed: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """Seconds of a round of the offline job under a quota, in percent of the node; None: without one."""

    quota_percent: int | None
    job_s: float
    p99_ms: float
    node_cores: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A second of the day: cores of services and of batch, cores that are lent, and containers with a notice so far."""

    at_s: float
    rate: int
    service_cores: float
    batch_cores: float
    lent_cores: float
    notices: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """``containers`` that ended before their application; ``ended_early`` of them not by themselves with status 0, each
    with its status and diagnostics in ``early``; ``refused`` pods that a kubelet did not admit and whose container got
    another, without its ApplicationMaster hearing of it."""

    samples: tuple[Sample, ...]
    containers: int
    ended_early: int
    refused: int = 0
    failures: tuple[str, ...] = ()
    early: tuple[str, ...] = ()


CURVE, DAY = "curve", "day"


def round_name(number: int) -> str:
    """Return the name of a part, counted from 1 as people do."""
    return f"round {number + 1}"


@dataclass(slots=True)
class Results:
    rounds: list[dict[str, Run]] = field(default_factory=list)
    curve: list[CurvePoint] = field(default_factory=list)
    day: Day | None = None
    machine: str = ""
    date: str = ""

    def missing(self, plan: Plan) -> list[str]:
        """Return the names of the parts that are not measured yet."""
        numbers = {next(iter(one.values())).round for one in self.rounds}
        found = [round_name(number) for number in range(len(plan.kinds)) if number not in numbers]
        found += [CURVE] if plan.curve_rounds and not self.curve else []
        return found + ([DAY] if plan.day_s and self.day is None else [])


@dataclass(slots=True)
class Kept:
    """The folder of a measurement."""

    folder: Path

    def begin(self, plan: Plan, *, fresh: bool) -> bool:
        """Return True if an earlier measurement of the same plan goes on; otherwise its folder is emptied.

        Raises:
            ValueError: there is one of another plan, and it is not to be replaced.
        """
        known = self.folder / "plan.json"
        wanted = json.dumps(asdict(plan), indent=1)
        if known.exists() and not fresh:
            if known.read_text() == wanted:
                return True
            raise ValueError(f"{self.folder} holds a measurement of another length: FRESH=1 (--fresh) begins a new one")
        shutil.rmtree(self.folder, ignore_errors=True)
        (self.folder / "latencies").mkdir(parents=True)
        known.write_text(wanted)
        return False

    def keep_round(self, number: int, runs: Mapping[str, Run]) -> None:
        self._write(f"round-{number}.json", {name: asdict(run) for name, run in runs.items()})

    def keep_curve(self, curve: Sequence[CurvePoint]) -> None:
        self._write("curve.json", [asdict(one) for one in curve])

    def keep_day(self, day: Day) -> None:
        self._write("day.json", asdict(day))

    def keep_machine(self, machine: str, date: str) -> None:
        self._write("machine.json", {"machine": machine, "date": date})

    def results(self) -> Results:
        """Return what is kept: rounds in their order, of which some may be missing, the curve and the day."""
        found = Results()
        for path in sorted(self.folder.glob("round-*.json")):
            found.rounds.append({name: _run(one) for name, one in self._read(path.name).items()})
        found.curve = [CurvePoint(**one) for one in self._read("curve.json") or []]
        day = self._read("day.json")
        if day is not None:
            samples = tuple(Sample(**one) for one in day["samples"])
            found.day = Day(
                **{**day, "samples": samples, "failures": tuple(day["failures"]), "early": tuple(day.get("early", ()))}
            )
        found.machine, found.date = (self._read("machine.json") or {"machine": "", "date": ""}).values()
        return found

    def _write(self, name: str, value: object) -> None:
        part = self.folder / f"{name}.part"
        part.write_text(json.dumps(value, indent=1))
        part.rename(self.folder / name)

    def _read(self, name: str) -> Any:
        path = self.folder / name
        return json.loads(path.read_text()) if path.exists() else None


def _run(kept: Mapping[str, Any]) -> Run:
    windows = {name: _window(kept[name]) for name in ("window", "spike", "bare") if kept[name] is not None}
    return Run(**{**kept, **windows, "failures": tuple(kept["failures"]), "notes": tuple(kept["notes"])})


def _window(kept: Mapping[str, Any]) -> Window:
    return Window(**{**kept, "jobs_s": tuple(kept["jobs_s"])})
