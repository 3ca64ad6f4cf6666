"""Every mutant of ``make mutants`` applies to the code as it is, and the harness tells survivors from the dead."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutants.mutant import ROOT, DoesNotApply, Mutant, load
from tests.mutants.run import main

MUTANTS_MIN = 100


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
    assert len(mutants) >= MUTANTS_MIN


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


@pytest.mark.parametrize(("after", "status", "word"), [("x > 5", 0, "killed"), ("x > 1", 1, "SURVIVED")])
def test_a_survivor_is_named_and_fails_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], after: str, status: int, word: str
) -> None:
    root = a_project(tmp_path, after=after)
    assert main(["--trust", "--parallel", "1"], root, root / "mutants") == status
    said = capsys.readouterr().out
    assert f"{word:<8} sample/one" in said
    assert ("yodel.sample:A.f\n  - x > 0\n  + x > 1" in said) == (status == 1)
    assert (root / "yodel" / "sample.py").read_text().endswith("return x > 0\n")


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
    assert main(["--trust"], root, root / "mutants") == 2
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
