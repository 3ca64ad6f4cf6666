"""The records of nodes: what the watch shows, who is called, and what is forgotten."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

from tests.support.fakes import NODE
from tests.support.lending import CPU, lending_world, published, say
from tests.support.playbook import World
from yodel.domain.ids import NodeId
from yodel.ports.kube_nodes import NodeObservation
from yodel.services.nodes import publisher as publisher_module
from yodel.services.nodes.facts import Change, NodeFacts
from yodel.services.nodes.judgement import Judgement, judge
from yodel.services.writer.changes import Changes


def a_node(name: str, *, unschedulable: bool = False) -> NodeObservation:
    return NodeObservation(name=name, uid="u", resource_version="1", unschedulable=unschedulable)


@pytest.fixture
async def lending() -> AsyncIterator[World]:
    async with lending_world() as made:
        yield made


async def test_cordons_are_those_of_the_last_listing_and_of_what_was_seen_since(world: World) -> None:
    facts = world.rm.facts
    facts.nodes_listed([a_node("a", unschedulable=True), a_node("b")])
    assert facts.cordoned == {"a"}
    facts.node_seen(a_node("b", unschedulable=True))
    facts.node_seen(a_node("a"))
    assert facts.cordoned == {"b"}
    facts.node_gone(a_node("b", unschedulable=True))
    assert facts.cordoned == set()
    facts.nodes_listed([a_node("a", unschedulable=True)])
    facts.nodes_listed([a_node("b", unschedulable=True)])
    assert facts.cordoned == {"b"}


async def test_followers_get_the_names_that_changed_also_of_those_that_are_gone(world: World) -> None:
    facts, seen = world.rm.facts, list[Changes]()
    facts.follow(Change.SEEN, seen.append)
    facts.nodes_listed([a_node("a"), a_node("b")])
    facts.nodes_listed([a_node("b")])
    facts.node_gone(a_node("b"))
    assert [(sorted(one.nodes), one.is_listing) for one in seen] == [
        (["a", "b"], True),
        (["a", "b"], True),
        (["b"], False),
    ]
    assert (facts.of("a"), facts.of("b")) == (None, None)


async def test_who_counts_is_called_after_what_was_seen_is_judged(lending: World) -> None:
    facts, counted = lending.rm.facts, list[int]()

    def look(changes: Changes) -> None:
        node = facts.counted(NODE.host)
        assert changes.nodes == (NODE.host,)
        assert node is not None
        counted.append(int(node.allocatable.get(CPU, "0")))

    await say(lending, 9)
    facts.follow(Change.COUNTED, look)
    await say(lending, 4)
    assert counted[0] == 4_000, "before the patch has come back"
    assert set(counted) == {4_000}


async def test_a_report_that_changes_nothing_calls_nobody_who_counts(lending: World) -> None:
    await say(lending, 4)
    counted = list[Changes]()
    lending.rm.facts.follow(Change.COUNTED, counted.append)
    await say(lending, 4)
    assert counted == []


async def test_what_only_an_agent_told_of_is_forgotten_at_the_next_listing(lending: World) -> None:
    facts = lending.rm.facts
    facts.at("elsewhere").was_written = True
    assert [one.name for one in facts.all()] == [NODE.host]
    lending.relist()
    assert facts.of("elsewhere") is None
    assert facts.of(NODE.host) is not None


async def test_a_bug_costs_one_node(lending: World, monkeypatch: pytest.MonkeyPatch) -> None:
    other = NodeId("node-2", 8041)
    lending.statuses.put(other.host)
    await lending.register_node(other)
    for node_id in (NODE, other):
        await say(lending, 4, node_id)

    def judged(facts: NodeFacts, *others: Any) -> Judgement:
        if facts.name == NODE.host:
            raise ZeroDivisionError
        return judge(facts, *others)

    monkeypatch.setattr(publisher_module, "judge", judged)
    for node_id in (NODE, other):
        await say(lending, 9, node_id)
    assert (published(lending), published(lending, other.host)) == ((4, 4), (9, 9))
    monkeypatch.undo()
    await say(lending, 9)
    assert published(lending) == (9, 9)


async def test_the_follower_of_the_tour_follows(world: World, tmp_path: Path) -> None:
    text = (Path(__file__).parents[3] / "docs" / "tour.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert example.count("\n") <= 40
    (module := tmp_path / "ready_nodes.py").write_text(example)
    follower = run_path(str(module))["ReadyNodes"](world.rm.facts)
    world.rm.facts.follow(Change.SEEN, follower.changed)
    nodes = [NodeObservation(name=name, uid="u", resource_version="1", ready=name != "c") for name in "abc"]
    world.rm.facts.nodes_listed(nodes)
    assert follower.names == {"a", "b"}
    world.rm.facts.node_gone(nodes[0])
    assert follower.names == {"b"}
