"""Forgery by foreign pages."""

from __future__ import annotations

import pytest

from tests.support.rest_world import rest_world
from yodel.rm_api.door.csrf import REFUSAL, CsrfRules

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
RULES = CsrfRules()


@pytest.mark.parametrize(
    ("method", "agent", "header", "is_refused"),
    [
        ("POST", FIREFOX, None, True),
        ("PUT", "Opera/9.80", None, True),
        ("DELETE", FIREFOX, None, True),
        ("POST", FIREFOX, "", False),
        ("POST", "python-requests/2.32", None, False),
        ("POST", "", None, False),
        ("GET", FIREFOX, None, False),
        ("OPTIONS", FIREFOX, None, False),
    ],
)
def test_browsers_need_the_header_to_change_something(
    method: str, agent: str, header: str | None, is_refused: bool
) -> None:
    assert RULES.is_refused(method, agent, header) is is_refused


async def test_refusal_is_a_page_that_says_what_is_missing() -> None:
    async with rest_world(csrf=RULES) as world:
        path, headers = "/apps/new-application?user.name=alice", {"User-Agent": FIREFOX}
        refused = await world.post(path, headers=headers)
        assert (refused.status_code, refused.headers["content-type"]) == (400, "text/html;charset=iso-8859-1")
        assert REFUSAL in refused.text
        assert (await world.post(path, headers={**headers, "X-XSRF-Header": "x"})).status_code == 200


async def test_nothing_is_refused_unless_it_is_switched_on() -> None:
    async with rest_world() as world:
        answer = await world.post("/apps/new-application?user.name=alice", headers={"User-Agent": FIREFOX})
        assert answer.status_code == 200
