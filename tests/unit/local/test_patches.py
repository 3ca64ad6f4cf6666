from __future__ import annotations

from typing import Any

import pytest

from yodel.local.patches import JSON_PATCH, MERGE, STRATEGIC, apply_patch
from yodel.local.statuses import ApiError


def test_merge_patch_removes_by_null_and_replaces_lists() -> None:
    before = {"a": {"x": 1, "y": 2}, "l": [1, 2]}
    assert apply_patch(before, MERGE, {"a": {"x": None}, "l": [3]}) == {"a": {"y": 2}, "l": [3]}
    assert before == {"a": {"x": 1, "y": 2}, "l": [1, 2]}


def test_strategic_merge_merges_lists_by_their_key() -> None:
    before = {"conditions": [{"type": "Ready", "status": "False"}, {"type": "Other", "status": "True"}], "taints": [1]}
    patch = {"conditions": [{"type": "Ready", "status": "True"}, {"type": "New", "status": "True"}], "taints": [2]}
    after = apply_patch(before, STRATEGIC, patch)
    assert [(c["type"], c["status"]) for c in after["conditions"]] == [
        ("Ready", "True"),
        ("Other", "True"),
        ("New", "True"),
    ]
    assert after["taints"] == [2]


def test_strategic_merge_follows_delete_directives() -> None:
    before = {"env": [{"name": "a"}, {"name": "b"}], "finalizers": ["x", "y"]}
    patch = {"env": [{"name": "a", "$patch": "delete"}], "$deleteFromPrimitiveList/finalizers": ["x"]}
    assert apply_patch(before, STRATEGIC, patch) == {"env": [{"name": "b"}], "finalizers": ["y"]}


def test_json_patch_knows_its_six_operations() -> None:
    steps = [
        {"op": "test", "path": "/a/b~1c", "value": 1},
        {"op": "add", "path": "/l/-", "value": 3},
        {"op": "add", "path": "/l/0", "value": 0},
        {"op": "replace", "path": "/a/b~1c", "value": 2},
        {"op": "copy", "from": "/a/b~1c", "path": "/copied"},
        {"op": "move", "from": "/gone", "path": "/moved"},
        {"op": "remove", "path": "/l/1"},
    ]
    after = apply_patch({"a": {"b/c": 1}, "l": [1, 2], "gone": 9}, JSON_PATCH, steps)
    assert after == {"a": {"b/c": 2}, "l": [0, 2, 3], "copied": 2, "moved": 9}


@pytest.mark.parametrize(
    ("media_type", "patch", "code"),
    [
        ("application/apply-patch+yaml", {}, 415),
        (MERGE, [], 400),
        (STRATEGIC, {"conditions": [{"status": "x"}]}, 400),
        (JSON_PATCH, {}, 400),
        (JSON_PATCH, [{"op": "remove", "path": "/absent"}], 422),
        (JSON_PATCH, [{"op": "test", "path": "/a", "value": 2}], 422),
        (JSON_PATCH, [{"op": "replace", "path": "", "value": 2}], 400),
    ],
)
def test_patches_that_do_not_apply_are_refused(media_type: str, patch: Any, code: int) -> None:
    with pytest.raises(ApiError) as refusal:
        apply_patch({"a": 1}, media_type, patch)
    assert refusal.value.code == code
