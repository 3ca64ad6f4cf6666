"""Answers have a form for a terminal, one for a pipe and one for programs."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from rich.console import Console

from tests.support.api_rows import FAILED, NODE, RUNNING, api_get
from tests.support.rest_world import RestWorld
from yodel.client import show
from yodel.client.show import Screen

Made = tuple[Screen, io.StringIO]


def test_pipe_gets_lines_with_tabs_and_no_colour(pipe: Made) -> None:
    screen, file = pipe
    screen.table(("A", "B"), [["RUNNING", "x\ty\nz"], ["a" * 300, "[bold]"]])
    screen.line("a", "RUNNING")
    assert file.getvalue() == f"A\tB\nRUNNING\tx y z\n{'a' * 300}\t[bold]\na RUNNING\n"
    assert not screen.is_terminal


def test_terminal_gets_a_table_in_colour(terminal: Made) -> None:
    screen, file = terminal
    screen.table(("STATE", "NAME"), [["FAILED", "[red]not markup[/red]"]])
    screen.line("State", "RUNNING", is_named=True)
    text = file.getvalue()
    assert "\x1b[1;31mFAILED\x1b[0m" in text
    assert "[red]not markup[/red]" in text
    assert "\x1b[32mRUNNING\x1b[0m" in text
    assert screen.is_terminal


def test_ids_are_never_folded_and_reasons_are_shortened() -> None:
    file = io.StringIO()
    screen = Screen(Console(file=file, force_terminal=True, width=40, color_system=None))
    screen.table(("A", "B", "C"), [["a" * 60, "b" * 60, "why " * 100]])
    assert [line.rstrip() for line in file.getvalue().splitlines()][1:] == [
        f"{'a' * 60}  {'b' * 60}  {('why ' * 100)[:119]}…"
    ]


@pytest.mark.parametrize("made", ["terminal", "pipe"])
def test_nobodys_name_steers_a_terminal(made: str, request: pytest.FixtureRequest) -> None:
    screen, file = request.getfixturevalue(made)
    screen.table(("A",), [["\x1b]0;title\x07\x9b31m\u202e\r"]])
    screen.line("\x1b[2J")
    screen.facts({"Name": "\x1b[2J"})
    for steering in ("\x1b]0", "\x07", "\x9b", "\u202e", "\x1b[2J", "\r"):
        assert steering not in file.getvalue()


def test_facts_without_a_value_are_left_out(pipe: Made) -> None:
    screen, file = pipe
    screen.facts({"A": "1", "Long": "", "Bb": "2"})
    assert file.getvalue() == "A    1\nBb   2\n"


def test_json_is_for_programs(pipe: Made) -> None:
    screen, file = pipe
    screen.json({"a": ["é", 1]}, is_line=True)
    screen.json([{"b": None}])
    first, rest = file.getvalue().split("\n", 1)
    assert (first, json.loads(rest)) == (r'{"a": ["\u00e9", 1]}', [{"b": None}])


@pytest.mark.parametrize("is_line", [True, False])
def test_json_steers_no_terminal_and_keeps_what_was_said(pipe: Made, *, is_line: bool) -> None:
    screen, file = pipe
    name = "\x1b[2J\x7f\x9b31m\u202e\u2066\ud800é"
    screen.json({"name": name}, is_line=is_line)
    assert all(c == "\n" or " " <= c <= "~" for c in file.getvalue())
    assert json.loads(file.getvalue()) == {"name": name}


def test_hints_are_no_part_of_the_answer(capsys: pytest.CaptureFixture[str]) -> None:
    show.hint("do this")
    assert capsys.readouterr() == ("", "do this\n")


def test_hints_with_words_of_servers_steer_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    show.hint("\nnote: \x1b[2J\x9b\u202e\rx\n  and more")
    assert capsys.readouterr().err == "\nnote: \ufffd[2J\ufffd\ufffd x\n  and more\n"


async def test_rows_have_a_cell_for_each_head(filled: RestWorld) -> None:
    for app in (await api_get(filled, "/api/v1/applications"))["items"]:
        assert len(show.application_row(app)) == len(show.APPLICATION_HEADS)
    running = await api_get(filled, f"/api/v1/applications/{RUNNING.id}")
    assert all(len(show.attempt_row(one)) == len(show.ATTEMPT_HEADS) for one in running["attempt_list"])
    for container in (await api_get(filled, f"/api/v1/applications/{RUNNING.id}/containers"))["items"]:
        assert len(show.container_row(container)) == len(show.CONTAINER_HEADS)
    for node in (await api_get(filled, "/api/v1/nodes"))["items"]:
        assert len(show.node_row(node)) == len(show.NODE_HEADS)
    details = await api_get(filled, f"/api/v1/nodes/{NODE.id}")
    assert all(len(show.node_container_row(one)) == len(show.NODE_CONTAINER_HEADS) for one in details["container_list"])


async def test_what_waits_and_what_failed_is_said(filled: RestWorld) -> None:
    containers = (await api_get(filled, f"/api/v1/applications/{RUNNING.id}/containers"))["items"]
    last_cells = [show.container_row(container)[-1] for container in containers]
    assert last_cells == ["-", "Running", "0/1 nodes are available", "-"]
    failed = show.application_facts(await api_get(filled, f"/api/v1/applications/{FAILED.id}"))
    assert (failed["Result"], failed["Diagnostics"], failed["Running"]) == ("FAILED", "it broke", "")


async def test_node_facts_say_what_is_lent_and_why(filled: RestWorld) -> None:
    facts = show.node_facts(await api_get(filled, f"/api/v1/nodes/{NODE.id}"))
    assert facts["Allocatable"] == "8 GiB, 8 vcores: registered by node agent"
    assert facts["Measured"] == "300 MiB and 0.5 cores by containers, 900 MiB and 0.0 cores in total"


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ({"before": None, "after": "PLANNED"}, "1970-01-01 00:00:01Z c (new) → PLANNED on n:1"),
        ({"before": "RUNNING", "after": "COMPLETED", "exit_status": 137, "reason": "killed\n"}, None),
        ({"before": "KILLED", "after": None, "kind": "application"}, "1970-01-01 00:00:01Z c KILLED → (removed)"),
    ],
)
def test_transition_is_a_line(event: dict[str, Any], expected: str | None) -> None:
    whole = {"at_ms": 1000, "kind": "container", "subject": "c", "node_id": "n:1", "exit_status": None, "reason": ""}
    line = " ".join(show.event_words({**whole, **event}))
    assert line == (expected or "1970-01-01 00:00:01Z c RUNNING → COMPLETED on n:1 exit 137 killed")


@pytest.mark.parametrize(
    ("ms", "expected"), [(999, "0s"), (61_000, "1m01s"), (3_660_000, "1h01m"), (90_000_000, "1d01h")]
)
def test_durations(ms: int, expected: str) -> None:
    assert show.duration(ms) == expected


@pytest.mark.parametrize(
    ("mib", "expected"), [(0, "0 MiB"), (10_239, "10239 MiB"), (10_240, "10 GiB"), (10_752, "10.5 GiB")]
)
def test_memory(mib: int, expected: str) -> None:
    assert show.memory(mib) == expected
