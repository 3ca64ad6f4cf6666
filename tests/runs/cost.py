"""What tests cost: processor time, divided by that of a loop which is measured in the same run.

Seconds of a machine say little about another one, or about the same one while others use it.  So the unit is this loop,
of which half stays in a core's cache and half leaves it, as programs do.  ``tests/cost.toml`` keeps what each file cost
when it was last recorded (``python -m tests.runs --record-cost RUN``); a run prints the sums beside it, and what grew
most.  A run fails that costs more than GROWTH_MAX times what is recorded of its parts, all together: by then a commit
should have recorded it, and said why.

Counted is a test process with all children that it has waited for.  What lives longer than a test, as daemons of a
fixture, counts for the test at whose end it was waited for; what is never waited for, as the daemons of the cluster
that ``make e2e`` brings up, is not counted.
"""

from __future__ import annotations

import random
import statistics
import time
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

Costs = Mapping[str, Mapping[str, float]]
"""Loops, by part and file."""

STEPS = 500_000
BYTES = 64 << 20
TOUCHES = 500_000
TRIES = 3
GREW_MOST = 5
GROWTH_MAX = 1.3
"""The same tests cost up to a tenth more or less on a machine that others use too."""
HEAD = """# What each file of tests costs, in loops of processor time (tests/runs/cost.py).
# Written by `python -m tests.runs --record-cost RUN`; a commit that changes it says why.
"""


def loop_s() -> float:
    """Seconds of processor time of one loop: the middle of a few."""
    memory = bytearray(BYTES)
    draw = random.Random(1)
    places = [draw.randrange(BYTES) for _ in range(TOUCHES)]
    return statistics.median(_once_s(memory, places) for _ in range(TRIES))


def _once_s(memory: bytearray, places: list[int]) -> float:
    started_s = time.process_time()
    total = 0
    for number in range(STEPS):
        total = (total * 31 + number) % 1_000_003
    for place in places:
        memory[place] = (memory[place] + total) & 0xFF
    return time.process_time() - started_s


def of_files(seconds: Mapping[str, float], loop_s: float) -> dict[str, float]:
    """Loops by file; ``seconds`` of processor time, by a test's id."""
    files: dict[str, float] = {}
    for test, used_s in seconds.items():
        name = test.partition("::")[0]
        files[name] = files.get(name, 0.0) + used_s / loop_s
    return files


def read(path: Path) -> Costs:
    """Empty where nothing was recorded."""
    return tomllib.loads(path.read_text()) if path.exists() else {}


def written(known: Costs, new: Costs) -> str:
    """The file's text: parts of ``new`` are replaced, others stay."""
    lines = [HEAD]
    for part, files in sorted({**known, **new}.items()):
        lines.append(f"[{part}]")
        lines += [f'"{name}" = {loops:.1f}' for name, loops in sorted(files.items())]
        lines.append("")
    return "\n".join(lines)


def told(known: Costs, new: Costs) -> Iterator[str]:
    """A line for each part, and those files that grew most."""
    for part, files in new.items():
        before = known.get(part)
        if before is None:
            yield f"cost {part}: {sum(files.values()):.0f} loops, nothing recorded"
            continue
        sums = sum(files.values()), sum(before.values())
        yield f"cost {part}: {sums[0]:.0f} loops, recorded {sums[1]:.0f}: {sums[0] / max(sums[1], 1):.2f} of it"
        yield from _grown(files, before)


def excess(known: Costs, new: Costs) -> str:
    """Why the run costs too much, or nothing.  Parts of which nothing is recorded do not count."""
    parts = known.keys() & new.keys()
    spent, recorded = (sum(sum(costs[part].values()) for part in parts) for costs in (new, known))
    if spent <= GROWTH_MAX * recorded:
        return ""
    return (
        f"cost: {spent:.0f} loops where {recorded:.0f} are recorded; expected at most {GROWTH_MAX} times that.  "
        "Make the tests cheaper, or record them with --record-cost and say why"
    )


def _grown(files: Mapping[str, float], before: Mapping[str, float]) -> Iterable[str]:
    growth = {name: loops - before.get(name, 0.0) for name, loops in files.items()}
    most = sorted(growth, key=lambda name: -growth[name])[:GREW_MOST]
    return [
        f"  {growth[name]:+8.0f}  {name}" + ("" if name in before else ", not recorded yet")
        for name in most
        if growth[name] > 0
    ]
