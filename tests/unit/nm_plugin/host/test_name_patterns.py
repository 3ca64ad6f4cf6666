"""Strangers' patterns: matched as Java would, and given up when they are made to take for ever."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

import pytest

from nm_plugin.host import name_patterns
from nm_plugin.host.name_patterns import HARMLESS, Matcher, PatternTooHard
from yodel.errors import InvalidValue


def matching(pattern: str, names: Sequence[str]) -> frozenset[str]:
    with closing(Matcher(pattern)) as matcher:
        return matcher.matching(names)


NAMES = ("classes/A", "lib/b.jar", "META-INF/M", "xlib/c", "\u00e9\ud800")


@pytest.mark.parametrize("pattern", [HARMLESS, "(?:classes/|lib/).+"])
def test_whole_names_are_matched_here_and_elsewhere(pattern: str) -> None:
    assert matching(pattern, NAMES) == {"classes/A", "lib/b.jar"}


def test_what_is_no_pattern_is_named() -> None:
    with pytest.raises(InvalidValue, match="resource pattern"):
        matching("(", NAMES)


def test_pattern_is_javas() -> None:
    assert matching(r"\p{Lower}++/[\p{Alpha}&&[^b]]\z", NAMES) == {"classes/A", "xlib/c"}


def test_what_cannot_be_translated_unpacks_all_and_says_so() -> None:
    with closing(Matcher(r"\X")) as matcher:
        assert matcher.matching(NAMES) == frozenset(NAMES)
        assert "grapheme" in matcher.warning


def test_pattern_that_takes_long_to_compile_costs_only_the_child(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(name_patterns, "TIMEOUT_S", 0.2)
    with pytest.raises(PatternTooHard, match="takes too long"):
        matching(r"\b" * 500, NAMES)


def test_pattern_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(name_patterns, "TIMEOUT_S", 0.5)
    with pytest.raises(PatternTooHard, match="takes too long"):
        matching("(a+)+b", ["a" * 64])
