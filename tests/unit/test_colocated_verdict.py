"""A measurement of lent capacity proves something or is void; its claims are judged, and written into the pages."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.error import URLError

import pytest

from bench.colocated import charts, limits, page
from bench.colocated.__main__ import measure_parts
from bench.colocated.batches import Running, numbers
from bench.colocated.day import RATE_LEAST, RATE_MOST, day_of, rate_at
from bench.colocated.limits import TimeLimit, TookTooLong
from bench.colocated.measuring import Measuring
from bench.colocated.quiet import READING_S, wait_until_quiet, waiting_s
from bench.colocated.runs import (
    ALONE,
    CONDITIONS,
    DEFAULT,
    LENT,
    NATIVE,
    SHARE_85,
    CurvePoint,
    Day,
    Kept,
    Plan,
    Results,
    Run,
    Sample,
    Window,
    order,
    plan_for,
    window,
)
from bench.colocated.verdicts import disturbed, is_own, verdicts, void, void_run
from tests.e2e.colocated import OWN_CORE, SPINNER, Figures, idle_spinner

FIGURES = Figures(
    latencies=[1.0] * 5900 + [4.0] * 100,
    seconds=40.0,
    service_cores=0.15,
    node_cores=0.2,
    pressure=0.03,
    rounds=(2.0, 3.0),
)
"""40 seconds at a rate of 150; P99 4 ms, and 1 ms of the processor for each request."""
QUIET = "some avg10=99.00 avg60=0.00 avg300=0.00 total={}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n"
RATIOS = {ALONE: 1.0, NATIVE: 2.4, LENT: 1.1, DEFAULT: 1.2, SHARE_85: 1.3}
CORES = {ALONE: 0.15, NATIVE: 1.0, LENT: 0.98, DEFAULT: 0.58, SHARE_85: 0.80}


PLAN = Plan(kinds=("Spark", "memory"), seconds=40)


def a_window(p99: float = 1.0, cores: float = 0.2) -> Window:
    """Return a window of FIGURES, whose latencies are so many times as long."""
    slower = replace(FIGURES, latencies=[one * p99 for one in FIGURES.latencies], node_cores=cores)
    return window(slower, 150)


def a_run(condition: str = LENT, p99: float = 1.0, cores: float = 0.2) -> Run:
    one = a_window(p99, cores)
    kind = "" if condition == ALONE else "Spark"
    return Run(round=0, condition=condition, kind=kind, window=one, spike=one, core_ms=10.0, busy=0.05)


def a_round(ratios: Mapping[str, float] = RATIOS) -> dict[str, Run]:
    return {name: a_run(name, ratios[name], CORES[name]) for name in CONDITIONS}


def results(*rounds: dict[str, Run], day: Day | None = None) -> Results:
    numbered = [{name: replace(run, round=at) for name, run in one.items()} for at, one in enumerate(rounds)]
    return Results(rounds=numbered, day=day, machine="2 cores", date="2026-11-27")


def a_day(samples: tuple[Sample, ...] = ()) -> Day:
    early = tuple(f"-102: Container preempted: pod application-1-{one} was evicted" for one in range(4))
    return Day(samples=samples, containers=500, ended_early=4, refused=9, early=early)


def judged(found: Results) -> dict[str, str]:
    return {one.claim: one.word for one in verdicts(found)}


@pytest.fixture(scope="module")
def measured() -> Results:
    """All parts of a measurement that counts."""
    samples = [
        Sample(at_s=at, rate=100, service_cores=0.2, batch_cores=0.4, lent_cores=0.5, notices=at // 50)
        for at in range(100)
    ]
    found = results(a_round(), a_round(), day=a_day(tuple(samples)))
    found.rounds[0] = {name: replace(run, bare=a_window(2.0)) for name, run in found.rounds[0].items()}
    found.curve = [
        CurvePoint(quota_percent=quota, job_s=seconds, p99_ms=4.0, node_cores=0.9)
        for quota, seconds in ((None, 2.0), (20, 9.0))
    ]
    return found


def kept_in(folder: Path, found: Results) -> Kept:
    kept = Kept(folder)
    kept.begin(PLAN, fresh=True)
    kept.keep_machine(found.machine, found.date)
    for number, one in enumerate(found.rounds):
        kept.keep_round(number, one)
    kept.keep_curve(found.curve)
    if found.day is not None:
        kept.keep_day(found.day)
    return kept


def waited(give_up_s: float, total_s_at: Callable[[float], float]) -> tuple[float, float]:
    """Return the reading after which a machine was not waited for any more, and when, by its total of waiting."""
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    share = wait_until_quiet(give_up_s, lambda: QUIET.format(int(total_s_at(now[0]) * 1e6)), lambda: now[0], sleep)
    return round(share, 6), now[0]


def test_a_reading_of_quiet_has_nothing_of_the_time_before_it() -> None:
    """The average of ten seconds still holds the condition before; the total of the reading does not."""
    assert waited(90, lambda now_s: 90 + 0.05 * now_s) == (0.05, READING_S)


def test_a_busy_machine_is_waited_for_and_given_up() -> None:
    assert waited(90, lambda now_s: min(now_s, 9)) == (0.0, 12.0)
    assert waited(30, lambda now_s: now_s) == (1.0, 30.0)


def test_a_pressure_file_without_a_total_is_refused() -> None:
    with pytest.raises(ValueError, match="no total of 'some'"):
        waiting_s("full avg10=0.00 total=7")


def test_each_condition_is_first_once() -> None:
    assert {order(number)[0] for number in range(len(CONDITIONS))} == set(CONDITIONS)
    assert all(set(order(number)) == set(CONDITIONS) for number in range(7))


@pytest.mark.parametrize(("minutes", "least", "most"), [(35, 15, 60), (60, 60, 120)])
def test_a_plan_fits_into_its_minutes(minutes: int, least: int, most: int) -> None:
    plan = plan_for(minutes, ("Spark", "terasort", "memory"))
    assert least <= plan.seconds <= most
    assert plan.expected_s <= minutes * 60


def test_too_few_minutes_are_refused() -> None:
    with pytest.raises(ValueError, match="5 minutes are too few for 3 rounds: at least"):
        plan_for(5, ("Spark", "terasort", "memory"))


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        (replace(a_run(), busy=0.21), "the machine did not become quiet before it: processes waited in 21 %"),
        (replace(a_run(), window=replace(a_window(), requests=5000)), "the rate was missed: 5000 requests of 6000"),
        (replace(a_run(), core_ms=12.0), "the core worked at 0.83 times its speed"),
    ],
)
def test_why_a_run_is_void(run: Run, reason: str) -> None:
    (found,) = void_run(run, a_run(ALONE))
    assert reason in found
    assert void_run(a_run(), a_run(ALONE)) == []


def test_a_run_whose_requests_took_another_time_is_repeated() -> None:
    slow = replace(a_run(), window=replace(a_window(), service_cores=0.18))
    assert "a request took 1.20 times the processor time" in disturbed(slow, a_run(ALONE))
    assert disturbed(a_run(), a_run(ALONE)) == ""
    again = replace(slow, window=replace(slow.window, service_cores=0.185))
    assert is_own(again, slow, a_run(ALONE)), "memory bandwidth costs each request the same, whenever it is measured"
    assert not is_own(a_run(), slow, a_run(ALONE)), "it was disturbed"
    assert not is_own(replace(again, core_ms=12.0), slow, a_run(ALONE)), "the core has another speed"


UNUSED: dict[str, Any] = {
    "node": None,
    "plan": Plan(kinds=("Spark",), seconds=40),
    "say": lambda line: None,
    "answer": "",
    "limit": TimeLimit(math.inf),
}


class Scripted(Measuring):
    """Measures what is given, and notes what was asked for."""

    __slots__ = ("asked", "given")

    def _tried(self, number: int, name: str) -> Run:
        self.asked.append(name)
        return self.given[name].pop(0)


def scripted(given: dict[str, list[Run]]) -> Scripted:
    made = Scripted(**UNUSED)
    made.asked, made.given = [], given
    return made


def test_only_the_disturbed_run_is_measured_again() -> None:
    slow = replace(a_run(NATIVE), window=replace(a_window(), service_cores=0.2))
    given = {name: [a_run(name)] for name in CONDITIONS} | {NATIVE: [slow, a_run(NATIVE)]}
    made = scripted(given)
    found = made.round(0)
    assert made.asked == [*CONDITIONS, NATIVE]
    assert found[NATIVE].window == a_run(NATIVE).window
    assert [note for run in found.values() for note in run.notes] == [
        "repeated: a request took 1.33 times the processor time that it took in A'"
    ]


def test_what_most_runs_differ_from_is_a_disturbed_run_alone() -> None:
    fast = replace(a_run(ALONE), window=replace(a_window(), service_cores=0.1))
    made = scripted({name: [a_run(name)] for name in CONDITIONS} | {ALONE: [fast, a_run(ALONE)]})
    assert made.round(0)[ALONE].notes == ("repeated: most other runs differ from it",)
    assert made.asked == [*CONDITIONS, ALONE]


def test_an_effect_of_the_batch_is_repeated_once_and_counts() -> None:
    """Three conditions next to it differ in the same way: one repetition tells that it is the batch's."""
    slow = {name: replace(a_run(name), window=replace(a_window(), service_cores=0.2)) for name in (NATIVE, LENT)}
    made = scripted({name: [slow.get(name, a_run(name))] * 2 for name in CONDITIONS})
    found = made.round(0)
    assert made.asked == [*CONDITIONS, NATIVE]
    effect = "the batch's own effect, as a repetition next to it showed"
    told = f"a request took 1.33 times the processor time that it took in A': {effect}"
    assert found[NATIVE].notes[-1] == found[LENT].notes[-1] == told
    assert void(results(found)) == []


def test_a_run_that_is_disturbed_twice_is_void() -> None:
    slow, slower = (replace(a_run(LENT), window=replace(a_window(), service_cores=cores)) for cores in (0.2, 0.3))
    made = scripted({name: [a_run(name)] for name in CONDITIONS} | {LENT: [slow, slower]})
    assert void(results(made.round(0))) == [
        "round 1, C: disturbed: a request took 2.00 times the processor time that it took in A'"
    ]


def test_claims_of_a_measurement_that_counts() -> None:
    found = judged(results(a_round(), a_round()))
    assert found == {
        "C: P99 below B's in every round": "holds",
        "C: P99 at most 1.25 times that of A'": "holds",
        "C: the node's processors work at least 90 % of what it permits": "holds",
        "D60: P99 below B's in every round": "holds",
        "D60: P99 at most 1.25 times that of A'": "holds",
        "D60: the node's processors work at least 90 % of what it permits": "holds",
        "D85: P99 below B's in every round": "holds",
        "D85: P99 at most 1.25 times that of A'": "does not hold",
        "D85: the node's processors work at least 90 % of what it permits": "holds",
        "D85: the node's processors work at least 60 % of the time": "holds",
        "no application failed": "holds",
    }


def test_one_round_above_native_pods_refutes_the_claim() -> None:
    assert judged(results(a_round(), a_round({**RATIOS, LENT: 2.5})))["C: P99 below B's in every round"] == (
        "does not hold"
    )


def test_alone_that_differs_from_itself_cannot_tell() -> None:
    other = {name: ratio * 1.16 for name, ratio in RATIOS.items()}
    claim = "C: P99 at most 1.25 times that of A'"
    assert judged(results(a_round(), a_round(other)))[claim] == "inconclusive"
    assert judged(results(a_round()))[claim] == "inconclusive", "nothing repeats it"
    level = {name: replace(run, core_ms=15.0) for name, run in a_round(other).items()}
    assert judged(results(a_round(), a_round(), level))[claim] == "holds", "another level of the core is another matter"
    for run in (level, slow := a_round(other)):
        run[ALONE] = replace(run[ALONE], core_ms=10.0)
    slow[ALONE] = replace(slow[ALONE], window=replace(slow[ALONE].window, service_cores=0.18))
    assert judged(results(a_round(), a_round(), level))[claim] == "inconclusive"
    assert judged(results(a_round(), a_round(), slow))[claim] == "holds", "requests show the level, too"


def test_processors_are_compared_with_what_the_batch_can_use() -> None:
    idle = a_round() | {SHARE_85: a_run(SHARE_85, 1.3, 0.70)}
    claim = "D85: the node's processors work at least 90 % of what it permits"
    assert judged(results(idle))[claim] == "does not hold"
    small = idle | {LENT: a_run(LENT, 1.1, 0.75)}
    assert judged(results(small))[claim] == "holds", "without limits the same batch used little more"


@pytest.mark.parametrize(
    ("containers", "early", "word"),
    [(500, 4, "holds"), (500, 5, "does not hold"), (499, 4, "inconclusive"), (376, 5, "does not hold")],
)
def test_containers_that_end_early(containers: int, early: int, word: str) -> None:
    day = Day(samples=(), containers=containers, ended_early=early)
    claim = "fewer than 1 % of at least 500 batch containers ended early"
    assert judged(results(a_round(), day=day))[claim] == word


def test_a_failed_application_refutes_the_claim() -> None:
    failed = a_round() | {LENT: replace(a_run(), failures=("application_1: wrong counts",))}
    assert judged(results(failed))["no application failed"] == "does not hold"


def test_a_measurement_without_a_quiet_machine_is_void() -> None:
    busy = a_round() | {LENT: replace(a_run(), busy=0.5)}
    assert void(results(a_round(), busy)) == [
        "round 2, C: the machine did not become quiet before it: processes waited in 50 % of the time"
    ]
    assert void(results()) == ["no round was measured"]


def test_what_was_kept_is_read_again(measured: Results, tmp_path: Path) -> None:
    assert kept_in(tmp_path / "kept", measured).results() == measured


def test_an_ended_measurement_goes_on_and_another_one_is_not_replaced(tmp_path: Path) -> None:
    kept, plan = Kept(tmp_path / "kept"), Plan(kinds=("Spark",), seconds=40)
    assert not kept.begin(plan, fresh=False)
    kept.keep_round(0, a_round())
    kept.keep_round(2, a_round())  # the one before it failed
    assert kept.begin(plan, fresh=False)
    assert len(kept.results().rounds) == 2
    with pytest.raises(ValueError, match="a measurement of another length: FRESH=1"):
        kept.begin(replace(plan, seconds=41), fresh=False)
    assert len(kept.results().rounds) == 2, "nothing is lost by the refusal"
    assert not kept.begin(replace(plan, seconds=41), fresh=True)
    assert kept.results().rounds == []


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Two pages with markers, and what stands around them."""
    (tmp_path / "docs" / "pictures").mkdir(parents=True)
    for name in ("README.md", "docs/colocation.md"):
        (tmp_path / name).write_text(f"# Before\n\n{page.BEGIN}\nold figures\n{page.END}\n\nAfter.\n")
    return tmp_path


def test_pages_get_tables_charts_and_a_paragraph(measured: Results, checkout: Path) -> None:
    lines: list[str] = []
    assert page.write(kept_in(checkout / "kept", measured), PLAN, checkout, lines.append)
    text, readme = (checkout / "docs" / "colocation.md").read_text(), (checkout / "README.md").read_text()
    for one in (text, readme):
        assert one.startswith(f"# Before\n\n{page.BEGIN}\n")
        assert one.endswith(f"{page.END}\n\nAfter.\n")
        assert "old figures" not in one
    assert "| C: batch on lent capacity, no limits | 0.98, 0.98 | 1.1, 1.1 | 4.4, 4.4 | 1.10, 1.10 | 4.4, 4.4 |" in text
    assert "| 20 % of the node | 9.00 | 4.5 | 0.90 | 4.0 ms |" in text
    assert "| Spark | 2.50 | 2.50 | 2.50 | 2.50 |" in text
    assert "works at 98 % with batch on lent capacity (80 % with share 85 % and a quota)" in readme.replace("\n", " ")
    assert "- 4 × -102: Container preempted: pod … was evicted" in text
    assert "refused 9 other pods" in text
    words = " ".join(text.split())
    assert "in 2 of 2 rounds: 1.10 times that of A' against 2.40 times that of A'" in words
    assert "a round of Spark took 4.5 times as long" in words
    for name in (charts.P99, charts.DAY):
        drawing = (checkout / "docs" / "pictures" / name).read_text()
        assert drawing.startswith("<?xml")
        assert len(drawing) < 200_000
    assert lines == [f"written: docs/colocation.md, README.md, {charts.P99}, {charts.DAY}"]


def test_the_same_figures_are_the_same_drawing(measured: Results, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    one, other = (charts.draw(measured, tmp_path / name) for name in ("a", "b"))
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in other]


def test_a_void_measurement_changes_no_page(checkout: Path) -> None:
    before = (checkout / "README.md").read_text(), (checkout / "docs" / "colocation.md").read_text()
    busy = results(a_round() | {LENT: replace(a_run(), busy=0.5)})
    lines: list[str] = []
    kept = kept_in(checkout / "kept", busy)
    page.keep_report(kept, PLAN)
    assert not page.write(kept, replace(PLAN, kinds=("Spark",), curve_rounds=0, day_s=0), checkout, lines.append)
    assert ((checkout / "README.md").read_text(), (checkout / "docs" / "colocation.md").read_text()) == before
    assert list((checkout / "docs" / "pictures").iterdir()) == []
    assert lines == [f"VOID, no page is written: {void(busy)[0]}"]
    assert "**VOID**: round 1, C" in (kept.folder / page.REPORT).read_text()
    assert "Claim" not in (kept.folder / page.REPORT).read_text()
    assert "From these figures" not in (kept.folder / page.REPORT).read_text()


def test_a_rehearsal_or_one_that_misses_a_part_changes_no_page(measured: Results, checkout: Path) -> None:
    before, lines = (checkout / "README.md").read_text(), list[str]()
    kept = kept_in(checkout / "kept", measured)
    assert page.write(kept, PLAN, None, lines.append)
    assert not page.write(kept, replace(PLAN, kinds=("Spark", "terasort", "memory")), checkout, lines.append)
    assert lines == ["a rehearsal: no page is written", "VOID, no page is written: round 3 is missing"]
    assert (checkout / "README.md").read_text() == before


def test_a_page_without_markers_is_refused(measured: Results, checkout: Path) -> None:
    (checkout / "docs" / "colocation.md").write_text("nothing\n")
    with pytest.raises(ValueError, match="has no lines <!-- written by"):
        page.write(kept_in(checkout / "kept", measured), PLAN, checkout, lambda line: None)


def test_tables_of_a_part_that_is_missing_are_left_out(measured: Results) -> None:
    text = "\n".join(page.report(results(*measured.rounds)))
    assert "Quota of best-effort pods" not in text
    assert "\n\n\n" not in text


def test_seconds_of_batch_that_ended_no_round(measured: Results) -> None:
    none = replace(a_run(), window=replace(a_window(), jobs_s=()))
    rows: Sequence[str] = page.report(results(a_round() | {LENT: none}))
    assert "| Spark | 2.50 | none ended | 2.50 | 2.50 |" in rows


def test_a_day_has_its_least_at_night_and_its_most_at_noon_and_in_the_evening() -> None:
    rates = [rate_at(hour + 0.5) for hour in range(24)]
    assert min(rates) == rates[3] == RATE_LEAST
    assert max(rates) <= RATE_MOST
    assert rates[12] > rates[8] > rates[3]
    assert rates[20] > rates[16]


def test_a_spinner_ends_at_once_on_a_core_that_others_fill() -> None:
    """A process of the idle class gets no time there, not even to end after it was killed."""
    priority = -20 if os.geteuid() == 0 else 0  # as much as batch has by its group

    def fill() -> None:
        os.sched_setaffinity(0, {OWN_CORE})
        os.setpriority(os.PRIO_PROCESS, 0, priority)

    full = subprocess.Popen([sys.executable, "-c", SPINNER], preexec_fn=fill)
    try:
        with idle_spinner():
            began = time.monotonic()
        assert time.monotonic() - began < 5
    finally:
        full.kill()
        full.wait()


def test_a_part_that_hangs_is_ended_and_what_hangs_in_its_cleanup_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CLEANUP_S", 0.05)
    never, before = threading.Event(), signal.getsignal(signal.SIGALRM)

    def hang() -> None:
        with TimeLimit(math.inf).part("C", 0.05):
            try:
                never.wait()
            finally:
                never.wait()

    with pytest.raises(TookTooLong, match="C: not over after 0 s"):
        hang()
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
    assert signal.getsignal(signal.SIGALRM) is before


def test_nothing_is_begun_when_the_time_of_all_is_over() -> None:
    with pytest.raises(TookTooLong, match="day: no time is left"), TimeLimit(time.monotonic()).part("day", 60):
        raise AssertionError("it was begun")


class ClusterWithLeftBatch:
    """Notes what is ended of a run that failed; it is node and cluster."""

    def __init__(self) -> None:
        self.cluster, self.done = self, list[str]()

    def rest(self, path: str) -> dict[str, Any]:
        return {"apps": {"app": [{"id": "application_1"}]}}

    def end(self, application_id: str) -> None:
        self.done.append(application_id)

    def yodel(self, *words: str) -> None:
        self.done.append(" ".join(words))


def test_a_condition_that_fails_is_measured_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    left = ClusterWithLeftBatch()
    made, lines, asked = Measuring(**UNUSED | {"node": left}), list[str](), list[str]()

    def fail_once(self: Measuring, number: int, name: str) -> Run:
        asked.append(name)
        if len(asked) == 1:
            raise URLError("the API server is busy")
        return a_run(name)

    monkeypatch.setattr(Measuring, "_run", fail_once)
    made.say = lines.append
    assert set(made.round(0)) == set(CONDITIONS)
    assert asked == [ALONE, *CONDITIONS]
    assert lines == ["round 1 A' failed: <urlopen error the API server is busy>"]
    assert left.done == ["application_1", "colocation off --now --wait 60"]


def test_a_part_that_fails_does_not_end_the_others(tmp_path: Path) -> None:
    plan, lines, day, left = PLAN, list[str](), a_day(), ClusterWithLeftBatch()
    made = Measuring(**UNUSED | {"node": left, "plan": plan, "say": lines.append})
    kept = Kept(tmp_path / "kept")
    kept.begin(plan, fresh=True)

    def fail() -> None:
        raise TookTooLong("C: not over after 300 s")

    one = {name: replace(run, round=1) for name, run in a_round().items()}
    parts = {"round 1": fail, "round 2": lambda: kept.keep_round(1, one), "curve": fail}
    measure_parts(kept, made, parts | {"day": lambda: kept.keep_day(day)})
    assert left.done == ["application_1", "colocation off --now --wait 60"] * 2
    assert lines == ["round 1 FAILED: C: not over after 300 s", "curve FAILED: C: not over after 300 s"]
    assert kept.results().missing(plan) == ["round 1", "curve"]
    report = (kept.folder / page.REPORT).read_text()
    assert report.startswith("**Missing**: round 1.\n**Missing**: curve.\n")


class Applications:
    """Answers for a cluster: what became of applications and their containers, a page at a time."""

    def __init__(self, final: str, exits: Sequence[int | None]) -> None:
        self.final, self.pages = final, [exits[:2], exits[2:]]

    def application(self, application_id: str) -> dict[str, str]:
        return {"id": application_id, "finalStatus": self.final, "diagnostics": "wrong counts"}

    def api(self, path: str) -> dict[str, object]:
        number = 1 if "cursor=1" in path else 0
        items = [{"exit_status": status, "diagnostics": "OutOf" * 100, "is_am": False} for status in self.pages[number]]
        items.append({"exit_status": 0, "diagnostics": "", "is_am": True})
        return {"items": items, "next_cursor": None if number else "1"}


@pytest.mark.parametrize(
    ("final", "exits", "expected"),
    [
        ("SUCCEEDED", (0, 0, 0, -102), (4, 1)),
        ("KILLED", (0, 0, -107, None), (2, 0)),
        ("FAILED", (0, -100, 1, -106), (3, 2)),
    ],
)
def test_containers_of_the_day(final: str, exits: Sequence[int | None], expected: tuple[int, int]) -> None:
    """A container that was killed with its application at the end of the day has not ended early."""
    day = day_of(Applications(final, exits), "application_1", (), 7)  # type: ignore[arg-type]
    assert (day.containers, day.ended_early, day.refused) == (*expected, 7)
    assert [reason[:12] for reason in day.early] == [
        f"{one}: OutOfOutOf"[:12] for one in exits if one in (-102, -100, 1)
    ]
    assert all(len(reason) < 250 for reason in day.early)
    assert day.failures == (("application_1: wrong counts",) if final == "FAILED" else ())


def test_an_application_with_a_wrong_answer_is_a_failure() -> None:
    running = Running(rounds=list, applications=["application_1"])
    failed, killed = (Applications(final, ()) for final in ("FAILED", "KILLED"))
    assert running.failures(failed) == ["application_1: wrong counts"]  # type: ignore[arg-type]
    assert running.failures(killed) == []  # type: ignore[arg-type]


def test_lines_of_a_driver_that_are_no_seconds_are_left_out(tmp_path: Path) -> None:
    log = tmp_path / "stdout"
    assert numbers(log) == []
    log.write_text("starting\n1.25\nWARN 7\n2.5\n")
    assert numbers(log) == [1.25, 2.5]


def test_what_is_whole_is_not_measured_again(measured: Results) -> None:
    plan = Plan(kinds=("Spark", "memory"), seconds=40)
    assert measured.missing(plan) == []
    assert results(*measured.rounds, day=measured.day).missing(plan) == ["curve"]
    assert results(*measured.rounds, day=measured.day).missing(replace(plan, curve_rounds=0)) == []
    assert replace(measured, day=None).missing(plan) == ["day"]
    assert measured.missing(replace(plan, kinds=("Spark", "terasort", "memory"))) == ["round 3"]
