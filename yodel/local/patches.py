"""The three patch languages of the API server, as pure functions from (object, patch) to a new object.

Strategic merge knows the list keys of pods, nodes and events only; lists without a known key are replaced whole, as the
real server does for atomic lists.  Refused: server-side apply, and JSON patches that do not apply.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from yodel.local.statuses import ApiError, Json, bad_request, unsupported_media_type

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
JSON_PATCH_OPERATIONS_MAX = 10_000  # apiserver's maxJSONPatchOperations

_MERGE_KEYS: Mapping[str, str] = {
    "conditions": "type",
    "containers": "name",
    "initContainers": "name",
    "env": "name",
    "volumes": "name",
    "volumeMounts": "mountPath",
    "ports": "containerPort",
    "ownerReferences": "uid",
    "addresses": "type",
    "podIPs": "ip",
    "hostAliases": "ip",
    "imagePullSecrets": "name",
}
_PRIMITIVE_SETS = frozenset({"finalizers"})


def apply_patch(item: Json, media_type: str, patch: Any) -> Json:
    """A new object.  Raises ApiError: 400 malformed, 415 unknown language, 422 does not apply."""
    if media_type == JSON_PATCH:
        return _json_patch(item, patch)
    if media_type not in (MERGE, STRATEGIC):
        raise unsupported_media_type(media_type, (JSON_PATCH, MERGE, STRATEGIC))
    if not isinstance(patch, dict):
        raise bad_request("the patch must be a JSON object")
    merged = _merge(item, patch) if media_type == MERGE else _strategic(item, patch)
    assert isinstance(merged, dict)
    return merged


def _merge(target: Any, patch: Any) -> Any:
    """RFC 7386."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = _merge(result.get(key), value)
    return result


def _strategic(target: Any, patch: Json) -> Json:
    directive = patch.get("$patch")
    if directive == "replace":
        return {key: copy.deepcopy(value) for key, value in patch.items() if key != "$patch"}
    if directive == "delete":
        return {}
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if key.startswith("$deleteFromPrimitiveList/"):
            field = key.partition("/")[2]
            result[field] = [entry for entry in result.get(field) or [] if entry not in value]
        elif key.startswith("$"):
            continue  # $setElementOrder and $retainKeys only order and prune: nothing that we store depends on them
        elif value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            result[key] = _strategic(result.get(key), value)
        elif isinstance(value, list):
            result[key] = _strategic_list(key, result.get(key) or [], value)
        else:
            result[key] = value
    return result


def _strategic_list(field: str, target: list[Any], patch: list[Any]) -> list[Any]:
    if field in _PRIMITIVE_SETS:
        return [*target, *(entry for entry in patch if entry not in target)]
    key = _MERGE_KEYS.get(field)
    if key is None or not all(isinstance(entry, dict) for entry in patch):
        return copy.deepcopy(patch)
    if any(entry.get("$patch") == "replace" for entry in patch):
        return [copy.deepcopy(entry) for entry in patch if "$patch" not in entry]
    result = list(target)
    for entry in patch:
        if key not in entry:
            raise bad_request(f"map: {entry} does not contain declared merge key: {key}")
        index = next((i for i, old in enumerate(result) if old.get(key) == entry[key]), None)
        if entry.get("$patch") == "delete":
            result = [old for old in result if old.get(key) != entry[key]]
        elif index is None:
            result.append(_strategic(None, entry))
        else:
            result[index] = _strategic(result[index], entry)
    return result


def _json_patch(item: Json, patch: Any) -> Json:
    """RFC 6902."""
    if not isinstance(patch, list) or not all(isinstance(step, dict) for step in patch):
        raise bad_request("a JSON patch must be a list of operations")
    if len(patch) > JSON_PATCH_OPERATIONS_MAX:
        raise bad_request(f"more than {JSON_PATCH_OPERATIONS_MAX} operations in a JSON patch")
    document: Any = copy.deepcopy(item)
    try:
        for step in patch:
            document = _json_patch_step(document, step)
    except (KeyError, IndexError, ValueError, TypeError) as error:
        text = f"the server rejected our request due to an error in our request: {error}"
        raise ApiError(422, "Invalid", text) from error
    if not isinstance(document, dict):
        raise bad_request("a JSON patch must leave an object")
    return document


def _json_patch_step(document: Any, step: Json) -> Any:
    operation, path = step["op"], _pointer(step["path"])
    if operation == "test":
        if _look_up(document, path) != step.get("value"):
            raise ValueError(f"testing value {step['path']} failed")
        return document
    if operation in ("add", "replace"):
        if operation == "replace":
            _look_up(document, path)
        return _put(document, path, copy.deepcopy(step["value"]), replace=operation == "replace")
    if operation == "remove":
        return _take(document, path)
    if operation in ("move", "copy"):
        source = _pointer(step["from"])
        value = copy.deepcopy(_look_up(document, source))
        return _put(_take(document, source) if operation == "move" else document, path, value, replace=False)
    raise ValueError(f"unknown operation {operation!r}")


def _pointer(text: str) -> list[str]:
    if text and not text.startswith("/"):
        raise ValueError(f"invalid JSON pointer {text!r}")
    return [part.replace("~1", "/").replace("~0", "~") for part in text.split("/")[1:]]


def _look_up(document: Any, path: list[str]) -> Any:
    for part in path:
        document = document[int(part)] if isinstance(document, list) else document[part]
    return document


def _put(document: Any, path: list[str], value: Any, *, replace: bool) -> Any:
    if not path:
        return value
    parent, last = _look_up(document, path[:-1]), path[-1]
    if not isinstance(parent, list):
        parent[last] = value
    elif last == "-":
        parent.append(value)
    elif replace:
        parent[int(last)] = value
    elif 0 <= int(last) <= len(parent):
        parent.insert(int(last), value)
    else:
        raise IndexError(f"index {last} is out of bounds")
    return document


def _take(document: Any, path: list[str]) -> Any:
    parent, last = _look_up(document, path[:-1]), path[-1]
    del parent[int(last) if isinstance(parent, list) else last]
    return document
