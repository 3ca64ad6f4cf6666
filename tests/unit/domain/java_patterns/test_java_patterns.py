"""Patterns of Java's, held to what Java 17 itself answered: recorded once, each file names its origin."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from yodel.domain.java_patterns import NotTranslated, RefusedByJava, check, to_python
from yodel.domain.java_patterns.reader import LENGTH_MAX

NOT_TRANSLATED = {
    "(?c)a",
    "[a&&&&b]",
    "[a&&]",
    r"(?:\1b|(a))+",
    r"(?<=(a)b?)\1",
    "(?<=a*)b",
    "(?<=a{1,300})b",
    r"(a\1)",
    r"\1(a)",
    r"\N{BASIC LATIN 61}",
    r"\b{g}",
}


def recorded(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((Path(__file__).parent / f"recorded_{name}.json").read_text(encoding="ascii"))
    return content


def answer(pattern: str, texts: list[str]) -> str:
    """As the recording writes it."""
    try:
        check(pattern)
        compiled = re.compile(to_python(pattern))
    except RefusedByJava as error:
        return f"!{error.reason}"
    found = ((compiled.search(text), compiled.fullmatch(text)) for text in texts)
    return "".join("m" if whole else "f" if part else "-" for part, whole in found)


def test_patterns_find_and_match_what_java_finds_and_matches() -> None:
    java = recorded("matches")
    wrong, not_translated = {}, set()
    for pattern, expected in java["patterns"].items():
        try:
            found = answer(pattern, java["texts"])
        except NotTranslated:
            not_translated.add(pattern)
            continue
        if found != expected:
            wrong[pattern] = (expected, found)
    assert wrong == {}
    assert not_translated & NOT_TRANSLATED == NOT_TRANSLATED
    assert len(not_translated) < len(java["patterns"]) // 20


def test_properties_have_the_members_that_they_have_in_java() -> None:
    java = recorded("properties")
    texts = [chr(int(number, 16)) for number in java["code_points"]]
    wrong = {}
    for pattern, expected in java["properties"].items():
        found = answer(pattern, texts)
        if not found.startswith("!"):
            found = f"{sum(1 << index for index, letter in enumerate(found) if letter == 'm'):x}"
        if found != expected:
            wrong[pattern] = (expected, found)
    assert wrong == {}


@pytest.mark.parametrize(
    ("pattern", "name", "is_found"),
    [
        (r"std\p{Lower}+", "stdout", True),
        (r"std\p{Lower}+", "STDOUT", False),
        (r"(?i)\QA.log\E\z", "my-a.LOG", True),
        (r"[\w&&[^\d]]{3}+", "ab1", False),
        (r"(?<day>\d)-\k<day>", "log-7-7", True),
        (r"\p{IsHan}{2}", "\u65e5\u5fd7.log", True),
        (r"\p{block=CJK Unified Ideographs}", "\u65e5", True),
    ],
)
def test_log_patterns(pattern: str, name: str, is_found: bool) -> None:
    assert (re.search(to_python(pattern), name) is not None) is is_found


def test_refusal_says_what_java_says_and_where() -> None:
    with pytest.raises(
        RefusedByJava, match=r"Invalid regular expression: 'a\(b'.*Unclosed group near index 3"
    ) as raised:
        check("a(b")
    assert raised.value.index == 3


@pytest.mark.parametrize("pattern", ["a" * (LENGTH_MAX + 1), "(" * 60 + ")" * 60, "[" * 60 + "a" + "]" * 60])
def test_what_would_hold_up_others_is_not_read(pattern: str) -> None:
    with pytest.raises(NotTranslated, match="more than"):
        check(pattern)


@pytest.mark.parametrize(
    "pattern", ["(" * 45 + "a" + ")*?" * 45, "[" * 45 + "a" + "]" * 45, "(?<=a{3}|(?:b|cd)?)x" * 20]
)
def test_what_is_read_python_compiles(pattern: str) -> None:
    check(pattern)
    re.compile(to_python(pattern))
