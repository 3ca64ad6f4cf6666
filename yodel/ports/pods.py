"""Pods: the one way in which the services reach Kubernetes.

The watch is a hint, the list is the truth.  An adapter feeds a ``PodSink`` with full listings and with changes between
them; it calls the sink from the event loop's thread and the sink only records (no awaiting inside a watch callback).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from yodel.domain.pod import PodHolding as PodHolding
from yodel.domain.pod import PodObservation as PodObservation
from yodel.domain.pod import PodPhase as PodPhase

Manifest = Mapping[str, Any]
"""A Kubernetes object as it goes over the wire as JSON."""


class PodSink(Protocol):
    """Receives the observations of an adapter.  All methods return at once."""

    def pods_listed(self, pods: Sequence[PodObservation]) -> None:
        """The whole truth: every pod of ours that exists now.  Pods not in it are gone."""

    def pod_seen(self, pod: PodObservation) -> None:
        """A pod was added or changed."""

    def pod_gone(self, pod: PodObservation) -> None:
        """A pod object was removed; ``pod`` is its last state."""


class HoldingSink(Protocol):
    """Receives what bound pods of all namespaces take of their nodes.  All methods return at once."""

    def holdings_listed(self, pods: Sequence[PodHolding]) -> None:
        """The whole truth: every bound pod that has not ended.  Pods not in it hold nothing any more."""

    def holding_seen(self, pod: PodHolding) -> None:
        """A pod was bound, or changed."""

    def holding_gone(self, pod: PodHolding) -> None:
        """A pod was removed or has ended; ``pod`` is its last state."""


class Pods(Protocol):
    """Acts on pods of one namespace.  Every call has a deadline of the adapter's; all are idempotent.

    Raises (all): yodel.errors.Unavailable when the API server does not answer, yodel.errors.Refused when it refuses the
    object for good (admission, invalid manifest), with the server's message.
    """

    async def create(self, manifest: Manifest) -> None:
        """Create; "already exists" is success."""

    async def delete(self, name: str, *, grace_s: int | None = None) -> None:
        """Ask for deletion; "not found" is success.  ``grace_s`` overrides the pod's own grace period."""

    async def resize(self, manifest: Manifest) -> None:
        """Give the containers of the manifest's pod its resources, in place (``pods/resize``); "not found" is success.

        Only what the API server itself refuses is refused: a kubelet that has to wait for room does so by itself.
        """

    async def get(self, name: str) -> PodObservation | None:
        """The pod as the API server has it now."""

    async def priority_of(self, manifest: Manifest) -> int | None:
        """Ask what would become of the pod, and create nothing (a dry run).

        Returns its priority (``spec.priority``), which is its PriorityClass's, or without one the cluster's default;
        None where the API server gives none.
        """
