"""One fault as data: the name of a thing in a module, a snippet in it, what replaces it, and who has to notice.

No paths into files and no line numbers: an entry outlives whatever moves code about, and one whose snippet is gone, or
is there twice, is an error and never passed over.
"""

from __future__ import annotations

import ast
import gc
import textwrap
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FIELDS = frozenset({"name", "attribute", "before", "after", "tests"})


class DoesNotApply(Exception):
    """An entry that says nothing about the code as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """``attribute`` is ``module:Class.method``, ``module:function`` or ``module:CONSTANT``; ``module:`` alone is all.

    ``tests`` are files or ``file::test``; one of them has to fail.
    """

    area: str
    name: str
    attribute: str
    before: str
    after: str
    tests: Sequence[str]

    def __str__(self) -> str:
        return f"{self.area}/{self.name}"

    def path(self, root: Path) -> Path:
        """Return the path of the mutant's module.  Raises DoesNotApply."""
        base = root.joinpath(*self.attribute.partition(":")[0].split("."))
        for path in (base.with_suffix(".py"), base / "__init__.py"):
            if path.is_file():
                return path
        raise DoesNotApply(f"{self}: there is no module {self.attribute.partition(':')[0]}")

    def applied(self, root: Path) -> str:
        """The module's text with the fault in it.  Raises DoesNotApply."""
        source = self.path(root).read_text()
        start, end = _span(source, self.attribute.partition(":")[2], self)
        part = source[start:end]
        if part.count(self.before) != 1:
            times = part.count(self.before)
            raise DoesNotApply(f"{self}: {self.before!r} is {times} times in {self.attribute}; expected once")
        changed = part.replace(self.before, self.after)
        if changed == part:
            raise DoesNotApply(f"{self}: it changes nothing")
        try:
            _parse(textwrap.dedent(" " * _column(source, start) + changed))
        except SyntaxError as error:
            raise DoesNotApply(f"{self}: it is no Python any more ({error.msg})") from error
        return source[:start] + changed + source[end:]

    def require_tests(self, root: Path) -> None:
        """Raises DoesNotApply: a test that is named is not there."""
        if not self.tests:
            raise DoesNotApply(f"{self}: it names no tests")
        for test in self.tests:
            path, _, name = test.partition("::")
            if not (root / path).exists():
                raise DoesNotApply(f"{self}: there is no {path}")
            if name and f"def {name.partition('[')[0]}(" not in (root / path).read_text():
                raise DoesNotApply(f"{self}: there is no {name} in {path}")


def load(folder: Path = HERE) -> list[Mutant]:
    """All entries, by area.  Raises DoesNotApply: an entry is malformed, or a name is there twice."""
    found = [mutant for path in sorted(folder.glob("*.toml")) for mutant in _of_file(path)]
    names = [str(mutant) for mutant in found]
    if twice := {name for name in names if names.count(name) > 1}:
        raise DoesNotApply(f"named twice: {', '.join(sorted(twice))}")
    return found


def _of_file(path: Path) -> Iterator[Mutant]:
    for entry in tomllib.loads(path.read_text())["mutant"]:
        if entry.keys() != FIELDS:
            raise DoesNotApply(
                f"{path.name}: {entry.get('name', entry)} has not the fields {', '.join(sorted(FIELDS))}"
            )
        yield Mutant(area=path.stem, **entry)


def _span(source: str, name: str, mutant: Mutant) -> tuple[int, int]:
    """Return where a thing begins and ends in a module's text, decorators included."""
    body: Sequence[ast.stmt] = _parsed(source).body
    found: ast.stmt | None = None
    for part in name.split(".") if name else ():
        found = next((statement for statement in body if _is_named(statement, part)), None)
        if found is None:
            raise DoesNotApply(f"{mutant}: there is no {mutant.attribute}")
        body = getattr(found, "body", ())
    if found is None:
        return 0, len(source)
    decorators = getattr(found, "decorator_list", [])
    first = min([found.lineno, *(decorator.lineno for decorator in decorators)])
    lines = source.splitlines(keepends=True)
    assert found.end_lineno is not None
    return sum(map(len, lines[: first - 1])), sum(map(len, lines[: found.end_lineno]))


@lru_cache(maxsize=256)
def _parsed(source: str) -> ast.Module:
    return _parse(source)


def _parse(source: str) -> ast.Module:
    """Parse without a collection meanwhile: CPython 3.11 takes a finalizer that parses too for a fault of its own."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return ast.parse(source)
    finally:
        if was_enabled:
            gc.enable()


def _is_named(statement: ast.stmt, name: str) -> bool:
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return statement.name == name
    targets: Sequence[ast.expr] = ()
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign):
        targets = (statement.target,)
    names = [n for target in targets for n in (target.elts if isinstance(target, ast.Tuple) else [target])]
    return any(isinstance(n, ast.Name) and n.id == name for n in names)


def _column(source: str, start: int) -> int:
    """Return the column of a place in its line: spans begin where lines begin."""
    return start - (source.rfind("\n", 0, start) + 1)
