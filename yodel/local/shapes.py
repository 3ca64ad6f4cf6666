"""The types of the fields that this cluster acts on, checked once at the door.

A real API server decodes into Go structs, so a string where a list belongs is refused before anything reads it.  Here
objects stay dictionaries; these shapes are only held against them.  Fields that are not named may hold anything.
"""

from __future__ import annotations

from typing import Any

import msgspec

from yodel.local.statuses import Json, bad_request

_Quantities = dict[str, str | int | float] | None


class _Shape(msgspec.Struct, rename="camel"):
    """JSON names, and null counts as absent where a field says so."""


class _Metadata(_Shape):
    name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    finalizers: list[str] | None = None


class _Condition(_Shape):
    type: str
    status: str
    last_transition_time: str | None = None
    reason: str | None = None
    message: str | None = None


class _Resources(_Shape):
    requests: _Quantities = None
    limits: _Quantities = None


class _FieldRef(_Shape):
    field_path: str


class _ValueFrom(_Shape):
    field_ref: _FieldRef | None = None


class _Variable(_Shape):
    name: str | None = None
    value: str | None = None
    value_from: _ValueFrom | None = None


class _Mount(_Shape):
    name: str
    mount_path: str
    sub_path: str | None = None


class _Security(_Shape):
    run_as_user: int | None = None
    run_as_group: int | None = None
    run_as_non_root: bool | None = None
    supplemental_groups: list[int] | None = None
    fs_group: int | None = None


class _Container(_Shape):
    name: str | None = None
    image: str | None = None
    command: list[str] | None = None
    args: list[str] | None = None
    env: list[_Variable] | None = None
    working_dir: str | None = None
    resources: _Resources | None = None
    volume_mounts: list[_Mount] | None = None
    security_context: _Security | None = None


class _HostPath(_Shape):
    path: str
    type: str | None = None


class _Volume(_Shape):
    name: str | None = None
    host_path: _HostPath | None = None


class _Toleration(_Shape):
    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None


class _Expression(_Shape):
    key: str
    operator: str
    values: list[str] | None = None


class _Term(_Shape):
    match_expressions: list[_Expression] | None = None
    match_fields: list[_Expression] | None = None


class _Preferred(_Shape):
    weight: int = 1
    preference: _Term | None = None


class _Required(_Shape):
    node_selector_terms: list[_Term] | None = None


class _NodeAffinity(_Shape):
    required_during_scheduling_ignored_during_execution: _Required | None = None
    preferred_during_scheduling_ignored_during_execution: list[_Preferred] | None = None


class _LabelSelector(_Shape):
    match_labels: dict[str, str] | None = None
    match_expressions: list[_Expression] | None = None


class _PodTerm(_Shape):
    topology_key: str
    label_selector: _LabelSelector | None = None
    namespaces: list[str] | None = None


class _PodAffinity(_Shape):
    required_during_scheduling_ignored_during_execution: list[_PodTerm] | None = None


class _Affinity(_Shape):
    node_affinity: _NodeAffinity | None = None
    pod_affinity: _PodAffinity | None = None
    pod_anti_affinity: _PodAffinity | None = None


class _PodSpec(_Shape):
    containers: list[_Container] | None = None
    init_containers: list[_Container] | None = None
    node_name: str | None = None
    node_selector: dict[str, str] | None = None
    affinity: _Affinity | None = None
    tolerations: list[_Toleration] | None = None
    volumes: list[_Volume] | None = None
    security_context: _Security | None = None
    overhead: _Quantities = None
    scheduler_name: str | None = None
    priority_class_name: str | None = None
    priority: int | None = None
    restart_policy: str | None = None
    termination_grace_period_seconds: int | None = None
    active_deadline_seconds: int | None = None


class _Terminated(_Shape):
    exit_code: int | None = None
    reason: str | None = None


class _Waiting(_Shape):
    reason: str | None = None
    message: str | None = None


class _State(_Shape):
    terminated: _Terminated | None = None
    waiting: _Waiting | None = None
    running: dict[str, Any] | None = None


class _ContainerStatus(_Shape):
    name: str
    state: _State | None = None
    ready: bool | None = None
    restart_count: int = 0


class _PodStatus(_Shape):
    phase: str | None = None
    reason: str | None = None
    start_time: str | None = None
    conditions: list[_Condition] | None = None
    container_statuses: list[_ContainerStatus] | None = None


class _Pod(_Shape):
    metadata: _Metadata | None = None
    spec: _PodSpec | None = None
    status: _PodStatus | None = None


class _Taint(_Shape):
    key: str
    effect: str
    value: str | None = None


class _NodeSpec(_Shape):
    taints: list[_Taint] | None = None
    unschedulable: bool | None = None


class _Address(_Shape):
    type: str
    address: str


class _NodeStatus(_Shape):
    capacity: _Quantities = None
    allocatable: _Quantities = None
    conditions: list[_Condition] | None = None
    addresses: list[_Address] | None = None
    node_info: dict[str, Any] | None = None


class _Node(_Shape):
    metadata: _Metadata | None = None
    spec: _NodeSpec | None = None
    status: _NodeStatus | None = None


class _Event(_Shape):
    metadata: _Metadata | None = None
    involved_object: dict[str, Any] | None = None
    source: dict[str, Any] | None = None
    count: int | None = None
    first_timestamp: str | None = None
    last_timestamp: str | None = None


class _Namespace(_Shape):
    metadata: _Metadata | None = None
    status: dict[str, Any] | None = None


_SHAPES: dict[str, type[_Shape]] = {"pods": _Pod, "nodes": _Node, "events": _Event, "namespaces": _Namespace}


def check_shape(resource: str, body: Json) -> None:
    """Raises ApiError (400) that names the path of the first field of a wrong type."""
    try:
        msgspec.convert(body, _SHAPES[resource])
    except msgspec.ValidationError as error:
        kind = _SHAPES[resource].__name__[1:]
        raise bad_request(f'{kind} in version "v1" cannot be handled as a {kind}: {error}') from error
