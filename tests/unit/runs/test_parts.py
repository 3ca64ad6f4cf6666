"""Every slow test runs once, in one lane, and a table that names what is not there is refused."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.runs.parts import ROOT, load

SLOW = ("hadoop", "clients", "apart", "alone")
FOLDERS = ("tests/contract", "tests/faults", "tests/conformance")


def test_every_slow_test_file_is_in_one_lane() -> None:
    named = Counter(path for run in SLOW for part in load()[run].parts for path in part.files())
    there = [path.relative_to(ROOT).as_posix() for folder in FOLDERS for path in (ROOT / folder).rglob("test_*.py")]
    assert sorted(named) == sorted(there), "a file that is new belongs into tests/runs/parts.toml"
    assert [path for path, times in named.items() if times > 1] == []


def test_every_test_file_is_run() -> None:
    run = {path for run in load().values() for part in run.parts for path in part.files()}
    there = {path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("test_*.py")}
    assert run == there


def test_what_the_slow_run_leaves_out_of_the_stores_is_in_the_quick_one() -> None:
    runs = load()
    slow = [part for run in SLOW for part in runs[run].parts]
    (quick,), (stores,) = runs["quick"].parts, [part for part in slow if part.name == "stores"]
    assert "-m not postgres" in " ".join(quick.options)
    assert stores.options == ("-m", "postgres")
    assert {*stores.paths} <= {*quick.paths}
    others = [part for part in slow if part is not stores]
    assert not [part.name for part in others if "-m" in part.options]


def test_no_part_is_in_two_runs() -> None:
    """Its outcome would be told twice."""
    names = [part.name for run in load().values() for part in run.parts]
    assert len({*names}) == len(names)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[runs]\n[parts.a]\npaths = ["tests/gone.py"]', "parts.a.paths: not in the checkout: tests/gone.py"),
        ("[runs]\n[parts.a]\npaths = []", "parts.a.paths: empty, where at least one path is expected"),
        (
            '[runs]\n[parts.a]\npath = []\npaths = ["tests"]',
            "parts.a: no key is named path; there are paths and options",
        ),
        ('[runs]\nb = ["c"]\n[parts.a]\npaths = ["tests"]', "runs.b: no part is named c; there are a"),
        ('[runs]\nb = ["a", "a"]\n[parts.a]\npaths = ["tests"]', "runs.b: names a part twice"),
    ],
)
def test_table_that_cannot_be_meant_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "parts.toml").write_text(text)
    with pytest.raises(ValueError, match=said):
        load(tmp_path / "parts.toml")
