"""Handlers of the node's web port read numbers and formats and refuse alike."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError
from starlette.requests import Request

from nm_plugin.settings import Settings
from nm_plugin.web.answers import LONG_MAX, file_info, integer, page, refused, text_type, way_back
from yodel.domain.ids import ContainerId
from yodel.errors import Unavailable
from yodel.hadoop_http.errors import RestError, not_found


def asked(query: str = "", accept: str = "*/*") -> Request:
    headers = [(b"accept", accept.encode())]
    return Request({"type": "http", "method": "GET", "path": "/", "query_string": query.encode(), "headers": headers})


@pytest.mark.parametrize(
    ("query", "number"),
    [("", None), ("size=-5", -5), ("size=9" + "9" * 30, LONG_MAX), ("size=-9" + "9" * 30, -LONG_MAX)],
)
def test_numbers_are_javas(query: str, number: int | None) -> None:
    assert integer(asked(query), "size") == number


def test_text_that_is_no_number_is_named() -> None:
    with pytest.raises(RestError, match='For input string: "x"') as refusal:
        integer(asked("size=x"), "size")
    assert refusal.value.java_class == "java.lang.NumberFormatException"


def test_format_of_a_log() -> None:
    assert text_type(asked()) == "text/plain;charset=utf-8"
    assert text_type(asked("format=octet-stream")) == "application/octet-stream;charset=utf-8"
    with pytest.raises(RestError, match="text, octet-stream, not pdf"):
        text_type(asked("format=pdf"))


async def test_refusals_are_remote_exceptions() -> None:
    answer = await refused(asked(accept="application/xml"), not_found("no such"))
    assert (answer.status_code, b"<message>no such</message>" in answer.body) == (404, True)
    away = await refused(asked(), Unavailable("later"))
    assert (away.status_code, json.loads(away.body)["RemoteException"]["message"]) == (503, "later")


def test_file_and_page() -> None:
    assert file_info("stdout", 3, 0) == {
        "fileName": "stdout",
        "fileSize": "3",
        "lastModifiedTime": "Thu Jan 01 00:00:00 +0000 1970",
    }
    assert "<title>&lt;b&gt;</title></head><body><p></body>" in page("<b>", "<p>")


def test_without_an_address_nothing_leads_back() -> None:
    assert way_back("", ContainerId.parse("container_1_0001_01_000002")) == ""


@pytest.mark.parametrize("url", ["javascript:alert(1)", "rm:8088", 'http://rm"onclick=', "http://rm 1"])
def test_address_to_lead_back_to_is_a_web_address(url: str) -> None:
    with pytest.raises(ValidationError, match="rm_web_url"):
        Settings(rm_web_url=url)
