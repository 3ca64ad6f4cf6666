"""Writes what people look at: events on pods, and one YarnApplication object an application.

An event's name is made from what it says, so a repeat finds itself.  Applications are written by server-side apply,
which creates and renews in one request and takes the object over whoever made it.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import msgspec

from yodel.domain.ids import ApplicationId
from yodel.errors import InvalidValue, Unavailable
from yodel.kube.api import ApiRequest, ApiStatus, KubeApi, as_project_error
from yodel.ports.inspection import ListedApplication, PodEvent
from yodel.translator import names

GROUP, VERSION, PLURAL, KIND = "yodel.io", "v1", "yarnapplications", "YarnApplication"
APPLY = "application/apply-patch+yaml"
COMPONENT = "yodel-resourcemanager"
MESSAGE_LENGTH_MAX = 1024
"""core/v1 validation: of an event's message."""
PAGE_SIZE, PAGES_MAX = 500, 200


class KubePodEvents:
    """Implements yodel.ports.inspection.PodEvents for one namespace."""

    def __init__(self, api: KubeApi, namespace: str) -> None:
        self._api, self._namespace = api, namespace

    async def tell(self, event: PodEvent) -> None:
        """Raises: Refused, Unavailable."""
        path = f"/api/v1/namespaces/{quote(self._namespace, safe='')}/events"
        body = msgspec.json.encode(_event(event, self._namespace))
        await _call(self._api, ApiRequest(method="POST", path=path, body=body), "Writing an event", ok=409)


class KubeApplicationBoard:
    """Implements yodel.ports.inspection.ApplicationBoard with YarnApplication objects of one namespace."""

    def __init__(self, api: KubeApi, namespace: str, cluster: str) -> None:
        self._api, self._cluster = api, cluster
        self._path = f"/apis/{GROUP}/{VERSION}/namespaces/{quote(namespace, safe='')}/{PLURAL}"

    async def show(self, summary: ListedApplication) -> None:
        """Raises: Refused (also when the resource is not installed), Unavailable."""
        request = ApiRequest(
            method="PATCH",
            path=f"{self._path}/{_name(summary.id)}",
            query={"fieldManager": COMPONENT, "force": "true"},
            body=msgspec.json.encode(_application(summary, self._cluster)),
            content_type=APPLY,
        )
        await _call(self._api, request, f"Showing {summary.id}")

    async def hide(self, application_id: ApplicationId) -> None:
        """Raises: Refused, Unavailable."""
        request = ApiRequest(method="DELETE", path=f"{self._path}/{_name(application_id)}")
        await _call(self._api, request, f"Hiding {application_id}", ok=404)

    async def shown(self) -> Collection[ApplicationId]:
        """Raises: Refused, Unavailable."""
        found: list[ApplicationId] = []
        continuation = ""
        for _ in range(PAGES_MAX):
            query = {"labelSelector": names.selector(self._cluster), "limit": str(PAGE_SIZE)}
            if continuation:
                query["continue"] = continuation
            body = await _call(self._api, ApiRequest(path=self._path, query=query), "Listing applications")
            try:
                page = msgspec.json.decode(body, type=_ApplicationPage)
            except msgspec.DecodeError as malformed:
                raise Unavailable(f"Listing applications: the answer is no list: {malformed}") from malformed
            found += [known for item in page.items if (known := _id(item.metadata.name)) is not None]
            continuation = page.metadata.continuation or ""
            if not continuation:
                return found
        raise Unavailable(f"Listing applications: more than {PAGES_MAX} pages")


class _ApplicationMetadata(msgspec.Struct):
    name: str = ""
    continuation: str | None = msgspec.field(name="continue", default=None)


class _ApplicationItem(msgspec.Struct):
    metadata: _ApplicationMetadata


class _ApplicationPage(msgspec.Struct):
    metadata: _ApplicationMetadata
    items: list[_ApplicationItem]


async def _call(api: KubeApi, request: ApiRequest, what: str, *, ok: int = 0) -> bytes:
    """One attempt: what is best effort is not repeated.  An answer with status ``ok`` is a success."""
    try:
        return await api.call(request)
    except ApiStatus as status:
        if status.code == ok:
            return b""
        raise as_project_error(status, what) from status


def _event(event: PodEvent, namespace: str) -> dict[str, Any]:
    at = _time(event.at_ms)
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {
            "name": f"{event.pod_name}.{event.reason.lower()}.{event.at_ms:x}"[:253],
            "namespace": namespace,
            "labels": {names.MANAGED_BY: names.MANAGED_BY_YODEL},
        },
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": namespace,
            "name": event.pod_name,
            "uid": event.pod_uid,
        },
        "type": "Warning" if event.is_warning else "Normal",
        "reason": event.reason,
        "message": event.message[:MESSAGE_LENGTH_MAX],
        "source": {"component": COMPONENT},
        "reportingComponent": COMPONENT,
        "firstTimestamp": at,
        "lastTimestamp": at,
        "count": 1,
    }


def _application(summary: ListedApplication, cluster: str) -> dict[str, Any]:
    labels = {
        names.MANAGED_BY: names.MANAGED_BY_YODEL,
        names.CLUSTER: names.label_value(cluster),
        names.APPLICATION: str(summary.id),
        names.USER: names.label_value(summary.user),
        names.QUEUE: names.label_value(summary.queue),
    }
    status: dict[str, Any] = {
        "applicationId": str(summary.id),
        "name": summary.name,
        "type": summary.type,
        "user": summary.user,
        "queue": summary.queue,
        "state": summary.state,
        "finalStatus": summary.final_status,
        "containers": summary.containers,
        "memoryMiB": summary.memory_mib,
        "vcores": summary.vcores,
        "submitted": _time(summary.submitted_ms),
    }
    if summary.finished_ms:
        status["finished"] = _time(summary.finished_ms)
    if summary.waits_for:
        status["waitsFor"] = summary.waits_for
    if summary.without_pods:
        status["withoutPods"] = [{"container": container, "node": node} for container, node in summary.without_pods]
    if summary.diagnostics:
        status["diagnostics"] = summary.diagnostics
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": KIND,
        "metadata": {"name": _name(summary.id), "labels": labels},
        "status": status,
    }


def _name(application_id: ApplicationId) -> str:
    return str(application_id).replace("_", "-")


def _id(name: str) -> ApplicationId | None:
    try:
        found = ApplicationId.parse(name.replace("-", "_"))
    except InvalidValue:
        return None
    return found if _name(found) == name else None


def _time(epoch_ms: int) -> str:
    return datetime.fromtimestamp(epoch_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
