"""Errors as Hadoop's GenericExceptionHandler shows them: ``RemoteException`` with exactly three keys.

Project exceptions are translated here, once; routes raise ``RestError`` for what only the web side can refuse.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from yodel.errors import (
    AccessDenied,
    InvalidValue,
    NotFound,
    NotSupported,
    Refused,
    Unavailable,
    YodelError,
    system_reason,
)

WEBAPP = "org.apache.hadoop.yarn.webapp."
JAX_RS = "javax.ws.rs."
RETRY_AFTER_S = 2
"""When to come again to what is not available now: ``Retry-After``, a standby's too."""


class RestError(YodelError):
    """An answer with this status and this Java class; a message of None is left out, as Hadoop does.

    ``is_passing`` is whether the same call may succeed later.  Hadoop's other 503 say nothing of the kind.
    """

    def __init__(self, status: int, java_class: str, message: str | None, *, is_passing: bool = False) -> None:
        self.status, self.java_class, self.message, self.is_passing = status, java_class, message, is_passing
        super().__init__(message or java_class)

    @property
    def headers(self) -> dict[str, str]:
        return {"Retry-After": str(RETRY_AFTER_S)} if self.is_passing else {}

    @property
    def body(self) -> dict[str, Any]:
        inner = {"exception": self.java_class.replace("$", ".").rpartition(".")[2]}
        if self.message is not None:
            inner["message"] = self.message
        return {"RemoteException": {**inner, "javaClassName": self.java_class}}


def bad_request(message: str) -> RestError:
    return RestError(HTTPStatus.BAD_REQUEST, WEBAPP + "BadRequestException", message)


def illegal_argument(message: str, java_class: str = "java.lang.IllegalArgumentException") -> RestError:
    return RestError(HTTPStatus.BAD_REQUEST, java_class, message)


def undeclared(message: str) -> RestError:
    """Wrap what Hadoop's scheduler refuses: it comes out of a doAs as this; 503 is GenericExceptionHandler's last
    resort."""
    return RestError(HTTPStatus.SERVICE_UNAVAILABLE, "java.lang.reflect.UndeclaredThrowableException", message)


def malformed_body() -> RestError:
    return RestError(HTTPStatus.BAD_REQUEST, JAX_RS + "WebApplicationException", None)


def malformed_xml() -> RestError:
    """Return the refusal of the XML reader, which differs from that of JSON."""
    return RestError(HTTPStatus.BAD_REQUEST, JAX_RS + "BadRequestException", None)


def not_found(message: str) -> RestError:
    return RestError(HTTPStatus.NOT_FOUND, WEBAPP + "NotFoundException", message)


def forbidden(message: str) -> RestError:
    return RestError(HTTPStatus.FORBIDDEN, WEBAPP + "ForbiddenException", message)


def not_authenticated() -> RestError:
    text = "Unable to obtain user name, user not authenticated"
    return RestError(HTTPStatus.UNAUTHORIZED, "org.apache.hadoop.security.authorize.AuthorizationException", text)


def not_acceptable() -> RestError:
    return RestError(HTTPStatus.NOT_ACCEPTABLE, JAX_RS + "NotAcceptableException", "HTTP 406 Not Acceptable")


def not_allowed() -> RestError:
    """Hadoop 3.5 makes 503 of it, which callers take for a reason to try again; this is what it means."""
    text = "HTTP 405 Method Not Allowed"
    return RestError(HTTPStatus.METHOD_NOT_ALLOWED, JAX_RS + "NotAllowedException", text)


def unsupported_media_type() -> RestError:
    text = "HTTP 415 Unsupported Media Type"
    return RestError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, JAX_RS + "NotSupportedException", text)


def body_too_large(limit: str, value: int, maximum: int) -> RestError:
    """``limit`` is the name of what is counted."""
    text = f"The request's body is too large: {limit} is {value}, where at most {maximum} are allowed (fixed)"
    return RestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, JAX_RS + "WebApplicationException", text)


def translated(error: YodelError) -> RestError:
    """Any exception of the project as an answer."""
    if isinstance(error, RestError):
        return error
    text = str(error)
    if isinstance(error, NotFound):
        return not_found(text)
    if isinstance(error, AccessDenied):
        return forbidden(text)
    if isinstance(error, (InvalidValue, Refused)):
        return bad_request(text)
    if isinstance(error, NotSupported):
        return illegal_argument(text, "java.lang.UnsupportedOperationException")
    if isinstance(error, Unavailable):
        return RestError(HTTPStatus.SERVICE_UNAVAILABLE, "java.io.IOException", text, is_passing=True)
    return failed(error)


def failed(error: Exception) -> RestError:
    """Return the answer to an unforeseen error: the operating system's reason, or a bug of ours with details in the
    log."""
    if reason := system_reason(error):
        return translated(Unavailable(reason))
    return RestError(HTTPStatus.INTERNAL_SERVER_ERROR, "java.lang.IllegalStateException", "internal error")
