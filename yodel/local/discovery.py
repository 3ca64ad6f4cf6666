"""Serves the server's own description: version, discovery documents and a minimal OpenAPI.

Legacy discovery only: kubectl falls back to it from the aggregated form when the answer's content type says so.  The
OpenAPI documents exist so that ``kubectl create -f`` learns that the server accepts ``fieldValidation`` and stops
asking for schemas; they describe no fields.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass

from yodel.local.statuses import Json

VERSION = "v1.32.0"
_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiResource:
    """One kind of object that this server stores."""

    plural: str
    singular: str
    kind: str
    namespaced: bool
    short_names: tuple[str, ...]
    categories: tuple[str, ...] = ()
    has_status: bool = False

    def to_json(self) -> Json:
        body: Json = {
            "name": self.plural,
            "singularName": self.singular,
            "namespaced": self.namespaced,
            "kind": self.kind,
            "verbs": list(_VERBS),
            "shortNames": list(self.short_names),
        }
        return {**body, "categories": list(self.categories)} if self.categories else body


RESOURCES = {
    entry.plural: entry
    for entry in (
        ApiResource(plural="events", singular="event", kind="Event", namespaced=True, short_names=("ev",)),
        ApiResource(
            plural="namespaces",
            singular="namespace",
            kind="Namespace",
            namespaced=False,
            short_names=("ns",),
            has_status=True,
        ),
        ApiResource(
            plural="nodes", singular="node", kind="Node", namespaced=False, short_names=("no",), has_status=True
        ),
        ApiResource(
            plural="pods",
            singular="pod",
            kind="Pod",
            namespaced=True,
            short_names=("po",),
            categories=("all",),
            has_status=True,
        ),
    )
}


def version() -> Json:
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return {
        "major": "1",
        "minor": "32",
        "gitVersion": VERSION,
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "none",
        "compiler": "none",
        "platform": f"linux/{machine}",
    }


def core_versions(address: str) -> Json:
    clients = [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}]
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": clients}


def groups() -> Json:
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": []}


def core_resources() -> Json:
    entries: list[Json] = []
    for entry in RESOURCES.values():
        entries.append(entry.to_json())
        if entry.has_status:
            entries.append(_subresource(entry, "status", entry.kind, ["get", "patch", "update"]))
    pods = RESOURCES["pods"]
    entries.append(_subresource(pods, "log", "Pod", ["get"]))
    entries.append(_subresource(pods, "resize", "Pod", ["get", "patch", "update"]))
    entries.append(_subresource(pods, "binding", "Binding", ["create"]))
    eviction = _subresource(pods, "eviction", "Eviction", ["create"])
    entries.append({**eviction, "group": "policy", "version": "v1"})
    resources = sorted(entries, key=lambda entry: str(entry["name"]))
    return {"kind": "APIResourceList", "groupVersion": "v1", "resources": resources}


def _subresource(entry: ApiResource, name: str, kind: str, verbs: list[str]) -> Json:
    return {
        "name": f"{entry.plural}/{name}",
        "singularName": "",
        "namespaced": entry.namespaced,
        "kind": kind,
        "verbs": verbs,
    }


def openapi_v2() -> Json:
    return {"swagger": "2.0", "info": {"title": "Kubernetes", "version": VERSION}, "paths": {}, "definitions": {}}


def openapi_v3_index() -> Json:
    return {"paths": {"api/v1": {"serverRelativeURL": "/openapi/v3/api/v1?hash=1"}}}


def openapi_v3_core() -> Json:
    paths = {_path(entry): {"patch": _patch_operation(entry)} for entry in RESOURCES.values()}
    info = {"title": "Kubernetes", "version": VERSION}
    return {"openapi": "3.0.0", "info": info, "paths": paths, "components": {"schemas": {}}}


def _path(entry: ApiResource) -> str:
    return (
        f"/api/v1/namespaces/{{namespace}}/{entry.plural}/{{name}}"
        if entry.namespaced
        else f"/api/v1/{entry.plural}/{{name}}"
    )


def _patch_operation(entry: ApiResource) -> Json:
    return {
        "operationId": f"patchCoreV1{entry.kind}",
        "parameters": [{"name": "fieldValidation", "in": "query", "schema": {"type": "string", "uniqueItems": True}}],
        "responses": {"200": {"description": "OK"}},
        "x-kubernetes-action": "patch",
        "x-kubernetes-group-version-kind": {"group": "", "version": "v1", "kind": entry.kind},
    }
