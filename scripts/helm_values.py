"""Writes docs/helm-values.md from the comments and defaults in the chart's values.yaml.

    .venv/bin/python scripts/helm_values.py

A test fails when the page is older than the chart.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VALUES = ROOT / "deploy" / "helm" / "yodel" / "values.yaml"
PAGE = ROOT / "docs" / "helm-values.md"
INTRODUCTION = """# Values of the Helm chart
Made by `scripts/helm_values.py` from `deploy/helm/yodel/values.yaml`; not edited by hand. How to use them:
[kubernetes.md](kubernetes.md).

| Value | Default | Meaning |
|---|---|---|"""
ENTRY = re.compile(r"^(?P<indent> *)(?P<name>\w+):(?: (?P<value>.*))?$")
COMMENT = re.compile(r"^ *# ?(?P<text>.*)$")
# A commented-out example, or the heading of a part.
NO_MEANING = re.compile(r"^( +[-\w]|---)")


@dataclass(slots=True)
class Row:
    """One value; ``values`` are the lines below it when it is a list or table written in several lines."""

    path: tuple[str, ...]
    value: str
    meaning: str
    children: int = 0
    remarks: list[str] = field(default_factory=list)


def render() -> str:
    """The page."""
    rows = [_row(row) for row in _rows(VALUES.read_text().splitlines()) if not row.children]
    return "\n".join((INTRODUCTION, *rows)) + "\n"


def _rows(lines: list[str]) -> list[Row]:
    rows: list[Row] = []
    open_rows: list[tuple[int, Row]] = []
    remarks: list[str] = []
    for line in lines:
        if comment := COMMENT.match(line):
            if not NO_MEANING.match(comment["text"]):
                remarks.append(comment["text"])
        elif entry := ENTRY.match(line):
            indent = len(entry["indent"])
            while open_rows and open_rows[-1][0] >= indent:
                open_rows.pop()
            inherited: list[str] = []
            if open_rows:
                parent = open_rows[-1][1]
                inherited = parent.remarks if not parent.children else []
                parent.children += 1
            path = (*(open_rows[-1][1].path if open_rows else ()), entry["name"])
            row = Row(path, entry["value"] or "", " ".join([*inherited, *remarks]), remarks=[*inherited, *remarks])
            rows.append(row)
            open_rows.append((indent, row))
            remarks = []
        else:
            remarks = []
    return rows


def _row(row: Row) -> str:
    default = "empty" if row.value in ('""', "[]", "{}") else f"`{row.value}`"
    return f"| `{'.'.join(row.path)}` | {default} | {row.meaning.replace('|', chr(92) + '|')} |"


if __name__ == "__main__":
    PAGE.write_text(render())
