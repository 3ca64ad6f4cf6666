from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import seeds

ROOT = Path(__file__).resolve().parents[2]


def test_a_seed_that_found_something_is_kept_once_and_its_name_stays(tmp_path: Path) -> None:
    file = tmp_path / "kept.json"
    file.write_text('{"storm": {}, "busy": {"7": "a bug"}}')
    for kind, seed in (("storm", 5), ("busy", 7), ("new", 1)):
        seeds.keep(kind, seed, "AssertionError", file)
    kept = {"storm": {"5": "AssertionError"}, "busy": {"7": "a bug"}, "new": {"1": "AssertionError"}}
    assert json.loads(file.read_text()) == kept
    assert seeds.kept("busy", file) == [7]
    assert seeds.kept("unheard of", file) == []


def test_a_seed_is_always_the_same_differs_by_kind_and_gives_way_to_a_drawn_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(seeds.VARIABLE, raising=False)
    assert (seeds.first("storm"), seeds.is_new()) == (seeds.first("storm"), False)
    assert seeds.first("storm") != seeds.first("pair")
    monkeypatch.setenv(seeds.VARIABLE, "17")
    assert (seeds.first("storm"), seeds.is_new()) == (17, True)


def test_hypothesis_keeps_what_a_drawn_seed_found_and_tries_it_in_every_run(tmp_path: Path) -> None:
    """The test runs beside this checkout's conftest."""
    for name in ("tests/conftest.py", "tests/support/seeds.py", "tests/support/java.py", "tests/support/class_data.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text())
    (tmp_path / seeds.KEPT.relative_to(ROOT)).write_text("{}")
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\npythonpath = .\naddopts = --import-mode=importlib\nmarkers = drawn(kind)"
    )
    (tmp_path / "tests/test_one.py").write_text(
        "from hypothesis import given, strategies as st\n\n@given(st.integers())\ndef test_one(n):\n    assert n < 10\n"
    )
    outcomes = []
    environment = {name: value for name, value in os.environ.items() if name != seeds.VARIABLE}
    environment |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "_hypothesis_pytestplugin"}
    for more in ({}, {seeds.VARIABLE: "17"}, {}):
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment | more, capture_output=True, text=True, timeout=600
        )
        outcomes.append(done.stdout.splitlines()[-1].partition(" in ")[0])
    assert outcomes == ["1 failed", "1 failed", "2 failed"], done.stdout
    kept = json.loads((tmp_path / seeds.KEPT.relative_to(ROOT)).read_text())
    assert list(kept["tests/test_one.py::test_one"]) == ["17"]
