"""SchedConfUpdateInfo, ConfInfo and ConfigVersionInfo.

Clients write the same in many ways: with the root element and without, one item for a list of one, ``entry`` as a list,
as one entry, or not there for an empty map.  Hadoop's own ``yarn schedulerconf`` writes the names of Java's getters and
plain maps in 3.5 (of which a ResourceManager of 3.5 takes nothing, and says that all went well), and ``global`` beside
``global-updates`` in 3.4.  All are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from yodel.domain.scheduler_conf import ConfUpdate, QueueUpdate
from yodel.hadoop_http.errors import bad_request
from yodel.hadoop_http.many import Many

ROOT = "sched-conf"
CHANGES_MAX = 10_000
"""Queues and properties named in one change."""
PROPERTIES_TOGETHER = 10
"""Properties that are written in one go: less than a tenth of a millisecond."""
_FIELDS = frozenset({"add-queue", "update-queue", "remove-queue", "global-updates", "subClusterId"})
_TWINS = frozenset({"global"})
_GETTERS = {
    "addQueueInfo": "add-queue",
    "updateQueueInfo": "update-queue",
    "removeQueueInfo": "remove-queue",
    "globalParams": "global-updates",
}


def properties(found: Mapping[str, str]) -> dict[str, Any]:
    """ConfInfo: it has no root in JSON."""
    shown = sorted(found.items())
    return {"property": Many(shown, lambda said: {"name": said[0], "value": said[1]}, PROPERTIES_TOGETHER)}


def version(number: int) -> dict[str, Any]:
    return {"configversion": {"versionID": number}}


def update(body: Mapping[str, Any]) -> ConfUpdate:
    """Raises RestError 400 for what is no change."""
    inner = body.get(ROOT)
    given = inner if isinstance(inner, dict) and len(body) == 1 else body
    fields = {_GETTERS.get(name, name): value for name, value in given.items()}
    unknown = sorted(set(fields) - _FIELDS - _TWINS)
    if unknown:
        raise bad_request(f"Unrecognized field {unknown[0]!r}; expected some of {', '.join(sorted(_FIELDS))}")
    removed = [item for item in _items(fields.get("remove-queue")) if item is not None]
    if not all(isinstance(path, str) for path in removed):
        raise bad_request("Invalid remove-queue; expected paths of queues")
    overall: dict[str, str | None] = {}
    for part in [*_items(fields.get("global")), *_items(fields.get("global-updates"))]:
        overall.update(_entries(part, "global-updates"))
    made = ConfUpdate(
        removed=removed,
        added=[_change(item, "add-queue") for item in _items(fields.get("add-queue"))],
        updated=[_change(item, "update-queue") for item in _items(fields.get("update-queue"))],
        overall=overall,
    )
    changes = [*made.added, *made.updated]
    if len(removed) + len(overall) + sum(1 + len(change.properties) for change in changes) > CHANGES_MAX:
        raise bad_request(f"Too many changes at once: at most {CHANGES_MAX}")
    return made


def _items(value: Any) -> list[Any]:
    """A list, a single item, or nothing."""
    if value is None or value == "":
        return []
    return value if isinstance(value, list) else [value]


def _change(item: Any, field: str) -> QueueUpdate:
    path = item.get("queue-name", item.get("queue")) if isinstance(item, dict) else None
    if not isinstance(path, str):
        raise bad_request(f"Invalid {field}; expected objects with a queue-name")
    params = item.get("params")
    return QueueUpdate(path=path.strip(), properties=_entries(params, field) if params else {})


def _entries(value: Any, field: str) -> dict[str, str | None]:
    """A map as JAXB writes it, ``{"entry": [{"key": …, "value": …}]}``, or a plain one."""
    if isinstance(value, dict) and "entry" not in value:
        return {name.strip(): _text(inner, field) for name, inner in value.items()}
    entries = _items(value.get("entry")) if isinstance(value, dict) else [None]
    found: dict[str, str | None] = {}
    for entry in entries:
        if not isinstance(entry, dict) or not isinstance(entry.get("key"), str):
            raise bad_request(f"Invalid {field}; expected entries with key and value")
        found[entry["key"].strip()] = _text(entry.get("value"), field)
    return found


def _text(value: Any, field: str) -> str | None:
    """Numbers and truths may be written without quotes; whatever is written as null is taken away."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    raise bad_request(f"Invalid {field}; expected values that are text")
