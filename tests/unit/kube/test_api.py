"""Error statuses and what becomes of them."""

from __future__ import annotations

import pytest

from yodel.errors import Refused, Unavailable
from yodel.kube.api import MESSAGE_LENGTH_MAX, ApiStatus, as_project_error, status_of_answer, status_of_event

STATUS = (
    b'{"kind":"Status","status":"Failure","message":"pods \\"a\\" already exists","reason":"AlreadyExists","code":409}'
)


def test_a_status_body_is_read() -> None:
    status = status_of_answer(409, STATUS)
    assert (status.code, status.reason, status.message) == (409, "AlreadyExists", 'pods "a" already exists')


def test_a_body_that_is_no_status_is_quoted_in_part() -> None:
    status = status_of_answer(502, b"<html>bad gateway" + b"x" * 10_000)
    assert status.message.startswith("<html>bad gateway")
    assert len(status.message) == MESSAGE_LENGTH_MAX


@pytest.mark.parametrize(
    ("header", "expected_s"), [("7", 7.0), ("100000", 60.0), (None, None), ("soon", None), ("-1", None)]
)
def test_retry_after_is_read_and_bounded(header: str | None, expected_s: float | None) -> None:
    assert status_of_answer(429, b"", header).retry_after_s == expected_s


@pytest.mark.parametrize(
    ("code", "reason", "expected"),
    [
        (400, "BadRequest", Refused),
        (401, "Unauthorized", Unavailable),
        (403, "Forbidden", Refused),
        (404, "NotFound", Refused),
        (409, "AlreadyExists", Refused),
        (409, "Conflict", Unavailable),
        (413, "RequestEntityTooLarge", Refused),
        (422, "Invalid", Refused),
        (429, "TooManyRequests", Unavailable),
        (500, "InternalError", Unavailable),
        (503, "ServiceUnavailable", Unavailable),
        (504, "Timeout", Unavailable),
    ],
)
def test_statuses_become_project_errors(code: int, reason: str, expected: type[Exception]) -> None:
    error = as_project_error(ApiStatus(code, reason, "the server's words"), "Creating pod a")
    assert type(error) is expected
    assert "the server's words" in str(error)


def test_an_expired_watch_is_gone() -> None:
    assert status_of_event(b'{"code":410,"reason":"Expired","message":"too old resource version"}').is_gone
    assert not status_of_event(b'{"code":500,"reason":"InternalError"}').is_gone
