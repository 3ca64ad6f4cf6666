"""Pages are written in the field's words (docs/decisions/0098).

Code, links and quoted output are left out, and so are rows that scripts make of the code: their words are the code's.
"""

from __future__ import annotations

import re
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
