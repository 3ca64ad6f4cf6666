"""The NodeStatuses port on a Kubernetes API server: a merge patch of nodes/status, and questions about rights.

Capacity and allocatable are written alike: the kubelet makes allocatable of capacity with every update of its own, so
that a patch of allocatable alone would be undone.  The annotation goes with the same patch: the status of a node is one
of the few whose subresource takes metadata too (the kubelet writes annotations so).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from urllib.parse import quote

import msgspec

from yodel.errors import Refused, Unavailable
from yodel.kube.api import METADATA_ONLY, ApiRequest, ApiStatus, KubeApi
from yodel.kube.decode import decode_version
from yodel.kube.nodes import NODES_PATH
from yodel.kube.retrying import RetryLimits, retried
from yodel.translator.names import PUBLISHER
from yodel.translator.publishing import patch_of

MERGE_PATCH = "application/merge-patch+json"
REVIEWS_PATH = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


@dataclass(frozen=True, slots=True, kw_only=True)
class Right:
    """A right that publishing needs.  ``value`` is the chart's value that grants it."""

    value: str
    verb: str
    resource: str
    subresource: str = ""

    @property
    def words(self) -> str:
        what = f"{self.resource}/{self.subresource}" if self.subresource else self.resource
        everywhere = " of all namespaces" if self.resource == "pods" else ""
        return f"{self.value} (the right to {self.verb} {what}{everywhere})"


RIGHTS = (
    Right(value="rbac.nodes", verb="list", resource="nodes"),
    Right(value="rbac.nodes", verb="watch", resource="nodes"),
    Right(value="rbac.nodeStatus", verb="patch", resource="nodes", subresource="status"),
    Right(value="rbac.allPods", verb="list", resource="pods"),
    Right(value="rbac.allPods", verb="watch", resource="pods"),
)


class _ReviewStatus(msgspec.Struct):
    allowed: bool = False


class _Review(msgspec.Struct):
    status: _ReviewStatus


class KubeNodeStatuses:
    """Implements yodel.ports.kube_nodes.NodeStatuses."""

    def __init__(self, api: KubeApi, limits: RetryLimits | None = None) -> None:
        self._api, self._limits = api, limits or RetryLimits(attempts=2, total_s=5.0)

    async def publish(self, node: str, amounts: Mapping[str, int | None]) -> str:
        """See NodeStatuses.publish."""
        request = ApiRequest(
            method="PATCH",
            path=f"{NODES_PATH}/{quote(node, safe='')}/status",
            query={"fieldManager": PUBLISHER},
            body=msgspec.json.encode(patch_of(amounts)),
            content_type=MERGE_PATCH,
            accept=METADATA_ONLY,
        )
        what = f"Publishing the lent capacity of node {node}"
        body = await retried(partial(self._call_or_none, request), what, self._limits)
        try:
            return decode_version(body) if body is not None else ""
        except msgspec.DecodeError as malformed:
            raise Unavailable(f"{what}: the answer is no node: {malformed}") from malformed

    async def missing_rights(self) -> Sequence[str]:
        """See NodeStatuses.missing_rights."""
        missing: dict[str, None] = {}
        for right in RIGHTS:
            if not any(words.startswith(f"{right.value} ") for words in missing) and not await self._may(right):
                missing[right.words] = None
        return list(missing)

    async def _may(self, right: Right) -> bool:
        """True also where the server has no such question: then the patch itself is refused, and said so."""
        attributes = {"verb": right.verb, "resource": right.resource, "subresource": right.subresource}
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": {name: text for name, text in attributes.items() if text}},
        }
        request = ApiRequest(method="POST", path=REVIEWS_PATH, body=msgspec.json.encode(review))
        what = f"Checking the right to {right.verb} {right.resource}"
        try:
            body = await retried(partial(self._call_or_none, request), what, self._limits)
            return body is None or msgspec.json.decode(body, type=_Review).status.allowed
        except Refused:
            return True
        except msgspec.DecodeError as malformed:
            raise Unavailable(f"{what}: the answer is no review: {malformed}") from malformed

    async def _call_or_none(self, request: ApiRequest) -> bytes | None:
        """The answer, or None for 404 NotFound."""
        try:
            return await self._api.call(request)
        except ApiStatus as status:
            if status.code == 404:
                return None
            raise
