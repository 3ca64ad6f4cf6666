"""Writes a measurement where people read it: tables and charts into the documentation, and a paragraph into README.

Between two markers, so that a new measurement replaces the one before.  What is void is written nowhere but into the
folder that keeps it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from bench.colocated import charts
from bench.colocated.runs import ALONE, CONDITIONS, LENT, NATIVE, SHARE_85, Kept, Results, Run, percent
from bench.colocated.verdicts import job_seconds, median, p99_ratios, verdicts, void
from tests.e2e.colocated import RATE

BEGIN, END = "<!-- written by bench.colocated -->", "<!-- end of bench.colocated -->"
REPORT = "report.md"
PICTURES = Path("docs", "pictures")


def write(kept: Kept, root: Path, say: Callable[[str], None]) -> bool:
    """Write what is kept so far; return False if it is void, and the pages of ``root`` are as they were.

    Raises:
        ValueError: a page has no markers.
    """
    results = kept.results()
    text = "\n".join(report(results)) + "\n"
    (kept.folder / REPORT).write_text(text)
    drawn = charts.draw(results, kept.folder)
    if void(results):
        say(f"VOID so far: {void(results)[0]}")
        return False
    for path in drawn:
        (root / PICTURES / path.name).write_bytes(path.read_bytes())
    _replace(root / "docs" / "colocation.md", text)
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
    lines += ["", *_notes(results), *_pictures(results, "pictures/")]
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


def _span(values: Sequence[float]) -> str:
    low, high = f"{min(values):.2f}", f"{max(values):.2f}"
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
