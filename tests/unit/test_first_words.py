"""Docstrings begin with a verb, or a subject and a verb: no fragment such as "Of all that came" or "Whether it is"."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
FRAGMENTS = {
    *[
        "What",
        "Who",
        "Whose",
        "Of",
        "Which",
        "Where",
        "Whether",
        "How",
        "Those",
        "As",
        "In",
        "When",
        "For",
        "From",
        "To",
        "That",
    ]
}
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def fragments(text: str) -> list[str]:
    """Return the first line of each docstring that begins with one of FRAGMENTS."""
    documented = (node for node in ast.walk(ast.parse(text)) if isinstance(node, DOCUMENTED))
    docstrings = filter(None, map(ast.get_docstring, documented))
    return [each.splitlines()[0] for each in docstrings if each.split(maxsplit=1)[0] in FRAGMENTS]


def in_sources() -> dict[str, list[str]]:
    """Return the fragments of every source file that has some, by its path."""
    sources = (path for package in ("yodel", "nm_plugin") for path in (ROOT / package).rglob("*.py"))
    found = {path.relative_to(ROOT).as_posix(): fragments(path.read_text()) for path in sources}
    return {name: lines for name, lines in found.items() if lines}


def test_docstrings_begin_with_a_verb() -> None:
    assert in_sources() == {}


def test_a_fragment_is_found_in_modules_classes_and_functions() -> None:
    text = '"{0}"\nclass A:\n    "{0}"\n    async def b(self):\n        "{0}"\ndef c():\n    "{0}"\n'
    assert fragments(text.format("What it is.")) == ["What it is."] * 4
    assert fragments(text.format("Return what it is.")) == fragments(text.format("Whatever comes, wait.")) == []
