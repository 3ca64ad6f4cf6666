"""The Pods port on a Kubernetes API server: create or try, delete, resize, get; each idempotent and with a deadline.

"Already there" and "already gone" are successes, but a pod that merely has our name is not: it has to carry the same
container id, else two clusters or a leftover could be taken for our container.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import msgspec

from yodel.errors import InvalidValue, Refused, Unavailable
from yodel.kube.api import CALL_TIMEOUT_S, METADATA_ONLY, ApiRequest, ApiStatus, KubeApi
from yodel.kube.decode import decode_pod
from yodel.kube.limiter import Clock, TokenBucket
from yodel.kube.retrying import RetryLimits, retried
from yodel.ports.pods import Manifest, PodObservation

CONTAINER_ID_LABEL = "yodel.io/container-id"
STRATEGIC_MERGE = "application/strategic-merge-patch+json"


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverLimits:
    """``creates_per_second`` and ``creates_burst`` bound creation; a create that had to wait longer than
    ``create_wait_max_s`` for its turn is Unavailable at once.  ``call_timeout_s`` is the deadline of one attempt."""

    creates_per_second: float = 50.0
    creates_burst: int = 100
    create_wait_max_s: float = 30.0
    call_timeout_s: float = CALL_TIMEOUT_S
    retry: RetryLimits = field(default_factory=RetryLimits)


class _Spec(msgspec.Struct):
    priority: int | None = None


class _Tried(msgspec.Struct):
    """The pod that a dry run answers with."""

    spec: _Spec


class PodDriver:
    """Implements yodel.ports.pods.Pods for one namespace."""

    def __init__(
        self, client: KubeApi, namespace: str, limits: DriverLimits | None = None, *, clock: Clock = time.monotonic
    ) -> None:
        self._api, self._limits = client, limits or DriverLimits()
        self._pods_path = pods_path(namespace)
        self._creates = TokenBucket(
            per_second=self._limits.creates_per_second, burst=self._limits.creates_burst, clock=clock
        )

    async def create(self, manifest: Manifest) -> None:
        """Create; a pod of this name with the same container id is success.

        Raises:
            InvalidValue: the manifest has no name.
            Refused: the server refused the manifest for good, or the name is taken by a pod that is not ours.
            Unavailable: no answer within the limits, or too many creations are waiting.
        """
        name, container_id = _identity(manifest)
        body = msgspec.json.encode(manifest, enc_hook=_plain)
        await self._turn(name)
        await retried(lambda: self._create_once(name, container_id, body), f"Creating pod {name}", self._limits.retry)

    async def delete(self, name: str, *, grace_s: int | None = None) -> None:
        """Ask for deletion; "not found" is success.  ``grace_s`` overrides the pod's own grace period.

        Raises: Refused, Unavailable.
        """
        options: dict[str, object] = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
        if grace_s is not None:
            options["gracePeriodSeconds"] = grace_s
        request = self._request("DELETE", f"{self._pods_path}/{quote(name, safe='')}", msgspec.json.encode(options))
        await retried(lambda: self._call_or_none(request), f"Deleting pod {name}", self._limits.retry)

    async def resize(self, manifest: Manifest) -> None:
        """Change resources in place; "not found" is success, for the pod's end is told by the watch.

        An API server before Kubernetes 1.33 has no such subresource and answers 404 as for a missing pod, so a pod that
        does exist then means that it cannot be resized.

        Raises: InvalidValue, Refused, Unavailable.
        """
        name, _ = _identity(manifest)
        containers = [{"name": c["name"], "resources": c["resources"]} for c in manifest["spec"]["containers"]]
        request = ApiRequest(
            method="PATCH",
            path=f"{self._pods_path}/{quote(name, safe='')}/resize",
            body=msgspec.json.encode({"spec": {"containers": containers}}, enc_hook=_plain),
            timeout_s=self._limits.call_timeout_s,
            content_type=STRATEGIC_MERGE,
        )
        answer = await retried(lambda: self._call_or_none(request), f"Resizing pod {name}", self._limits.retry)
        if answer is None and await self.get(name) is not None:
            raise Refused(f"Resizing pod {name}: this Kubernetes does not resize pods in place")

    async def get(self, name: str) -> PodObservation | None:
        """The pod as the API server has it now; None when there is none.

        Raises: Refused, Unavailable (also for an answer that is no pod).
        """
        return await retried(lambda: self._get_once(name), f"Reading pod {name}", self._limits.retry)

    async def priority_of(self, manifest: Manifest) -> int | None:
        """Ask what would become of the pod (``dryRun=All``): admission judges it, and nothing is stored or counted.

        Raises: Refused, also where a webhook would have side effects; Unavailable, also for an answer that is no pod.
        """
        request = ApiRequest(
            method="POST",
            path=self._pods_path,
            query={"dryRun": "All"},
            body=msgspec.json.encode(manifest, enc_hook=_plain),
            timeout_s=self._limits.call_timeout_s,
        )
        body = await retried(lambda: self._api.call(request), "Dry run of a pod", self._limits.retry)
        try:
            return msgspec.json.decode(body, type=_Tried).spec.priority
        except msgspec.DecodeError as malformed:
            raise Unavailable(f"Dry run of a pod: the answer is no pod: {malformed}") from malformed

    async def _turn(self, name: str) -> None:
        wait_s = self._creates.reserve(self._limits.create_wait_max_s)
        if wait_s is None:
            raise Unavailable(f"Creating pod {name}: too many creations are waiting")
        if wait_s > 0:
            await asyncio.sleep(wait_s)

    async def _create_once(self, name: str, container_id: str | None, body: bytes) -> None:
        try:
            await self._api.call(
                ApiRequest(
                    method="POST",
                    path=self._pods_path,
                    body=body,
                    timeout_s=self._limits.call_timeout_s,
                    accept=METADATA_ONLY,
                )
            )
        except ApiStatus as status:
            if status.code != 409 or status.reason == "Conflict":
                raise
            await self._accept_existing(name, container_id, status)

    async def _accept_existing(self, name: str, container_id: str | None, status: ApiStatus) -> None:
        existing = await self._get_once(name)
        if existing is None:
            # Removed between the two calls: the creation is worth another attempt, which Unavailable asks for.
            raise Unavailable(f"pod {name} vanished while it was created") from status
        if container_id is None or existing.labels.get(CONTAINER_ID_LABEL) != container_id:
            raise Refused(f"Creating pod {name}: a pod of that name exists and belongs to somebody else") from status

    async def _get_once(self, name: str) -> PodObservation | None:
        body = await self._call_or_none(self._request("GET", f"{self._pods_path}/{quote(name, safe='')}"))
        if body is None:
            return None
        try:
            return decode_pod(body)
        except msgspec.DecodeError as malformed:
            raise Unavailable(f"the answer is no pod: {malformed}") from malformed

    async def _call_or_none(self, request: ApiRequest) -> bytes | None:
        """The answer, or None for 404 NotFound."""
        try:
            return await self._api.call(request)
        except ApiStatus as status:
            if status.code == 404:
                return None
            raise

    def _request(self, method: str, path: str, body: bytes | None = None) -> ApiRequest:
        return ApiRequest(method=method, path=path, body=body, timeout_s=self._limits.call_timeout_s)


def pods_path(namespace: str) -> str:
    """Return the path of the pods of a namespace."""
    return f"/api/v1/namespaces/{quote(namespace, safe='')}/pods"


def _identity(manifest: Manifest) -> tuple[str, str | None]:
    metadata = manifest.get("metadata", {})
    name = metadata.get("name")
    if not isinstance(name, str) or not name:
        raise InvalidValue("pod manifest", name, "metadata.name")
    return name, metadata.get("labels", {}).get(CONTAINER_ID_LABEL)


def _plain(value: object) -> dict[Any, Any]:
    """Read-only mappings (MappingProxyType), which the encoder does not know."""
    if isinstance(value, Mapping):
        return dict(value)
    raise NotImplementedError(f"{type(value).__name__} in a manifest")
