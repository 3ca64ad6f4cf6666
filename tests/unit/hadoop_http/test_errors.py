"""Exceptions as RemoteException answers."""

from __future__ import annotations

import pytest

from yodel.errors import (
    AccessDenied,
    ApplicationNotFound,
    IllegalTransition,
    InvalidResourceRequest,
    InvalidValue,
    NotSupported,
    Unavailable,
    YodelError,
)
from yodel.hadoop_http.errors import RestError, translated, undeclared
from yodel.hadoop_http.negotiate import answer_error


@pytest.mark.parametrize(
    ("error", "status", "name"),
    [
        (ApplicationNotFound("application_1_0001"), 404, "NotFoundException"),
        (AccessDenied("no"), 403, "ForbiddenException"),
        (InvalidValue("tag", "x", "y"), 400, "BadRequestException"),
        (InvalidResourceRequest("too much"), 400, "BadRequestException"),
        (NotSupported("reservations"), 400, "UnsupportedOperationException"),
        (Unavailable("the store"), 503, "IOException"),
        (IllegalTransition("Application", "KILLED", "Event"), 500, "IllegalStateException"),
    ],
)
def test_exception_becomes_status_and_java_class(error: YodelError, status: int, name: str) -> None:
    answer = translated(error)
    inner = answer.body["RemoteException"]
    assert (answer.status, inner["exception"]) == (status, name)
    assert inner["javaClassName"].endswith(f".{name}")
    assert set(inner) == {"exception", "message", "javaClassName"}
    assert answer.headers == ({"Retry-After": "2"} if status == 503 else {})


def test_bug_does_not_tell_its_insides() -> None:
    answer = translated(IllegalTransition("Application", "KILLED", "Event"))
    assert "KILLED" not in str(answer.body)


@pytest.mark.parametrize("accept", ["", "application/xml"])
def test_who_is_told_to_come_again_is_told_when(accept: str) -> None:
    assert answer_error(translated(Unavailable("the store")), accept).headers["Retry-After"] == "2"
    assert "Retry-After" not in answer_error(undeclared("never"), accept).headers  # 503 as well, and it stays so


def test_rest_error_stays_as_it_is() -> None:
    error = RestError(418, "java.lang.Teapot", None)
    assert translated(error) is error
    assert error.body == {"RemoteException": {"exception": "Teapot", "javaClassName": "java.lang.Teapot"}}
