"""The HTTP face of the local cluster: an ASGI application that speaks the Kubernetes API for four resources.

Written on bare ASGI: the paths are few and regular, and a watch is a plain stream.  It checks the bearer token, reads
bodies up to the real server's three mebibytes, and turns every ApiError into its Status.  Refused: server-side apply,
protobuf, exec, attach, port-forward and everything else that is not listed in ``discovery``.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol
from urllib.parse import parse_qsl, unquote

import msgspec

from yodel.errors import Unavailable
from yodel.local import discovery, tables
from yodel.local.objects import ObjectStore, StoredObject
from yodel.local.reading import Watch, is_true, list_body, parse_read_request, wants_table
from yodel.local.registry import Registry, is_dry_run, parse_delete_options
from yodel.local.statuses import (
    ApiError,
    Json,
    bad_request,
    method_not_allowed,
    path_not_found,
    too_large,
    unauthorized,
    unsupported_media_type,
)

BODY_BYTES_MAX = 3 * 1024 * 1024
_JSON = b"application/json"
_OPEN_PATHS = frozenset({"/healthz", "/livez", "/readyz", "/version"})

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


class LogSource(Protocol):
    """Reads container logs."""

    def read(self, pod: StoredObject, query: Mapping[str, str]) -> AsyncIterator[bytes]:
        """Chunks of text.  Raises ApiError at once, before the first chunk, when there is nothing to read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A whole body, or a stream of chunks."""

    status: int = 200
    media_type: bytes = _JSON
    body: bytes = b""
    chunks: AsyncIterator[bytes] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PathTarget:
    """Holds the parts of a path under /api/v1.  ``namespace`` None means all, "" a cluster-wide resource."""

    resource: str
    namespace: str | None
    name: str = ""
    subresource: str = ""

    @property
    def home(self) -> str:
        """The namespace to write to."""
        if self.namespace is None:
            raise method_not_allowed()
        return self.namespace


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    method: str
    path: str
    query: Mapping[str, str]
    accept: str
    content_type: str
    authorization: str
    receive: Receive


class KubernetesApi:
    """The ASGI application.  ``close`` ends all streams so that the server can stop."""

    def __init__(
        self, store: ObjectStore, registry: Registry, logs: LogSource, *, token: str, now: Callable[[], datetime]
    ) -> None:
        self._store, self._registry, self._logs, self._now = store, registry, logs, now
        self._authorization = f"Bearer {token}".encode()
        self._closing = asyncio.Event()

    def close(self) -> None:
        self._closing.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise ValueError(f"only http is served, not {scope['type']}")
        request = _request(scope, receive)
        try:
            answer = await self._answer(request)
        except ApiError as error:
            answer = Answer(status=error.code, body=msgspec.json.encode(error.to_json()))
        except Unavailable as error:  # the journal: a full disk, most likely
            failure = ApiError(500, "InternalError", f"Internal error occurred: {error}")
            answer = Answer(status=500, body=msgspec.json.encode(failure.to_json()))
        await self._send(answer, receive, send)

    async def _answer(self, request: Request) -> Answer:
        if request.path not in _OPEN_PATHS and not self._is_authorized(request):
            raise unauthorized()
        if request.path.startswith("/api/v1/"):
            return await self._resource(request, _target(request.path))
        if request.method != "GET":
            raise method_not_allowed()
        if request.path.split("/")[1] in ("healthz", "livez", "readyz"):
            return Answer(media_type=b"text/plain; charset=utf-8", body=b"ok")
        return _json(_document(request.path))

    def _is_authorized(self, request: Request) -> bool:
        return hmac.compare_digest(request.authorization.encode(), self._authorization)

    async def _resource(self, request: Request, target: PathTarget) -> Answer:
        if target.subresource not in ("", "status", "resize"):
            return await self._subresource(request, target)
        if request.method == "GET":
            return self._get(request, target)
        if request.method == "POST" and not target.name:
            registry = self._registry_for(request, "CreateOptions")
            record = registry.create(target.resource, target.home, await _body(request))
            return self._one(request, record, status=201)
        if request.method == "PUT" and target.name:
            registry, body = self._registry_for(request, "UpdateOptions"), await _body(request)
            record = registry.replace(target.resource, target.home, target.name, target.subresource, body)
            return self._one(request, record)
        if request.method == "PATCH" and target.name:
            return await self._patch(request, target)
        if request.method == "DELETE" and not target.subresource:
            return await self._delete(request, target)
        raise method_not_allowed()

    def _registry_for(self, request: Request, options: str) -> Registry:
        """Raises ApiError (422): a dry run is asked for in words that are none."""
        return self._registry.dry() if is_dry_run(options, request.query.get("dryRun")) else self._registry

    def _get(self, request: Request, target: PathTarget) -> Answer:
        if target.name and not is_true(request.query, "watch"):
            return self._one(request, self._store.get(target.resource, target.home, target.name))
        read = parse_read_request(target.resource, target.namespace, target.name, request.query, request.accept)
        if is_true(request.query, "watch"):
            return Answer(chunks=Watch(self._store, read, self._now).lines())
        return Answer(body=list_body(self._store, read, self._now()))

    async def _patch(self, request: Request, target: PathTarget) -> Answer:
        registry = self._registry_for(request, "PatchOptions")
        media_type = request.content_type.partition(";")[0].strip()
        patch = _decode(await _bytes(request))
        where = (target.resource, target.home, target.name, target.subresource)
        return self._one(request, registry.patch(*where, media_type, patch))

    async def _delete(self, request: Request, target: PathTarget) -> Answer:
        raw = await _bytes(request)
        body = _decode(raw) if raw else {}
        options = parse_delete_options(body if isinstance(body, dict) else {}, request.query)
        if target.name:
            return _json(self._registry.delete(target.resource, target.home, target.name, options))
        read = parse_read_request(target.resource, target.home, "", request.query, "")
        whole = list_body(self._store, read, self._now())
        for record in self._store.list(target.resource, target.home):
            if read.selector.matches(record.item):
                self._registry.delete(*record.key, options)
        return Answer(body=whole)

    async def _subresource(self, request: Request, target: PathTarget) -> Answer:
        what = (target.resource, target.subresource, request.method)
        if what == ("pods", "log", "GET"):
            record = self._store.get("pods", target.home, target.name)
            return Answer(media_type=b"text/plain", chunks=self._logs.read(record, request.query))
        if what == ("pods", "binding", "POST"):
            registry = self._registry_for(request, "CreateOptions")
            return _json(registry.bind(target.home, target.name, await _body(request)), 201)
        if what == ("pods", "eviction", "POST"):
            registry = self._registry_for(request, "CreateOptions")
            return _json(registry.evict(target.home, target.name, await _body(request)), 201)
        raise path_not_found()

    def _one(self, request: Request, record: StoredObject, status: int = 200) -> Answer:
        if not wants_table(request.accept):
            return Answer(status=status, body=record.encoded)
        metadata = {"resourceVersion": str(record.version)}
        include = request.query.get("includeObject", "Metadata")
        return _json(
            tables.table(record.key[0], (record.item,), self._now(), metadata=metadata, include=include), status
        )

    async def _send(self, answer: Answer, receive: Receive, send: Send) -> None:
        headers = [(b"content-type", answer.media_type), (b"cache-control", b"no-cache, private")]
        if answer.chunks is None:
            headers.append((b"content-length", b"%d" % len(answer.body)))
            await send({"type": "http.response.start", "status": answer.status, "headers": headers})
            await send({"type": "http.response.body", "body": answer.body})
            return
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": b"", "more_body": True})  # headers go out before any event
        async with asyncio.TaskGroup() as tasks:
            ends = (
                tasks.create_task(_pump(answer.chunks, send), name="stream"),
                tasks.create_task(_until_gone(receive), name="client gone"),
                tasks.create_task(self._closing.wait(), name="server closing"),
            )
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            for task in ends:
                task.cancel()
        await send({"type": "http.response.body", "body": b""})


async def _pump(chunks: AsyncIterator[bytes], send: Send) -> None:
    async with aclosing(chunks) as stream:  # type: ignore[type-var]
        async for chunk in stream:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _request(scope: Scope, receive: Receive) -> Request:
    headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
    return Request(
        method=scope["method"],
        path=scope["path"],
        query=dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)),
        accept=headers.get(b"accept", ""),
        content_type=headers.get(b"content-type", ""),
        authorization=headers.get(b"authorization", ""),
        receive=receive,
    )


def _target(path: str) -> PathTarget:
    """Raises ApiError (404)."""
    parts = [unquote(part) for part in path.removeprefix("/api/v1/").strip("/").split("/")]
    if parts[0] == "namespaces" and len(parts) > 2 and parts[2] in discovery.RESOURCES:
        namespace, parts = parts[1], parts[2:]
        if not discovery.RESOURCES[parts[0]].namespaced:
            raise path_not_found()
        return _named(parts, namespace)
    entry = discovery.RESOURCES.get(parts[0])
    if entry is None or (entry.namespaced and len(parts) > 1):
        raise path_not_found()
    return _named(parts, None if entry.namespaced else "")


def _named(parts: list[str], namespace: str | None) -> PathTarget:
    if len(parts) > 3:
        raise path_not_found()
    resource, name, subresource = (*parts, "", "")[:3]
    if subresource == "resize" and resource != "pods":
        raise path_not_found()
    if subresource == "status" and not discovery.RESOURCES[resource].has_status:
        raise path_not_found()
    return PathTarget(resource=resource, namespace=namespace, name=name, subresource=subresource)


def _document(path: str) -> Json:
    documents: Mapping[str, Callable[[], Json]] = {
        "/version": discovery.version,
        "/api": lambda: discovery.core_versions(""),
        "/apis": discovery.groups,
        "/api/v1": discovery.core_resources,
        "/openapi/v2": discovery.openapi_v2,
        "/openapi/v3": discovery.openapi_v3_index,
        "/openapi/v3/api/v1": discovery.openapi_v3_core,
    }
    make = documents.get(path.rstrip("/"))
    if make is None:
        raise path_not_found()
    return make()


def _json(body: Json, status: int = 200) -> Answer:
    return Answer(status=status, body=msgspec.json.encode(body))


async def _body(request: Request) -> Json:
    media_type = request.content_type.partition(";")[0].strip()
    if media_type not in ("", "application/json"):
        raise unsupported_media_type(media_type, ("application/json",))
    body = _decode(await _bytes(request))
    if not isinstance(body, dict):
        raise bad_request("the body must be a JSON object")
    return body


async def _bytes(request: Request) -> bytes:
    pieces: list[bytes] = []
    size = 0
    while True:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise bad_request("the client went away")
        pieces.append(message.get("body", b""))
        size += len(pieces[-1])
        if size > BODY_BYTES_MAX:
            raise too_large()
        if not message.get("more_body", False):
            return b"".join(pieces)


def _decode(raw: bytes) -> Any:
    try:
        return msgspec.json.decode(raw)
    except msgspec.DecodeError as error:
        raise bad_request(f"the body is not valid JSON: {error}") from error
