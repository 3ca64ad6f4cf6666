"""Node-label expressions: what they admit, and what is none."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yodel.domain.node_labels import ALTERNATIVES_MAX, expression_of, problem_of

LABELS = ("", "gpu", "fast", "slow")


@pytest.mark.parametrize(
    ("text", "admitted"),
    [
        ("", {""}),
        ("gpu", {"gpu"}),
        (" gpu ", {"gpu"}),
        ("gpu || fast", {"gpu", "fast"}),
        ("gpu||fast||gpu", {"gpu", "fast"}),
        ("!gpu", {"", "fast", "slow"}),
        ("! gpu", {"", "fast", "slow"}),
        ("fast || !gpu", {"", "fast", "slow"}),
        ("gpu || !gpu", set(LABELS)),
        ("!gpu || !fast", set(LABELS)),
    ],
)
def test_admits(text: str, admitted: set[str]) -> None:
    assert {label for label in LABELS if expression_of(text).admits(label)} == admitted


alternatives = st.tuples(st.booleans(), st.sampled_from(LABELS[1:]))


@given(st.lists(alternatives, min_size=1, max_size=ALTERNATIVES_MAX))
def test_a_node_is_admitted_by_any_alternative(parts: list[tuple[bool, str]]) -> None:
    text = " || ".join(f"!{label}" if is_not else label for is_not, label in parts)
    assert problem_of(text) == ""
    for label in LABELS:
        admits = any((label != named) if is_not else (label == named) for is_not, named in parts)
        assert expression_of(text).admits(label) is admits
    assert expression_of(text).named == tuple(dict.fromkeys(named for _, named in parts))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("gpu && fast", "more than one node label in a node label expression"),
        ("gpu ||", "'' where a node label expression has a label or !label"),
        ("||", "'' where"),
        ("!", "'!' where"),
        ("!!gpu", "'!!gpu' where"),
        ("gpu | fast", r"'gpu \| fast' where"),
        ("gpu ||| fast", r"'\| fast' where"),
        (" || ".join("abcdefghijklmnopq"), f"more than {ALTERNATIVES_MAX} node labels"),
    ],
)
def test_what_is_none_is_said_and_admits_no_node(text: str, problem: str) -> None:
    assert re.match(problem, problem_of(text))
    assert not any(expression_of(text).admits(label) for label in LABELS)


@given(st.text(max_size=40))
def test_any_text_is_read(text: str) -> None:
    """A submission's own expression is used as it is: the scheduler must get through with whatever it says."""
    expression = expression_of(text)
    assert isinstance(expression.admits("gpu"), bool)


def test_one_label_is_told_from_an_expression() -> None:
    said = {text: expression_of(text).is_one_label for text in ("gpu", "gpu || gpu", "gpu || fast", "!gpu")}
    assert list(itertools.compress(said, said.values())) == ["gpu", "gpu || gpu"]
