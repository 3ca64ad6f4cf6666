"""Patterns of Java's, compared with what Java 17 itself answered: recorded once, each file names its origin."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

from yodel.domain.java_patterns import LENGTH_MAX, NODES_MAX, PatternRefused, compiled, to_regex

REFUSED = "!"


def recorded(name: str) -> Any:
    return json.loads((Path(__file__).parent / f"{name}.json").read_text(encoding="ascii"))


def answer(pattern: str, texts: list[str]) -> str:
    """Answer as the recording does, but for the words of a refusal."""
    try:
        found = compiled(pattern)
    except PatternRefused:
        return REFUSED
    return "".join("m" if found.fullmatch(text) else "f" if found.search(text) else "-" for text in texts)


def of_properties() -> tuple[dict[str, str], list[str]]:
    """Answer as the other recording does: a letter for each code point."""
    java = recorded("recorded_properties")
    numbers = range(len(java["code_points"]))
    letters = {
        pattern: REFUSED if bits[0] == REFUSED else "".join("-m"[int(bits, 16) >> number & 1] for number in numbers)
        for pattern, bits in java["properties"].items()
    }
    return letters, [chr(int(code_point, 16)) for code_point in java["code_points"]]


def test_answers_are_javas_or_listed_as_refused() -> None:
    matches = recorded("recorded_matches")
    differ = {}
    for java, texts in ((matches["patterns"], matches["texts"]), of_properties()):
        for pattern, expected in java.items():
            found = answer(pattern, texts)
            if found != (REFUSED if expected[:1] == REFUSED else expected):
                differ[pattern] = found
    assert differ == {pattern: REFUSED for patterns in recorded("refused").values() for pattern in patterns}


def test_patterns_of_public_configurations_are_as_in_java() -> None:
    java = recorded("recorded_configurations")
    assert {pattern: answer(pattern, java["texts"]) for pattern in java["patterns"]} == java["patterns"]


@pytest.mark.parametrize(
    ("pattern", "name", "is_found"),
    [
        (r"std\p{Lower}+", "stdout", True),
        (r"std\p{Lower}+", "STDOUT", False),
        (r"(?i)\QA.log\E\z", "my-a.LOG", True),
        (r"[\w&&[^\d]]{3}+", "ab1", False),
        (r"(?<day>\d)-\k<day>", "log-7-7", True),
        (r"\p{IsHan}{2}", "\u65e5\u5fd7.log", True),
        (r"log$", "a.log\n", True),
        (r"log\z", "a.log\n", False),
        (r"(?m)^log$", "a\nlog\r\nb", True),
        (r"a\h+b", "a\u3000\tb", True),
        (r"\bb", "a\u0301b", False),
        (r"(?<!\.gz)$", "a.gz", False),
    ],
)
def test_log_patterns(pattern: str, name: str, is_found: bool) -> None:
    assert (compiled(pattern).search(name) is not None) is is_found


@pytest.mark.parametrize(
    ("pattern", "reason", "index"),
    [
        ("a(b", "Unclosed group", 3),
        ("ab)", "Unmatched closing", 2),
        ("*.log", r"Dangling meta character '\*'", 0),
        ("a[b", "Unclosed character class", 3),
        ("[b-a]", "Illegal character range", 1),
        (r"\Q(\E\q", "Illegal/unsupported escape sequence", 5),
        (r"ab\p{Foo}", r"Unknown .* property name {Foo}", 2),
        ("(?<n>a)(?<n>b)", "Named capturing group <n> is already defined", 7),
        ("a{3,1}", "Illegal repetition range", 1),
        (r"\Qab\E(?x)c", "flag that is not translated", 6),
        ("a{0,9999999999}", "Illegal repetition range", 1),
        ("x(?:a{60}){100}", f"more than {NODES_MAX}", 1),
        (r"x(?:\b){250}", f"more than {NODES_MAX}", 1),
        ("(?:" * 10 + "a" + ")+" * 10, f"more than {NODES_MAX}", 0),
        ("(?<=a+)b", "an obvious maximum length", 5),
        ("(?<=(?:a+)b)c", "an obvious maximum length", 8),
        ("(?<=a{1,2000})b", "an obvious maximum length", 5),
        ("(?<=(?:ab|c){1,2})d", "an obvious maximum length", 12),
        (r"(a)+\1", "a reference that is not", 4),
        (r"(?=(a))\1", "a reference that is not", 7),
        (r"(a)(?<=\1)", "a reference that is not", 7),
        ("[a&&[b]c]", "&& before both", 7),
        ("a" * (LENGTH_MAX + 1), "more than", LENGTH_MAX),
        ("(" * 60 + ")" * 60, "more than 50 groups", 50),
        ("[" * 60 + "a" + "]" * 60, "more than 50 classes", 51),
    ],
)
def test_refusal_says_why_and_where(pattern: str, reason: str, index: int) -> None:
    with pytest.raises(PatternRefused, match=f"{reason}.* near index {index}") as raised:
        to_regex(pattern)
    assert raised.value.index == index


PIECES = (
    *("a", "b", ".", "^", "$", r"\b", r"\w", r"\Z", r"\p{L}", r"\Qa.", r"\E", r"\1", "[^a&&b-c]", "[a", "]", "&&", "-"),
    *("(", "(?:", "(?<=", "(?!", "(?>", "(?i)", ")", "|", "*", "+", "?", "++", "*?", "{2}", "{1,900}", "{40,}"),
)


@given(st.lists(st.sampled_from(PIECES), max_size=400).map("".join))
@example("(" * 45 + "a" + ")*?" * 45)
@example("[" * 45 + "a" + "]" * 45)
@example("(?:" * 8 + "a" + ")+" * 8)
@example("(?:a{2,3}){2,3}" * 60)
@example(r"\b" * 240)
def test_the_package_compiles_what_is_not_refused(pattern: str) -> None:
    try:
        written = to_regex(pattern)
    except PatternRefused:
        return
    regex.compile(written, regex.VERSION1)
