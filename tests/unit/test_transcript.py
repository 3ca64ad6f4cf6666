"""Pages that are sessions: found, masked, written anew."""

from __future__ import annotations

from tests.support.transcript import Step, masked, replayed, rewritten, steps

PAGE = """# Title
Text.
```console
$ one --x
first 12
second
$ two
```
More.
```sh
$ no step
```
```console
$ three
```
"""


def test_commands_and_their_outputs_are_found() -> None:
    assert steps(PAGE) == [
        Step(command="one --x", output="first 12\nsecond"),
        Step(command="two", output=""),
        Step(command="three", output=""),
    ]


def test_numbers_ages_and_widths_do_not_count() -> None:
    assert masked("pod-1   Running  3m12s\nx 4s") == masked("pod-77 Running 1m5s \nx   12s")
    assert masked("a 45s") == masked("a 2m")
    assert masked("Running") != masked("Pending")


def test_page_is_written_with_other_outputs() -> None:
    page = rewritten(PAGE, ["1", "", "three\n"])
    assert [step.output for step in steps(page)] == ["1", "", "three"]
    assert page.startswith("# Title\nText.\n```console\n$ one --x\n1\n$ two\n```\nMore.\n```sh\n$ no step\n```\n")


def test_commands_are_run_in_order() -> None:
    assert replayed(PAGE, str.upper) == ["ONE --X", "TWO", "THREE"]
