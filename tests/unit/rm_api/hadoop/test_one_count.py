"""The same numbers of applications run and are pending wherever one asks, at every moment."""

from __future__ import annotations

import re

import pytest

from tests.support.page_figures import page_of
from tests.support.records import a_container, a_node, a_submission, an_application, an_attempt
from tests.support.rest_world import RestWorld
from yodel.domain.states import ApplicationState, AttemptState, ContainerState, ContainerType, NodeState
from yodel.ports.store import Row
from yodel.services.writer.outbox import AttemptOutbox

PENDING, RUNNING, NEITHER = (1, 0), (0, 1), (0, 0)
MOMENTS = {
    "waits for its master": (ApplicationState.ACCEPTED, AttemptState.SCHEDULED, None, PENDING),
    "its master has a pod": (ApplicationState.ACCEPTED, AttemptState.SCHEDULED, ContainerState.PLANNED, PENDING),
    "its master has a node": (ApplicationState.ACCEPTED, AttemptState.ALLOCATED, ContainerState.ACQUIRED, RUNNING),
    "its master starts": (ApplicationState.ACCEPTED, AttemptState.LAUNCHED, ContainerState.ACQUIRED, RUNNING),
    "runs": (ApplicationState.RUNNING, AttemptState.RUNNING, ContainerState.RUNNING, RUNNING),
    "between attempts": (ApplicationState.ACCEPTED, AttemptState.FAILED, ContainerState.COMPLETED, NEITHER),
    "has said that it is done": (ApplicationState.FINISHING, AttemptState.FINISHING, ContainerState.RUNNING, RUNNING),
    "is killed before its time": (ApplicationState.KILLING, AttemptState.SCHEDULED, None, PENDING),
    "is killed": (ApplicationState.KILLING, AttemptState.RUNNING, ContainerState.RUNNING, RUNNING),
    "has ended": (ApplicationState.FINISHED, AttemptState.FINISHED, ContainerState.COMPLETED, NEITHER),
}


async def told(world: RestWorld) -> dict[str, tuple[int, int]]:
    """Pending and running, by who tells."""
    metrics = (await world.json("/metrics"))["clusterMetrics"]
    root = (await world.client.get("/api/v1/queues/root")).json()
    words = re.search(r"(\d+) running, (\d+) waiting", (await world.client.get("/cluster")).text)
    assert words is not None
    found = {
        "metrics": (metrics["appsPending"], metrics["appsRunning"]),
        "page": (int(words[2]), int(words[1])),
        "api": (root["pending_applications"], root["running_applications"]),
    }
    for bean in (
        await world.client.get("/jmx", params={"qry": "Hadoop:service=ResourceManager,name=QueueMetrics,*"})
    ).json()["beans"]:
        found[f"jmx {bean['tag.Queue']}"] = (bean["AppsPending"], bean["AppsRunning"])
        ages = sum(bean[f"running_{age}"] for age in (0, 60, 300, 1440))
        assert ages == bean["AppsRunning"], "their ages are those of all that run"
    for line in (await world.client.get("/prom")).text.splitlines():
        if known := re.match(r'queue_metrics_apps_(pending|running)\{.*queue="(.*?)".*\} (\d+)', line):
            pending, running = found.get(f"prom {known[2]}", (0, 0))
            count = int(known[3])
            found[f"prom {known[2]}"] = (count, running) if known[1] == "pending" else (pending, count)
    return found


@pytest.mark.parametrize("moment", MOMENTS)
async def test_everybody_tells_the_same(world: RestWorld, moment: str) -> None:
    state, attempt, container, expected = MOMENTS[moment]
    await world.put(a_node(state=NodeState.RUNNING), an_application(1, state=state, current_attempt=1))
    rows: list[Row] = []
    if attempt is not None:
        rows.append(an_attempt(1, state=attempt))
    if container is not None:
        node_id = None if container is ContainerState.PLANNED else a_node().id
        rows.append(a_container(type=ContainerType.APPLICATION_MASTER, state=container, node_id=node_id))
    await world.put(*rows)
    found = await told(world)
    assert len(found) == 7
    assert set(found.values()) == {expected}, found


async def test_an_unmanaged_one_runs_from_its_first_container(world: RestWorld) -> None:
    """It has no container of its ApplicationMaster's."""
    row = an_application(
        1, state=ApplicationState.RUNNING, current_attempt=1, submission=a_submission(is_unmanaged=True)
    )
    await world.put(a_node(state=NodeState.RUNNING), row, an_attempt(1, state=AttemptState.RUNNING))
    assert set((await told(world)).values()) == {PENDING}
    task = a_container(container=2, state=ContainerState.ACQUIRED, node_id=a_node().id)
    await world.put(task)
    assert set((await told(world)).values()) == {RUNNING}


async def test_what_waits_for_its_master_waits_for_a_container(world: RestWorld) -> None:
    """The page said 'waits for its ApplicationMaster' below 'waiting for 0 containers'."""
    row, attempt = an_application(1, state=ApplicationState.ACCEPTED, current_attempt=1), an_attempt(1)
    await world.put(row, attempt)
    world.rm.state.masters.expect(attempt.id, 0.0, AttemptOutbox())
    size = row.submission.am_capability

    async def shown() -> list[tuple[str, str]]:
        page = await page_of(world, f"/cluster/app/{row.id}")
        return re.findall(r"<dt>(Running|Scheduling|Pending|Reserved)</dt><dd>(.*?)</dd>", page)

    assert await shown() == [("Pending", f"1 container, {size.with_units}")]
    metrics = (await world.json("/metrics"))["clusterMetrics"]
    assert (metrics["containersPending"], metrics["pendingMB"]) == (1, size.memory_mib)
    await world.put(a_container(container=1, state=ContainerState.PLANNED, node_id=None))
    assert await shown() == [("Scheduling", "1 container, 2 GiB, 2 vcores")]
