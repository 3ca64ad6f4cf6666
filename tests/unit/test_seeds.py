from __future__ import annotations

import json
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


def test_a_seed_is_the_commits_and_differs_by_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(seeds.VARIABLE, raising=False)
    monkeypatch.setattr(seeds, "commit", lambda: "a" * 40)
    first = seeds.drawn("storm")
    assert (first, first) != (seeds.drawn("storm"), seeds.drawn("pair"))
    monkeypatch.setattr(seeds, "commit", lambda: "b" * 40)
    assert seeds.drawn("storm") != first
    monkeypatch.setenv(seeds.VARIABLE, "17")
    assert seeds.drawn("storm") == 17


def test_hypothesis_tries_a_kept_seed_beside_the_commits(tmp_path: Path) -> None:
    """In a repository of one test, with this one's conftest: what it found is kept, and tried in the next run."""
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
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    for words in (("init", "-q"), ("add", "."), (*identity, "commit", "-q", "-m", "One")):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    outcomes = []
    for _ in range(2):
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
        outcomes.append(done.stdout.splitlines()[-1].partition(" in ")[0])
    assert outcomes == ["1 failed", "2 failed"], done.stdout
    (found,) = json.loads((tmp_path / seeds.KEPT.relative_to(ROOT)).read_text())["tests/test_one.py::test_one"]
    assert int(found) >= 0
