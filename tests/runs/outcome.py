"""A part's outcome is read from its record, and says whether the run fails.

A failed test is asked once more, alone, where few failed; who passes then is unsteady and does not fail the run.
Whatever leaves a doubt fails it: pytest that ended in another way than by itself, a test of which nothing is known, a
module that could not be read, a status that does not fit the record.  Nothing here starts a process or reads a clock.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.runs.parts import Part

AGAIN_MAX = 3
"""Failed tests of one part that are asked again.  More are a fault of what is tested."""
PASSED, FAILED = 0, 1
NAMED_MAX = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Record what became of one pytest process' tests, by id."""

    part: str
    collected: tuple[str, ...] = ()
    passed: frozenset[str] = frozenset()
    skipped: frozenset[str] = frozenset()
    failed: Mapping[str, str] = field(default_factory=dict)
    """With what pytest said of it."""
    failed_after: frozenset[str] = frozenset()
    """Those of ``failed`` that failed while what they had used was taken down."""
    seconds: Mapping[str, float] = field(default_factory=dict)
    ports: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """On which a test spoke, by the numbers they have in Hadoop."""
    faults: tuple[str, ...] = ()
    """Why nothing can be concluded from it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Record what counts in the end of a part."""

    part: str
    passed: int
    skipped: int
    failed: Mapping[str, str]
    unsteady: Mapping[str, str]
    """Those that failed and then passed, with what was said the first time."""
    faults: tuple[str, ...]

    @property
    def has_passed(self) -> bool:
        return not self.failed and not self.faults


def read(text: str) -> tuple[list[dict[str, Any]], str]:
    """The events in a piece of a record, and the beginning of a line at its end."""
    *lines, rest = text.split("\n")
    return [json.loads(line) for line in lines], rest


def outcome_of(part: str, events: Sequence[Mapping[str, Any]], status: int) -> Outcome:
    """``status``: of the process, negative for a signal."""
    collected = tuple(test for event in events if event["event"] == "collected" for test in event["ids"])
    reports = [event for event in events if event["event"] == "report"]
    failed: dict[str, str] = {}
    for report in reports:
        if report["outcome"] == "failed":
            said = f"(in {report['when']})\n{report['text']}"
            failed[report["id"]] = "\n".join([failed[report["id"]], said] if report["id"] in failed else [said])
    ended = {report["id"] for report in reports if report["when"] == "teardown"}
    skipped = frozenset(report["id"] for report in reports if report["outcome"] == "skipped") - failed.keys()
    passed = frozenset(r["id"] for r in reports if r["when"] == "call" and r["outcome"] == "passed")
    passed = (passed & ended) - failed.keys() - skipped
    seconds: dict[str, float] = {}
    for report in reports:
        seconds[report["id"]] = seconds.get(report["id"], 0.0) + report["seconds"]
    unknown = [test for test in collected if test not in passed | skipped and test not in failed]
    return Outcome(
        part=part,
        collected=collected,
        passed=passed,
        skipped=skipped,
        failed=failed,
        failed_after=frozenset(r["id"] for r in reports if r["outcome"] == "failed" and r["when"] == "teardown"),
        seconds=seconds,
        ports={report["id"]: tuple(report["ports"]) for report in reports if report.get("ports")},
        faults=tuple(_faults(events, status, unknown=unknown, has_failures=bool(failed), has_tests=bool(collected))),
    )


def _faults(
    events: Sequence[Mapping[str, Any]], status: int, *, unknown: Sequence[str], has_failures: bool, has_tests: bool
) -> Iterable[str]:
    for event in events:
        if event["event"] == "uncollected":
            yield f"{event['id']} could not be read:\n{event['text']}"
    if status not in (PASSED, FAILED):
        yield f"pytest ended with status {status}"
    elif [event["status"] for event in events if event["event"] == "end"] != [status]:
        yield f"pytest ended with status {status}, and its record does not say so"
    elif not has_tests:
        yield "there were no tests"
    elif (status == FAILED) is not has_failures:
        yield f"pytest ended with status {status}, and {'a' if has_failures else 'no'} test failed"
    if unknown:
        more = f" and {len(unknown) - NAMED_MAX} more" if len(unknown) > NAMED_MAX else ""
        yield f"nothing is known of {', '.join(unknown[:NAMED_MAX])}{more}"


def to_ask_again(outcome: Outcome) -> tuple[str, ...]:
    """The tests to run once more, in their order.

    Who fails while things are taken down is often not who left them behind: then it is all tests of that file.
    """
    if outcome.faults or not 0 < len(outcome.failed) <= AGAIN_MAX:
        return ()
    whole = {_file_of(test) for test in outcome.failed_after}
    return tuple(test for test in outcome.collected if test in outcome.failed or _file_of(test) in whole)


def judged(first: Outcome, second: Outcome | None) -> Verdict:
    """``second``: what ``to_ask_again`` said, run once more; None where nothing was.  All of it has to pass."""
    failed: Mapping[str, str] = first.failed
    faults = first.faults
    if second is not None and not first.faults:
        good = second.passed | (second.skipped & first.skipped)
        failed = {test: _both(first, second, test) for test in to_ask_again(first) if test not in good}
        faults = tuple(f"asked again: {fault}" for fault in second.faults)
    unsteady = {test: text for test, text in first.failed.items() if test not in failed}
    return Verdict(
        part=first.part,
        passed=len((first.passed | unsteady.keys()) - failed.keys()),
        skipped=len(first.skipped),
        failed=failed,
        unsteady=unsteady,
        faults=faults,
    )


def spoken(parts: Iterable[Part], outcomes: Sequence[Outcome]) -> Iterable[tuple[int, str]]:
    """Yield each port that a part is said to speak on, with the first passed test that did, or nothing."""
    for port in sorted({port for part in parts for port in part.speaks}):
        tests = (t for one in outcomes for t, ports in one.ports.items() if port in ports and t in one.passed)
        yield port, next(tests, "")


def _both(first: Outcome, second: Outcome, test: str) -> str:
    once = first.failed.get(test, "(passed the first time)")
    return f"{once}\n--- and the second time, alone\n{second.failed.get(test, '(did not pass)')}"


def _file_of(test: str) -> str:
    return test.partition("::")[0]
