"""A pod as it was last seen: the fact that a container row, the intent, is compared with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class PodPhase(Enum):
    """``status.phase`` of a pod."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class PodObservation:
    """Holds the relevant state of one pod, as last seen.

    ``exit_code`` and ``terminated_reason`` (``OOMKilled``, ``Error``, ``Completed``) are those of the main container,
    ``reason`` and ``message`` the pod's own (``Evicted``, ``NodeLost``, …), ``unschedulable_message`` the text of a
    ``PodScheduled=False`` condition, ``waiting_reason`` the main container's (``ErrImagePull``, …).
    ``disruption_reason`` and ``disruption_message`` are those of a ``DisruptionTarget`` condition, ``scheduled_ms`` is
    when it got its node; ``deletion_due_ms`` is the deletion timestamp, which is when its grace period ends.
    """

    name: str
    uid: str
    resource_version: str
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    node_name: str | None = None
    phase: PodPhase = PodPhase.PENDING
    deletion_requested: bool = False
    reason: str = ""
    message: str = ""
    waiting_reason: str = ""
    waiting_message: str = ""
    unschedulable_message: str = ""
    exit_code: int | None = None
    terminated_reason: str = ""
    terminated_message: str = ""
    disruption_reason: str = ""
    disruption_message: str = ""
    is_ready: bool | None = None
    """The ``Ready`` condition; None before there is one."""
    scheduled_ms: int | None = None
    deletion_due_ms: int | None = None
    created_ms: int = 0
    finished_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PodHolding:
    """Holds the resources that a bound pod takes of its node, whoever's pod it is.

    ``amounts`` are in thousandths by resource name, one pod among them; ``application`` is that of ours, else empty.
    """

    namespace: str
    name: str
    uid: str
    resource_version: str
    node_name: str
    amounts: Mapping[str, int]
    application: str = ""
