"""The audit log's view of the web side: every changing call, and every one that was answered 403, leaves a line.

Outside of what finds the caller, because that refuses too; whoever learns something of the call notes it on the way.
A plain ASGI shell: answers stream through it untouched.  Requests' bodies are not looked at, of answers only the first
words of an error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from yodel.domain.ids import ApplicationId
from yodel.errors import InvalidValue
from yodel.telemetry import audit
from yodel.telemetry.audit import AUDIT, Act

_NOTES = "yodel.audit"
READS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
ERROR_BYTES_MAX = 4_096
LOG_LEVEL, FORMAT = "/logLevel", "/ws/v1/cluster/scheduler-conf/format"
CHANGED_BY_READING: Mapping[str, str | None] = {LOG_LEVEL: "level", FORMAT: None}
"""Paths that Hadoop changes by GET, and the field that says so; None: it always does."""
_APPLICATION = re.compile(r"/(application_[0-9]+_[0-9]+)(?=/|$)")
_CHANGING = ("POST", "PUT", "PATCH", "DELETE")
_APPS = "/(?:ws/v1/cluster/apps|api/v1/applications)"
_ACTS = tuple(
    (method, re.compile(path), operation, target)
    for method, path, operation, target in (
        ("POST", r"/ws/v1/cluster/apps", audit.SUBMIT, audit.WEB_SERVICE),
        ("PUT", rf"{_APPS}/[^/]+/state", audit.KILL, audit.WEB_SERVICE),
        ("POST", rf"{_APPS}/[^/]+/kill", audit.KILL, audit.WEB_SERVICE),
        ("PUT", rf"{_APPS}/[^/]+/queue", audit.MOVE, audit.WEB_SERVICE),
        ("PUT", rf"{_APPS}/[^/]+/priority", audit.UPDATE_PRIORITY, audit.WEB_SERVICE),
        ("PUT", rf"{_APPS}/[^/]+/timeout", audit.UPDATE_TIMEOUTS, audit.WEB_SERVICE),
        ("POST", r"/ws/v1/cluster/containers/[^/]+/signal/[^/]+", audit.SIGNAL, audit.WEB_SERVICE),
        ("PUT", r"/ws/v1/cluster/scheduler-conf", "Update Scheduler Configuration", audit.ADMIN_SERVICE),
        *((method, r"/api/v1/queue.*", "Update Queues", audit.ADMIN_SERVICE) for method in _CHANGING),
        ("POST", r"/api/v1/colocation/end-containers", "Preempt Containers", audit.ADMIN_SERVICE),
        ("POST", r"/api/v1/nodes/[^/]+/evict", "Evict Node", audit.ADMIN_SERVICE),
        ("POST", r"/api/v1/nodes/[^/]+/publish", "Publish On Node", audit.ADMIN_SERVICE),
        ("DELETE", r"/api/v1/nodes/[^/]+/evict", "Withdraw Eviction", audit.ADMIN_SERVICE),
        ("POST", r"/ws/v1/cluster/nodes/[^/]+/resource", "updateNodeResource", audit.ADMIN_SERVICE),
        ("GET", FORMAT, "Format Scheduler Configuration", audit.ADMIN_SERVICE),
        ("GET", LOG_LEVEL, "Set Log Level", audit.ADMIN_SERVICE),
    )
)


def note(scope: Scope, **facts: str | None) -> None:
    """``user``, ``real_user``, ``app_id``: what the line will say.  Nothing when nobody writes one."""
    notes = scope.get(_NOTES)
    if notes is not None:
        notes.update(facts)


class Audited:
    """Wraps the application."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        notes: dict[str, Any] = {}
        status, body = 500, bytearray()

        async def send_and_look(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            elif status >= 400 and len(body) < ERROR_BYTES_MAX:
                body.extend(message.get("body", b"")[: ERROR_BYTES_MAX - len(body)])
            await send(message)

        try:
            await self._app({**scope, _NOTES: notes}, receive, send_and_look)
        finally:
            if status == 403 or _is_change(scope):
                _tell(scope, notes, status, bytes(body))


def _is_change(scope: Scope) -> bool:
    path = scope["path"].rstrip("/")
    if path in CHANGED_BY_READING:
        field = CHANGED_BY_READING[path]
        return field is None or f"{field}=".encode() in scope["query_string"]
    return scope["method"] not in READS and not scope["path"].startswith("/proxy/")


def _named_application(path: str) -> str:
    """Return the application's id as it is printed, however many zeros the path has; empty: it names none."""
    named = _APPLICATION.search(path)
    try:
        return str(ApplicationId.parse(named.group(1))) if named else ""
    except InvalidValue:
        return ""


def _tell(scope: Scope, notes: dict[str, Any], status: int, body: bytes) -> None:
    path, client = scope["path"].rstrip("/"), scope.get("client")
    operation, target = _operation(scope["method"], path)
    act = Act(
        operation=operation,
        target=target,
        user=notes.get("user"),
        real_user=notes.get("real_user"),
        ip=client[0] if client else "",
        app_id=notes.get("app_id") or _named_application(path),
    )
    words = "" if _is_about_secrets(path) else _words(body)
    if status < 400:
        AUDIT.success(act)
    elif status in (401, 403):
        AUDIT.failure(act, audit.UNAUTHORIZED, permissions=words)
    else:
        AUDIT.failure(act, f"HTTP {status}: {words}")


def _operation(method: str, path: str) -> tuple[str, str]:
    for wanted, pattern, operation, target in _ACTS:
        if method == wanted and pattern.fullmatch(path):
            return operation, target
    return f"{method} {path}", audit.WEB_SERVICE


def _words(body: bytes) -> str:
    """Return the text of an error: the message of a RemoteException, the detail of a problem, or the text as it is."""
    try:
        found = msgspec.json.decode(body)
        text = found["RemoteException"]["message"] if "RemoteException" in found else found["detail"]
    except (msgspec.DecodeError, LookupError, TypeError, UnicodeDecodeError):
        text = body.decode("utf-8", "replace")
    return str(text)


def _is_about_secrets(path: str) -> bool:
    """Return True if the answer may quote a token."""
    return "delegation-token" in path
