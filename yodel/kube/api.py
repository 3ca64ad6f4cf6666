"""Defines a request to the API server, its refusals, and their project errors.

``KubeApi`` is the seam between the loops of this package and HTTP: bytes go out, bytes come back.  A call here is one
attempt; repeating is for ``retrying`` (single calls) and ``watch_loop`` (which never gives up).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from yodel.errors import Refused, Unavailable, YodelError

CALL_TIMEOUT_S = 15.0
MESSAGE_LENGTH_MAX = 2_000  # a webhook may answer with a page of HTML; logs and diagnostics need its beginning only
RETRY_AFTER_MAX_S = 60.0  # a longer wish is taken as this one: the server may be back long before

METADATA_ONLY = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
"""``ApiRequest.accept`` of calls whose answer is not read: half of an object's bytes are neither written nor sent."""

_RETRYABLE = frozenset({408, 425, 429})
_UNAUTHORIZED = 401
_CONFLICT = 409


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiRequest:
    """One HTTP request.  ``timeout_s`` covers the whole answer of a call, and of a stream only its opening."""

    method: str = "GET"
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = field(default=None, repr=False)
    timeout_s: float = CALL_TIMEOUT_S
    content_type: str = "application/json"
    """The type of the body."""
    accept: str = "application/json"
    """The type that the answer is to have; refusals are a Status in JSON with both kinds used here."""


class KubeApi(Protocol):
    """One attempt at a time.

    Raises (both): ApiStatus when the server answered with an error status, yodel.errors.Unavailable when it did not
    answer in time or the connection broke.
    """

    async def call(self, request: ApiRequest) -> bytes:
        """The body of a successful answer."""

    def stream(self, request: ApiRequest) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """A long answer, chunk by chunk as it arrives; leaving the context closes the connection."""


class ApiStatus(YodelError):
    """The API server answered with an error status (``metav1.Status`` when it wrote one).

    ``reason`` is Kubernetes' machine-readable word (``AlreadyExists``, ``Conflict``, ``Expired``, …) or empty.
    """

    def __init__(self, code: int, reason: str = "", message: str = "", retry_after_s: float | None = None) -> None:
        self.code, self.reason, self.message, self.retry_after_s = code, reason, message, retry_after_s
        super().__init__(f"Kubernetes answered {code} {reason}: {message}".replace(" :", ":"))

    @property
    def is_gone(self) -> bool:
        """The resource version or continue token is too old: only a new list helps."""
        return self.code == 410 or self.reason in ("Expired", "Gone")

    @property
    def is_retryable(self) -> bool:
        """The same request may succeed later without anybody changing it.

        401 is among them: credentials are the operator's to repair, and no pod is to blame for them.  409 ``Conflict``
        too: on create it means that a quota was updated at the same moment (the quota admission of the API server).
        """
        if self.code == _CONFLICT:
            return self.reason == "Conflict"
        return self.code >= 500 or self.code in _RETRYABLE or self.code == _UNAUTHORIZED


class _StatusBody(msgspec.Struct, frozen=True):
    """``metav1.Status``."""

    message: str | None = ""
    reason: str | None = ""
    code: int | None = 0


def status_of_answer(code: int, body: bytes, retry_after: str | None = None) -> ApiStatus:
    """The error of an answer whose HTTP status is ``code``; a body that is no Status is quoted."""
    try:
        status = msgspec.json.decode(body, type=_StatusBody)
    except (msgspec.DecodeError, UnicodeDecodeError):
        text = body[:MESSAGE_LENGTH_MAX].decode("utf-8", "replace").strip()
        return ApiStatus(code, "", text, _retry_after_s(retry_after))
    message = (status.message or "")[:MESSAGE_LENGTH_MAX]
    return ApiStatus(code, status.reason or "", message, _retry_after_s(retry_after))


def status_of_event(body: bytes) -> ApiStatus:
    """The error that a watch reports within its stream (an ``ERROR`` event's object).

    Raises:
        msgspec.DecodeError: the object is no Status.
    """
    status = msgspec.json.decode(body, type=_StatusBody)
    return ApiStatus(status.code or 500, status.reason or "", (status.message or "")[:MESSAGE_LENGTH_MAX])


def _retry_after_s(header: str | None) -> float | None:
    """Seconds only: the API server never sends the date form."""
    if header is None or not header.strip().isdecimal():
        return None
    return min(float(header), RETRY_AFTER_MAX_S)


def as_project_error(status: ApiStatus, what: str) -> Refused | Unavailable:
    """Return the error for the services: Unavailable if waiting may help, else Refused with the server's own words."""
    if status.is_retryable:
        return Unavailable(f"{what}: {status}")
    return Refused(f"{what}: {status.message or status}")
