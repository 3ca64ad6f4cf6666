"""Every fault that is kept applies to the code as it is, and ``make mutants`` tells survivors from the dead."""

from __future__ import annotations

import importlib
import shutil
import signal
import subprocess
import time
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from tests.mutants import changed, run
from tests.mutants.mutant import HERE, ROOT, DoesNotApply, Mutant, load

KEPT_MAX = 100


@pytest.fixture(autouse=True)
def few_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Load no plugin that the runs here do not need: all of them take three times as long as such a run."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_PLUGINS", "xdist.plugin,pytest_timeout")


def test_every_mutant_applies_and_names_tests_that_are_there() -> None:
    """Whoever changes what a mutant changes says what the mutant is from now on."""
    mutants, wrong = load(), []
    for mutant in mutants:
        try:
            mutant.applied(ROOT)
            mutant.require_tests(ROOT)
        except DoesNotApply as error:
            wrong.append(str(error))
    assert wrong == []
    assert 0 < len(mutants) <= KEPT_MAX


def a_project(folder: Path, *, before: str = "x > 0", after: str = "x > 5") -> Path:
    """A checkout with one module, one test of it, and one mutant."""
    for name in ("yodel", "tests", "mutants"):
        (folder / name).mkdir()
    (folder / "yodel" / "__init__.py").touch()
    (folder / "yodel" / "sample.py").write_text("class A:\n    @staticmethod\n    def f(x):\n        return x > 0\n")
    test = "from yodel.sample import A\n\n\ndef test_f():\n    assert A.f(3)\n    assert not A.f(0)\n"
    (folder / "tests" / "test_sample.py").write_text(test)
    entry = f'[[mutant]]\nname = "one"\nattribute = "yodel.sample:A.f"\nbefore = "{before}"\nafter = "{after}"\n'
    (folder / "mutants" / "sample.toml").write_text(entry + 'tests = ["tests/test_sample.py::test_f"]\n')
    return folder


def test_a_run_in_which_all_faults_are_found_succeeds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = a_project(tmp_path)
    assert run.main(root, root / "mutants", [], workers=1) == 0
    assert "killed   sample/one" in capsys.readouterr().out
    assert (root / "yodel" / "sample.py").read_text().endswith("return x > 0\n")


def test_survivors_and_tests_that_fail_without_any_fault_are_named_and_fail_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = a_project(tmp_path, after="x > 1")
    (root / "tests" / "test_failing.py").write_text("def test_f():\n    assert False\n")
    (root / "tests" / "test_broken.py").write_text("import gone\n")
    entry = (root / "mutants" / "sample.toml").read_text()
    entry = entry.replace("test_sample.py::test_f", 'test_failing.py", "tests/test_broken.py')
    (root / "mutants" / "other.toml").write_text(entry)
    assert run.main(root, root / "mutants", [], workers=1) == 1
    said = capsys.readouterr().out
    assert "SURVIVED sample/one" in said
    assert "yodel.sample:A.f\n  - x > 0\n  + x > 1" in said
    for test in ("tests/test_failing.py::test_f", "tests/test_broken.py"):
        assert f"fails without any fault, so that faults were not tried by it: {test}\n" in said
    assert "SURVIVED other/one" not in said
    assert "2 faults: 0 killed, 2 not" in said


@pytest.mark.parametrize(
    ("test", "named", "is_part"),
    [
        ("tests/a/test_b.py::test_c[d]", "tests/a/test_b.py::test_c", True),
        ("tests/a/test_b.py::test_c", "tests/a/test_b.py", True),
        ("tests/a/test_b.py::test_c", "tests/a", True),
        ("tests/a/test_b.py", "tests/a/test_b.py::test_c", True),
        ("tests/a/test_b.py::test_c", "tests/a/test_b.py::test_", False),
    ],
)
def test_a_failing_test_is_part_of_what_an_entry_names(test: str, named: str, is_part: bool) -> None:
    assert run._is_part(test, named) is is_part


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ("x > 7", "x", "is 0 times"),
        ("x", "y", "is 2 times"),
        ("x > 0", "x >", "no Python"),
        ("x > 0", "x > 0", "nothing"),
    ],
)
def test_a_mutant_that_does_not_apply_fails_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], before: str, after: str, why: str
) -> None:
    root = a_project(tmp_path, before=before, after=after)
    assert run.main(root, root / "mutants", [], workers=1) == 2
    assert why in capsys.readouterr().err


@pytest.mark.parametrize(
    ("attribute", "tests", "why"),
    [
        ("yodel.none:A.f", ("tests/test_sample.py",), "no module"),
        ("yodel.sample:A.g", ("tests/test_sample.py",), "there is no yodel.sample:A.g"),
        ("yodel.sample:A.f", ("tests/test_none.py",), "there is no tests/test_none.py"),
        ("yodel.sample:A.f", ("tests/test_sample.py::test_g",), "there is no test_g"),
        ("yodel.sample:A.f", (), "names no tests"),
    ],
)
def test_names_of_nothing_are_told(tmp_path: Path, attribute: str, tests: tuple[str, ...], why: str) -> None:
    root = a_project(tmp_path)
    mutant = Mutant(area="a", name="b", attribute=attribute, before="x > 0", after="x > 5", tests=tests)

    def look() -> None:
        mutant.applied(root)
        mutant.require_tests(root)

    with pytest.raises(DoesNotApply, match=why):
        look()


def a_repository(folder: Path, after: str) -> Path:
    """A checkout with a commit, in which a test knows ``f`` of 3 alone, and a line of it that has changed since."""
    root = a_project(folder)
    source = root / "yodel" / "sample.py"
    source.write_text("LIMIT = 0\n\n\ndef f(x):\n    return x\n\n\ndef g(x):\n    return x > 1\n")
    (root / "tests" / "unit").mkdir()
    (root / "tests" / "unit" / "test_sample.py").write_text(
        "import pytest\nfrom yodel.sample import f\n\n\n"
        '@pytest.fixture(scope="module")\ndef answer():\n    return f(3)\n\n\n'
        "def test_other(answer):\n    pass\n\n\ndef test_f(answer):\n    assert answer\n"
    )
    (root / "pyproject.toml").touch()
    (root / "tests" / "mutants").mkdir()
    shutil.copy(HERE / "tool.py", root / "tests" / "mutants")
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "one"]):
        subprocess.run(["git", *command], cwd=root, check=True)
    source.write_text(source.read_text().replace("return x\n", after))
    return root


def test_mutants_of_a_changed_line_are_tried_and_survivors_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """mutmut makes ``x >= 2`` and ``x > 3`` of the line that a test reaches, and nothing of what has not changed."""
    root = a_repository(tmp_path, "return (\n        x > 2\n    )\n")
    source = root / "yodel" / "sample.py"
    source.write_text(source.read_text().replace("x > 1", "x > 0") + "\n\ndef h(x):\n    return LIMIT\n")
    before = source.read_text()
    (root / "tests" / "unit" / "test_text.py").write_text(
        'from yodel import sample\n\n\ndef test_t():\n    assert "mutmut" not in open(sample.__file__).read()\n'
    )
    assert changed.main(root, "HEAD") == 0
    said = capsys.readouterr().out
    assert "6 lines of 1 files, by 2 test files" in said
    assert "1 tests or files fail where mutants are beside the code, and not without them; they were not used:" in said
    assert "yodel/sample.py:6: survived\n-        x > 2\n+        x >= 2" in said
    assert counts_in(said) == {"killed": 1, "survived": 1, "not reached": 2, "left out": 0}
    assert "yodel/sample.py: not reached: lines 11\n" in said
    assert (root / "yodel" / "sample.py").read_text() == before
    assert {path.name for path in root.iterdir()} == {".git", "mutants", "pyproject.toml", "tests", "yodel"}


def counts_in(said: str) -> dict[str, int]:
    """Return the counts in the last row of the table."""
    last = next(line for line in said.splitlines() if line.endswith(" mutants"))
    return dict(zip(changed.WORDS, map(int, last.split()), strict=False))


def test_tests_that_fail_without_any_mutant_are_named_and_the_others_are_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = a_repository(tmp_path, "return x > 2\n")
    folder = root / "tests" / "unit"
    with (folder / "test_sample.py").open("a") as out:
        out.write("\n\ndef test_g():\n    assert f(1)\n")
    (folder / "test_broken.py").write_text("from yodel.sample import gone\n")
    assert changed.main(root, "HEAD") == 1
    said = capsys.readouterr().out
    assert counts_in(said) == {"killed": 1, "survived": 1, "not reached": 0, "left out": 0}
    failing = "\n  tests/unit/test_broken.py\n  tests/unit/test_sample.py::test_g\n"
    assert f"2 tests or files fail without any mutant; they were not used:{failing}" in said


def test_what_is_not_tried_in_time_is_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changed, "TIME_S", changed.RESERVE_S)
    assert changed.main(a_repository(tmp_path, "return x > 2\n"), "HEAD") == 0
    said = capsys.readouterr().out
    assert counts_in(said) == {"killed": 0, "survived": 0, "not reached": 0, "left out": 2}
    assert "1 tests or files were not begun in time; they were not used:\n  tests/unit/test_sample.py\n" in said


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the program; mutmut looks for sources while it is imported."""
    (tmp_path / "src").mkdir()
    monkeypatch.chdir(tmp_path)
    return importlib.import_module("tests.mutants.tool")


def test_every_file_has_its_turn_in_an_order_that_is_the_same_each_time(tool: ModuleType) -> None:
    files = [["a1", "a2", "a3"], ["b1"], ["c1", "c2"]]
    order = tool.in_turns(files, 1)
    assert ["".join(name[0] for name in part) for part in (order[:3], order[3:5], order[5:])] == ["abc", "ac", "a"]
    assert sorted(order) == sorted(name for names in files for name in names)
    assert order == tool.in_turns([names[::-1] for names in files], 1)
    assert len({tuple(tool.in_turns(files, seed)) for seed in range(20)}) > 1


def test_a_mutant_without_an_end_is_left_out_and_tests_that_did_not_try_it_are_noted(
    tool: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner = SimpleNamespace(has_capacity=lambda: True, submit=lambda *_: None, pending_count=lambda: 1)
    runner.wait_for_result = signal.pause
    monkeypatch.setattr(tool, "ForkRunner", lambda *_: runner)
    tests = dict.fromkeys(("test_b.py::test_c", "test_b.py::test_d"), tool.TESTS_S)
    monkeypatch.setattr(tool, "state", lambda: SimpleNamespace(duration_by_test=tests))
    name = "yodel.a.x_f__mutmut_1"
    data = SimpleNamespace(exit_code_by_key={name: None})
    notes = tool._try([data], {"yodel.a.x_f": set(tests)}, 1, time.monotonic() + 0.1)
    assert data.exit_code_by_key == {name: None}
    assert notes == {name: "\n(tried by 1 of the 2 tests that reach it)"}


def test_a_modules_own_tests_and_the_quickest_are_used_and_one_at_least(tool: ModuleType) -> None:
    own, slow, quick = tool.own_tests("yodel.a.b.x_f__mutmut_1"), "a/test_c.py::test_slow", "a/test_c.py::test_quick"
    took_s = {slow: tool.TESTS_S + 1, quick: 1.0, "a/test_b.py::test_d": tool.TESTS_S - 1}
    assert tool.quickest(took_s, took_s, own) == (["a/test_b.py::test_d", quick], tool.TESTS_S)
    assert tool.quickest([slow], took_s, own) == ([slow], tool.TESTS_S + 1)
    assert tool.quickest([slow, quick], took_s, "/test_c.py::") == ([quick, slow], tool.TESTS_S + 2)
    assert tool.quickest([], took_s, own) == ([], 0.0)


def test_the_first_tests_are_run_before_the_others_are_collected(
    tool: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = []

    def run_tests(_: object, *, mutant_name: str, tests: list[str]) -> int:
        runs.append(tests)
        return int("found" in tests)

    monkeypatch.setattr(tool.PytestRunner, "run_tests", run_tests)
    many = [f"test_c.py::test_{number}" for number in range(tool.FIRST)]
    for tests, status in (([*many, "found", "a/test_b.py::test_d"], 1), (["found", *many], 1), (many, 0)):
        assert tool.Runner().run_tests(mutant_name="yodel.a.b.x_f__mutmut_1", tests=tests) == status
    assert runs == [["a/test_b.py::test_d", *many[:-1]], [many[-1], "found"], ["found", *many[:-1]], many]


def test_a_statement_that_has_changed_in_part_counts_as_a_whole_and_a_block_does_not(tmp_path: Path) -> None:
    root = a_repository(tmp_path, "if (\n        x\n    ):\n        return 1\n    return x\n")
    assert changed.changed_lines(root, "HEAD") == {"yodel/sample.py": {5, 6, 7, 8}}


def test_docstrings_constants_of_modules_and_moved_files_have_no_mutants(tmp_path: Path) -> None:
    root = a_repository(tmp_path, '"""New."""\n    return x\n')
    source = root / "yodel" / "sample.py"
    source.write_text(source.read_text().replace("LIMIT = 0", "LIMIT = 1"))
    source.rename(root / "yodel" / "moved.py")
    subprocess.run(["git", "add", "-A"], cwd=root, check=True)
    assert changed.changed_lines(root, "HEAD") == {}


def test_tests_of_a_module_are_the_nearest_along_imports(tmp_path: Path) -> None:
    root = a_repository(tmp_path, "return x\n")
    (root / "yodel" / "deep.py").touch()
    (root / "yodel" / "sample.py").write_text("from yodel.deep import a\n")
    (root / "yodel" / "alone.py").touch()
    (root / "tests" / "unit" / "test_other.py").write_text("import yodel.other\n")
    assert changed.nearest_tests(root, ["yodel/deep.py"]) == ["tests/unit/test_sample.py"]
    assert changed.nearest_tests(root, ["yodel/alone.py"]) == []


def test_files_are_drawn_until_there_are_lines_enough() -> None:
    lines = {f"yodel/{number}.py": set(range(changed.LINES_MAX // 3)) for number in range(5)}
    assert len(changed.drawn_files(lines)) == 3
    assert changed.drawn_files({"yodel/large.py": set(range(changed.LINES_MAX + 1))}) == {"yodel/large.py"}
