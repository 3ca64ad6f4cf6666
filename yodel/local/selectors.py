"""Label and field selectors, parsed once and then asked of every object.

Fields: equality and inequality on the few paths that the real API server indexes; others are refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from yodel.local.statuses import Json, bad_request
from yodel.translator.label_selectors import REQUIREMENTS_MAX, NotASelector, Requirement, parse_labels

_COMMON_FIELDS = ("metadata.name", "metadata.namespace")
_FIELDS: Mapping[str, tuple[str, ...]] = {
    "pods": (
        *_COMMON_FIELDS,
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "status.phase",
        "status.podIP",
        "status.nominatedNodeName",
    ),
    "nodes": (*_COMMON_FIELDS, "spec.unschedulable"),
    "namespaces": (*_COMMON_FIELDS, "status.phase"),
    "events": (
        *_COMMON_FIELDS,
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "reportingComponent",
        "source",
        "type",
    ),
}


@dataclass(frozen=True, slots=True)
class Selector:
    """Both selectors of one request."""

    labels: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()

    def matches(self, item: Json) -> bool:
        metadata = item["metadata"]
        labels = metadata.get("labels") or {}
        if not all(requirement.matches(labels) for requirement in self.labels):
            return False
        return all(r.matches({r.key: field_value(item, r.key)}) for r in self.fields)

    @property
    def is_empty(self) -> bool:
        return not self.labels and not self.fields


def parse_selector(resource: str, label_selector: str, field_selector: str) -> Selector:
    """Raises ApiError (400)."""
    return Selector(_parse_labels(label_selector), _parse_fields(resource, field_selector))


def field_value(item: Json, path: str) -> str:
    """An absent field counts as the empty string, a boolean as ``true``/``false``."""
    if path == "source":
        return str((item.get("source") or {}).get("component") or item.get("reportingComponent") or "")
    value: Any = item
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    if isinstance(value, bool) or (value is None and path == "spec.unschedulable"):
        return "true" if value else "false"
    return "" if value is None else str(value)


def _parse_labels(text: str) -> tuple[Requirement, ...]:
    try:
        return parse_labels(text)
    except NotASelector as error:
        raise bad_request(str(error)) from None


def _parse_fields(resource: str, text: str) -> tuple[Requirement, ...]:
    if not text.strip():
        return ()
    parts = text.split(",")
    if len(parts) > REQUIREMENTS_MAX:
        raise bad_request(f"more than {REQUIREMENTS_MAX} requirements in a selector")
    return tuple(_field_requirement(resource, part.strip(), text) for part in parts)


def _field_requirement(resource: str, part: str, whole: str) -> Requirement:
    match = re.fullmatch(r"([^=!]+?)\s*(==|=|!=)\s*(.*)", part)
    if match is None:
        raise bad_request(f"invalid selector: '{whole}'; can't understand '{part}'")
    if match[1] not in _FIELDS.get(resource, _COMMON_FIELDS):
        raise bad_request(
            f'Unable to find "v1, Resource={resource}" that match field selector: field label not supported: {match[1]}'
        )
    return Requirement(match[1], "NotIn" if match[2] == "!=" else "In", frozenset({match[3]}))
