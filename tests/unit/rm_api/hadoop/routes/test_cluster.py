"""Figures of the cluster that come from beside its rows."""

from __future__ import annotations

from tests.support.rest_world import RestWorld
from yodel.rm_api.hadoop.services import CHANGES_WAITING_GAUGE


async def test_changes_that_wait_to_be_written_are_the_event_queue(world: RestWorld) -> None:
    world.app.state.hadoop.process.gauges = lambda: {CHANGES_WAITING_GAUGE: 7.0}
    assert (await world.json("/metrics"))["clusterMetrics"]["rmEventQueueSize"] == 7
