from __future__ import annotations

import pytest

from yodel.local.shapes import check_shape
from yodel.local.statuses import ApiError, Json


@pytest.mark.parametrize(
    ("resource", "body"),
    [
        ("pods", {"spec": {"containers": "x"}}),
        ("pods", {"spec": {"containers": [{"env": "x"}]}}),
        ("pods", {"spec": {"affinity": "x"}}),
        ("pods", {"spec": {"overhead": 1}}),
        ("pods", {"metadata": {"labels": {"a": 1}}}),
        ("pods", {"status": {"conditions": [{"type": "Ready"}]}}),
        ("nodes", {"spec": {"taints": [{"effect": "x"}]}}),
        ("nodes", {"status": {"allocatable": []}}),
        ("events", {"lastTimestamp": 5}),
    ],
)
def test_wrong_types_are_refused_at_the_door(resource: str, body: Json) -> None:
    with pytest.raises(ApiError) as refusal:
        check_shape(resource, body)
    assert refusal.value.code == 400


def test_unknown_fields_and_nulls_pass() -> None:
    check_shape("pods", {"spec": {"containers": None, "novelty": {"a": [1]}}, "extra": 1})
