"""Texts that people read are written in the field's words (docs/decisions/0098).

Pages are looked at without their code, links and quoted output. In the code, each string with a space in it is looked
at, and the docstrings that are shown: of commands, of settings, of the calls of ``/api/v1`` and of its shapes. The
chart, the Makefile and scripts of the shell are looked at as a whole.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
    + [ROOT / folder / "README.md" for folder in ("bench", "docker")]
)
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
CHART = [path for path in (ROOT / "deploy" / "helm" / "yodel").rglob("*") if path.is_file()]
TOOLS = [ROOT / "Makefile", *(path for path in (ROOT / "scripts").iterdir() if path.is_file() and path.suffix != ".py")]
SHOWN_BY = {"command", "get", "post", "put", "patch", "delete"}
"""Decorators of commands and of calls, whose docstrings are help and descriptions."""
FORBIDDEN = re.compile(rf"\b(?:{'|'.join(WORDS)})\b", re.IGNORECASE)
QUOTED = re.compile(r"`[^`\n]*`|\]\([^)]*\)|<!--.*?-->", re.DOTALL)
FENCE = re.compile(r"^ *```.*?^ *```$|^ {4}[^\n]*$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_are_in_the_fields_words(page: Path) -> None:
    text = QUOTED.sub("", FENCE.sub("", page.read_text()))
    assert [match.group() for match in FORBIDDEN.finditer(text)] == []


Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def is_shown(path: Path, node: Definition) -> bool:
    """Return whether people read the docstrings of a definition: of a class, those of its fields too."""
    if isinstance(node, ast.ClassDef):
        return "v1" in path.parts or "settings" in (path.parent.name, path.stem)
    called = (one.func for one in node.decorator_list if isinstance(one, ast.Call))
    return any(isinstance(one, ast.Attribute) and one.attr in SHOWN_BY for one in called)


def texts_of(path: Path) -> Iterator[tuple[int, str]]:
    """Each text that may be shown, with its line; strings that are comments are left out."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    comments = {node.value for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, Definition) and is_shown(path, node):
            shown = node.body if isinstance(node, ast.ClassDef) else node.body[:1]
            comments.difference_update(one.value for one in shown if isinstance(one, ast.Expr))
    for node in nodes:
        if not isinstance(node, ast.Constant) or node in comments:
            continue
        if isinstance(node.value, str) and " " in node.value:
            yield node.lineno, node.value


def test_texts_of_the_code_are_in_the_fields_words() -> None:
    suspects = [path for path in CODE if FORBIDDEN.search(path.read_text())]
    assert [
        f"{path.relative_to(ROOT)}:{line}: {match.group()}"
        for path in suspects
        for line, text in texts_of(path)
        for match in FORBIDDEN.finditer(text)
    ] == []


def test_the_chart_and_tools_are_in_the_fields_words() -> None:
    assert len(CHART) > 10
    found = [(path.name, match.group()) for path in CHART + TOOLS for match in FORBIDDEN.finditer(path.read_text())]
    assert found == []


def test_help_and_descriptions_are_looked_at() -> None:
    for name, shown in (
        ("client/commands.py", "Kill applications."),
        ("rm_api/v1/applications.py", "Kill an application."),
        ("client/invoking.py", "Default: $YODEL_SERVER"),
        ("rm_api/v1/models.py", "Describes a node agent or a NodeManager, and its machine."),
        ("settings/rm.py", "Least severe messages written to stderr."),
    ):
        assert any(shown in text for _, text in texts_of(ROOT / "yodel" / name)), shown
