"""No answer names an application that the caller may not view, where ACLs count and lists are filtered."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
from starlette.routing import BaseRoute, Mount, Route

from tests.support.api_rows import MASTER, NODE, RUNNING, TASK, fill
from tests.support.loans import POLICY, measured_report
from tests.support.records import a_submission, an_application, an_attempt, an_attempt_id
from tests.support.rest_world import RestWorld, rest_world
from yodel.domain.acl import AccessRules, Acl
from yodel.domain.allocation.demands import Decision
from yodel.domain.allocation.outcomes import Hurdle, Outcome
from yodel.domain.ask_book import ANY, Ask, AskKey
from yodel.domain.colocation.emergency import MemoryEmergency
from yodel.domain.colocation.report import Bound, WrittenReport
from yodel.domain.colocation.switch import ColocationSwitch
from yodel.domain.container import Placement
from yodel.domain.ids import ApplicationAttemptId, ContainerId
from yodel.domain.resource import Resource
from yodel.domain.states import ApplicationState, AttemptState, ExecutionType
from yodel.ports.kube_nodes import NodeObservation
from yodel.services.scheduling.activities import ActivityRequests
from yodel.services.writer.outbox import AttemptOutbox
from yodel.translator.dialects import dialect
from yodel.translator.pools import rules_of

OWN = an_application(
    3, state=ApplicationState.RUNNING, current_attempt=1, submitted_ms=3000, submission=a_submission(user="bob")
)
KEY = AskKey(5, -1, ExecutionType.GUARANTEED, Resource(64 << 10, 1))
OWN_CONTAINER = ContainerId(ApplicationAttemptId(OWN.id, 1), 1)
PARAMETERS = {
    "application_id": OWN.id,
    "attempt_id": an_attempt_id(3),
    "container_id": OWN_CONTAINER,
    "node_id": NODE.id,
    "queue": "root.default",
    "path": "root.default",
    "states": "RUNNING",
    "state": "RUNNING",
    "version": "1",
    "count": "1",
    "file": "stdout",
    "timeout_type": "LIFETIME",
    "rest": "",
    "_": "",
}
NUMBER = str(RUNNING.id).removeprefix("application_")
"""In its own name, and in those of its attempts and containers."""
LEFT_OUT = {
    "/api/v1/events/stream",  # has no end; tried in v1/test_stream.py
    "/api/openapi.json",  # examples
    "/api/docs",
}


@pytest.fixture
async def world() -> AsyncIterator[RestWorld]:
    """An application of alice's and one of bob's; the node's agent names containers of alice's."""
    rules = AccessRules(admin_acl=Acl.parse("admin"), is_view_checked=True)
    async with rest_world(rules=rules, are_lists_filtered=True) as made:
        await fill(made)
        await made.put(OWN, an_attempt(3, state=AttemptState.RUNNING, am_container_id=None))
        for number in (1, 3):
            runtime = made.rm.state.masters.expect(an_attempt_id(number), 0.0, AttemptOutbox())
            runtime.dialogue.found_registered()
            runtime.wishes.asks.replace(Ask(key=KEY, resource_name=ANY, count=3))
        rm, machine = made.rm, {"cpu": "16", "memory": "16Gi", "kubernetes.io/batch-cpu": "5000"}
        machine["kubernetes.io/batch-memory"] = "4Gi"
        rm.lending.use(rules_of(dialect("koordinator"), {}, 1000))
        rm.use_colocation(ColocationSwitch(policy=POLICY))
        rm.facts.node_seen(
            NodeObservation(
                name="kube-1", uid="u", resource_version="1", ready=True, capacity=machine, allocatable=machine
            )
        )
        rm.binder.holdings_listed([])
        bounds = tuple(
            Bound(container=name, file="memory.max", decided=7, written=7, read=7)
            for name in ("", str(TASK.id), str(OWN_CONTAINER))
        )
        rm.facts.hear(NODE.id, "kube-1", measured_report(3_000, 4_000))
        rm.written_limits.hear(NODE.id, "kube-1", WrittenReport(groups=3, bounds=bounds))
        short = MemoryEmergency(reason="node memory", cool_down_s=60, containers=(MASTER.id, OWN_CONTAINER))
        rm.facts.hear_emergency(NODE.id, "kube-1", short)
        yield made


def paths(routes: list[BaseRoute]) -> Iterator[str]:
    for route in routes:
        if isinstance(route, Mount):
            yield from (route.path + path for path in paths(route.routes))
        elif isinstance(route, Route) and "GET" in (route.methods or ()):
            found = route.path.replace(":path}", "}")
            for name, value in PARAMETERS.items():
                found = found.replace(f"{{{name}}}", str(value))
            yield found


async def answered(world: RestWorld, path: str, user: str) -> str:
    world.client.cookies.clear()  # one is believed before a name
    asked = asyncio.create_task(world.client.get(path, params={"user.name": user}))
    while not asked.done():  # bulk-activities waits for one
        await world.rm.scheduler.tick()
        await asyncio.sleep(0)
    return (await asked).text


async def test_no_answer_names_an_application_of_somebody_else(world: RestWorld) -> None:
    every = sorted({*paths(world.app.routes)} - LEFT_OUT)
    assert not [path for path in every if "{" in path], "a parameter that has no value here"
    for path in (*every, *every):  # the first call of some arms what the second one tells
        text = await answered(world, path, "bob")
        assert NUMBER not in text, path
    shown = [path for path in every if NUMBER in await answered(world, path, "admin")]
    for path in ("/ws/v1/cluster/scheduler/activities", "/ws/v1/cluster/scheduler/bulk-activities"):
        assert path in shown, "there was something to hide"
    assert f"/api/v1/nodes/{NODE.id}/capacity" in shown
    assert "/cluster" in shown


async def test_a_reason_says_nothing_of_an_application_of_somebody_else(world: RestWorld) -> None:
    attempt_id, service = ApplicationAttemptId(OWN.id, 1), world.rm.scheduler.activities
    asked = ActivityRequests(
        is_cluster=True,
        nodes=frozenset({NODE.id}),
        in_line=(OWN.id,),
        watched=(OWN.id,),
        attempts=frozenset({attempt_id}),
    )
    outcome = Outcome(
        attempt_id=attempt_id,
        key=KEY,
        wanted=3,
        planned=0,
        capability=KEY.capability,
        placement=Placement(),
        hurdle=Hurdle.HELD,
        free=Resource(0, 0),
        reason=f"Node node-1 is reserved for {RUNNING.id} (priority 5, 4 MiB, 1 vcore) of queue root.default.",
    )
    service.keep(asked, Decision(plans=(), take_backs=(), outcomes=(outcome,)), ())
    scheduler = "/ws/v1/cluster/scheduler"
    for path in (f"{scheduler}/activities", f"{scheduler}/app-activities/{OWN.id}?actions=GET"):
        text = (await world.client.get(path, params={"user.name": "bob"})).text
        assert "Node node-1 is reserved for another application of queue root.default." in text, path


async def test_activities_of_an_application_of_somebody_else_are_refused(world: RestWorld) -> None:
    answer = await world.get(f"/scheduler/app-activities/{RUNNING.id}?user.name=bob")
    assert (answer.status_code, "User bob does not have privilege to see" in answer.text) == (403, True)
