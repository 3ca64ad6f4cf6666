"""Strangers' patterns: matched as Java would, and given up when they are made to take for ever."""

from __future__ import annotations

import time

import pytest

from nm_plugin.host import name_patterns
from nm_plugin.host.name_patterns import PatternTooHard, matching
from yodel.errors import InvalidValue

NAMES = ("classes/A", "lib/b.jar", "META-INF/M", "xlib/c", "\u00e9\ud800")
EXPONENTIAL = [
    f"{start}{inner}{end}"
    for start in ("", "^", ".*?", "(?=a)", "(?i)")
    for inner in ("(a|aa)+", "(a|a)*", "(?:a|aa|aaa)*", "(a{1,9}){1,99}", "(?:a+){2,99}")
    for end in ("[bc]", r"\d$")
]
"""Fifty, each of which takes longer than anybody waits with the name that they are matched with."""


def test_whole_names_are_matched() -> None:
    assert matching("(?:classes/|lib/).*", NAMES) == {"classes/A", "lib/b.jar"}  # MapReduce's, of nearly every job


def test_a_part_is_searched_for() -> None:
    assert matching("/c$|META", NAMES, searches=True) == {"META-INF/M", "xlib/c"}


def test_what_is_no_pattern_is_named_with_its_place() -> None:
    with pytest.raises(InvalidValue, match=r"resource pattern.*Unclosed group near index 1"):
        matching("(", NAMES)


def test_pattern_is_javas() -> None:
    assert matching(r"\p{Lower}++/[\p{Alpha}&&[^b]]\z", NAMES) == {"classes/A", "xlib/c"}


@pytest.mark.parametrize("searches", [False, True])
@pytest.mark.parametrize("pattern", EXPONENTIAL)
def test_exponential_pattern_is_given_up(pattern: str, searches: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(name_patterns, "TIMEOUT_S", 0.02)
    start_s = time.process_time()
    with pytest.raises(PatternTooHard, match="takes too long"):
        matching(pattern, ["a" * 200 + "!"], searches=searches)
    assert time.process_time() - start_s < 0.3


def test_all_names_have_one_time_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(name_patterns, "TIMEOUT_S", 0.05)
    start_s = time.process_time()
    with pytest.raises(PatternTooHard):
        matching("(a|aa)+[bc]", ["a" * 12 + "!"] * 100_000)
    assert time.process_time() - start_s < 0.3


def test_no_time_left_is_not_taken_for_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(name_patterns, "TIMEOUT_S", -1.0)
    with pytest.raises(PatternTooHard):
        matching("a", ["a"])
