"""Queues are changed from the command line, on a web side in memory that lives as long as the test."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.records import a_submission, an_application
from tests.support.served_world import Served, serving_world
from yodel.client import queue_commands, queue_edits
from yodel.domain.scheduler_conf import PREFIX
from yodel.domain.states import ApplicationState
from yodel.errors import InvalidValue

FILE = """<configuration>
  <property><name>yarn.scheduler.capacity.root.queues</name><value>default,etl</value></property>
  <property><name>yarn.scheduler.capacity.root.default.capacity</name><value>70</value></property>
  <property><name>yarn.scheduler.capacity.root.etl.capacity</name><value>30</value></property>
  <property><name>yarn.scheduler.capacity.node-locality-delay</name><value>40</value></property>
</configuration>
"""


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    with serving_world(monkeypatch) as made:
        yield made


def test_queue_is_made_changed_moved_and_removed(served: Served) -> None:
    rows = served.done("create", "root.etl", "capacity=30", "root.default", "capacity=70", "--reason", "nights")
    assert rows[1:] == [
        ["root.default.capacity", "100", "70"],
        ["root.etl.capacity", "-", "30"],
        ["root.queues", "default", "default,etl"],
    ]
    served.done("set", "root.etl", "capacity=0", "state=STOPPED", "root.default", "capacity=100")
    served.done("set", "root.etl", "state=")
    assert served.run("move", "root.etl", "root.batch").exit_code == 1
    served.done("set", "root.etl", "state=STOPPED")
    served.done("move", "root.etl", "root.batch", "root.batch", "user-limit-factor=2")
    assert served.world.rm.state.queues["root.batch"].user_limit_factor == 2.0
    served.done("delete", "root.batch")
    assert (served.capacities, served.version) == ({"default": 100.0}, 7)


def test_what_changes_something_says_where_and_what_only_looks_does_not(
    served: Served, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The server is named in one line on standard error, however much is sent."""
    monkeypatch.setenv("YODEL_SERVER", "http://rm:1/")
    line, file = "Server: http://rm:1 (from YODEL_SERVER)", tmp_path / "capacity-scheduler.xml"
    file.write_text(served.run("export").stdout)
    for command in (
        "queue set root.default user-limit-factor=2 --json",
        f"queue import {file} --dry-run",
        "queue revert 1",
        "queue window add root.default w '0 8 * * *' --duration 60 --maximum 20",
        "queue window remove root.default w",
        "colocation off --now",
    ):
        result = served.invoke(*shlex.split(command))
        assert (result.exit_code, result.stderr.count(line), line in result.stdout) == (0, 1, False), result.output
    for command in ("app list", "queue tree", "queue history", "queue export", "colocation status"):
        result = served.invoke(*shlex.split(command))
        assert (result.exit_code, "Server:" in result.output) == (0, False), result.output
    refused = served.run("set", "root.nowhere", "state=STOPPED")
    assert (refused.exit_code, line in refused.stderr.splitlines()) == (1, False), refused.output
    assert "Server: http://rm:1 (from YODEL_SERVER)" in refused.stderr


def test_dry_run_shows_what_would_be_and_changes_nothing(served: Served) -> None:
    result = served.run("set", "root.default", "user-limit-factor=3", "--dry-run")
    assert (result.exit_code, served.version) == (0, 1)
    assert "root.default.user-limit-factor\t1\t3" in result.stdout
    assert "Dry run: nothing was changed.  This would be version 2." in result.stderr


def test_change_is_made_from_the_version_that_is_named(served: Served) -> None:
    served.done("set", "root.default", "user-limit-factor=3", "--since", "1")
    late = served.run("set", "root.default", "user-limit-factor=4", "--since", "1")
    assert late.exit_code == 1
    assert "The queues are at version 2, but the change is based on version 1" in late.stderr
    assert served.world.rm.state.queues["root.default"].user_limit_factor == 3.0


def test_history_tells_who_changed_what_and_a_version_comes_back(served: Served) -> None:
    served.done("create", "root.etl", "capacity=30", "root.default", "capacity=70", "--reason", "nights")
    served.done("set", "root.etl", "capacity=40", "root.default", "capacity=60")
    head, *rows = served.done("history")
    assert head == list(queue_edits.HISTORY_HEADS)
    assert [(row[0], row[2], row[3], row[4]) for row in rows] == [
        ("3", "admin", "root.default.capacity, root.etl.capacity", ""),
        ("2", "admin", "root.default.capacity, root.etl.capacity, root.queues", "nights"),
    ]
    assert served.done("history", "3")[1:] == [
        ["root.default.capacity", "70", "60"],
        ["root.etl.capacity", "30", "40"],
    ]
    served.done("revert", "2")
    assert (served.capacities, served.version) == ({"default": 70.0, "etl": 30.0}, 4)
    again = served.run("revert", "2")
    assert "No change" in again.stderr
    assert json.loads(served.run("history", "--json", "--limit", "1").stdout)[0]["reason"] == "as at version 2"


def test_used_queue_is_shown_with_the_version_that_it_goes_by(served: Served) -> None:
    served.done("create", "root.etl", "capacity=30", "root.default", "capacity=70")
    row = an_application(1, state=ApplicationState.RUNNING, submission=a_submission(queue="root.etl"))
    served.world.rm.state.publish([row])
    assert ["root.etl.yodel.to-be-removed", "-", "3 admin"] in served.done("revert", "1")
    shown = served.run("show", "root.etl").stdout
    assert "when its last application has finished (version 3, by admin)" in shown
    assert "DRAINING" in shown


def test_file_is_compared_taken_over_and_printed(served: Served, tmp_path: Path) -> None:
    path = tmp_path / "capacity-scheduler.xml"
    path.write_text(FILE)
    differs = served.run("diff", str(path))
    assert differs.exit_code == 1
    assert "root.etl.capacity\t-\t30" in differs.stdout
    assert f"note: {path}, line 5: {PREFIX}node-locality-delay is left out: use the setting node_loc" in differs.stderr
    assert served.version == 1
    served.done("import", str(path), "--reason", "from the old cluster")
    assert served.capacities == {"default": 70.0, "etl": 30.0}
    assert served.run("diff", str(path)).exit_code == 0
    printed = served.run("export").stdout
    assert served.run("diff", "-", stdin=printed).exit_code == 0
    served.done("import", "-", stdin=printed)
    assert served.version == 2
    assert json.loads(served.run("export", "--json").stdout)[f"{PREFIX}root.etl.capacity"] == "30"


def test_file_with_a_fault_changes_nothing_and_each_is_told_with_its_line(served: Served) -> None:
    faulty = FILE.replace(">30<", ">${etl}<").replace("node-locality-delay", "node-locality")
    result = served.run("import", "-", stdin=faulty)
    assert (result.exit_code, served.version) == (2, 1)
    assert f"standard input, line 4: {PREFIX}root.etl.capacity contains a variable" in result.stderr
    assert f"standard input, line 5: {PREFIX}node-locality is unknown" in result.stderr
    assert served.run("import", "-", stdin="<a/>").exit_code == 2
    missing = served.run("import", "/nowhere/x.xml")
    assert (missing.exit_code, "No such file" in missing.stderr) == (1, True)


@pytest.mark.parametrize(
    ("words", "status", "text"),
    [
        (("set", "capacity=30"), 2, "Invalid argument: 'capacity=30'; expected the path of a queue"),
        (("set", "root.a", "x=1", "x=2"), 2, "expected x once for root.a"),
        (("set", "root.default", "=2"), 2, "Invalid argument: '=2'"),
        (("delete", "root.default", "capacity=1"), 2, "expected no property of root.default, which is deleted"),
        (("set", "root.default", "capacity=1_0"), 2, "expected a number"),
        (
            ("set", "root.nope", "capacity=1"),
            1,
            "Queue root.nope not found\n  List the queues with `yodel queue list`; give",
        ),
        (("set", "root.default"), 2, "Invalid argument: 'root.default'; expected properties as name=value after it"),
        (("create", "root.a", "root.default"), 2, "'root.default'; expected properties"),
        (("set", "default", "capacity=1"), 1, "\n  Did you mean root.default? List the queues with `yodel"),
        (("set", "root.defualt", "capacity=1"), 1, "\n  Did you mean root.default? List the queues with `yodel"),
        (("delete", "root.default"), 1, "RUNNING"),
        (("revert", "9"), 1, "Version 9 of the queues does not exist or is no longer kept"),
        (("history", "9"), 1, "Version 9 of the queues does not exist or is no longer kept"),
    ],
)
def test_what_cannot_be_is_refused(served: Served, words: tuple[str, ...], status: int, text: str) -> None:
    result = served.run(*words)
    assert (result.exit_code, text in result.stderr) == (status, True), result.stderr


def test_hints_about_the_fields_of_a_call_are_not_for_the_command_line(served: Served) -> None:
    assert "Look at" not in served.run("set", "root.default", "capacity=1_0").stderr


def test_only_administrators_change_queues(served: Served) -> None:
    served.user = "alice"
    result = served.run("set", "root.default", "user-limit-factor=2")
    assert (result.exit_code, served.version) == (1, 1)
    assert "User is not admin of all modified queues." in result.stderr


def test_words_are_queues_with_their_properties() -> None:
    assert queue_edits.parsed(["root.a", "x=1=2", "y=", "root.b"]) == [
        ("root.a", {"x": "1=2", "y": None}),
        ("root.b", {}),
    ]
    with pytest.raises(InvalidValue):
        queue_edits.parsed(["x=1"])


def test_spaces_around_a_value_are_seen() -> None:
    row: dict[str, Any] = {"property": f"{PREFIX}root.a.acl_submit_applications", "before": " ", "after": "a"}
    assert queue_edits.change_row(row) == ["root.a.acl_submit_applications", "' '", "a"]


PAGE = (Path(__file__).parents[3] / "docs" / "queues.md").read_text()


def examples(section: str) -> list[list[str]]:
    """The words of each ``yodel queue`` command of a section's first block."""
    block = PAGE.split(f"\n## {section}\n")[1].split("```")[1]
    return [shlex.split(line)[2:] for line in block.splitlines() if line.startswith("yodel queue ")]


def test_commands_of_the_page_on_changing_queues_do_what_it_says(served: Served) -> None:
    commands = examples("Changing queues")
    assert len(commands) == 8
    for words in commands:
        served.done(*words)
    assert (served.capacities, served.version) == ({"default": 100.0}, 7)


def test_commands_of_the_page_on_files_do_what_it_says(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("capacity-scheduler.xml").write_text(FILE)
    commands = examples("Coming from the CapacityScheduler")
    assert len(commands) == 4
    for words in commands:
        if ">" in words:
            words, target = words[: words.index(">")], words[-1]
            Path(target).write_text(served.run(*words).stdout)
        else:
            served.done(*words)
    assert (served.capacities, served.version) == ({"default": 70.0, "etl": 30.0}, 2)


def test_tree_is_shown_again_until_somebody_has_seen_enough(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    async def enough(wait_s: float) -> None:
        waits.append(wait_s)
        if len(waits) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(queue_commands, "sleep", enough)
    shown = served.run("tree", "--watch").stdout
    assert (shown.count("root.default"), waits) == (3, [2.0, 2.0, 2.0])


def test_window_is_made_listed_and_removed(served: Served) -> None:
    rows = served.done(
        *("window", "add", "default", "day", "0 8 * * 1-5", "--duration", "36000", "--maximum", "40"),
        *("--time-zone", "Europe/Berlin", "--stop-new-before", "600", "--reason", "office"),
    )
    assert ["root.default.window.day.maximum-capacity", "-", "40"] in rows
    _, row = served.done("window", "list", "root.default")
    assert row[:7] == ["day", "0 8 * * 1-5", "Europe/Berlin", "36000", "40%", "600", "4"]
    assert row[7].startswith("opens ")
    assert json.loads(served.run("window", "list", "default", "--json").stdout)[0]["is_open"] is False
    shown = " ".join(served.run("show", "default").stdout.split())
    assert f"Windows day: at most 40 % while open, {row[-1]}" in shown
    rows = served.done("window", "remove", "default", "day", "--dry-run")
    assert ["root.default.window.day.cron", "0 8 * * 1-5", "-"] in rows
    assert served.version == 2
    served.done("window", "remove", "default", "day", "--reason", "over")
    assert served.world.rm.state.queues["root.default"].windows == ()
    assert "Windows" not in served.run("show", "default").stdout


@pytest.mark.parametrize("option", ["--duration", "--maximum", "--stop-new-before", "--stages"])
@pytest.mark.parametrize("number", ["１２", "٤٠", "1_0", "ten"])
def test_numbers_of_a_window_are_in_ascii_digits(served: Served, option: str, number: str) -> None:
    words = {"--duration": "36000", "--maximum": "40", option: number}
    result = served.run(
        "window", "add", "default", "day", "0 8 * * 1-5", *(word for pair in words.items() for word in pair)
    )
    assert (result.exit_code, served.version) == (2, 1)
    assert number in result.output
