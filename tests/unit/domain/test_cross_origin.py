"""Pages of other origins."""

from __future__ import annotations

import re

import pytest

from yodel.domain.cross_origin import CrossOriginRules

PAGE = "http://ui.example.com:8080"


def test_default_lets_every_page_read() -> None:
    assert CrossOriginRules().headers_for(PAGE, None, None) == (
        ("Access-Control-Allow-Origin", PAGE),
        ("Access-Control-Allow-Credentials", "true"),
        ("Access-Control-Allow-Methods", "GET,POST,HEAD"),
        ("Access-Control-Allow-Headers", "X-Requested-With,Content-Type,Accept,Origin"),
        ("Access-Control-Max-Age", "1800"),
    )


@pytest.mark.parametrize(
    ("allowed", "origin", "is_allowed"),
    [
        ("http://a.com", "http://a.com", True),
        ("http://a.com", "http://a.com.evil", False),
        ("http://*.example.com", "http://ui.example.com", True),
        ("http://*.example.com", "http://uiXexample.com", False),
        (r"regex:https?://ui\d\.com", "https://ui7.com", True),
        (r"regex:https?://ui\d\.com", "https://ui7.com.evil", False),
        ("http://a.com", "http://b.com http://a.com", True),
        ("http://a.com", "", False),
        ("http://a.com", "null", False),
    ],
)
def test_origin_is_compared_as_hadoop_does(allowed: str, origin: str, is_allowed: bool) -> None:
    assert bool(CrossOriginRules(origins=(allowed,)).headers_for(origin, None, None)) is is_allowed


@pytest.mark.parametrize(
    ("method", "headers", "is_allowed"),
    [
        ("POST", "content-type, accept", True),
        ("PUT", None, False),
        ("GET", "x-secret", False),
        (None, "Content-Type", True),
    ],
)
def test_preflight_hears_what_is_allowed(method: str | None, headers: str | None, is_allowed: bool) -> None:
    assert bool(CrossOriginRules().headers_for(PAGE, method, headers)) is is_allowed


def test_expression_that_is_none_is_refused_at_once() -> None:
    with pytest.raises(re.error):
        CrossOriginRules(origins=("regex:(",))
