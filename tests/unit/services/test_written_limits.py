"""Each agent answers for what it wrote to bound batch pods: it confirms that it is gone, or it is silent."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from tests.support.fakes import NODE
from tests.support.lending import lending_world, quiet
from tests.support.loans import POLICY, report
from tests.support.playbook import World
from yodel.domain.colocation.report import WrittenReport
from yodel.domain.colocation.switch import OFF, ColocationSwitch
from yodel.domain.ids import NodeId
from yodel.services.nodes.judgement import STALE_S
from yodel.services.nodes.written_limits import LimitsState

LIMITED = ColocationSwitch(policy=replace(POLICY, version="two", limits=True), is_bounding=True)
WERE_LIMITED = ColocationSwitch(is_bounding=True)
GROUP = "kubepods/besteffort"


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with lending_world() as made:
        made.rm.use_colocation(LIMITED)
        yield made


async def say(world: World, groups: int, version: str = "two", proved_name: str = NODE.host) -> None:
    """The agent's next beat."""
    said = report(4, version=version) if version else None
    written = WrittenReport(policy_version=version, groups=groups, best_effort=GROUP if version else "")
    await world.beat(proved_name=proved_name, policy_version=version, capacity=said, written=written)
    await quiet(world)


def known(world: World) -> tuple[LimitsState, int | None] | None:
    """State and groups of the only node."""
    view = world.rm.capacities.view(10)
    assert sum(view.limits_counts.values()) == len(view.limits)
    return (view.limits[0].state, view.limits[0].groups) if view.limits else None


async def test_a_silent_node_is_not_taken_for_clean(world: World) -> None:
    await say(world, 3)
    assert known(world) == (LimitsState.ENFORCED, 3)
    await world.pass_time(STALE_S)
    assert known(world) == (LimitsState.SILENT, 3)
    world.rm.nodes.give_up(NODE)
    world.rm.use_colocation(WERE_LIMITED)
    assert known(world) == (LimitsState.SILENT, 3), "it is lost, and the policy is off"


async def test_an_agent_that_is_silent_while_pods_are_bounded_may_have_written(world: World) -> None:
    await say(world, 0)
    await world.pass_time(STALE_S)
    assert known(world) == (LimitsState.SILENT, 0)


async def test_only_nothing_left_without_limits_confirms_and_is_kept(world: World) -> None:
    await say(world, 3)
    world.rm.use_colocation(WERE_LIMITED)
    await say(world, 0)
    assert known(world) == (LimitsState.UNDOING, 0), "by the policy that was"
    await say(world, 2, version="")
    assert known(world) == (LimitsState.UNDOING, 2)
    await say(world, 0, version="")
    at_ms = world.rm.capacities.view(1).limits[0].confirmed_ms
    await world.pass_time(STALE_S)
    await say(world, 0, version="")
    (found,) = world.rm.capacities.view(1).limits
    assert (found.state, found.confirmed_ms) == (LimitsState.UNDONE, at_ms), "the first time counts"
    assert at_ms is not None
    world.rm.use_colocation(LIMITED)
    assert known(world) == (LimitsState.ENFORCED, 0), "it is on again"


async def test_limits_that_are_off_are_confirmed_under_a_policy_without_them(world: World) -> None:
    await say(world, 3)
    world.rm.use_colocation(ColocationSwitch(policy=replace(POLICY, version="three")))
    await say(world, 0)
    assert known(world) == (LimitsState.UNDOING, 0)
    await say(world, 0, version="three")
    assert known(world) == (LimitsState.UNDONE, 0)


async def test_after_a_restart_nobody_knows_before_the_agent_speaks(world: World) -> None:
    await say(world, 3)
    await world.restart()
    world.rm.use_colocation(WERE_LIMITED)
    await world.settle()
    assert known(world) == (LimitsState.UNKNOWN, None)
    await world.register_node()
    await say(world, 0, version="")
    assert known(world) == (LimitsState.UNDONE, 0)


async def test_what_is_said_before_the_nodes_are_listed_counts(world: World) -> None:
    await say(world, 3)
    listed = world.relist
    await world.stop()
    world.relist = lambda: None  # type: ignore[method-assign]
    await world.start()
    world.rm.use_colocation(WERE_LIMITED)
    await world.register_node()
    await say(world, 0, version="")
    listed()
    await world.settle()
    assert known(world) == (LimitsState.UNDONE, 0)


async def test_another_node_s_token_confirms_nothing(world: World) -> None:
    await say(world, 3)
    world.rm.use_colocation(WERE_LIMITED)
    await say(world, 0, version="", proved_name="another")
    assert known(world) == (LimitsState.UNDOING, 3)


async def test_a_second_agent_of_a_node_confirms_nothing_and_says_nothing_of_it(world: World) -> None:
    """Whoever has the node's token may register one."""
    second = NodeId(NODE.host, 1)
    await say(world, 3)
    await world.register_node(second)
    world.rm.use_colocation(WERE_LIMITED)
    before = world.rm.capacities.view(1).limits
    for groups in (7, 0):
        said = WrittenReport(groups=groups, best_effort="other/kubepods/besteffort", problems=("rm -rf / undoes it",))
        await world.beat(node_id=second, proved_name=NODE.host, written=said)
    assert world.rm.capacities.view(1).limits == before
    assert "kubepods/besteffort" in before[0].undo_lines[1]
    await world.run(world.rm.registration.unregister(NODE))
    await world.settle()
    await world.register_node(second)
    await world.beat(node_id=second, proved_name=NODE.host, written=said)
    assert known(world) == (LimitsState.UNDONE, 0), "the first has left"


async def test_a_node_that_kubernetes_does_not_know_is_forgotten(world: World) -> None:
    await say(world, 3)
    world.rm.facts.node_gone(world.statuses.nodes[NODE.host])
    assert known(world) is None


async def test_where_nothing_was_ever_bounded_nothing_is_said(world: World) -> None:
    world.rm.use_colocation(OFF)
    await say(world, 0, version="")
    assert known(world) is None


async def test_an_agent_that_has_not_looked_yet_leaves_standing_what_was_said(world: World) -> None:
    await say(world, 3)
    await world.beat(proved_name=NODE.host, policy_version="two", written=WrittenReport(policy_version="two"))
    assert known(world) == (LimitsState.ENFORCED, 3)
