"""Errors of ``/api/v1`` as problem details (RFC 9457), and the rim that makes all others such.

Authentication and the filters before it answer in Hadoop's form, for they answer all of the web side; what they answer
to a caller of ours is rewritten on its way out.  Request bodies are bounded here too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

import structlog
from fastapi.exceptions import RequestValidationError
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from yodel.errors import (
    AccessDenied,
    ChangeNotFound,
    InvalidQueues,
    InvalidValue,
    NodeNotFound,
    NoSuchQueue,
    NotFound,
    NotSupported,
    QueueNotFound,
    Refused,
    StaleVersion,
    Unavailable,
    WindowNotFound,
    YodelError,
    did_you_mean,
)
from yodel.hadoop_http.errors import RETRY_AFTER_S, RestError, failed
from yodel.rm_api.v1.models import FieldError, Problem
from yodel.rm_api.v1.services import services_of
from yodel.telemetry.further_limits import API_BODY_BYTES
from yodel.telemetry.limits import REFUSALS

PREFIX = "/api/"
ENDLESS = "/stream"
MEDIA_TYPE = "application/problem+json"
DOCS = "/api/docs"
BODY_BYTES_MAX = 64 * 1024
"""The largest body there is, a kill's diagnostics, is a sixteenth of it."""
LARGER: Mapping[str, int] = {"/api/v1/queue-configuration": 4 * 1024 * 1024}
"""Paths of calls with a body that may be larger: all that is said of 5,000 queues."""
ERRORS_MAX = 20
HELD_BYTES_MAX = 64 * 1024
DETAIL_LENGTH_MAX = 500
log = structlog.get_logger("yodel.api")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of problem: its anchor on the page of the API, its title and what to do about it."""

    slug: str
    title: str
    hint: str | None = None


KINDS: Mapping[int, Kind] = {
    400: Kind("invalid-request", "Invalid request", "See `errors`, and the description of the call."),
    401: Kind("not-authenticated", "Authentication required", "Add ?user.name=YOU or a delegation token."),
    403: Kind("forbidden", "Access denied", "Ask the owner, or an administrator of the cluster."),
    404: Kind(
        "not-found",
        "Not found",
        "List applications with `yodel app list`; finished ones are kept only up to `completed_max`.",
    ),
    405: Kind("method-not-allowed", "Method not allowed", "The header Allow lists the allowed methods."),
    406: Kind("not-acceptable", "No acceptable media type", "Accept application/json."),
    409: Kind("conflict", "Conflicts with the current state", "Check the current state first."),
    412: Kind("stale", "Precondition failed: changed by someone else", "Read it again, and send its ETag as If-Match."),
    413: Kind("too-large", "Request too large", f"A body has at most {BODY_BYTES_MAX} bytes."),
    415: Kind("unsupported-media-type", "Unsupported media type", "Send application/json."),
    428: Kind("unconditional", "If-Match required", "Send the ETag that you read as If-Match."),
    503: Kind("unavailable", "Temporarily unavailable", "Try again after the seconds in the header Retry-After."),
    500: Kind("internal-error", "Internal error", "See the stack trace in the log of the ResourceManager."),
}
"""By status: there is one kind for each."""
QUEUES_HINT = "List the queues with `yodel queue list`; give a path, e.g. root.default."
HINTS: Mapping[type[YodelError], str] = {
    NodeNotFound: "List the nodes with `yodel node list`.",
    WindowNotFound: "List the queue's windows with `yodel queue window list QUEUE`.",
    ChangeNotFound: "List the versions with `yodel queue history`.",
}
"""The hints of errors for which the hint of their kind would lead astray."""


def answer(
    status: int,
    detail: str,
    *,
    errors: list[FieldError] | None = None,
    headers: Mapping[str, str] | None = None,
    hint: str | None = None,
) -> Response:
    """The problem as a response.  ``hint`` None: that of its kind."""
    kind = KINDS.get(status) or KINDS[500 if status >= 500 else 400]
    body = Problem(
        type=f"{DOCS}#{kind.slug}",
        title=kind.title,
        status=status,
        detail=detail,
        hint=hint or kind.hint,
        errors=errors or [],
    )
    response = Response(body.model_dump_json(), status, headers, media_type=MEDIA_TYPE)
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        response.headers.setdefault("Retry-After", str(RETRY_AFTER_S))
    if status == HTTPStatus.UNAUTHORIZED:
        response.headers.setdefault("WWW-Authenticate", "PseudoAuth")
    return response


def status_of(error: YodelError) -> int:
    """The one place where the project's exceptions become statuses of this API."""
    if isinstance(error, RestError):
        return error.status
    if isinstance(error, NotFound):
        return HTTPStatus.NOT_FOUND
    if isinstance(error, AccessDenied):
        return HTTPStatus.FORBIDDEN
    if isinstance(error, InvalidValue | NotSupported):
        return HTTPStatus.BAD_REQUEST
    if isinstance(error, StaleVersion):
        return HTTPStatus.PRECONDITION_FAILED
    if isinstance(error, InvalidQueues):
        return HTTPStatus.BAD_REQUEST
    if isinstance(error, Refused):
        return HTTPStatus.CONFLICT
    if isinstance(error, Unavailable):
        return HTTPStatus.SERVICE_UNAVAILABLE
    return HTTPStatus.INTERNAL_SERVER_ERROR


async def refused(request: Request, error: Exception) -> Response:
    """Handler of ``YodelError``."""
    assert isinstance(error, YodelError)
    errors = []
    if isinstance(error, InvalidValue):
        errors = [FieldError(where=error.field, message=f"expected {error.expected}")]
    hint = HINTS.get(type(error))
    if isinstance(error, QueueNotFound | NoSuchQueue):
        paths = services_of(request).queries.queue_paths()
        below = (path for path in paths if path.endswith(f".{error.name}"))
        nearest = did_you_mean(next(below, error.name), paths)
        hint = f"{nearest.replace('did', 'Did', 1)} {QUEUES_HINT}".lstrip()
    return answer(int(status_of(error)), str(error), errors=errors, hint=hint)


async def refused_by_system(request: Request, error: Exception) -> Response:
    """Handler of what the operating system refuses: a full disk, or no more open files."""
    log.error("request failed", method=request.method, path=request.url.path, exc_info=error)
    told = failed(error)
    return answer(told.status, str(told), headers=told.headers)


async def unrouted(request: Request, error: Exception) -> Response:
    """Handler of what routing and body reading refuse.  OPTIONS is right everywhere: browsers ask it before they ask
    anything of another origin."""
    assert isinstance(error, HTTPException)
    headers = dict(error.headers or {})
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        headers["Allow"] = _allowed(request) or headers.get("Allow", "")
    if request.method == "OPTIONS" and error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        return Response(status_code=HTTPStatus.NO_CONTENT, headers=headers)
    return answer(error.status_code, str(error.detail), headers=headers)


def _allowed(request: Request) -> str:
    """Return the methods of all routes of the path: each route knows only its own."""
    routes = [route for route in request.app.routes if isinstance(route, Route)]
    found = [route.methods or set() for route in routes if route.matches(request.scope)[0] is not Match.NONE]
    return ", ".join(sorted({method for methods in found for method in methods}))


async def invalid(_: Request, error: Exception) -> Response:
    """Handler of parameters and bodies that do not fit their description."""
    assert isinstance(error, RequestValidationError)
    errors = [
        FieldError(where=".".join(str(part) for part in found["loc"])[:200], message=str(found["msg"])[:500])
        for found in error.errors()[:ERRORS_MAX]
    ]
    return answer(HTTPStatus.BAD_REQUEST, "; ".join(f"{e.where}: {e.message}" for e in errors[:3]), errors=errors)


class ProblemRim:
    """Goes around everything else: what is refused further in leaves as problem details, and no body is too large."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(PREFIX):
            await self._app(scope, receive, send)
            return
        declared = Headers(scope=scope).get("content-length", "")
        if declared.isdecimal() and int(declared[:19]) > _bytes_max(scope):
            refusal = answer(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, _too_large(scope, int(declared[:19])))
            await refusal(scope, receive, send)
            return
        asked = {
            **scope,
            "headers": [*(h for h in scope["headers"] if h[0] != b"accept"), (b"accept", b"application/json")],
        }
        if scope["method"] == "HEAD" and not scope["path"].endswith(ENDLESS):
            asked["method"], send = "GET", _without_body(send)
        answered = _Rewritten(scope, receive, send)
        try:
            await self._app(asked, _bounded(scope, receive), answered)
        except Exception as error:  # the boundary: a bug must not cost the caller its connection, nor us the trace
            log.error("request failed", method=scope["method"], path=scope["path"], exc_info=error)
            if not answered.has_begun:
                await answer(HTTPStatus.INTERNAL_SERVER_ERROR, "internal error")(scope, receive, answered)
            elif not answered.is_whole:
                raise


class _Rewritten:
    """A ``send`` that holds back refusals which are not problem details, and sends theirs."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._scope, self._receive, self._send = scope, receive, send
        self._held: Message | None = None
        self._body = b""
        self.has_begun = self.is_whole = False

    async def __call__(self, message: Message) -> None:
        self.has_begun = True
        if message["type"] == "http.response.start" and _is_foreign(message):
            self._held = message
            return
        if self._held is None or message["type"] != "http.response.body":
            await self._send(message)
            self.is_whole = message["type"] == "http.response.body" and not message.get("more_body", False)
            return
        self._body = (self._body + message.get("body", b""))[:HELD_BYTES_MAX]
        if message.get("more_body", False):
            return
        start, self._held = self._held, None
        status = int(start["status"])
        await answer(status, _words_in(self._body, start), headers=_kept(start))(self._scope, self._receive, self._send)
        self.is_whole = True


def _is_foreign(start: Message) -> bool:
    content_type = MutableHeaders(raw=list(start.get("headers", []))).get("content-type", "")
    return int(start["status"]) >= HTTPStatus.BAD_REQUEST and not content_type.startswith(MEDIA_TYPE)


def _kept(start: Message) -> dict[str, str]:
    """Return the headers of the refusal that do not describe its body."""
    dropped = ("content-type", "content-length", "content-encoding", "transfer-encoding")
    headers = Headers(raw=list(start.get("headers", [])))
    return {name: value for name, value in headers.items() if name not in dropped}


def _words_in(body: bytes, start: Message) -> str:
    """The message of a RemoteException or of a page of Jetty's, a plain text, else what the status is called."""
    if Headers(raw=list(start["headers"])).get("content-type", "").startswith("text/plain") and body:
        return body.decode("utf-8", "replace")[:DETAIL_LENGTH_MAX]
    try:
        body_read = json.loads(body)
        found = body_read.get("RemoteException", body_read)["message"]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        found = None
    return found if isinstance(found, str) else HTTPStatus(int(start["status"])).phrase


def _without_body(send: Send) -> Send:
    """Send an answer to HEAD without its body: the headers that GET would have."""

    async def bodiless(message: Message) -> None:
        await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

    return bodiless


def _too_large(scope: Scope, size: int) -> str:
    client = scope.get("client")
    maximum = _bytes_max(scope)
    REFUSALS.tell(API_BODY_BYTES, caller=client[0] if client else "", value=size, maximum=maximum)
    return API_BODY_BYTES.words(size, maximum)


def _bytes_max(scope: Scope) -> int:
    return LARGER.get(scope.get("path", ""), BODY_BYTES_MAX)


def _bounded(scope: Scope, receive: Receive) -> Receive:
    """A ``receive`` that gives up on a body that is longer than any may be."""
    size = 0

    async def bounded() -> Message:
        nonlocal size
        message = await receive()
        if message["type"] == "http.request":
            size += len(message.get("body", b""))
            if size > _bytes_max(scope):
                raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, _too_large(scope, size))
        return message

    return bounded
