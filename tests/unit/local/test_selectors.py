from __future__ import annotations

import pytest

from yodel.local.selectors import parse_selector
from yodel.local.statuses import ApiError

POD = {
    "metadata": {"name": "a", "namespace": "default", "labels": {"app": "x", "tier": "1", "empty": ""}},
    "spec": {"nodeName": "n1"},
    "status": {"phase": "Running"},
}


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        ("", True),
        ("app=x", True),
        ("app==x,tier=1", True),
        ("app!=x", False),
        ("other!=x", True),
        ("app in (x, y)", True),
        ("app notin (x,y),tier", False),
        ("other notin (x)", True),
        ("!other", True),
        ("! app", False),
        ("empty=", True),
        ("other=", False),
    ],
)
def test_label_selectors(selector: str, matches: bool) -> None:
    assert parse_selector("pods", selector, "").matches(POD) is matches


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        ("spec.nodeName=n1", True),
        ("status.phase!=Running", False),
        ("status.podIP=", True),
        ("metadata.name==b", False),
    ],
)
def test_field_selectors(selector: str, matches: bool) -> None:
    assert parse_selector("pods", "", selector).matches(POD) is matches


@pytest.mark.parametrize("selector", ["a in x", "=x", "a=b c", "a,,b", "a in ((x))"])
def test_broken_label_selectors_are_refused(selector: str) -> None:
    with pytest.raises(ApiError) as refusal:
        parse_selector("pods", selector, "")
    assert refusal.value.code == 400


@pytest.mark.parametrize("selector", ["spec.colour=red", "nonsense"])
def test_unknown_fields_are_refused(selector: str) -> None:
    with pytest.raises(ApiError):
        parse_selector("pods", "", selector)
