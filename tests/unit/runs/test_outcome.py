"""A run passes with few failures that pass the second time, and fails for anything that leaves a doubt."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from tests.runs.outcome import AGAIN_MAX, Outcome, judged, outcome_of, read, to_ask_again

KILLED = -9


def reports(name: str, failed_in: str = "", skipped: bool = False) -> list[dict[str, Any]]:
    """Return the reports of a test that came to its end."""
    if failed_in == "setup" or skipped:
        outcomes = {"setup": "skipped" if skipped else "failed", "teardown": "passed"}
    else:
        outcomes = {when: "failed" if when == failed_in else "passed" for when in ("setup", "call", "teardown")}
    return [
        {"event": "report", "id": name, "when": when, "outcome": outcome, "seconds": 0.5, "text": f"{name} {when}"}
        for when, outcome in outcomes.items()
    ]


def session(names: Sequence[str], status: int, **failed_in: str) -> list[dict[str, Any]]:
    """All events of a run; ``failed_in``: by the test's name without its file."""
    events: list[dict[str, Any]] = [{"event": "collected", "ids": list(names)}]
    for name in names:
        events += reports(name, failed_in.get(name.partition("::")[2], ""))
    return [*events, {"event": "end", "status": status}]


def outcome(names: Sequence[str], **failed_in: str) -> Outcome:
    status = 1 if failed_in else 0
    return outcome_of("lane", session(names, status, **failed_in), status)


A, B, C = (f"tests/test_a.py::{name}" for name in "abc")


def test_what_passed_passes() -> None:
    verdict = judged(outcome([A, B]), None)
    assert verdict.has_passed
    assert (verdict.passed, verdict.failed, verdict.unsteady, verdict.faults) == (2, {}, {}, ())


def test_nothing_is_asked_again_where_nothing_failed() -> None:
    assert to_ask_again(outcome([A, B])) == ()


@pytest.mark.parametrize("when", ["setup", "call"])
def test_who_failed_is_asked_again_alone_and_is_unsteady_when_it_passes(when: str) -> None:
    first = outcome([A, B, C], b=when)
    assert to_ask_again(first) == (B,)
    verdict = judged(first, outcome([B]))
    assert verdict.has_passed
    assert verdict.passed == 3
    assert verdict.unsteady == {B: f"(in {when})\n{B} {when}"}


def test_who_fails_a_second_time_has_failed_and_both_texts_are_kept() -> None:
    verdict = judged(outcome([A, B, C], b="call", c="setup"), outcome([B, C], b="setup"))
    assert not verdict.has_passed
    assert verdict.passed == 2
    assert list(verdict.failed) == [B]
    assert f"{B} call" in verdict.failed[B]
    assert f"{B} setup" in verdict.failed[B]
    assert list(verdict.unsteady) == [C]


def test_who_failed_and_was_not_asked_again_has_failed() -> None:
    verdict = judged(outcome([A, B], b="call"), None)
    assert not verdict.has_passed
    assert list(verdict.failed) == [B]


def test_more_failures_than_a_few_are_not_asked_again() -> None:
    names = [f"t.py::t{number}" for number in range(AGAIN_MAX + 3)]
    few = {f"t{number}": "call" for number in range(AGAIN_MAX)}
    assert len(to_ask_again(outcome(names, **few))) == AGAIN_MAX
    many = outcome(names, **few, **{f"t{AGAIN_MAX}": "call"})
    assert to_ask_again(many) == ()
    assert len(judged(many, None).failed) == AGAIN_MAX + 1


def test_a_test_that_fails_twice_in_one_run_counts_once() -> None:
    events = session([A, B], 1, a="call")
    events[3]["outcome"] = "failed"  # its teardown
    found = outcome_of("lane", events, 1)
    assert list(found.failed) == [A]
    assert found.failed[A] == f"(in call)\n{A} call\n(in teardown)\n{A} teardown"


def test_whole_file_is_asked_again_when_something_was_left_behind() -> None:
    """Alone, the last test of a file would have nothing to take down that others left."""
    other = "tests/test_b.py::o"
    first = outcome([A, other, B], b="teardown")
    assert to_ask_again(first) == (A, B)
    verdict = judged(first, outcome([A, B], b="teardown"))
    assert not verdict.has_passed
    verdict = judged(first, outcome([A, B]))
    assert verdict.has_passed
    assert verdict.passed == 3
    assert list(verdict.unsteady) == [B]


def test_a_test_of_that_file_that_fails_only_the_second_time_fails_the_run() -> None:
    verdict = judged(outcome([A, B], b="teardown"), outcome([A, B], a="call"))
    assert not verdict.has_passed
    assert verdict.passed == 1
    assert list(verdict.failed) == [A]
    assert list(verdict.unsteady) == [B]


def test_who_is_not_heard_of_the_second_time_has_failed() -> None:
    verdict = judged(outcome([A, B], a="call", b="call"), outcome([A]))
    assert list(verdict.failed) == [B]
    assert "(did not pass)" in verdict.failed[B]


def test_a_second_run_that_broke_fails_the_run_even_where_all_passed() -> None:
    second = outcome_of("lane", session([B], 0), KILLED)
    verdict = judged(outcome([A, B], b="call"), second)
    assert not verdict.has_passed
    assert verdict.faults == ("asked again: pytest ended with status -9",)


def test_skipped_tests_are_counted_and_no_failure() -> None:
    events = [
        {"event": "collected", "ids": [A, B]},
        *reports(A),
        *reports(B, skipped=True),
        {"event": "end", "status": 0},
    ]
    verdict = judged(outcome_of("lane", events, 0), None)
    assert verdict.has_passed
    assert (verdict.passed, verdict.skipped) == (1, 1)


def test_who_is_skipped_the_second_time_did_not_pass() -> None:
    again = [{"event": "collected", "ids": [B]}, *reports(B, skipped=True), {"event": "end", "status": 0}]
    verdict = judged(outcome([A, B], b="call"), outcome_of("lane", again, 0))
    assert list(verdict.failed) == [B]


WHOLE = session([A, B], 0)


@pytest.mark.parametrize(
    ("events", "status", "said"),
    [
        pytest.param([], 4, "status 4", id="wrong usage"),
        pytest.param([], 0, "its record does not say so", id="no record"),
        pytest.param(WHOLE, KILLED, "status -9", id="killed after its end"),
        pytest.param(WHOLE[:-1], KILLED, "status -9", id="killed"),
        pytest.param(WHOLE[:-1], 0, "its record does not say so", id="no end"),
        pytest.param(WHOLE[:-2], KILLED, f"nothing is known of {B}", id="killed in a teardown"),
        pytest.param([*WHOLE[:4], WHOLE[-1]], 0, f"nothing is known of {B}", id="a test that never ran"),
        pytest.param(WHOLE, 1, "its record does not say so", id="a failure of nobody"),
        pytest.param(session([A, B], 1), 1, "no test failed", id="a recorded failure of nobody"),
        pytest.param(session([A, B], 0, a="call"), 0, "a test failed", id="a status of success in spite of a failure"),
        pytest.param(session([A, B], 2), 2, "status 2", id="interrupted"),
        pytest.param(session([], 5), 5, "status 5", id="no tests"),
        pytest.param(session([], 0), 0, "there were no tests", id="nothing at all"),
        pytest.param(
            [{"event": "uncollected", "id": "tests/test_x.py", "text": "SyntaxError"}, *session([], 2)],
            2,
            "tests/test_x.py could not be read:\nSyntaxError",
            id="a module that cannot be imported",
        ),
        pytest.param(
            [{"event": "uncollected", "id": "tests/test_x.py", "text": "SyntaxError"}, *WHOLE],
            0,
            "tests/test_x.py could not be read:\nSyntaxError",
            id="one of the modules cannot be imported",
        ),
    ],
)
def test_whatever_leaves_a_doubt_fails_the_run_and_is_not_asked_again(
    events: list[dict[str, Any]], status: int, said: str
) -> None:
    found = outcome_of("lane", events, status)
    assert any(said in fault for fault in found.faults), found.faults
    assert to_ask_again(found) == ()
    assert not judged(found, None).has_passed


def test_few_failures_are_not_asked_again_beside_a_doubt() -> None:
    found = outcome_of("lane", session([A, B], 1, a="call"), KILLED)
    assert list(found.failed) == [A]
    assert to_ask_again(found) == ()
    assert not judged(found, outcome([A])).has_passed


def test_many_unknown_tests_are_named_in_part() -> None:
    names = [f"t.py::t{number}" for number in range(9)]
    found = outcome_of("lane", [{"event": "collected", "ids": names}, {"event": "end", "status": 0}], 0)
    (fault,) = found.faults
    assert fault == f"nothing is known of {', '.join(names[:5])} and 4 more"


def test_worker_that_crashes_fails_its_test() -> None:
    """xdist tells it of a moment without a name, and no teardown follows."""
    events = session([A, B], 1)
    events[4:7] = [{"event": "report", "id": B, "when": "???", "outcome": "failed", "seconds": 0, "text": "crashed"}]
    found = outcome_of("lane", events, 1)
    assert found.faults == ()
    assert to_ask_again(found) == (B,)


def test_time_of_a_test_is_that_of_its_setup_and_teardown_too() -> None:
    assert outcome([A]).seconds == {A: 1.5}


def test_record_is_read_in_pieces() -> None:
    text = "".join(json.dumps(event) + "\n" for event in WHOLE)
    first, rest = read(text[:100])
    second, rest = read(rest + text[100:])
    assert [*first, *second] == WHOLE
    assert rest == ""
