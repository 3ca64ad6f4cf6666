"""What people read is written in the field's words (docs/decisions/0098).

Of pages, code, links and quoted output are left out, and so are rows that scripts make of the code: their words are
the code's.  Of the code, each string with a space in it is looked at, and the docstrings that are shown: of commands,
of the calls of ``/api/v1`` and of its shapes.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "bench" / "README.md", *(ROOT / "docs").glob("*.md")]
)
WITH_ROWS_OF_THE_CODE = {
    "coming-from-yarn.md",
    "compatibility.md",
    "configuration.md",
    "helm-values.md",
    "pod-to-container.md",
}
"""Pages whose tables come from the code."""
WORDS = (
    *(
        "told",
        "tells?",
        "said",
        "heard",
        "hears?",
        "whom",
        "his",
        "anew",
        "mend(?:s|ed|ing)?",
        "obey(?:s|ed|ing)?",
        "loans?",
    ),
    *("lent anew", "held to", "be had", "on notice", "taken back", "put back", "gives? back", "giving back"),
    *("under way", "in one piece", "be it", "makes? room", "is to go", "are to go", "beside"),
)
CODE = sorted(
    path
    for folder in ("yodel", "nm_plugin", "scripts")
    for path in (ROOT / folder).rglob("*.py")
    if path.name not in ("unicode_blocks.py", "unicode_scripts.py") and "hadoop_pb" not in path.parts
)
"""Whose texts are in the field's words: all but generated code, and names of Unicode's that are cut short."""
CHART = ROOT / "deploy" / "helm" / "yodel"
SHOWN_BY = {"command", "get", "post", "put", "patch", "delete"}
"""Decorators of commands and of calls, whose docstrings are help and descriptions."""
FORBIDDEN = re.compile(rf"\b(?:{'|'.join(WORDS)})\b", re.IGNORECASE)
QUOTED = re.compile(r"`[^`\n]*`|\]\([^)]*\)|<!--.*?-->", re.DOTALL)
FENCE = re.compile(r"^ *```.*?^ *```$|^ {4}[^\n]*$", re.MULTILINE | re.DOTALL)
ROW = re.compile(r"^\|.*$", re.MULTILINE)


def words_of(page: Path) -> str:
    text = QUOTED.sub("", FENCE.sub("", page.read_text()))
    return ROW.sub("", text) if page.name in WITH_ROWS_OF_THE_CODE else text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_are_in_the_fields_words(page: Path) -> None:
    assert [match.group() for match in FORBIDDEN.finditer(words_of(page))] == []


Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def is_shown(path: Path, node: Definition) -> bool:
    """Whether people read the docstring of a definition."""
    if isinstance(node, ast.ClassDef):
        return "v1" in path.parts
    called = (one.func for one in node.decorator_list if isinstance(one, ast.Call))
    return any(isinstance(one, ast.Attribute) and one.attr in SHOWN_BY for one in called)


def texts_of(path: Path) -> Iterator[tuple[int, str]]:
    """Each text that may be shown, with its line; strings that are comments are left out."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    comments = {node.value for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, Definition) and is_shown(path, node) and isinstance(node.body[0], ast.Expr):
            comments.discard(node.body[0].value)
    for node in nodes:
        if not isinstance(node, ast.Constant) or node in comments:
            continue
        if isinstance(node.value, str) and " " in node.value:
            yield node.lineno, node.value


@pytest.mark.parametrize("path", CODE, ids=lambda path: str(path.relative_to(ROOT)))
def test_texts_of_the_code_are_in_the_fields_words(path: Path) -> None:
    found = [(line, match.group()) for line, text in texts_of(path) for match in FORBIDDEN.finditer(text)]
    assert found == []


def test_help_and_descriptions_are_looked_at() -> None:
    texts = [text for path in CODE for _, text in texts_of(path)]
    for shown in (
        "Kill applications.",
        "Kill an application.",
        "Default: $YODEL_SERVER",
        "A node agent and its machine.",
    ):
        assert any(shown in text for text in texts), shown
