"""Each kind of attention appears with its reason and link, and goes when it is over."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from markupsafe import escape

from tests.support.api_rows import NODE, RUNNING, TASK, WAITING, api_get
from tests.support.loans import lends, measured_report
from tests.support.playbook import a_submission
from tests.support.records import NOBODY, a_container, a_node, an_application, an_attempt
from tests.support.rest_world import RestWorld, rest_world
from yodel.domain.colocation.emergency import MemoryEmergency
from yodel.domain.pod import PodHolding
from yodel.domain.queues.queue import LimitEnforcement, Queue
from yodel.domain.resource import Resource
from yodel.domain.shuffle.word import ShuffleProperty
from yodel.domain.states import ApplicationState, AttemptState, ContainerState, NodeState
from yodel.rm_api.v1 import attention
from yodel.rm_api.v1.process_facts import Lead, ProcessFacts
from yodel.services.nodes.agents import NodeRuntime
from yodel.services.views.attention import PATIENCE_S, AttentionKind

PATH = "/api/v1/attention"
CPU = "kubernetes.io/batch-cpu"
LEAD = Lead(holder="rm-1", remaining_s=4.5, lease_s=6.0, has_standby=True, is_standby_expected=True)
HALVES = (
    Queue(path="root", is_leaf=False, enforcement=LimitEnforcement.LIMIT),
    Queue(path="root.default", is_leaf=True, capacity_percent=50.0, maximum_capacity_percent=100.0),
    Queue(path="root.etl", is_leaf=True, capacity_percent=50.0, maximum_capacity_percent=100.0),
)


async def items(world: RestWorld, query: str = "") -> list[dict[str, Any]]:
    found = await api_get(world, PATH + query)
    page = (await world.client.get(f"/cluster{query}")).text
    for one in found["items"]:
        assert str(escape(one["text"])) in page
        assert f'href="{escape(one["page"])}"' in page
        assert (await world.client.get(one["page"] + query)).status_code == 200, one
    assert ('<p class="empty">Nothing.</p>' in page) == (not found["items"])
    return list(found["items"])


async def test_nothing_needs_attention_where_all_is_well() -> None:
    async with rest_world(facts=ProcessFacts(lead=lambda: LEAD)) as world:
        await world.put(a_node(state=NodeState.RUNNING, kubernetes_node_name="kube-1"))
        assert await items(world) == []


@pytest.mark.parametrize(
    ("lead", "expected"),
    [
        (replace(LEAD, remaining_s=2.1), []),
        (
            replace(LEAD, remaining_s=1.9),
            [("DATABASE", "The lease in the database was not renewed lately; it ends in 1.9 s.")],
        ),
        (replace(LEAD, has_standby=False), [("STANDBY", "No standby ResourceManager is ready to take over.")]),
        (replace(LEAD, has_standby=False, is_standby_expected=False), []),
        (None, []),
    ],
)
async def test_lease_and_standby(lead: Lead | None, expected: list[tuple[str, str]]) -> None:
    async with rest_world(facts=ProcessFacts(lead=lambda: lead)) as world:
        assert [(one["kind"], one["text"]) for one in await items(world)] == expected


async def test_a_database_that_does_not_answer_is_listed_once() -> None:
    late = replace(LEAD, remaining_s=0.1)
    async with rest_world(facts=ProcessFacts(lead=lambda: late, is_database_silent=lambda: True)) as world:
        (found,) = await items(world)
        assert (found["kind"], found["page"]) == ("DATABASE", "/cluster/about")
        assert found["text"] == "The database does not answer: changes are refused until it does."


async def test_a_node_is_listed_with_what_is_wrong_with_it(world: RestWorld) -> None:
    sick = a_node("node-3", state=NodeState.UNHEALTHY, health_report="disk <full>", last_health_ms=7_000)
    await world.put(sick, a_node("node-4", state=NodeState.LOST), a_node("node-5", state=NodeState.RUNNING))
    (found,) = await items(world)
    assert (found["kind"], found["node_id"], found["since_ms"]) == ("NODE_UNHEALTHY", str(sick.id), 7_000)
    assert (found["text"], found["page"]) == ("Node node-3 is unhealthy: disk <full>", f"/cluster/node/{sick.id}")
    world.clock.advance(attention.SILENT_S + 1)
    silent = [(one["kind"], one["text"]) for one in await items(world)][1:]
    assert silent == [
        ("NODE_STALE", "Node node-3 has sent no heartbeat for 31 s."),
        ("NODE_STALE", "Node node-5 has sent no heartbeat for 31 s."),
    ], "and one that is lost has its state in the list of nodes"


async def test_a_node_that_lends_is_suppressed_stale_or_in_emergency(world: RestWorld) -> None:
    await world.put(NODE)
    lends(world.rm)
    world.rm.facts.hear(NODE.id, "kube-1", measured_report(3_000, 4_000))
    assert await items(world) == []
    short = MemoryEmergency(reason="node memory 1950 MiB of 2048 MiB (95 %)", cool_down_s=60, containers=())
    world.rm.facts.hear_emergency(NODE.id, "kube-1", short)
    (found,) = await items(world)
    assert (found["kind"], found["node_id"]) == ("NODE_EMERGENCY", str(NODE.id))
    assert found["text"] == "Memory of node node-1 is low: node memory 1950 MiB of 2048 MiB (95 %)"


async def test_a_node_whose_capacity_reports_stop_is_stale_and_one_that_batch_has_filled_is_suppressed(
    world: RestWorld,
) -> None:
    await world.put(NODE)
    lends(world.rm, {CPU: "5000"})
    world.rm.facts.hear(NODE.id, "kube-1", measured_report(3_000, 4_000))

    async def kinds() -> list[tuple[str, str]]:
        world.rm.nodes.runtimes[NODE.id] = NodeRuntime(last_seen_s=world.clock.monotonic_s())
        world.rm.publisher.look()
        return [(one["kind"], one["text"]) for one in await items(world)]

    assert await kinds() == []
    world.clock.advance(31)
    assert await kinds() == [
        ("NODE_STALE", "Node node-1: no recent report from the node agent: lent capacity does not grow")
    ]
    world.rm.binder.holdings_listed([holding({CPU: 6_000_000})])
    world.rm.facts.hear(NODE.id, "kube-1", measured_report(9_000, 4_000))
    ((kind, text),) = await kinds()
    assert (kind, text.startswith("Node node-1: overcommitted")) == ("NODE_SUPPRESSED", True)


def holding(amounts: dict[str, int]) -> PodHolding:
    """Return a pod of node kube-1 that requests so many thousandths."""
    return PodHolding(namespace="batch", name="p", uid="p", resource_version="1", node_name="kube-1", amounts=amounts)


@pytest.mark.parametrize("enforcement", LimitEnforcement)
async def test_a_queue_under_its_guarantee_is_listed_once_its_request_has_waited_a_minute(
    enforcement: LimitEnforcement,
) -> None:
    """Limits that are only shown guarantee nothing."""
    async with rest_world(queues=(replace(HALVES[0], enforcement=enforcement), *HALVES[1:])) as world:
        await world.put(NODE)
        world.rm.nodes.runtimes.clear()
        greedy = an_application(50, state=ApplicationState.RUNNING, current_attempt=1)
        task = a_container(50, container=2, state=ContainerState.RUNNING, node_id=NODE.id, capability=Resource(8192, 8))
        await world.put(greedy, an_attempt(50, state=AttemptState.RUNNING), task)
        started_ms = world.clock.now_ms()
        starved = await submitted(world, "root.etl", "bob")
        await submitted(world, "root.default", "carol")
        await world.rm.scheduler.tick()
        world.clock.advance(PATIENCE_S)
        assert not [one for one in await items(world) if one["kind"] == "QUEUE_BELOW_GUARANTEE"]
        world.clock.advance(1)
        if enforcement is LimitEnforcement.OBSERVE:
            assert [one["kind"] for one in await items(world)] == ["NODE_STALE"]
            return
        (found,) = [one for one in await items(world) if one["kind"] == "QUEUE_BELOW_GUARANTEE"]
        assert (found["queue"], found["since_ms"], found["page"]) == ("root.etl", started_ms, "/cluster/queue/root.etl")
        assert found["text"].startswith(
            "Queue root.etl uses 0 MiB, 0 vcores of the 4 GiB, 4 vcores that it is guaranteed, and its requests wait: "
            "The cluster has too little free capacity"
        )
        await world.rm.submission.kill(starved, "bob", "")
        await world.rm.scheduler.tick()
        assert not [one for one in await items(world) if one["kind"] == "QUEUE_BELOW_GUARANTEE"]


async def submitted(world: RestWorld, queue: str, user: str) -> Any:
    application_id = await world.rm.submission.give_id(NOBODY)
    await world.rm.submission.submit(application_id, a_submission(queue=queue, user=user))
    return application_id


async def test_pods_that_wait_are_listed_once_for_an_application_and_a_reason(filled: RestWorld) -> None:
    def listed(found: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
        return {one["kind"]: one for one in found if one["application_id"]}

    fresh = replace(TASK, id=a_container(container=7).id, created_ms=filled.clock.now_ms())
    await filled.put(fresh, replace(WAITING, id=a_container(container=8).id, created_ms=5_000))
    filled.rm.state.reasons.explain_wait(a_container(container=8).id, "0/1 nodes are available")
    filled.rm.state.reasons.explain_wait(fresh.id, "Back-off pulling image <x>")
    found = await items(filled)
    assert (len(found), set(listed(found))) == (1, {"POD_NOT_SCHEDULED"})
    one = found[0]
    assert (one["text"], one["application_id"]) == ("0/1 nodes are available", str(RUNNING.id))
    assert (one["since_ms"], one["page"]) == (WAITING.created_ms, f"/cluster/app/{RUNNING.id}")
    filled.clock.advance(PATIENCE_S + 1)
    found = await items(filled)
    assert set(listed(found)) == {"POD_NOT_SCHEDULED", "POD_NOT_STARTED"}
    assert listed(found)["POD_NOT_STARTED"]["text"] == "Back-off pulling image <x>"


async def test_who_may_not_view_an_application_learns_nothing_of_it(guarded: RestWorld) -> None:
    guarded.clock.advance(PATIENCE_S + 1)
    for user, is_listed in (("eve", False), ("alice", True)):
        guarded.client.cookies.clear()
        found = await items(guarded, f"?user.name={user}")
        assert any(one["application_id"] == str(RUNNING.id) for one in found) == is_listed
        assert ("0/1 nodes" in repr(found)) == is_listed


async def test_a_shuffle_service_that_is_away_is_listed_for_the_queue_that_names_it() -> None:
    words = (ShuffleProperty("service", "celeborn", "root"), ShuffleProperty("endpoints", "shuffle-1:9097", "root"))
    tree = tuple(replace(queue, shuffle=words) for queue in HALVES)
    async with rest_world(queues=tree) as world:
        assert await items(world) == []
        for _ in range(2):
            world.rm.state.endpoints.tell(("shuffle-1", 9097), has_answered=False)
        (found,) = await items(world)
        assert (found["kind"], found["queue"]) == ("SHUFFLE_AWAY", "root")
        assert "shuffle-1:9097" in found["text"]


async def test_of_one_kind_so_many_are_listed_and_the_rest_is_counted(
    world: RestWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attention, "OF_KIND_MAX", 2)
    await world.put(*(a_node(f"node-{n}", state=NodeState.UNHEALTHY) for n in range(5)))
    found = await api_get(world, PATH)
    assert (len(found["items"]), found["more_items"]) == (2, 3)
    assert "and 3 more" in (await world.client.get("/cluster")).text


def test_kinds_are_a_closed_list_in_the_order_of_urgency() -> None:
    assert [kind.value for kind in AttentionKind][:3] == ["DATABASE", "STANDBY", "NODE_EMERGENCY"]
