"""``make mutants SINCE=commit``: mutmut on the lines that have changed since a commit, within a time.

The tests of a changed module are the files of unit, playbook and property tests that are nearest to it along imports:
those that import it; where none does, those that import what imports it, and so on.  ``tool`` runs them once, and tries
each mutant by those that reach its function, for as long as there is time: one mutant of each file, then a second one
of each, in the order of a fixed seed.  What is left out is counted.
"""

from __future__ import annotations

import ast
import json
import random
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence, Set
from pathlib import Path

from tests.mutants.checkout import SOURCES, copies, run

SEED = 20
TIME_S = 1200
LINES_MAX = 1000
"""The most lines of which mutants are made: two or three a line, more than there is time for."""
RESERVE_S = 60
"""For a mutant that hangs, and the report."""
WORDS = ("killed", "survived", "not reached", "left out")
FOLDERS = ("tests/unit", "tests/playbook", "tests/property")
CONFIGURATION = """
[tool.mutmut]
source_paths = {sources}
only_mutate = {mutated}
also_copy = {copied}
pytest_add_cli_args = ["-p", "no:cacheprovider", "--timeout", "60"]
pytest_add_cli_args_test_selection = {tests}
timeout_multiplier = 2.0
timeout_constant = 5.0
"""


def changed_lines(root: Path, commit: str) -> dict[str, set[int]]:
    """Return the changed lines by source file; where a part of a statement has changed, all its lines.

    Raises subprocess.CalledProcessError.
    """
    command = [
        "git",
        "diff",
        "-U0",
        "--find-renames",
        "--no-color",
        "--relative",
        "--dst-prefix=b/",
        commit,
        "--",
        *SOURCES,
    ]
    found: dict[str, set[int]] = {}
    path = ""
    for line in subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout.splitlines():
        if line.startswith("+++ "):
            path = line.removeprefix("+++ b/")
        elif (hunk := re.match(r"@@ \S+ \+(\d+)(?:,(\d+))? @@", line)) and _is_mutated(path):
            first, count = int(hunk[1]), int(hunk[2] or 1)
            found.setdefault(path, set()).update(range(first, first + count))
    return {path: whole for path, lines in found.items() if (whole := _statements(root / path, lines))}


def _is_mutated(path: str) -> bool:
    return path.endswith(".py") and not path.startswith("yodel/hadoop_pb/")


def _statements(path: Path, lines: Set[int]) -> set[int]:
    """Return the lines of statements of functions that begin, continue or end in these; of a compound one its head."""
    whole: set[int] = set()
    tree = ast.parse(path.read_text())
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    for node in (inner for function in functions for inner in ast.walk(function)):
        if isinstance(node, ast.stmt) and not _is_docstring(node):
            body = getattr(node, "body", None)
            last = body[0].lineno - 1 if body else node.end_lineno or node.lineno
            span = range(node.lineno, max(last, node.lineno) + 1)
            whole.update(span if not lines.isdisjoint(span) else ())
    return whole


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def nearest_tests(root: Path, paths: Collection[str]) -> list[str]:
    """Test files; see the module.  Those that are named after a changed module come first."""
    files = [path for folder in (*SOURCES, "tests") for path in sorted((root / folder).rglob("*.py"))]
    modules = {_module(path.relative_to(root)): path for path in files}
    importers: dict[str, set[str]] = {}
    for name, path in modules.items():
        for imported in _imported(path) & modules.keys():
            importers.setdefault(imported, set()).add(name)
    found: set[str] = set()
    for path in paths:
        level, seen = {_module(Path(path))}, set[str]()
        while level and not (tests := {str(modules[name].relative_to(root)) for name in level if _is_test(name)}):
            seen |= level
            level = {importer for name in level for importer in importers.get(name, ())} - seen
        found |= tests if level else set()
    names = {f"test_{Path(path).name}" for path in paths}
    return sorted(found, key=lambda test: (Path(test).name not in names, test))


def _module(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def _is_test(module: str) -> bool:
    return module.startswith(tuple(folder.replace("/", ".") + "." for folder in FOLDERS)) and ".test_" in module


def _imported(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def main(root: Path, commit: str) -> int:
    """Exit status: 0 when mutants could be tried, 1 when tests were left out of it because they fail without any.

    Some survivors are no faults, so that they are for a reader.
    """
    started_s = time.monotonic()
    try:
        changed = changed_lines(root, commit)
    except subprocess.CalledProcessError as error:
        print(error.stderr, end="", file=sys.stderr)
        return 2
    drawn = drawn_files(changed)
    lines = {path: changed[path] for path in sorted(drawn)}
    tests = nearest_tests(root, drawn)
    count = sum(map(len, lines.values()))
    print(f"since {commit}: {count} lines of {len(lines)} files, by {len(tests)} test files", flush=True)
    status = _tried(root, lines, tests, started_s) if tests else 0
    if left_out := changed.keys() - drawn:
        count = sum(len(changed[path]) for path in left_out)
        print(f"left out, drawn by seed {SEED}: {count} lines of {len(left_out)} other files")
    print(f"{time.monotonic() - started_s:.0f} s")
    return status


def _tried(root: Path, lines: Mapping[str, Set[int]], tests: Sequence[str], started_s: float) -> int:
    with copies(root, 1) as (copy,):
        prepare(copy, lines, tests)
        log, time_s = copy / "tool.log", TIME_S - (time.monotonic() - started_s)
        tool = [sys.executable, "-P", copy / "tests" / "mutants" / "tool.py", str(SEED), str(time_s - RESERVE_S)]
        try:
            status = run(tool, copy, log, sources=copy / "mutants", timeout_s=time_s)
        except subprocess.TimeoutExpired:
            status = 2
        if status:
            print(log.read_text(errors="replace")[-3000:], f"error: status {status} of the tool", file=sys.stderr)
            return 2
        found = json.loads((copy / "found.json").read_text())
        failing = found["failing"]
        fail_anyway = bool(failing) and _fail(copy, failing)
    report(found["verdicts"])
    print(f"{found['tests']} tests, in {found['measured_s']:.0f} s without any mutant")
    why = "fail without any mutant" if fail_anyway else "fail where mutants are beside the code, and not without them"
    for names, words in ((failing, why), (found["late"], "were not begun in time")):
        if names:
            print(f"{len(names)} tests or files {words}; they were not used:", *names, sep="\n  ")
    return 1 if fail_anyway else 0


def _fail(copy: Path, tests: Sequence[str]) -> bool:
    """Return whether the tests fail with the code as it is: some read it, and find mutants in it."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    try:
        return run(command, copy, copy / "pytest.log", sources=copy, timeout_s=RESERVE_S) != 0
    except subprocess.TimeoutExpired:
        return True


def report(verdicts: Sequence[tuple[str, int, str, str]]) -> None:
    """Prints survivors, lines that no test reaches, and a table of all by file."""
    by_file: dict[str, Counter[str]] = {}
    not_reached: dict[str, set[int]] = {}
    for path, line, verdict, change in verdicts:
        by_file.setdefault(path, Counter())[verdict] += 1
        if verdict == "survived":
            print(f"\n{path}:{line}: survived\n{change}")
        elif verdict == "not reached":
            not_reached.setdefault(path, set()).add(line)
    for path, lines in not_reached.items():
        print(f"\n{path}: not reached: lines {', '.join(map(str, sorted(lines)))}")
    print("\n" + " ".join(f"{word:>11}" for word in WORDS))
    for path, counts in (*by_file.items(), (f"{len(verdicts)} mutants", sum(by_file.values(), Counter[str]()))):
        print(*(f"{counts[word]:>11}" for word in WORDS), "", path)


def prepare(copy: Path, lines: Mapping[str, Set[int]], tests: Sequence[str]) -> None:
    copied = sorted({path.name for path in copy.iterdir()} - {*SOURCES, ".venv", "mutants"})
    given = {"sources": list(SOURCES), "mutated": list(lines), "copied": copied, "tests": list(tests)}
    with (copy / "pyproject.toml").open("a") as out:
        out.write(CONFIGURATION.format(**{name: json.dumps(value) for name, value in given.items()}))
    (copy / "lines.json").write_text(json.dumps({path: sorted(chosen) for path, chosen in lines.items()}))
    (copy / "mutants").mkdir(exist_ok=True)
    (copy / "mutants" / ".venv").symlink_to((copy / ".venv").resolve())


def drawn_files(lines: Mapping[str, Set[int]]) -> set[str]:
    """Return the files whose mutants are made: all, or what LINES_MAX allows."""
    paths, count = sorted(lines), 0
    random.Random(SEED).shuffle(paths)
    drawn: set[str] = set()
    for path in paths:
        if not drawn or count + len(lines[path]) <= LINES_MAX:
            drawn.add(path)
            count += len(lines[path])
    return drawn
