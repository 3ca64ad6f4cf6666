from __future__ import annotations

import pytest

from yodel.domain.browser_rules import HostNames, host_of, is_browser, is_elsewhere, is_own_page

KNOWN = HostNames.of(("rm.example.com", ".apps.example.com", " RM "))
HOST = "rm.example.com:8088"


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1:8088", "10.1.2.3", "[::1]:8088", "[fe80::1%eth0]:1", "localhost", "localhost:8088", "a.localhost"),
        *("rm.example.com", "RM.Example.com.:80", "rm:8088", "yarn.apps.example.com:443"),
    ],
)
def test_names_that_lead_here(host: str) -> None:
    assert KNOWN.knows(host)


@pytest.mark.parametrize(
    "host",
    [
        *(
            "",
            "evil.example",
            "evil.example:8088",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "xapps.example.com",
        ),
        *("rm.example.com.evil.example", "127.0.0.1@evil.example", "[evil]:1", "0x7f.1", "apps.example.com"),
    ],
)
def test_names_that_somebody_else_may_make_lead_here(host: str) -> None:
    assert not KNOWN.knows(host)
    assert HostNames.of(("*",)).knows(host)


def test_host_is_without_port_and_brackets() -> None:
    assert [host_of(text) for text in ("A.b:1", "[::1]:1", "a.")] == ["a.b", "::1", "a"]


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "null"},
        {"referer": "http://x/"},
        {"accept-language": "en"},
        {"sec-fetch-site": "none"},
        {"user-agent": "Mozilla/5.0 (X11)"},
    ],
)
def test_each_mark_of_a_browser_is_enough(headers: dict[str, str]) -> None:
    assert is_browser(headers)


@pytest.mark.parametrize(
    "agent", ["curl/8.5", "Java/17.0.1", "python-requests/2.32", "Apache-HttpClient/4.5 (Java/17)"]
)
def test_programs_are_no_browsers(agent: str) -> None:
    assert not is_browser({"user-agent": agent, "accept": "*/*", "host": HOST})


@pytest.mark.parametrize(
    ("headers", "is_own", "is_from_elsewhere"),
    [
        ({}, False, False),
        ({"sec-fetch-site": "none"}, False, False),
        ({"sec-fetch-site": "same-origin"}, True, False),
        ({"sec-fetch-site": "same-site"}, False, True),
        ({"sec-fetch-site": "cross-site"}, False, True),
        ({"origin": "http://rm.example.com:8088"}, True, False),
        ({"origin": "HTTP://RM.example.com:8088"}, True, False),
        ({"origin": "http://rm.example.com:8088", "sec-fetch-site": "same-origin"}, True, False),
        ({"origin": "http://rm.example.com:8088", "sec-fetch-site": "cross-site"}, False, True),
        ({"origin": "http://rm.example.com:8089"}, False, True),
        ({"origin": "http://rm.example.com"}, False, True),
        ({"origin": "http://evil.example"}, False, True),
        ({"origin": "http://evil.example", "sec-fetch-site": "same-origin"}, False, True),
        ({"origin": "null"}, False, True),
        ({"origin": "null", "sec-fetch-site": "same-origin"}, False, True),
        ({"origin": ""}, False, True),
        ({"origin": "http://["}, False, True),
        # A gateway that changes Host.
        ({"origin": "https://yarn.apps.example.com", "sec-fetch-site": "same-origin"}, True, False),
        ({"origin": "https://yarn.apps.example.com"}, False, True),
    ],
)
def test_what_a_browser_says_of_the_page_that_asks(
    headers: dict[str, str], is_own: bool, is_from_elsewhere: bool
) -> None:
    asked = {"host": HOST, **headers}
    assert (is_own_page(asked, KNOWN), is_elsewhere(asked, KNOWN)) == (is_own, is_from_elsewhere)


@pytest.mark.parametrize(("origin", "host"), [("http://rm", "rm:80"), ("https://rm:443", "rm"), ("https://rm", "rm")])
def test_port_that_need_not_be_said_is_the_same(origin: str, host: str) -> None:
    assert is_own_page({"origin": origin, "host": host}, KNOWN)
