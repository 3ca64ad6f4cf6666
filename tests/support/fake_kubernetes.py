"""A programmable API server: answers what a test scripted, in order, and remembers what it was asked.

Two doors to the same script.  ``FakeApi`` is the adapter's own seam (KubeApi) without network, for fake loop time;
``serve`` is HTTP on a free port, which can also stall, write half a line and cut connections.  It knows nothing of
Kubernetes: what a real server would answer is the business of the contract tests.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

from yodel.errors import Unavailable
from yodel.kube.api import ApiRequest, status_of_answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One complete answer.  ``body`` is JSON unless it is bytes already; ``drop`` cuts the connection instead."""

    body: Any = b"{}"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    drop: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """One watch: the chunks one after the other, then how it ends: ``"end"``, ``"cut"`` or ``"stall"``.

    A float among the chunks is a pause of so many seconds.
    """

    chunks: tuple[bytes | float, ...] = ()
    ending: str = "stall"


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that came."""

    method: str
    path: str
    query: dict[str, str]
    body: Any
    headers: dict[str, str]


class FakeKubernetes:
    """Holds the script.  An exhausted script answers 500 ``script exhausted``; the last watch should stall."""

    def __init__(self, *script: Answer | Stream) -> None:
        self.script: deque[Answer | Stream] = deque(script)
        self.asked: list[Asked] = []
        self.raw_paths: list[str] = []  # as they came over HTTP, still quoted
        self._was_asked = asyncio.Event()

    def next_answer(self, asked: Asked) -> Answer | Stream:
        self.asked.append(asked)
        self._was_asked.set()
        if not self.script:
            return Answer(status=500, body=status_body(500, "InternalError", "script exhausted"))
        return self.script.popleft()

    async def was_asked(self, count: int, timeout_s: float = 30.0) -> None:
        """Returns once so many requests came."""
        async with asyncio.timeout(timeout_s):
            while len(self.asked) < count:
                self._was_asked.clear()
                await self._was_asked.wait()

    @property
    def kinds(self) -> list[str]:
        """``list``, ``watch`` or the method, for each request that came."""
        return [_kind(asked) for asked in self.asked]


class FakeApi:
    """KubeApi on a script, without network."""

    def __init__(self, *script: Answer | Stream) -> None:
        self.server = FakeKubernetes(*script)

    async def call(self, request: ApiRequest) -> bytes:
        answer = self._next(request)
        assert isinstance(answer, Answer), "a call was answered with a stream"
        return _checked(answer)

    @asynccontextmanager
    async def stream(self, request: ApiRequest) -> AsyncIterator[AsyncIterator[bytes]]:
        answer = self._next(request)
        if isinstance(answer, Answer):
            _checked(answer)
            raise AssertionError("a watch was answered with a body")
        yield _played(answer)

    def _next(self, request: ApiRequest) -> Answer | Stream:
        body = None if request.body is None else json.loads(request.body)
        return self.server.next_answer(Asked(request.method, request.path, dict(request.query), body, {}))


@asynccontextmanager
async def serve(server: FakeKubernetes) -> AsyncIterator[str]:
    """The server's address (plain HTTP on the loopback interface)."""

    async def handle(request: web.Request) -> web.StreamResponse:
        text = await request.text()
        body = json.loads(text) if text else None
        server.raw_paths.append(request.raw_path.partition("?")[0])
        answer = server.next_answer(
            Asked(request.method, request.path, dict(request.query), body, dict(request.headers))
        )
        if isinstance(answer, Stream):
            return await _stream_over_http(request, answer)
        if answer.drop:
            _cut(request)
        headers = {"Content-Type": "application/json", **answer.headers}
        return web.Response(status=answer.status, body=_bytes(answer.body), headers=headers)

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", handle)
    async with TestServer(application, host="127.0.0.1") as http:
        yield str(http.make_url("")).rstrip("/")


async def _stream_over_http(request: web.Request, stream: Stream) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    await response.prepare(request)
    async for chunk in _chunks(stream):
        await response.write(chunk)
    if stream.ending == "stall":
        await asyncio.sleep(60)  # the client hangs up first, which cancels this handler or breaks the next write
    if stream.ending == "cut":
        _cut(request)
    return response


def _cut(request: web.Request) -> None:
    assert request.transport is not None
    request.transport.abort()


async def _played(stream: Stream) -> AsyncIterator[bytes]:
    async for chunk in _chunks(stream):
        yield chunk
    if stream.ending == "cut":
        raise Unavailable("connection cut")
    if stream.ending == "stall":
        await asyncio.Event().wait()


async def _chunks(stream: Stream) -> AsyncIterator[bytes]:
    for chunk in stream.chunks:
        if isinstance(chunk, float):
            await asyncio.sleep(chunk)
        else:
            yield chunk


def _checked(answer: Answer) -> bytes:
    if answer.drop:
        raise Unavailable("connection dropped")
    body = _bytes(answer.body)
    if answer.status >= 400:
        raise status_of_answer(answer.status, body, answer.headers.get("Retry-After"))
    return body


def _bytes(body: Any) -> bytes:
    return body if isinstance(body, bytes) else json.dumps(body).encode()


def _kind(asked: Asked) -> str:
    if asked.method != "GET":
        return asked.method
    return "watch" if "watch" in asked.query else "list" if "limit" in asked.query else "GET"


# --- bodies -----------------------------------------------------------------------------------------------------------


def pod(name: str, version: int, *, container_id: str = "container_1_0001_01_000002", **status: Any) -> dict[str, Any]:
    """A small pod as the API server would write it."""
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "name": name,
            "uid": f"uid-{name}",
            "resourceVersion": str(version),
            "labels": {"yodel.io/container-id": container_id},
        },
        "spec": {"containers": [{"name": "main"}]},
        "status": {"phase": "Pending", **status},
    }


def listing(version: int, *items: dict[str, Any], continuation: str = "") -> dict[str, Any]:
    metadata = {"resourceVersion": str(version), **({"continue": continuation} if continuation else {})}
    return {"kind": "PodList", "apiVersion": "v1", "metadata": metadata, "items": list(items)}


def event(kind: str, body: dict[str, Any]) -> bytes:
    """One line of a watch."""
    return json.dumps({"type": kind, "object": body}).encode() + b"\n"


def bookmark(version: int) -> bytes:
    return event("BOOKMARK", {"kind": "Pod", "metadata": {"resourceVersion": str(version)}})


def status_body(code: int, reason: str, message: str = "") -> dict[str, Any]:
    return {"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message}


def refusal(code: int, reason: str, message: str = "", **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status=code, body=status_body(code, reason, message), headers=named)


class RecordingSink:
    """A PodSink and NodeSink with a transcript: ``("listed", names)``, ``("seen", name)``, ``("gone", name)``."""

    def __init__(self) -> None:
        self.transcript: list[tuple[str, Any]] = []
        self.alive: set[str] = set()
        self._told = asyncio.Event()

    def pods_listed(self, pods: Iterable[Any]) -> None:
        names = [observed.name for observed in pods]
        self.alive = set(names)
        self._record("listed", names)

    def pod_seen(self, pod: Any) -> None:
        self.alive.add(pod.name)
        self._record("seen", pod.name)

    def pod_gone(self, pod: Any) -> None:
        self.alive.discard(pod.name)
        self._record("gone", pod.name)

    nodes_listed, node_seen, node_gone = pods_listed, pod_seen, pod_gone

    async def heard(self, count: int, timeout_s: float = 30.0) -> list[tuple[str, Any]]:
        """The transcript, once it has ``count`` lines."""
        async with asyncio.timeout(timeout_s):
            while len(self.transcript) < count:
                self._told.clear()
                await self._told.wait()
        return self.transcript

    def _record(self, what: str, value: Any) -> None:
        self.transcript.append((what, value))
        self._told.set()
