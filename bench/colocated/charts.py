"""Draws the day of a node, and P99 by condition, as SVG files that are the same for the same figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

from bench.colocated.runs import CONDITIONS, Day, Results

DAY, P99 = "colocation-day.svg", "colocation-p99.svg"
STYLE: Any = {
    "svg.hashsalt": "yodel",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
WIDTH, HEIGHT = 7.2, 3.2
HOURS = 24
SMOOTHED_S = 3


def draw(results: Results, folder: Path) -> list[Path]:
    """Write the charts of what was measured; return their paths."""
    found = []
    if results.rounds:
        found.append(_p99(results, folder / P99))
    if results.day is not None and results.day.samples:
        found.append(_day(results.day, folder / DAY))
    return found


def _p99(results: Results, path: Path) -> Path:
    """Draw a group of bars for each condition, a bar for each round, with its 95 % interval."""
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(WIDTH, HEIGHT), layout="constrained")
        width = 0.8 / len(results.rounds)
        for number, one in enumerate(results.rounds):
            windows = [one[name].window for name in CONDITIONS]
            places = [place + (number - (len(results.rounds) - 1) / 2) * width for place in range(len(windows))]
            low = [max(0.0, each.p99_ms - each.p99_low_ms) for each in windows]
            high = [max(0.0, each.p99_high_ms - each.p99_ms) for each in windows]
            kind = next(run.kind for run in one.values() if run.kind)
            axes.bar(places, [each.p99_ms for each in windows], 0.9 * width, yerr=(low, high), label=kind, capsize=2)
        labels = [f"{name}\n{_wrapped(text)}" for name, text in CONDITIONS.items()]
        axes.set_xticks(range(len(labels)), labels, fontsize=8)
        axes.set_ylabel("P99 of the service, ms")
        axes.legend(title="batch next to it", frameon=False)
        return _saved(figure, path)


def _day(day: Day, path: Path) -> Path:
    """Draw cores of services and batch as areas on each other, what is lent as a line, and preemption notices."""
    length_s = day.samples[-1].at_s
    hours = [HOURS * one.at_s / length_s for one in day.samples]
    services = _smoothed([one.service_cores for one in day.samples])
    batch = _smoothed([one.batch_cores for one in day.samples])
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(WIDTH, HEIGHT), layout="constrained")
        axes.stackplot(hours, services, batch, labels=("services", "batch"), colors=("#4878a8", "#e8a860"))
        lent = [one.lent_cores for one in day.samples]
        axes.step(hours, lent, where="post", color="#2a7a3a", linewidth=1.4, label="lent")
        axes.set(xlim=(0, HOURS), ylim=(0, 1.05), xlabel="hour of the day", ylabel="cores of a node of one")
        axes.set_xticks(range(0, HOURS + 1, 4))
        right = axes.twinx()
        right.step(hours, [one.notices for one in day.samples], where="post", color="#a03030", linewidth=1, alpha=0.8)
        right.set_ylabel("containers with a preemption notice", color="#a03030")
        right.set_ylim(0, max(5, 2 * max(one.notices for one in day.samples)))
        right.spines["right"].set_visible(True)
        axes.legend(frameon=False, loc="upper left", ncols=3)
        return _saved(figure, path)


def _smoothed(values: Sequence[float]) -> list[float]:
    """Return the mean of each value and those around it."""
    around = SMOOTHED_S // 2
    parts = [values[max(0, place - around) : place + around + 1] for place in range(len(values))]
    return [sum(part) / len(part) for part in parts]


def _wrapped(text: str) -> str:
    """Return the text in lines that fit below a group of bars."""
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) > 20:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n".join(lines)


def _saved(figure: Any, path: Path) -> Path:
    figure.savefig(path, format="svg", metadata={"Date": None})
    plt.close(figure)
    lines = path.read_text().splitlines()
    path.write_text("\n".join(line.rstrip() for line in lines) + "\n")
    return path
