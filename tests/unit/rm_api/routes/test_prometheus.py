from __future__ import annotations

from tests.support.rest_world import RestWorld


async def test_gauges_of_the_composition_root_are_told_under_our_name(world: RestWorld) -> None:
    world.app.state.api.services.gauges = lambda: {"watch_staleness_seconds": float("inf"), "watch_listings": 2}
    answer = await world.client.get("/prom")
    assert "yodel_watch_staleness_seconds +Inf" in answer.text
    assert "yodel_watch_listings 2.0" in answer.text
