"""What stands before every route, as one caller sees it."""

from __future__ import annotations

from tests.support.rest_world import RestWorld, rest_world
from yodel.domain.cross_origin import CrossOriginRules


async def test_frame_options_are_what_is_set(world: RestWorld) -> None:
    assert (await world.get("/info")).headers["x-frame-options"] == "SAMEORIGIN"
    async with rest_world(frame_options="DENY") as strict:
        assert (await strict.get("/info")).headers["x-frame-options"] == "DENY"
    async with rest_world(frame_options="") as loose:
        assert "x-frame-options" not in (await loose.get("/info")).headers


async def test_other_origins_read_only_where_that_is_switched_on(world: RestWorld) -> None:
    page = {"Origin": "http://ui.example.com"}
    assert "access-control-allow-origin" not in (await world.get("/info", headers=page)).headers
    async with rest_world(cross_origin=CrossOriginRules(), anonymous_allowed=False) as opened:
        answer = await opened.get("/info", headers=page)
        assert answer.status_code == 401  # a page may read why
        assert answer.headers["access-control-allow-origin"] == "http://ui.example.com"
        assert "access-control-allow-origin" not in (await opened.get("/info?user.name=a")).headers


async def test_refusal_is_a_page_of_the_form_that_was_asked_for() -> None:
    async with rest_world(anonymous_allowed=False) as world:
        page = await world.get("/info", headers={"Accept": "text/html"})
        assert (page.status_code, page.headers["www-authenticate"]) == (401, "PseudoAuth")
        assert "HTTP ERROR 401 Authentication required" in page.text
        plain = await world.get("/info", headers={"Accept": "application/json"})
        assert (plain.json()["status"], plain.json()["message"]) == ("401", "Authentication required")
        assert plain.headers["set-cookie"] == "hadoop.auth=; Path=/; HttpOnly"
        assert plain.headers["x-content-type-options"] == "nosniff"


async def test_probes_have_no_name() -> None:
    async with rest_world(anonymous_allowed=False) as world:
        assert (await world.client.get("/health/live")).status_code == 200
        assert (await world.client.get("/prom")).status_code == 401


async def test_too_many_fields_in_a_query_are_refused(world: RestWorld) -> None:
    answer = await world.get("/info?" + "a=1&" * 1001)
    assert answer.status_code == 400
