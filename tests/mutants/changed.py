"""``make mutants SINCE=commit``: mutmut on the lines that have changed since a commit, within a time.

The tests of a changed module are the files of unit, playbook and property tests that are nearest to it along imports:
those that import it; where none does, those that import what imports it, and so on.  mutmut runs them once, notes which
functions each test reaches, and tries a mutant by the tests that reach its function.  Where there are more mutants than
the time allows, a sample with a fixed seed is tried and the rest is counted.
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
from collections.abc import Iterable, Mapping, Sequence, Set
from pathlib import Path

from tests.mutants.checkout import SOURCES, copies, run

SEED = 20
WORKERS = 2
TIME_S = 1200
LINES_MAX = 3000
"""Of which mutants are made: two or three a line."""
EACH_S = 0.5
"""What a mutant takes beside its tests."""
FOLDERS = ("tests/unit", "tests/playbook", "tests/property")
ESTIMATE = re.compile(r"^(?:(\d+)ms|<no tests>) (\S+)$", re.MULTILINE)
NOBODY_REACHES = "could not find any test case for any mutant"
CONFIGURATION = """
[tool.mutmut]
source_paths = {sources}
only_mutate = {mutated}
also_copy = {copied}
pytest_add_cli_args = ["-p", "no:cacheprovider"]
pytest_add_cli_args_test_selection = {tests}
timeout_multiplier = 2.0
timeout_constant = 5.0
"""


def changed_lines(root: Path, commit: str) -> dict[str, set[int]]:
    """By source file; of a statement that has changed in part all its lines.  Raises subprocess.CalledProcessError."""
    command = [
        "git",
        "diff",
        "-U0",
        "--no-renames",
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
    """The lines of those statements that begin, continue or end in these; of a compound one its head."""
    whole: set[int] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            last = body[0].lineno - 1 if body else node.end_lineno or node.lineno
            span = range(node.lineno, max(last, node.lineno) + 1)
            whole.update(span if not lines.isdisjoint(span) else ())
    return whole


def nearest_tests(root: Path, paths: Iterable[str]) -> list[str]:
    """Test files; see the module."""
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
    return sorted(found)


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
    """Exit status: 0 when mutants could be tried.  Some survivors are no faults, so that they are for a reader."""
    try:
        lines = changed_lines(root, commit)
    except subprocess.CalledProcessError as error:
        print(error.stderr, end="", file=sys.stderr)
        return 2
    drawn = drawn_files(lines)
    left_out = sum(len(lines[path]) for path in lines.keys() - drawn)
    print(f"since {commit}: {len(lines)} files of {' and '.join(SOURCES)} have changed", flush=True)
    if left_out:
        print(f"{left_out} lines of {len(lines) - len(drawn)} of them are left out, drawn by seed {SEED}")
    return tried(root, {path: lines[path] for path in sorted(drawn)}) if drawn else 0


def tried(root: Path, lines: Mapping[str, Set[int]], tests: Sequence[str] = ()) -> int:
    """Exit status, of mutants on these lines of files; by the nearest tests where none are given."""
    started_s = time.monotonic()
    tests = tests or nearest_tests(root, lines)
    print(f"{sum(map(len, lines.values()))} lines of {len(lines)} files, by {len(tests)} test files", flush=True)
    with copies(root, 1) as (copy,):
        prepare(copy, lines, tests)
        status, said = _tool(copy, ["estimates"], TIME_S)
        are_reached = NOBODY_REACHES not in said
        if status and are_reached:
            print(said[-3000:], f"error: status {status} of the tests without any mutant", sep="\n", file=sys.stderr)
            return 2
        spent_s = time.monotonic() - started_s  # the tests of the mutants that are tried are run once more
        estimates_s = {name: int(ms or 0) / 1000 for ms, name in ESTIMATE.findall(said)}
        if chosen := sample(estimates_s, (TIME_S - 2 * spent_s) * WORKERS):
            _tool(copy, ["run", "--max-children", str(WORKERS), *chosen], TIME_S - spent_s)
        status, said = _tool(copy, ["verdicts"], TIME_S)
        verdicts = json.loads(said.splitlines()[-1])
        report(verdicts if are_reached else [(path, line, "not reached", change) for path, line, _, change in verdicts])
    print(f"{time.monotonic() - started_s:.0f} s")
    return status


def report(verdicts: Sequence[tuple[str, int, str, str]]) -> None:
    counts = Counter(verdict for _, _, verdict, _ in verdicts)
    for path, line, verdict, change in verdicts:
        if verdict in ("survived", "not reached"):
            print(f"\n{path}:{line}: {verdict}\n{change}")
    words = ", ".join(f"{counts[word]} {word}" for word in ("killed", "survived", "not reached", "left out"))
    print(f"\n{len(verdicts)} mutants: {words}")


def prepare(copy: Path, lines: Mapping[str, Set[int]], tests: Sequence[str]) -> None:
    copied = sorted({path.name for path in copy.iterdir()} - {*SOURCES, ".venv", "mutants"})
    given = {"sources": list(SOURCES), "mutated": list(lines), "copied": copied, "tests": list(tests)}
    with (copy / "pyproject.toml").open("a") as out:
        out.write(CONFIGURATION.format(**{name: json.dumps(value) for name, value in given.items()}))
    (copy / "lines.json").write_text(json.dumps({path: sorted(chosen) for path, chosen in lines.items()}))
    (copy / "mutants").mkdir(exist_ok=True)
    (copy / "mutants" / ".venv").symlink_to((copy / ".venv").resolve())


def drawn_files(lines: Mapping[str, Set[int]]) -> set[str]:
    """Those whose mutants are made: all, or what LINES_MAX allows."""
    paths, count = sorted(lines), 0
    random.Random(SEED).shuffle(paths)
    drawn: set[str] = set()
    for path in paths:
        if not drawn or count + len(lines[path]) <= LINES_MAX:
            drawn.add(path)
            count += len(lines[path])
    return drawn


def sample(estimates_s: Mapping[str, float], time_s: float) -> list[str]:
    """The mutants that are tried: as many as would be in time if all survived."""
    names, chosen = sorted(estimates_s), list[str]()
    random.Random(SEED).shuffle(names)
    for name in names:
        time_s -= estimates_s[name] + EACH_S
        if time_s < 0:
            break
        chosen.append(name)
    return chosen


def _tool(copy: Path, command: Sequence[str], timeout_s: float) -> tuple[int, str]:
    log = copy / "tool.log"
    tool = [sys.executable, "-P", copy / "tests" / "mutants" / "tool.py"]
    try:
        status = run([*tool, *command], copy, log, sources=copy / "mutants", timeout_s=timeout_s)
    except subprocess.TimeoutExpired:
        status = 2
    return status, log.read_text(errors="replace")
