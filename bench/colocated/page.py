"""Writes a measurement where people read it: tables and charts into the documentation, and a paragraph into README.

Between two markers, so that a new measurement replaces the one before, with all that is concluded from its figures.
What is void, or misses a part, is written nowhere but into the folder that keeps it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from bench.colocated import charts
from bench.colocated.runs import (
    ALONE,
    CONDITIONS,
    DEFAULT,
    LENT,
    NATIVE,
    SHARE_85,
    SPIKE_FACTOR,
    Day,
    Kept,
    Plan,
    Results,
    Run,
    percent,
)
from bench.colocated.verdicts import job_seconds, median, p99_ratios, verdicts, void
from tests.e2e.colocated import RATE

BEGIN, END = "<!-- written by bench.colocated -->", "<!-- end of bench.colocated -->"
REPORT = "report.md"
PICTURES = Path("docs", "pictures")


def keep_report(kept: Kept, plan: Plan) -> list[str]:
    """Write the report and the charts into the folder that keeps the measurement; return the report's lines."""
    results = kept.results()
    lines = [f"**Missing**: {name}." for name in results.missing(plan)] + report(results)
    (kept.folder / REPORT).write_text("\n".join(lines) + "\n")
    charts.draw(results, kept.folder)
    return lines


def write(kept: Kept, plan: Plan, root: Path | None, say: Callable[[str], None]) -> bool:
    """Write a whole measurement into the pages of a checkout, if there is one.

    Return False if it is void or something is missing: the pages are as they were.

    Raises:
        ValueError: a page has no markers.
    """
    results = kept.results()
    reasons = [f"{name} is missing" for name in results.missing(plan)] + void(results)
    if reasons:
        say(f"VOID, no page is written: {reasons[0]}")
        return False
    if root is None:
        say("a rehearsal: no page is written")
        return True
    drawn = charts.draw(results, root / PICTURES)
    _replace(root / "docs" / "colocation.md", "\n".join(report(results)) + "\n")
    _replace(root / "README.md", "\n".join(summary(results)) + "\n")
    say(f"written: docs/colocation.md, README.md, {', '.join(path.name for path in drawn)}")
    return True


def _replace(page: Path, text: str) -> None:
    before, begin, rest = page.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"{page} has no lines {BEGIN} and {END}")
    page.write_text(f"{before}{BEGIN}\n{text}{END}{after}")


def report(results: Results) -> list[str]:
    """Return the tables and the verdicts; of a void measurement, with the reasons first."""
    reasons = void(results)
    lines = [f"**VOID**: {reason}." for reason in reasons]
    if not results.rounds:
        return lines
    lines += ["", *_about(results), "", *_conditions(results), "", *_jobs(results)]
    lines += ["", *_curve(results)] if results.curve else []
    if not reasons:
        lines += ["", "| Claim | | Figures, by round |", "|---|---|---|"]
        lines += [f"| {one.claim} | {one.word} | {one.figures} |" for one in verdicts(results)]
    lines += ["", *_containers(results.day)] if results.day is not None else []
    lines += ["", *_notes(results), *_pictures(results, "pictures/")]
    lines += ["", "From these figures:", "", *_conclusions(results)] if not reasons else []
    return _without_double_blanks(lines)


def summary(results: Results) -> list[str]:
    """Return the paragraph for README, and its chart."""
    alone = median(results, ALONE, lambda one: one.node_cores)
    parts = [f"next to {_kinds(results)}, a node whose service uses {percent(alone)} of its processors"]
    parts.append(f"works at {percent(median(results, LENT, lambda one: one.node_cores))} with batch on lent capacity")
    parts.append(f"({percent(median(results, SHARE_85, lambda one: one.node_cores))} with share 85 % and a quota).")
    native, lent, share = (_span(p99_ratios(results, name)) for name in (NATIVE, LENT, SHARE_85))
    text = f"Measured ({results.date}): {' '.join(parts)} The service's P99 is {lent} times that of the service alone "
    text += f"({share} with the quota), and {native} times with the same batch as ordinary pods"
    link = "docs/colocation.md#what-it-gains-and-what-services-feel"
    return [*_folded(f"{text} ([conditions and verdicts]({link}))."), "", *_pictures(results, "docs/pictures/")]


def _about(results: Results) -> list[str]:
    text = (
        f"Measured on {results.date}, {results.machine}, one core of it for the node: PostgreSQL, queried {RATE} times "
        f"a second in an open loop (latency counts from when a request was due), {len(results.rounds)} rounds of "
        f"{results.rounds[0][ALONE].window.seconds:.0f} s a condition in rotating order, each round next to one kind "
        f"of batch: {_kinds(results)}. A spinner of the idle class keeps the core awake in every condition, because "
        "an idle virtual core sleeps in the hypervisor and wakes late; the last column is a shorter window without it."
    )
    return _folded(text)


def _conditions(results: Results) -> Iterator[str]:
    kinds = ", ".join(_kind(one) for one in results.rounds)
    yield f"| Condition | Node's cores in use | P50, ms | P99, ms ({kinds}) | P99 / A' | P99.9, ms |"
    yield "|---|---|---|---|---|---|"
    for name, text in CONDITIONS.items():
        windows = [one[name].window for one in results.rounds]
        ratios = "" if name == ALONE else _list(p99_ratios(results, name), 2)
        cores, p50, p99, p999 = (
            _list([getattr(one, field) for one in windows], digits)
            for field, digits in (("node_cores", 2), ("p50_ms", 1), ("p99_ms", 1), ("p999_ms", 1))
        )
        yield f"| {name}: {text} | {cores} | {p50} | {p99} | {ratios} | {p999} |"
    yield ""
    yield "| Condition | Service waits for a core | P99 of a spike, ms | CPU ms a request | P99 without spinner, ms |"
    yield "|---|---|---|---|---|"
    for name in CONDITIONS:
        runs = [one[name] for one in results.rounds]
        waits = ", ".join(percent(one.window.pressure, 1) for one in runs)
        spikes = _list([one.spike.p99_ms for one in runs], 1)
        each = _list([one.window.cpu_ms_a_request for one in runs], 2)
        bare = _list([one.bare.p99_ms for one in runs if one.bare is not None], 1)
        yield f"| {name} | {waits} | {spikes} | {each} | {bare} |"


def _jobs(results: Results) -> Iterator[str]:
    names = [name for name in CONDITIONS if name != ALONE]
    yield f"| Seconds of a round of batch | {' | '.join(names)} |"
    yield f"|---|{'---|' * len(names)}"
    for one in results.rounds:
        seconds = job_seconds(one)
        cells = ("none ended" if seconds[name] is None else f"{seconds[name]:.2f}" for name in names)
        yield f"| {_kind(one)} | {' | '.join(cells)} |"


def _curve(results: Results) -> Iterator[str]:
    first = results.curve[0].job_s
    yield "| Quota of best-effort pods | Seconds of a round of Spark | by none | Node's cores in use | Service's P99 |"
    yield "|---|---|---|---|---|"
    for one in results.curve:
        quota = "none" if one.quota_percent is None else f"{one.quota_percent} % of the node"
        yield f"| {quota} | {one.job_s:.2f} | {one.job_s / first:.1f} | {one.node_cores:.2f} | {one.p99_ms:.1f} ms |"


def _containers(day: Day) -> list[str]:
    """Return what became of the containers of the day, and by which rule they are counted."""
    text = (
        f"{day.containers} batch containers of the day ended before their application did. A container ended early if "
        "it did not end by itself with status 0: preempted, lost, failed, or not admitted by the kubelet after its "
        f"ApplicationMaster had it. {day.ended_early} did. Kubelets refused {day.refused} other pods, each replaced "
        "before the ApplicationMaster had its container; those containers had not ended, and are counted as they ended "
        "later."
    )
    kinds = Counter(_without_names(reason) for reason in day.early)
    return [*_folded(text), *([""] if kinds else []), *(f"- {count} × {kind}" for kind, count in sorted(kinds.items()))]


def _without_names(reason: str) -> str:
    """Return why a container ended early without the names of pods and containers, so that equal ends are one line."""
    return " ".join(re.sub(r"(pod |container_)\S+", r"\1…", reason).split())


def _conclusions(results: Results) -> Iterator[str]:
    """Yield what the figures say in words.  Nothing that depends on them is written by people, who would forget it."""

    def p99(name: str) -> str:
        return f"{_span(p99_ratios(results, name))} times that of A'"

    def spike(name: str) -> str:
        return f"{_span([one[name].spike.p99_ms for one in results.rounds], 0)} ms"

    rounds = len(results.rounds)
    below = sum(ratio < 1 for ratio in p99_ratios(results, LENT, NATIVE))
    yield from _bullet(
        "P99 next to batch on lent capacity was lower than next to the same batch as ordinary pods in "
        f"{below} of {rounds} rounds: {p99(LENT)} against {p99(NATIVE)}. With {SPIKE_FACTOR} times the requests it was "
        f"{spike(LENT)} against {spike(NATIVE)}, and {spike(ALONE)} without batch."
    )
    yield from _bullet(
        f"With the default share of 60 % P99 was {p99(DEFAULT)}, with 85 % {p99(SHARE_85)}; in the spike "
        f"{spike(DEFAULT)} and {spike(SHARE_85)}. A round of batch took {_times(results, DEFAULT)} and "
        f"{_times(results, SHARE_85)} times as long as without limits."
    )
    if results.curve:
        last, first = results.curve[-1], results.curve[0]
        yield from _bullet(
            f"With a quota of {last.quota_percent} % of the node a round of Spark took {last.job_s / first.job_s:.1f} "
            "times as long as without any."
        )


def _times(results: Results, name: str) -> str:
    """Return the seconds of a round of batch by those without limits, where both ended one."""
    pairs = [(one[name].window.job_s, one[LENT].window.job_s) for one in results.rounds]
    found = [own / other for own, other in pairs if own is not None and other is not None]
    return _span(found) if found else "–"


def _bullet(text: str) -> list[str]:
    first, *rest = _folded(text, 118)
    return [f"- {first}", *(f"  {line}" for line in rest)]


def _notes(results: Results) -> list[str]:
    found = [
        f"- {_kind(one)}, {name}: {note}" for one in results.rounds for name in CONDITIONS for note in one[name].notes
    ]
    return ["Runs that were repeated:", "", *found, ""] if found else []


def _pictures(results: Results, folder: str) -> Iterator[str]:
    if results.rounds:
        yield f"![P99 of the service by condition and round]({folder}{charts.P99})"
    if results.day is not None:
        yield f"![A day in minutes: services, batch, what is lent, and preemption notices]({folder}{charts.DAY})"


def _kinds(results: Results) -> str:
    names = list(dict.fromkeys(_kind(one) for one in results.rounds))
    words = [{"memory": "a program that uses memory bandwidth"}.get(name, name) for name in names]
    return " and ".join((", ".join(words[:-1]), words[-1])) if len(words) > 1 else words[0]


def _kind(one: dict[str, Run]) -> str:
    return next(run.kind for run in one.values() if run.kind)


def _span(values: Sequence[float], digits: int = 2) -> str:
    low, high = f"{min(values):.{digits}f}", f"{max(values):.{digits}f}"
    return low if low == high else f"{low} to {high}"


def _list(values: Sequence[float], digits: int) -> str:
    return ", ".join(f"{one:.{digits}f}" for one in values)


def _folded(text: str, width: int = 120) -> list[str]:
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def _without_double_blanks(lines: Sequence[str]) -> list[str]:
    found: list[str] = []
    for line in lines:
        if line or (found and found[-1]):
            found.append(line)
    return found[:-1] if found and not found[-1] else found
