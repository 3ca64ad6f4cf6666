"""Docstrings begin with a verb, or a subject and a verb: no fragment such as "Of all that came" or "Whether it is"."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("yodel", "nm_plugin", "tests", "bench", "scripts", "examples", "migrations")
FRAGMENTS = frozenset(
    {
        *("What", "Who", "Whose", "Of", "Which", "Where", "Whether", "How", "Those", "As", "In", "When", "For", "From"),
        *("To", "That", "Why", "While", "At", "On", "With", "Without", "By"),
    }
)
OF_ATTRIBUTES = frozenset({"Of", "What"})
"""The docstring below an attribute may be a noun phrase ("The names of its files."), and no fragment with these."""
MAY_HAVE_SOME = re.compile(rf"[\"']\s*(?:{'|'.join(sorted(FRAGMENTS))})\b")
"""A quick look that spares most files the parser: some string begins with a fragment."""
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def _attribute_docstrings(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        for before, statement in pairwise(getattr(node, "body", None) or ()) if isinstance(node, DOCUMENTED) else ():
            match before, statement:
                case ast.Assign() | ast.AnnAssign(), ast.Expr(value=ast.Constant(value=str(text))):
                    yield text


def fragments(text: str) -> list[str]:
    """Return the first line of each docstring that begins with one of FRAGMENTS, or of OF_ATTRIBUTES."""
    if not MAY_HAVE_SOME.search(text):
        return []
    tree = ast.parse(text)
    docstrings = filter(None, (ast.get_docstring(node) for node in ast.walk(tree) if isinstance(node, DOCUMENTED)))
    found = [(each, FRAGMENTS) for each in docstrings]
    found += [(each.strip(), OF_ATTRIBUTES) for each in _attribute_docstrings(tree)]
    return [each.splitlines()[0] for each, refused in found if each.split(maxsplit=1)[0] in refused]


def in_sources() -> dict[str, list[str]]:
    """Return the fragments of every source file that has some, by its path."""
    sources = (path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    found = {path.relative_to(ROOT).as_posix(): fragments(path.read_text()) for path in sources}
    return {name: lines for name, lines in found.items() if lines}


def test_docstrings_begin_with_a_verb() -> None:
    assert in_sources() == {}


def test_a_fragment_is_found_in_modules_classes_and_functions() -> None:
    text = '"{0}"\nclass A:\n    "{0}"\n    async def b(self):\n        "{0}"\ndef c():\n    "{0}"\n'
    assert fragments(text.format("What it is.")) == ["What it is."] * 4
    assert fragments(text.format("Without a name.")) == ["Without a name."] * 4
    assert fragments('"""\n    By name.\n"""\n') == ["By name."]
    assert fragments(text.format("Return what it is.")) == fragments(text.format("Whatever comes, wait.")) == []


def test_a_fragment_is_found_below_attributes() -> None:
    text = 'a = 1\n"{0}"\nclass A:\n    b: int = 1\n    "{0}"\n    def c(self):\n        self.d = 1\n        "{0}"\n'
    assert fragments(text.format("Of a file.")) == ["Of a file."] * 3
    assert fragments(text.format("The bytes of a file.")) == fragments(text.format("How many there are.")) == []
