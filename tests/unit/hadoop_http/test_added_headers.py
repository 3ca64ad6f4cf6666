"""Headers that are added to an answer that has some."""

from __future__ import annotations

from starlette.datastructures import MutableHeaders

from yodel.hadoop_http.added_headers import add_headers


def test_origin_is_answered_once_and_cookies_are_kept() -> None:
    headers = MutableHeaders({"access-control-allow-origin": "*", "set-cookie": "a=1"})
    add_headers(headers, [("Access-Control-Allow-Origin", "http://ui"), ("Set-Cookie", "b=2")])
    assert headers.getlist("access-control-allow-origin") == ["http://ui"]
    assert headers.getlist("set-cookie") == ["a=1", "b=2"]
