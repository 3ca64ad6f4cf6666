"""Refusals of the API server in Kubernetes' own words: every error is a ``metav1.Status`` body and its HTTP code.

Texts and reasons follow apimachinery's ``api/errors``: clients match on ``reason`` and on ``details.causes``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from yodel.errors import YodelError

Json = dict[str, Any]
"""A Kubernetes object or a part of one.  Objects in the store are never changed in place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusCause:
    """One wrong field: ``reason`` is FieldValueInvalid, FieldValueRequired, FieldValueForbidden, …"""

    field: str
    reason: str
    message: str

    def to_json(self) -> Json:
        return {"reason": self.reason, "message": self.message, "field": self.field}


class ApiError(YodelError):
    """A request that is answered with a failure Status."""

    def __init__(self, code: int, reason: str, message: str, details: Json | None = None) -> None:
        self.code, self.reason, self.message, self.details = code, reason, message, details
        super().__init__(f"{code} {reason}: {message}")

    def to_json(self) -> Json:
        body: Json = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
        }
        if self.details is not None:
            body["details"] = self.details
        body["code"] = self.code
        return body


def success(details: Json | None = None) -> Json:
    """The Status that answers a delete of an object without a grace period."""
    body: Json = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    return body if details is None else {**body, "details": details}


def not_found(resource: str, name: str) -> ApiError:
    return ApiError(404, "NotFound", f'{resource} "{name}" not found', {"name": name, "kind": resource})


def path_not_found() -> ApiError:
    return ApiError(404, "NotFound", "the server could not find the requested resource", {})


def already_exists(resource: str, name: str) -> ApiError:
    return ApiError(409, "AlreadyExists", f'{resource} "{name}" already exists', {"name": name, "kind": resource})


def conflict(resource: str, name: str, why: str | None = None) -> ApiError:
    why = why or "the object has been modified; please apply your changes to the latest version and try again"
    text = f'Operation cannot be fulfilled on {resource} "{name}": {why}'
    return ApiError(409, "Conflict", text, {"name": name, "kind": resource})


def invalid(kind: str, name: str, causes: Sequence[StatusCause]) -> ApiError:
    texts = [f"{cause.field}: {cause.message}" for cause in causes]
    shown = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    details: Json = {"name": name, "kind": kind, "causes": [cause.to_json() for cause in causes]}
    return ApiError(422, "Invalid", f'{kind} "{name}" is invalid: {shown}', details)


def bad_request(message: str) -> ApiError:
    return ApiError(400, "BadRequest", message)


def forbidden(resource: str, name: str, why: str) -> ApiError:
    return ApiError(403, "Forbidden", f'{resource} "{name}" is forbidden: {why}', {"name": name, "kind": resource})


def unauthorized() -> ApiError:
    return ApiError(401, "Unauthorized", "Unauthorized")


def method_not_allowed() -> ApiError:
    text = "the server does not allow this method on the requested resource"
    return ApiError(405, "MethodNotAllowed", text, {})


def unsupported_media_type(media_type: str, supported: Sequence[str]) -> ApiError:
    text = f"the body of the request was in an unknown format - accepted media types include: {', '.join(supported)}"
    return ApiError(415, "UnsupportedMediaType", text, {"causes": [{"message": f"got {media_type}"}]})


def too_large() -> ApiError:
    return ApiError(413, "RequestEntityTooLarge", "Request entity too large: limit is 3145728")


def expired(message: str) -> ApiError:
    """The watch history or a continue token does not reach back: the client has to list again."""
    return ApiError(410, "Expired", message)
