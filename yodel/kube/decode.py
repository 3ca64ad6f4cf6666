"""Bytes of the API server to observations, reading only the fields we use.

Partial structs: unknown fields are skipped by the parser, so a newer API server cannot break us, and a pod costs
microseconds.  Anything that does not fit raises ``msgspec.DecodeError`` (or its ValidationError), which the caller
answers with a new list; nothing is guessed here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Generic, TypeVar

import msgspec

from yodel.ports.kube_nodes import NodeAddress, NodeObservation
from yodel.ports.pods import PodHolding, PodObservation, PodPhase
from yodel.translator.names import APPLICATION
from yodel.translator.node_fit import Amounts, amounts, requests_of

DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container"
_PHASES = {phase.value: phase for phase in PodPhase}
_Observed = TypeVar("_Observed", PodObservation, NodeObservation, PodHolding)


class _Partial(msgspec.Struct, rename="camel", gc=False):
    """A view of a Kubernetes object; ``null`` and absent are the same, as in the API."""


class _PartialMetadata(_Partial):
    name: str = ""
    uid: str | None = ""
    resource_version: str | None = ""
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None


class _PartialTerminated(_Partial):
    exit_code: int = 0
    reason: str | None = ""
    message: str | None = ""
    finished_at: datetime | None = None


class _PartialWaiting(_Partial):
    reason: str | None = ""
    message: str | None = ""


class _PartialContainerState(_Partial):
    waiting: _PartialWaiting | None = None
    terminated: _PartialTerminated | None = None


class _PartialContainerStatus(_Partial):
    name: str = ""
    state: _PartialContainerState | None = None


class _PartialCondition(_Partial):
    type: str = ""
    status: str = ""
    reason: str | None = ""
    message: str | None = ""
    last_transition_time: datetime | None = None


class _PartialPodStatus(_Partial):
    phase: str | None = None
    reason: str | None = ""
    message: str | None = ""
    conditions: list[_PartialCondition] | None = None
    container_statuses: list[_PartialContainerStatus] | None = None


class _PartialContainer(_Partial):
    name: str = ""


class _PartialPodSpec(_Partial):
    node_name: str | None = None
    containers: list[_PartialContainer] | None = None


class _PartialPod(_Partial):
    metadata: _PartialMetadata
    spec: _PartialPodSpec | None = None
    status: _PartialPodStatus | None = None


class _PartialAddress(_Partial):
    type: str = ""
    address: str = ""


class _PartialNodeSpec(_Partial):
    unschedulable: bool | None = False
    taints: list[dict[str, Any]] | None = None


class _PartialNodeStatus(_Partial):
    conditions: list[_PartialCondition] | None = None
    addresses: list[_PartialAddress] | None = None
    allocatable: dict[str, str | int] | None = None
    capacity: dict[str, str | int] | None = None


class _StatusFields(_Partial):
    capacity: dict[str, msgspec.Raw] | None = msgspec.field(name="f:capacity", default=None)


class _Fields(_Partial):
    status: _StatusFields | None = msgspec.field(name="f:status", default=None)


class _ManagedFields(_Partial):
    manager: str | None = ""
    fields: _Fields | None = msgspec.field(name="fieldsV1", default=None)


class _NodeMetadata(_PartialMetadata):
    managed_fields: list[_ManagedFields] | None = None


class _PartialNode(_Partial):
    metadata: _NodeMetadata
    spec: _PartialNodeSpec | None = None
    status: _PartialNodeStatus | None = None


class _HoldingMetadata(_Partial):
    name: str = ""
    namespace: str = ""
    uid: str | None = ""
    resource_version: str | None = ""
    labels: dict[str, str] | None = None


class _PartialResources(_Partial):
    requests: dict[str, str | int] | None = None


class _Sized(_Partial):
    resources: _PartialResources | None = None
    restart_policy: str | None = None


class _HoldingSpec(_Partial):
    node_name: str | None = None
    containers: list[_Sized] | None = None
    init_containers: list[_Sized] | None = None
    overhead: dict[str, str | int] | None = None
    resources: _PartialResources | None = None


class _Allocated(_Partial):
    allocated_resources: dict[str, str | int] | None = None


class _HoldingStatus(_Partial):
    container_statuses: list[_Allocated] | None = None


class _Holding(_Partial):
    metadata: _HoldingMetadata
    spec: _HoldingSpec | None = None
    status: _HoldingStatus | None = None


class _ListMetadata(_Partial):
    resource_version: str | None = ""
    continue_: str | None = msgspec.field(name="continue", default="")


class _PodPage(_Partial):
    metadata: _ListMetadata
    items: list[_PartialPod] | None = None


class _NodePage(_Partial):
    metadata: _ListMetadata
    items: list[_PartialNode] | None = None


class _VersionOnly(_Partial):
    metadata: _PartialMetadata


class _HoldingPage(_Partial):
    metadata: _ListMetadata
    items: list[_Holding] | None = None


class ListPage(msgspec.Struct, Generic[_Observed], frozen=True):
    """One page of a listing; ``continuation`` is empty on the last."""

    items: Sequence[_Observed]
    resource_version: str
    continuation: str


class WatchEvent(msgspec.Struct, frozen=True):
    """One line of a watch; ``object`` is decoded when the type is known."""

    type: str
    object: msgspec.Raw


_pod_decoder = msgspec.json.Decoder(_PartialPod)
_pod_page_decoder = msgspec.json.Decoder(_PodPage)
_node_decoder = msgspec.json.Decoder(_PartialNode)
_node_page_decoder = msgspec.json.Decoder(_NodePage)
_holding_decoder = msgspec.json.Decoder(_Holding)
_holding_page_decoder = msgspec.json.Decoder(_HoldingPage)
_event_decoder = msgspec.json.Decoder(WatchEvent)
_version_decoder = msgspec.json.Decoder(_VersionOnly)


def decode_pod(body: bytes | msgspec.Raw) -> PodObservation:
    """Raises msgspec.DecodeError."""
    return _pod_observation(_pod_decoder.decode(body))


def decode_pod_page(body: bytes) -> ListPage[PodObservation]:
    """Raises msgspec.DecodeError."""
    page = _pod_page_decoder.decode(body)
    metadata = page.metadata
    pods = [_pod_observation(pod) for pod in page.items or ()]
    return ListPage(pods, metadata.resource_version or "", metadata.continue_ or "")


def decode_node(body: bytes | msgspec.Raw) -> NodeObservation:
    """Raises msgspec.DecodeError."""
    return _node_observation(_node_decoder.decode(body))


def decode_node_page(body: bytes) -> ListPage[NodeObservation]:
    """Raises msgspec.DecodeError."""
    page = _node_page_decoder.decode(body)
    metadata = page.metadata
    nodes = [_node_observation(node) for node in page.items or ()]
    return ListPage(nodes, metadata.resource_version or "", metadata.continue_ or "")


def decode_holding(body: bytes | msgspec.Raw) -> PodHolding:
    """Raises msgspec.DecodeError."""
    return _pod_holding(_holding_decoder.decode(body))


def decode_holding_page(body: bytes) -> ListPage[PodHolding]:
    """Raises msgspec.DecodeError."""
    page = _holding_page_decoder.decode(body)
    metadata = page.metadata
    pods = [_pod_holding(pod) for pod in page.items or ()]
    return ListPage(pods, metadata.resource_version or "", metadata.continue_ or "")


def decode_event(line: bytes) -> WatchEvent:
    """Raises msgspec.DecodeError."""
    return _event_decoder.decode(line)


def decode_version(body: bytes | msgspec.Raw) -> str:
    """The resource version of an object of any kind (a bookmark's).  Raises msgspec.DecodeError."""
    return _version_decoder.decode(body).metadata.resource_version or ""


def _pod_observation(pod: _PartialPod) -> PodObservation:
    metadata, spec, status = pod.metadata, pod.spec or _PartialPodSpec(), pod.status or _PartialPodStatus()
    state = _main_container_state(metadata, spec, status)
    waiting, terminated = state.waiting or _PartialWaiting(), state.terminated
    conditions = {condition.type: condition for condition in status.conditions or ()}
    scheduled, ready = conditions.get("PodScheduled"), conditions.get("Ready")
    disruption = conditions.get("DisruptionTarget")
    if disruption is None or disruption.status != "True":
        disruption = _PartialCondition()
    return PodObservation(
        name=metadata.name,
        uid=metadata.uid or "",
        resource_version=metadata.resource_version or "",
        labels=metadata.labels or {},
        annotations=metadata.annotations or {},
        node_name=spec.node_name or None,
        phase=_PHASES.get(status.phase or PodPhase.PENDING.value, PodPhase.UNKNOWN),
        deletion_requested=metadata.deletion_timestamp is not None,
        reason=status.reason or "",
        message=status.message or "",
        waiting_reason=waiting.reason or "",
        waiting_message=waiting.message or "",
        unschedulable_message="" if scheduled is None or scheduled.status != "False" else scheduled.message or "",
        disruption_reason=disruption.reason or "",
        disruption_message=disruption.message or "",
        is_ready=None if ready is None else ready.status == "True",
        scheduled_ms=_epoch_ms(scheduled.last_transition_time) if scheduled and scheduled.status == "True" else None,
        deletion_due_ms=_epoch_ms(metadata.deletion_timestamp),
        exit_code=None if terminated is None else terminated.exit_code,
        terminated_reason="" if terminated is None else terminated.reason or "",
        terminated_message="" if terminated is None else terminated.message or "",
        created_ms=_epoch_ms(metadata.creation_timestamp) or 0,
        finished_ms=None if terminated is None else _epoch_ms(terminated.finished_at),
    )


def _main_container_state(
    metadata: _PartialMetadata, spec: _PartialPodSpec, status: _PartialPodStatus
) -> _PartialContainerState:
    """The state of the container the pod is about.

    The kubelet sorts statuses by name and admission webhooks add containers before ours, so position proves nothing:
    the annotation kubectl reads decides, then the first container of the spec.
    """
    statuses = status.container_statuses or ()
    named = _main_container_name(metadata.annotations or {}, spec.containers or ())
    for candidate in statuses:
        if candidate.name == named:
            return candidate.state or _PartialContainerState()
    return _PartialContainerState()


def _main_container_name(annotations: Mapping[str, str], containers: Sequence[_PartialContainer]) -> str:
    annotated = annotations.get(DEFAULT_CONTAINER)
    if annotated is not None and any(container.name == annotated for container in containers):
        return annotated
    return containers[0].name if containers else ""


def _node_observation(node: _PartialNode) -> NodeObservation:
    metadata, spec, status = node.metadata, node.spec or _PartialNodeSpec(), node.status or _PartialNodeStatus()
    return NodeObservation(
        name=metadata.name,
        uid=metadata.uid or "",
        resource_version=metadata.resource_version or "",
        labels=metadata.labels or {},
        annotations=metadata.annotations or {},
        addresses=tuple(NodeAddress(kind=a.type, address=a.address) for a in status.addresses or ()),
        ready=any(c.type == "Ready" and c.status == "True" for c in status.conditions or ()),
        unschedulable=bool(spec.unschedulable),
        taints=spec.taints or (),
        allocatable={name: str(quantity) for name, quantity in (status.allocatable or {}).items()},
        capacity={name: str(quantity) for name, quantity in (status.capacity or {}).items()},
        capacity_managers=dict(_capacity_managers(metadata.managed_fields or ())),
    )


def _capacity_managers(entries: Sequence[_ManagedFields]) -> Iterator[tuple[str, str]]:
    """A name that several have written is shared by them; the API server lists the last one last."""
    for entry in entries:
        status = entry.fields.status if entry.fields is not None else None
        for key in (status.capacity or {}) if status is not None else ():
            yield key.removeprefix("f:"), entry.manager or ""


def _pod_holding(pod: _Holding) -> PodHolding:
    metadata, spec = pod.metadata, pod.spec or _HoldingSpec()
    return PodHolding(
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid or "",
        resource_version=metadata.resource_version or "",
        node_name=spec.node_name or "",
        amounts=_held(spec, (pod.status or _HoldingStatus()).container_statuses or ()),
        application=(metadata.labels or {}).get(APPLICATION, ""),
    )


def _held(spec: _HoldingSpec, statuses: Sequence[_Allocated]) -> Amounts:
    """Return the requests of the pod, or the kubelet's allocation while that is more: a resize takes its time."""
    held = requests_of(
        {
            "containers": [_sized(container) for container in spec.containers or ()],
            "initContainers": [_sized(container) for container in spec.init_containers or ()],
            "overhead": spec.overhead,
            "resources": {"requests": spec.resources.requests if spec.resources is not None else None},
        }
    )
    allocated: Amounts = {}
    for status in statuses:
        for name, amount in amounts(status.allocated_resources or {}).items():
            allocated[name] = allocated.get(name, 0) + amount
    for name, amount in allocated.items():
        held[name] = max(held.get(name, 0), amount)
    return held


def _sized(container: _Sized) -> dict[str, Any]:
    requests = container.resources.requests if container.resources is not None else None
    return {"resources": {"requests": requests}, "restartPolicy": container.restart_policy}


def _epoch_ms(moment: datetime | None) -> int | None:
    return None if moment is None else round(moment.timestamp() * 1000)
