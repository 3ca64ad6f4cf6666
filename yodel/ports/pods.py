"""Pods: the one way in which the services reach Kubernetes.

The watch is a hint, the list is the truth.  An adapter feeds a ``PodSink`` with full listings and with changes between
them; it calls the sink from the event loop's thread and the sink only records (no awaiting inside a watch callback).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

Manifest = Mapping[str, Any]
"""A Kubernetes object as it goes over the wire as JSON."""


class PodPhase(Enum):
    """``status.phase`` of a pod."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class PodObservation:
    """What matters of one pod, as last seen.

    ``exit_code`` and ``terminated_reason`` (``OOMKilled``, ``Error``, ``Completed``) are those of the main container,
    ``reason`` and ``message`` the pod's own (``Evicted``, ``NodeLost``, …), ``unschedulable_message`` the text of a
    ``PodScheduled=False`` condition, ``waiting_reason`` the main container's (``ErrImagePull``, …).
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
    created_ms: int = 0
    finished_ms: int | None = None


class PodSink(Protocol):
    """Where an adapter delivers what it sees.  All methods return at once."""

    def pods_listed(self, pods: Sequence[PodObservation]) -> None:
        """The whole truth: every pod of ours that exists now.  Pods not in it are gone."""

    def pod_seen(self, pod: PodObservation) -> None:
        """A pod was added or changed."""

    def pod_gone(self, pod: PodObservation) -> None:
        """A pod object was removed; ``pod`` is its last state."""


class Pods(Protocol):
    """Acts on pods of one namespace.  Every call has a deadline of the adapter's; all are idempotent.

    Raises (all): yodel.errors.Unavailable when the API server does not answer, yodel.errors.Refused when it refuses the
    object for good (admission, invalid manifest), with the server's message.
    """

    async def create(self, manifest: Manifest) -> None:
        """Create; "already exists" is success."""

    async def delete(self, name: str, *, grace_s: int | None = None) -> None:
        """Ask for deletion; "not found" is success.  ``grace_s`` overrides the pod's own grace period."""

    async def get(self, name: str) -> PodObservation | None:
        """The pod as the API server has it now."""
