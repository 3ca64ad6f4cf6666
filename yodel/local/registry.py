"""The rules between a request and the store: what creating, updating and deleting mean for each resource.

Follows the real server's registry strategies: an update of the object leaves its status alone and an update of the
status leaves the spec alone; a pod with a node is deleted in two steps, first marked with a deadline (the kubelet acts
on that change) and removed by the kubelet; a pod without a node, or at its end, is removed at once.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from yodel.local import admission, pod_rules
from yodel.local.discovery import RESOURCES
from yodel.local.objects import DryRun, ObjectStore, StoredObject
from yodel.local.patches import apply_patch
from yodel.local.shapes import check_shape
from yodel.local.statuses import Json, StatusCause, bad_request, conflict, forbidden, invalid, not_found, success
from yodel.local.times import to_text

_SERVER_METADATA = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")
DEFAULT_GRACE_S = 30
SYSTEM_CLASSES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
"""PriorityClasses that every cluster has (pkg/apis/scheduling)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteOptions:
    """``grace_s`` None means the pod's own; empty preconditions mean none."""

    grace_s: int | None = None
    uid: str = ""
    resource_version: str = ""
    is_dry_run: bool = False


class Registry:
    """Writes objects by the rules of their resource.  Raises ApiError everywhere."""

    def __init__(
        self, store: ObjectStore, now: Callable[[], datetime], priority_classes: Mapping[str, int] | None = None
    ) -> None:
        """``priority_classes``: those that are there besides Kubernetes' own, by name."""
        self._store, self._now = store, now
        self._priority_classes = SYSTEM_CLASSES | dict(priority_classes or {})

    def dry(self) -> Registry:
        """One of the same rules for ``dryRun=All``: it writes nothing."""
        return Registry(DryRun(self._store), self._now, self._priority_classes)

    def create(self, resource: str, namespace: str, body: Json) -> StoredObject:
        item = self._identified(resource, namespace, body)
        if resource == "pods":
            self._require_namespace(namespace)
            pod_rules.check_pod(item)
            item = pod_rules.with_defaults(item, pod_rules.priority(item, self._priority_classes))
            if item["spec"].get("nodeName"):
                item["status"]["conditions"] = [scheduled_condition(self._now())]
        else:
            causes = list(pod_rules.metadata_causes(item["metadata"]))
            if causes:
                raise invalid(RESOURCES[resource].kind, str(item["metadata"].get("name", "")), causes)
        if resource == "namespaces":
            item = {**item, "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}
        return self._store.create(resource, item)

    def replace(self, resource: str, namespace: str, name: str, subresource: str, body: Json) -> StoredObject:
        self._check_type(resource, namespace, body)
        if (body.get("metadata") or {}).get("name", name) != name:
            raise bad_request("the name of the object does not match the name on the URL")
        return self._updated(resource, self._store.get(resource, namespace, name), subresource, body)

    def patch(
        self, resource: str, namespace: str, name: str, subresource: str, media_type: str, patch: Any
    ) -> StoredObject:
        old = self._store.get(resource, namespace, name)
        item = apply_patch(old.item, media_type, patch)
        if not isinstance(item.get("metadata"), dict) or item["metadata"].get("name") != name:
            raise bad_request("the name of the object does not match the name on the URL")
        check_shape(resource, item)
        return self._updated(resource, old, subresource, item)

    def delete(self, resource: str, namespace: str, name: str, options: DeleteOptions) -> Json:
        """The body of the answer: the pod as it is now, or a Status."""
        if options.is_dry_run:
            return self.dry().delete(resource, namespace, name, replace(options, is_dry_run=False))
        record = self._store.get(resource, namespace, name)
        _check_preconditions(resource, record, options)
        if resource == "pods":
            return self._delete_pod(record, options).item
        if resource == "namespaces":
            self._empty_namespace(name)
        self._store.remove(resource, namespace, name)
        return success({"name": name, "kind": resource, "uid": record.uid})

    def evict(self, namespace: str, name: str, body: Json) -> Json:
        """``pods/eviction``: a deletion with the eviction's options; there are no disruption budgets here."""
        self._store.get("pods", namespace, name)
        self.delete("pods", namespace, name, parse_delete_options(body.get("deleteOptions") or {}, {}))
        return {**success(), "code": 201}

    def bind(self, namespace: str, name: str, body: Json) -> Json:
        """``pods/binding``: what a scheduler calls."""
        record = self._store.get("pods", namespace, name)
        node = str((body.get("target") or {}).get("name") or "")
        wanted_uid = (body.get("metadata") or {}).get("uid")
        if not node:
            raise bad_request("a binding needs target.name")
        if wanted_uid and wanted_uid != record.uid:
            raise conflict("pods/binding", name, f"the UID in the precondition ({wanted_uid}) does not match")
        self.assign(record, node)
        return {**success(), "code": 201}

    def assign(self, record: StoredObject, node: str) -> StoredObject:
        """Give a pod its node.  Raises ApiError (409) when it has one or is being deleted."""
        pod = record.item
        if pod["spec"].get("nodeName"):
            name = pod["metadata"]["name"]
            raise conflict("pods/binding", name, f'pod {name} is already assigned to node "{pod["spec"]["nodeName"]}"')
        if pod["metadata"].get("deletionTimestamp"):
            name = pod["metadata"]["name"]
            raise conflict("pods/binding", name, f"pod {name} is being deleted, cannot be assigned to a host")
        conditions = [c for c in pod["status"].get("conditions") or [] if c["type"] != "PodScheduled"]
        status = {**pod["status"], "conditions": [*conditions, scheduled_condition(self._now())]}
        return self._store.replace("pods", {**pod, "spec": {**pod["spec"], "nodeName": node}, "status": status})

    def _identified(self, resource: str, namespace: str, body: Json) -> Json:
        self._check_type(resource, namespace, body)
        given: Json = body.get("metadata") or {}
        if given.get("resourceVersion"):
            raise bad_request("resourceVersion should not be set on objects to be created")
        dropped = (*_SERVER_METADATA[2:], "managedFields", "generation", "selfLink", "generateName", "resourceVersion")
        metadata = {key: value for key, value in given.items() if key not in dropped and value is not None}
        if RESOURCES[resource].namespaced:
            metadata["namespace"] = namespace
        metadata |= {"uid": str(uuid.uuid4()), "creationTimestamp": to_text(self._now())}
        return {**body, "apiVersion": "v1", "kind": RESOURCES[resource].kind, "metadata": metadata}

    def _check_type(self, resource: str, namespace: str, body: Json) -> None:
        kind = RESOURCES[resource].kind
        if body.get("kind", kind) != kind or body.get("apiVersion", "v1") != "v1":
            got = f"{body.get('apiVersion')}, Kind={body.get('kind')}"
            raise bad_request(f"the object provided is unrecognized: got {got}, expected v1, Kind={kind}")
        check_shape(resource, body)
        if namespace and (body.get("metadata") or {}).get("namespace", namespace) != namespace:
            text = "the namespace of the provided object does not match the namespace sent on the request"
            raise bad_request(text)

    def _require_namespace(self, namespace: str) -> None:
        if self._store.find("namespaces", "", namespace) is None:
            raise not_found("namespaces", namespace)

    def _updated(self, resource: str, old: StoredObject, subresource: str, new: Json) -> StoredObject:
        given: Json = new.get("metadata") or {}
        if given.get("uid") and given["uid"] != old.uid:
            name = old.key[2]
            text = f"Precondition failed: UID in precondition: {given['uid']}, UID in object meta: {old.uid}"
            raise conflict(resource, name, text)
        kept = {key: old.item["metadata"][key] for key in _SERVER_METADATA if key in old.item["metadata"]}
        metadata = {key: value for key, value in given.items() if key not in _SERVER_METADATA} | kept
        metadata.pop("managedFields", None)
        named = {"apiVersion": "v1", "kind": RESOURCES[resource].kind, "metadata": metadata}
        causes = list(pod_rules.metadata_causes(metadata))
        if causes:
            raise invalid(RESOURCES[resource].kind, old.key[2], causes)
        if subresource == "status":
            item = {**old.item, **named, "status": new.get("status") or {}}
        elif subresource == "resize":
            item = {**old.item, "spec": pod_rules.resized_spec(old.item, new)}
            self._check_room(item)
        elif RESOURCES[resource].has_status:
            item = {**new, **named, "status": old.item.get("status") or {}}
        else:
            item = {**new, **named}
        if resource == "pods" and not subresource:
            pod_rules.check_pod_update(old.item, item)
        return self._store.replace(resource, item, expected_version=str(given.get("resourceVersion") or ""))

    def _check_room(self, pod: Json) -> None:
        """A pod may not grow beyond all that its node has; what others take of it is the kubelet's matter."""
        node = self._store.find("nodes", "", pod["spec"].get("nodeName") or "")
        lacks = admission.beyond(pod, node.item) if node is not None else ""
        if lacks:
            name = pod["metadata"]["name"]
            raise forbidden("pods", name, f"node didn't have enough allocatable resources: {lacks}")

    def _delete_pod(self, record: StoredObject, options: DeleteOptions) -> StoredObject:
        """Marked first, even where it is removed at once: a watch tells both (rest.Store.Delete)."""
        pod = record.item
        own_grace_s = pod["spec"].get("terminationGracePeriodSeconds", DEFAULT_GRACE_S)
        grace_s = max(0, own_grace_s if options.grace_s is None else options.grace_s)
        if not pod["spec"].get("nodeName") or pod["status"].get("phase") in ("Succeeded", "Failed") or grace_s == 0:
            self._mark(pod, 0)
            return self._store.remove("pods", record.key[1], record.key[2])
        marked_grace_s = pod["metadata"].get("deletionGracePeriodSeconds")
        if marked_grace_s is not None and marked_grace_s <= grace_s:
            return record  # a repeated deletion may only shorten the time
        return self._mark(pod, grace_s)

    def _mark(self, pod: Json, grace_s: int) -> StoredObject:
        deadline = to_text(self._now() + timedelta(seconds=grace_s))
        marks = {"deletionTimestamp": deadline, "deletionGracePeriodSeconds": grace_s}
        return self._store.replace("pods", {**pod, "metadata": {**pod["metadata"], **marks}})

    def _empty_namespace(self, name: str) -> None:
        if name == "default":
            raise forbidden("namespaces", name, "this namespace may not be deleted")
        for resource, entry in RESOURCES.items():
            if entry.namespaced:
                for record in self._store.list(resource, name):
                    self._store.remove(resource, *record.key[1:])


def scheduled_condition(at: datetime) -> Json:
    return {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": to_text(at)}


def parse_delete_options(body: Json, query: Mapping[str, str]) -> DeleteOptions:
    """Parse the request's body (DeleteOptions) and query; the body wins, as in the real server."""
    grace: Any = body.get("gracePeriodSeconds", query.get("gracePeriodSeconds"))
    try:
        grace_s = None if grace is None else int(grace)
    except (TypeError, ValueError) as error:
        raise bad_request(f"invalid gracePeriodSeconds: {grace!r}") from error
    if grace_s is not None and grace_s < 0:
        grace_s = 1  # "negative values are treated as one second" (metav1.DeleteOptions)
    preconditions = body.get("preconditions") or {}
    return DeleteOptions(
        grace_s=grace_s,
        is_dry_run=is_dry_run("DeleteOptions", body.get("dryRun", query.get("dryRun"))),
        uid=str(preconditions.get("uid") or ""),
        resource_version=str(preconditions.get("resourceVersion") or ""),
    )


def is_dry_run(options: str, asked: object) -> bool:
    """``dryRun`` of a body, a list, or of a query.  Raises ApiError (422): all stages are run, or none is left out."""
    values = asked if isinstance(asked, list) else [] if asked is None else [asked]
    unknown = [value for value in values if value != "All"]
    if unknown:
        shown = ",".join(f'"{value}"' for value in values)
        text = f'Unsupported value: [{shown}]: supported values: "All"'
        cause = StatusCause(field="dryRun", reason="FieldValueNotSupported", message=text)
        raise invalid(f"{options}.meta.k8s.io", "", [cause])
    return bool(values)


def _check_preconditions(resource: str, record: StoredObject, options: DeleteOptions) -> None:
    name = record.key[2]
    if options.uid and options.uid != record.uid:
        text = f"Precondition failed: UID in precondition: {options.uid}, UID in object meta: {record.uid}"
        raise conflict(resource, name, text)
    if options.resource_version and options.resource_version != str(record.version):
        text = (
            f"Precondition failed: ResourceVersion in precondition: {options.resource_version}, "
            f"ResourceVersion in object meta: {record.version}"
        )
        raise conflict(resource, name, text)
