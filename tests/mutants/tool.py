"""Runs mutmut in a copy of the checkout, on chosen lines: ``python -P tool.py SEED SECONDS``, where ``lines.json`` is.

mutmut itself mutates whole files, or the lines that a coverage run names.  This puts the chosen lines in their place,
and adds what mutmut has not: a guard that never holds, a call that is left out, a condition without one of its parts.
The tests are imported once.  Two forks run half of them each without any mutant and record what each test reaches and
takes; then there is a fork for each mutant, which runs the quickest tests that reach its function.  ``found.json`` is
the answer.
"""

import ast
import difflib
import json
import multiprocessing
import random
import re
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import zip_longest
from math import ceil
from pathlib import Path

import libcst as cst
import pytest
from mutmut import __main__ as mutmut
from mutmut.configuration import config
from mutmut.mutation.data import SourceFileMutationData
from mutmut.mutation.diff_apply import read_functions_from_index
from mutmut.mutation.mutators import mutation_operators
from mutmut.mutation.trampoline import set_mutant_under_test
from mutmut.runners.harness import PytestRunner
from mutmut.state import state
from mutmut.utils.file_utils import change_cwd
from mutmut.utils.format_utils import mangled_name_from_mutant_name, orig_function_and_class_names_from_key
from mutmut.workers.isolation import ForkRunner

WORKERS = 2
MEASURED_PART = 0.4
"""The part of the time, at most, for the tests without any mutant."""
TESTS_S = 20.0
"""The seconds of tests a mutant, as they take without it."""
FIRST = 20
WORDS = {None: "left out", 0: "survived", 33: "not reached"}
"""By exit status of the tests; any other has killed."""


def never(node: cst.If | cst.While) -> Iterator[cst.CSTNode]:
    yield node.with_changes(test=cst.Name("False"))


def left_out(node: cst.Expr) -> Iterator[cst.CSTNode]:
    if isinstance(node.value, cst.Call | cst.Await):
        yield cst.Pass(node.semicolon)


def without_a_part(node: cst.BooleanOperation) -> Iterator[cst.CSTNode]:
    for part in (node.left, node.right):
        yield part.with_changes(lpar=[*node.lpar, *part.lpar], rpar=[*part.rpar, *node.rpar])


ADDED = ((cst.If, never), (cst.While, never), (cst.Expr, left_out), (cst.BooleanOperation, without_a_part))


class TimeIsOver(Exception):
    """Raised when the time for mutants is over."""


@dataclass(frozen=True, slots=True, eq=False)
class Recorder:
    """Records, as a pytest plugin, what each test reaches and takes, and which fail."""

    until_s: float
    reached: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    by_fixture: dict[str, set[str]] = field(default_factory=dict)
    """The lines that a fixture reaches, by its id: it counts for each test that shares it."""
    took_s: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    failed: set[str] = field(default_factory=set)
    late: set[str] = field(default_factory=set)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        if time.monotonic() < self.until_s:
            return None
        self.late.add(item.nodeid.partition("::")[0])
        return True

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[object]) -> Iterator[None]:
        before = set(state()._stats)
        state()._stats.clear()
        result = yield
        self.by_fixture[repr(fixturedef)] = set(state()._stats)
        state()._stats.update(before)
        return result

    def pytest_runtest_teardown(self, item: pytest.Function) -> None:
        definitions = item._fixtureinfo.name2fixturedefs.values()
        of_fixtures = [self.by_fixture.get(repr(one), set()) for several in definitions for one in several]
        for function in state()._stats.union(*of_fixtures):
            self.reached[function].add(item.nodeid)
        state()._stats.clear()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.took_s[report.nodeid] += report.duration
        self.pytest_collectreport(report)

    def pytest_collectreport(self, report: pytest.CollectReport | pytest.TestReport) -> None:
        if report.failed:
            self.failed.add(report.nodeid)


def main(seed: int, time_s: float) -> None:
    started_s = time.monotonic()
    assert isinstance(mutation_operators, list)
    mutation_operators.extend(ADDED)
    lines = json.loads(Path("lines.json").read_text())
    state()._covered_lines = {str((Path("mutants") / path).absolute()): set(chosen) for path, chosen in lines.items()}
    set_mutant_under_test("mutant_generation")
    mutmut.copy_src_dir()
    mutmut.copy_also_copy_files()
    mutmut.setup_source_paths()
    mutmut.create_mutants(WORKERS)
    files = [SourceFileMutationData(path=path) for path in lines]
    for data in files:
        data.load()
    measured_s = time.monotonic()
    seen = _measured(started_s + time_s * MEASURED_PART) if any(data.exit_code_by_key for data in files) else []
    measured_s = time.monotonic() - measured_s
    reached: dict[str, set[str]] = defaultdict(set)
    for recorder in seen:
        for function, tests in recorder.reached.items():
            reached[function] |= tests - recorder.failed
    state().duration_by_test.update({test: took for recorder in seen for test, took in recorder.took_s.items()})
    notes = _try(files, reached, seed, started_s + time_s)
    found = {
        "verdicts": sorted(verdict for data in files for verdict in _verdicts(data, notes)),
        "tests": sum(len(recorder.took_s) for recorder in seen),
        "measured_s": measured_s,
        "failing": sorted(test for recorder in seen for test in recorder.failed),
        "late": sorted(test for recorder in seen for test in recorder.late),
    }
    Path("found.json").write_text(json.dumps(found))


def _measured(until_s: float) -> list[Recorder]:
    set_mutant_under_test("")
    PytestRunner().warm_up()
    tests = config().pytest_add_cli_args_test_selection
    halves = [half for number in range(WORKERS) if (half := tests[number::WORKERS])]
    with ProcessPoolExecutor(WORKERS, mp_context=multiprocessing.get_context("fork")) as workers:
        return list(workers.map(_measure, halves, [until_s] * len(halves)))


def _measure(tests: Sequence[str], until_s: float) -> Recorder:
    set_mutant_under_test("stats")
    recorder = Recorder(until_s)
    with change_cwd("mutants"):
        command = ["-q", "--continue-on-collection-errors", *tests]
        status = pytest.ExitCode(PytestRunner().execute_pytest(command, plugins=[recorder]))
    assert status is not pytest.ExitCode.INTERNAL_ERROR
    return recorder


def _try(
    files: Collection[SourceFileMutationData], reached: Mapping[str, set[str]], seed: int, until_s: float
) -> dict[str, str]:
    """Return, by mutant, a note where not all tests that reach its function try it.

    One mutant of each file is tried, then a second one of each, until the time is over.
    """
    of_name = {name: data for data in files for name in data.exit_code_by_key}
    notes: dict[str, str] = {}
    runner = ForkRunner(WORKERS, Runner())

    def take() -> None:
        result = runner.wait_for_result()
        of_name[result.mutant_name].exit_code_by_key[result.mutant_name] = result.exit_code

    if (left_s := until_s - time.monotonic()) <= 0:
        return notes
    try:
        signal.signal(signal.SIGALRM, _end)
        signal.setitimer(signal.ITIMER_REAL, left_s)
        for name in in_turns([list(data.exit_code_by_key) for data in files], seed):
            if not runner.has_capacity():
                take()
            function = mangled_name_from_mutant_name(name.replace("__init__.", ""))
            of_function = reached.get(function, set())
            tests, took_s = quickest(of_function, state().duration_by_test, own_tests(name))
            if len(tests) < len(of_function):
                notes[name] = f"\n(tried by {len(tests)} of the {len(of_function)} tests that reach it)"
            runner.submit(name, tests, ceil(4 * (took_s + 5)), took_s)
            if not tests:
                take()
        while runner.pending_count():
            take()
    except TimeIsOver:
        return notes
    signal.setitimer(signal.ITIMER_REAL, 0)
    return notes


def _end(*_: object) -> None:
    raise TimeIsOver


def in_turns(files: Collection[Collection[str]], seed: int) -> list[str]:
    """Return one mutant of each file, then a second one of each, and so on."""
    drawn = [random.Random(seed).sample(sorted(names), len(names)) for names in files]
    return [name for turn in zip_longest(*drawn) for name in turn if name is not None]


def own_tests(mutant: str) -> str:
    """Return the part of a test's id by which its module's own tests are known: their file's name."""
    return f"/test_{mutant.rpartition('.')[0].rpartition('.')[2]}.py::"


def quickest(tests: Collection[str], took_s: Mapping[str, float], own: str) -> tuple[list[str], float]:
    """Return a module's own tests, then as many as take TESTS_S in all; one at least."""
    chosen, sum_s = list[str](), 0.0
    for test in sorted(tests, key=lambda test: (own not in test, took_s[test], test)):
        if chosen and own not in test and sum_s + took_s[test] > TESTS_S:
            break
        chosen.append(test)
        sum_s += took_s[test]
    return chosen, sum_s


class Runner(PytestRunner):
    """Collects a thousand tests only where the first few have not found a mutant."""

    def run_tests(self, *, mutant_name: str | None, tests: Iterable[str]) -> int:
        own = own_tests(mutant_name or "")
        ordered = sorted(tests, key=lambda test: own not in test)
        for part in (ordered[:FIRST], ordered[FIRST:]):
            if part and (status := super().run_tests(mutant_name=mutant_name, tests=part)):
                return status
        return 0


def _verdicts(data: SourceFileMutationData, notes: Mapping[str, str]) -> Iterator[tuple[str, int, str, str]]:
    """Return path, line, verdict and change; the line and change of those that no test has killed."""
    for name, exit_code in data.exit_code_by_key.items():
        verdict = WORDS.get(exit_code, "killed")
        line, change = _change(str(data.path), name) if verdict in ("survived", "not reached") else (0, "")
        yield str(data.path), line, verdict, change + notes.get(name, "")


def _change(path: str, name: str) -> tuple[int, str]:
    functions = read_functions_from_index(name, path)
    assert functions is not None
    before, after = (cst.Module([function]).code.strip().split("\n") for function in functions)
    diff = list(difflib.unified_diff(before, after, n=0, lineterm=""))
    first = int(re.findall(r"\d+", diff[2])[0])
    header = next(number for number, line in enumerate(before, 1) if re.match("(async )?def ", line))
    return _line(path, name) + first - header, "\n".join(line for line in diff[2:] if not line.startswith("@@"))


def _line(path: str, name: str) -> int:
    """Return the line where the function of a mutant is defined."""
    function, class_name = orig_function_and_class_names_from_key(name)
    body: list[ast.stmt] = ast.parse(Path(path).read_text()).body
    for wanted in filter(None, (class_name, function)):
        found = next(one for one in body if getattr(one, "name", None) == wanted)
        body = getattr(found, "body", [])
    return found.lineno


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
