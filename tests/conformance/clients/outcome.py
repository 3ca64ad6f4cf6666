"""An outcome is what a user sees of one run, ready to be compared with the run on the other cluster."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from tests.conformance.clients.target import Target

LINES_MAX = 60
# No two runs agree on these, not even on one cluster.
MEASURED = re.compile(
    r"time|memory|heap|milliseconds|seconds"  # how long it took and how much memory Java had
    r"|FILE: Number of bytes written",  # each task writes its job.xml, in which ports and folders are
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """``facts`` are further things that must be equal, by name; ``output`` is masked."""

    exit_code: int
    final_status: str = ""
    output: str = ""
    counters: Mapping[str, int] = field(default_factory=dict)
    facts: Mapping[str, object] = field(default_factory=dict)

    @property
    def summary(self) -> str:
        """Return a line for the table."""
        return f"{self.final_status}, exit {self.exit_code}" if self.final_status else f"exit {self.exit_code}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A client script.  ``lines``: Hadoop releases it runs with; ``short``: part of what every change passes."""

    client: str
    name: str
    run: Callable[[Target], Outcome]
    lines: tuple[str, ...] = ("3.5",)
    short: bool = False
    """A smaller twin of a scenario that the full form has."""
    version: str = ""
    """The version of the client, where it is not Hadoop's own."""
    takes_queue_changes: bool = False
    """It changes the scheduler's configuration, which a real ResourceManager lets nobody do unless told to."""

    @property
    def id(self) -> str:
        return f"{self.client}-{self.name}".replace(" ", "-").lower()


def differences(real: Outcome, yodel: Outcome) -> list[str]:
    """One line each; empty when a user could not tell the clusters apart."""
    found = []
    if real.exit_code != yodel.exit_code:
        found.append(f"exit code {real.exit_code} and {yodel.exit_code}")
    if real.final_status != yodel.final_status:
        found.append(f"final status {real.final_status} and {yodel.final_status}")
    for what, ours, theirs in (("counter", yodel.counters, real.counters), ("fact", yodel.facts, real.facts)):
        unequal = (name for name in sorted({*ours, *theirs}) if theirs.get(name) != ours.get(name))
        found += [f"{what} {name}: {theirs.get(name)!r} and {ours.get(name)!r}" for name in unequal]
    if real.output != yodel.output:
        found.append(_line_differences(real.output, yodel.output))
    return found


def _line_differences(real: str, yodel: str) -> str:
    theirs, ours = real.splitlines(), yodel.splitlines()
    lines = [f"- {line}" for line in theirs if line not in ours] + [f"+ {line}" for line in ours if line not in theirs]
    if not lines:
        pairs = ((one, other) for one, other in itertools.zip_longest(theirs, ours) if one != other)
        lines = ["(the same lines in another order, or one of them more often)", *("{} | {}".format(*p) for p in pairs)]
    return "output:\n" + "\n".join(lines[:LINES_MAX])


def without_counters(outcome: Outcome, *endings: str) -> Outcome:
    """Drop counters for a script that knows which of them are chance; it says why."""
    return replace(outcome, counters={k: v for k, v in outcome.counters.items() if not k.endswith(endings)})


COUNTER_HEAD = re.compile(r"Counters: \d+\s*$")


def counters_in(text: str) -> dict[str, int]:
    """``group: name`` of the counters that a job's client prints at its end, those that are measured left out."""
    found: dict[str, int] = {}
    group, inside = "", False
    for line in text.splitlines():
        if COUNTER_HEAD.search(line):
            group, inside = "", True
        elif not inside or not line.startswith("\t"):
            inside = inside and not line.strip()
        elif "=" not in line:
            group = line.strip()
        else:
            name, _, value = line.strip().rpartition("=")
            if not MEASURED.search(name):
                found[f"{group}: {name.strip()}"] = int(value)
    return found
