"""Every slow test runs once, in one lane, and a table that names what is not there is refused."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.runs.parts import ROOT, Part, load

FOLDERS = ("tests/contract", "tests/faults", "tests/conformance")


def slow_parts() -> list[Part]:
    """All but the quick ones and the scenarios on a cluster."""
    runs = load()
    return [
        part for run in runs.values() for part in run.parts if part not in (*runs["quick"].parts, *runs["e2e"].parts)
    ]


def test_every_slow_test_file_is_whole_in_one_part() -> None:
    named = Counter(path for part in slow_parts() for path in part.files())
    there = [path.relative_to(ROOT).as_posix() for folder in FOLDERS for path in (ROOT / folder).rglob("test_*.py")]
    assert sorted(named) == sorted(there), "a file that is new belongs into tests/runs/parts.toml"
    assert [path for path, times in named.items() if times > 1] == []


def test_every_test_file_is_run() -> None:
    run = {path for run in load().values() for part in run.parts for path in part.files()}
    there = {path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("test_*.py")}
    assert run == there


def test_single_tests_are_of_files_that_another_part_has() -> None:
    whole = {path for part in slow_parts() for path in part.files()}
    single = {path.partition("::")[0] for part in slow_parts() for path in part.paths if "::" in path}
    assert single
    assert single <= whole


def test_quick_parts_have_every_file_once() -> None:
    named = Counter(path for part in load()["quick"].parts for path in part.files())
    assert {path for path, times in named.items() if times > 1} == set()


def test_what_the_slow_run_leaves_out_of_the_stores_is_in_the_quick_one() -> None:
    (quick,) = [part for part in load()["quick"].parts if "-m" in part.options]
    (stores,) = [part for part in slow_parts() if part.name == "stores"]
    assert quick.options == ("-m", "not postgres")
    assert stores.options == ("-m", "postgres")
    assert {*stores.paths} <= {*quick.paths}
    assert not [part.name for part in slow_parts() if part.name != "stores" and "-m" in part.options]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[runs]\n[parts.a]\npaths = ["tests/gone.py"]', "parts.a: not in the checkout: tests/gone.py"),
        (
            '[runs]\n[parts.a]\npaths = ["tests"]\nbut = ["tests/gone"]',
            "parts.a: not in the checkout: tests/gone",
        ),
        ("[runs]\n[parts.a]\npaths = []", "parts.a.paths: empty, where at least one path is expected"),
        (
            '[runs]\n[parts.a]\npath = []\npaths = ["tests"]',
            "parts.a: no key is named path; there are but, options, paths, speaks",
        ),
        ('[runs]\nb = ["c"]\n[parts.a]\npaths = ["tests"]', "runs.b: no part is named c; there are a"),
        ('[runs]\nb = ["a", "a"]\n[parts.a]\npaths = ["tests"]', "runs.b: names a part twice"),
    ],
)
def test_table_that_cannot_be_meant_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "parts.toml").write_text(text)
    with pytest.raises(ValueError, match=said):
        load(tmp_path / "parts.toml")
