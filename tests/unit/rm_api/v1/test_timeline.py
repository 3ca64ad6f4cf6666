"""An application's time: what rows and the process remember, what they do not, and the bars that are drawn of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.api_rows import NODE, RUNNING, api_get
from tests.support.page_figures import page_of
from tests.support.records import CLUSTER_TIMESTAMP_MS, a_container, an_attempt
from tests.support.rest_world import RestWorld, rest_world
from yodel.domain.past import remembered
from yodel.domain.states import AttemptState, ContainerState
from yodel.ports.store import Commit
from yodel.rm_api.ui.bars import Part
from yodel.rm_api.ui.timeline import bar_of
from yodel.rm_api.v1 import timeline
from yodel.rm_api.v1.process_facts import ProcessFacts
from yodel.rm_api.v1.timeline import Timeline, TimelineBar

PATH = f"/api/v1/applications/{RUNNING.id}/timeline"
START = CLUSTER_TIMESTAMP_MS


async def grown(world: RestWorld) -> None:
    """Plan a container, bind it after a second, start it after two, and end it after four."""
    await world.put(NODE, replace(RUNNING, submitted_ms=START), an_attempt(1, state=AttemptState.RUNNING))
    row = a_container(container=1, created_ms=START)
    for after_s, changes in (
        (0, {}),
        (1, {"state": ContainerState.ALLOCATED, "node_id": NODE.id}),
        (0.5, {"state": ContainerState.ACQUIRED}),
        (0.5, {"state": ContainerState.RUNNING}),
        (2, {"state": ContainerState.COMPLETED, "finished_ms": START + 4000, "exit_status": 1}),
    ):
        world.clock.advance(after_s)
        row = replace(row, **changes)
        await world.put(row)


async def test_steps_are_those_that_happened() -> None:
    async with rest_world(facts=ProcessFacts(started_ms=START)) as world:
        await grown(world)
        found = await api_get(world, PATH)
        assert found["bars"] == [
            {
                "container_id": str(a_container(container=1).id),
                "is_am": False,
                "state": "COMPLETED",
                "planned_ms": START,
                "bound_ms": START + 1000,
                "started_ms": START + 2000,
                "noticed_ms": None,
                "finished_ms": START + 4000,
                "exit_status": 1,
            }
        ]
        times = (found["submitted_ms"], found["finished_ms"], found["until_ms"], found["remembered_from_ms"])
        assert (times, found["more_containers"]) == ((START, None, START + 4000, START), 0)
        page = await page_of(world, f"/cluster/app/{RUNNING.id}/timeline")
        assert '<rect class="pending" x="0.0%" width="25.0%"' in page
        assert '<rect class="scheduling" x="25.0%" width="25.0%"' in page
        assert '<rect class="failed" x="50.0%" width="50.0%"' in page
        assert f'href="/cluster/app/{RUNNING.id}/timeline"' in await page_of(world, f"/cluster/app/{RUNNING.id}")
    async with rest_world() as world:
        await page_of(world, "/cluster/app/application_1_0009/timeline", 404)
        await page_of(world, "/cluster/app/nonsense/timeline", 400)


async def test_a_ring_that_has_forgotten_says_since_when_it_remembers() -> None:
    async with rest_world(facts=ProcessFacts(started_ms=START - 50_000)) as world:
        await grown(world)
        assert (await api_get(world, PATH))["remembered_from_ms"] == START - 50_000
        world.rm.transitions._ring.popleft()
        world.rm.transitions._ring.popleft()
        assert (await api_get(world, PATH))["remembered_from_ms"] > START - 50_000


async def test_the_newest_are_shown_and_the_others_counted(world: RestWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline, "BARS_MAX", 3)
    rows = [a_container(container=n, state=ContainerState.RUNNING, node_id=NODE.id) for n in range(1, 7)]
    await world.put(NODE, RUNNING, an_attempt(1, state=AttemptState.RUNNING), *rows[2:])
    await world.store.commit(Commit(ended_containers=[remembered(row) for row in rows[:2]]))
    found = await api_get(world, PATH)
    assert [bar["container_id"] for bar in found["bars"]] == [str(row.id) for row in rows[3:]]
    assert found["more_containers"] == 3
    assert "Older containers, or no longer kept: 3." in await page_of(world, f"/cluster/app/{RUNNING.id}/timeline")


def a_bar(**changes: object) -> TimelineBar:
    values: dict[str, object] = {
        "container_id": "c",
        "is_am": False,
        "state": ContainerState.RUNNING,
        "planned_ms": 1000,
        "bound_ms": None,
        "started_ms": None,
        "noticed_ms": None,
        "finished_ms": None,
        "exit_status": None,
    }
    return TimelineBar.model_validate(values | changes)


def a_whole(bar: TimelineBar, remembered_from_ms: int) -> Timeline:
    return Timeline(
        submitted_ms=0,
        finished_ms=None,
        until_ms=10_000,
        remembered_from_ms=remembered_from_ms,
        bars=[bar],
        more_containers=0,
    )


@pytest.mark.parametrize(
    ("bar", "parts"),
    [
        (a_bar(), (Part("gap", 10.0, 40.0), Part("used", 50.0, 50.0))),
        (a_bar(state=ContainerState.PLANNED), (Part("gap", 10.0, 40.0), Part("pending", 50.0, 50.0))),
        (
            a_bar(bound_ms=6000, state=ContainerState.ALLOCATED),
            (Part("gap", 10.0, 40.0), Part("pending", 50.0, 10.0), Part("scheduling", 60.0, 40.0)),
        ),
        (a_bar(finished_ms=2000, state=ContainerState.COMPLETED, exit_status=0), (Part("gap", 10.0, 10.0),)),
        (a_bar(planned_ms=6000, state=ContainerState.PLANNED), (Part("pending", 60.0, 40.0),)),
        (a_bar(planned_ms=9999, bound_ms=9999, started_ms=9999), (Part("used", 99.7, 0.3),)),
        (
            a_bar(planned_ms=6000, bound_ms=7000, finished_ms=8000, state=ContainerState.COMPLETED, exit_status=-100),
            (Part("pending", 60.0, 10.0), Part("scheduling", 70.0, 10.0)),
        ),
    ],
)
def test_what_was_before_this_life_is_a_gap(bar: TimelineBar, parts: tuple[Part, ...]) -> None:
    assert bar_of(a_whole(bar, 5000), bar).parts == parts


def test_a_notice_is_a_mark() -> None:
    bar = a_bar(planned_ms=6000, bound_ms=6000, started_ms=6000, noticed_ms=9000)
    drawn = bar_of(a_whole(bar, 0), bar)
    assert (drawn.marks, drawn.fields) == ((Part("maximum", 90.0, 0),), "planned_ms bound_ms started_ms noticed_ms")
