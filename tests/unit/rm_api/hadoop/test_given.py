"""Bodies that are there or not, and bare texts."""

from __future__ import annotations

import pytest
from starlette.requests import Request

from yodel.hadoop_http.errors import RestError
from yodel.rm_api.hadoop.given import answer_text, is_given, scalar


def a_request(**headers: str) -> Request:
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return Request({"type": "http", "method": "PUT", "path": "/", "query_string": b"", "headers": raw})


@pytest.mark.parametrize(
    ("headers", "is_there"),
    [
        ({}, False),
        ({"content_length": "0"}, False),
        ({"content_length": "2"}, True),
        ({"transfer_encoding": "chunked"}, True),
        ({"content_type": "application/json"}, True),
    ],
)
def test_body_is_there_when_anything_speaks_of_it(headers: dict[str, str], is_there: bool) -> None:
    assert is_given(a_request(**headers)) is is_there


@pytest.mark.parametrize("kind", ["json", "xml"])
def test_text_goes_under_the_type_that_was_asked_for(kind: str) -> None:
    answer = answer_text(a_request(accept=f"application/{kind}"), "<no> &", 400)
    assert (answer.status_code, bytes(answer.body)) == (400, b"<no> &")
    assert answer.headers["content-type"] == f"application/{kind};charset=utf-8"


@pytest.mark.parametrize(
    ("value", "text"), [(None, None), ("", ""), ("x", "x"), (7, "7"), (1.5, "1.5"), (True, "true"), (False, "false")]
)
def test_scalar_is_the_text_it_looks_like(value: object, text: str | None) -> None:
    assert scalar(value) == text


@pytest.mark.parametrize("value", [{}, [], ["x"]])
def test_no_text_is_made_of_objects_and_lists(value: object) -> None:
    with pytest.raises(RestError):
        scalar(value)
