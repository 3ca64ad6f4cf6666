"""What tests cost, beside what was recorded."""

from __future__ import annotations

import tomllib
from pathlib import Path

from tests.runs import cost
from tests.runs.parts import ROOT, load
from tests.runs.run import COSTS


def test_files_cost_what_their_tests_cost() -> None:
    used = {"tests/a.py::one": 1.0, "tests/a.py::two[x::y]": 0.5, "tests/b.py::one": 2.0}
    assert cost.of_files(used, 0.5) == {"tests/a.py": 3.0, "tests/b.py": 4.0}


def test_what_grew_most_is_told_first_and_what_is_new_is_named() -> None:
    known = {"quick": {"a": 10.0, "b": 10.0, "gone": 20.0}}
    lines = list(cost.told(known, {"quick": {"a": 11.0, "b": 30.0, "c": 4.0}, "slow": {"d": 1.0}}))
    assert lines == [
        "cost quick: 45 loops, recorded 40: 1.12 of it",
        "       +20  b",
        "        +4  c, not recorded yet",
        "        +1  a",
        "cost slow: 1 loops, nothing recorded",
    ]


def test_other_parts_stay_as_they_were_recorded(tmp_path: Path) -> None:
    path = tmp_path / "cost.toml"
    assert cost.read(path) == {}
    path.write_text(cost.written({"a": {"x": 1.0}, "b": {"y": 2.0, "gone": 3.0}}, {"b": {"y": 5.0}}))
    assert cost.read(path) == {"a": {"x": 1.0}, "b": {"y": 5.0}}


def test_a_run_may_cost_a_little_more_than_recorded_in_all_parts_that_are_recorded() -> None:
    known = {"quick": {"a": 90.0}, "slow": {"d": 10.0}, "other": {"e": 1000.0}}
    assert cost.excess(known, {"quick": {"a": 100.0, "b": 20.0}, "slow": {"d": 10.0}, "new": {"f": 500.0}}) == ""
    said = cost.excess(known, {"quick": {"a": 100.0, "b": 20.0}, "slow": {"d": 11.0}})
    assert said.startswith("cost: 131 loops where 100 are recorded; expected at most 1.3 times that.")
    assert cost.excess({}, known) == ""


def test_the_loop_is_a_unit_of_time() -> None:
    assert 0.01 < cost.loop_s() < 5


def test_the_record_is_of_parts_and_files_that_there_are() -> None:
    parts = {part.name: part.files() for run in load().values() for part in run.parts}
    record = tomllib.loads((ROOT / COSTS).read_text())
    assert record.keys() <= parts.keys()
    assert [name for files in record.values() for name in files if not name.startswith("tests/")] == []
