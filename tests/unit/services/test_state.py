from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.simulation.laws import derived
from tests.support.records import (
    a_container,
    a_container_id,
    a_node,
    a_submission,
    an_application,
    an_application_id,
    an_attempt,
    an_attempt_id,
)
from yodel.domain.allocation.demands import Misfit
from yodel.domain.ids import NodeId
from yodel.domain.node import Node
from yodel.domain.queues.pools import NATIVE
from yodel.domain.resource import NONE, Resource
from yodel.domain.states import AttemptState, ContainerState, ContainerType, NodeState
from yodel.ports.store import ClusterIdentity, Row, Snapshot
from yodel.services.writer.attempt_runtime import AttemptRuntime
from yodel.services.writer.dialogue import Dialogue
from yodel.services.writer.state import ClusterState, ask_key
from yodel.services.writer.usage import Usage

IDENTITY = ClusterIdentity(cluster_timestamp_ms=1, epoch=0, application_sequence=0)
NODE_ID = NodeId("node-1", 8041)


def state_of(*rows: Row) -> ClusterState:
    state = ClusterState(IDENTITY)
    state.publish([an_application(current_attempt=1), an_attempt()])
    state.publish(rows)
    return state


def test_usage_is_of_live_containers_by_application_and_node() -> None:
    am = a_container(container=1, type=ContainerType.APPLICATION_MASTER, node_id=NODE_ID, state=ContainerState.RUNNING)
    planned = a_container(container=2)
    state = state_of(am, planned)

    assert state.usage.cluster.resource == Resource(4096, 4)
    assert state.usage.cluster.am_resource == Resource(2048, 2)
    assert state.usage.by_application[an_application_id()].containers == 2
    assert state.usage.by_node[NODE_ID].containers == 1
    assert state.container_index.planned_count == 1

    ended = a_container(container=2, state=ContainerState.COMPLETED, created_ms=1000, finished_ms=6500)
    state.publish([ended])
    assert state.usage.cluster.containers == 1
    assert state.container_index.planned_count == 0
    seconds = state.usage.seconds[an_application_id()]
    assert (seconds.memory_mib_s, seconds.vcore_s) == (2048 * 5, 2 * 5)
    state.publish([ended])
    assert state.usage.seconds[an_application_id()].vcore_s == 10  # once


def test_container_is_charged_anew_only_if_what_it_holds_changes() -> None:
    state = state_of(a_container(node_id=NODE_ID, state=ContainerState.ALLOCATED))
    charged = state.queue_use.version
    for later in (ContainerState.ACQUIRED, ContainerState.RUNNING):
        state.publish([a_container(node_id=NODE_ID, state=later)])
    assert state.queue_use.version == charged

    state.publish([a_container(node_id=NODE_ID, state=ContainerState.RUNNING, resize_to=Resource(4096, 3))])
    assert state.usage.by_node[NODE_ID].resource == Resource(4096, 3)
    ended = a_container(node_id=NODE_ID, state=ContainerState.COMPLETED, resize_to=Resource(4096, 3))
    state.publish([ended])
    charged = state.queue_use.version
    state.publish([replace(ended, is_acknowledged=True)])
    state.remove_container(ended.id)
    assert state.queue_use.version == charged
    assert state.usage.cluster == state.usage.by_node[NODE_ID] == Usage()
    assert (state.pools.used(NATIVE), state.queue_use.by_queue) == (Usage(), {})


def test_usable_is_what_running_nodes_have() -> None:
    node = a_node(state=NodeState.RUNNING, capability=Resource(8, 8), kubernetes_node_name="k1")
    state = state_of(node)
    assert (state.node_index.usable_count, state.usable_resource) == (1, Resource(8, 8))
    assert state.node_index.of_kubernetes("k1") is node

    state.publish([a_node(state=NodeState.UNHEALTHY, capability=Resource(8, 8), kubernetes_node_name="k1")])
    assert (state.node_index.usable_count, state.usable_resource) == (0, NONE)
    assert state.node_index.of_kubernetes("k1") is None
    assert state.node_index.of_kubernetes("k2") is None


def test_agent_that_moves_to_another_port_is_found_under_its_kubernetes_node() -> None:
    old = Node(id=NodeId("h", 1), state=NodeState.RUNNING, kubernetes_node_name="k1")
    new = Node(id=NodeId("h", 2), state=NodeState.RUNNING, kubernetes_node_name="k1")
    state = state_of(old, new, Node(id=NodeId("h", 1), state=NodeState.LOST, kubernetes_node_name="k1"))
    assert state.node_index.of_kubernetes("k1") == new


def test_removed_application_leaves_nothing() -> None:
    state = state_of(a_container(), a_container(container=3, state=ContainerState.COMPLETED))
    state.remove_application(an_application_id())
    assert derived(state) == derived(ClusterState(IDENTITY))


def test_version_grows_with_every_change() -> None:
    state = state_of()
    before = state.change_counters.version
    state.publish([a_container()])
    assert state.change_counters.version > before


changes = st.lists(
    st.tuples(st.integers(1, 4), st.sampled_from(ContainerState), st.sampled_from([None, NODE_ID])), max_size=20
)


@settings(max_examples=50)
@given(changes)
def test_state_rebuilt_from_rows_is_the_state_that_grew(
    history: list[tuple[int, ContainerState, NodeId | None]],
) -> None:
    """Once ended a container stays so, as its table says.  Of further resource types some have none, some zero."""
    sizes = {1: (), 2: (("gpu", 1),), 3: (("fpga", 2), ("gpu", 1)), 4: (("gpu", 0),)}
    grown = state_of(a_node(state=NodeState.RUNNING, capability=Resource(9, 9)))
    for sequence, status, node_id in history:
        old = grown.containers.get(a_container_id(1, 1, sequence))
        if old is None or old.is_live:
            size = Resource(2048, 2, sizes[sequence])
            now = {"state": status, "node_id": node_id, "capability": size, "created_ms": 0, "finished_ms": 7000}
            grown.publish([a_container(container=sequence, **now)])
    rebuilt = ClusterState.of(
        Snapshot(
            identity=IDENTITY,
            queues=tuple(grown.queues.values()),
            applications=tuple(grown.applications.values()),
            attempts=tuple(grown.attempts.values()),
            containers=tuple(reversed(grown.containers.values())),
            nodes=tuple(grown.nodes.values()),
            master_keys=(),
        )
    )
    assert derived(rebuilt) == derived(grown)


def test_container_is_taken_off_once() -> None:
    container = a_container()
    runtime = AttemptRuntime(attempt_id=container.id.attempt_id, dialogue=Dialogue(0))
    runtime.wishes.in_flight[ask_key(container)] = {container.id}
    runtime.wishes.take_off(ask_key(container), container.id)
    runtime.wishes.take_off(ask_key(container), container.id)
    assert runtime.wishes.in_flight == {}


def test_closed_nodes_are_known_by_their_kubernetes_names() -> None:
    state = state_of(a_node(state=NodeState.UNHEALTHY, kubernetes_node_name="k1"))
    assert state.node_index.is_closed("k1")
    state.publish([a_node(state=NodeState.RUNNING, kubernetes_node_name="k1")])
    assert state.node_index.closed == frozenset()
    state.publish([a_node(state=NodeState.LOST, kubernetes_node_name="k1")])
    assert state.node_index.closed == frozenset(), "its agent is expected back"


def test_kubernetes_node_with_a_new_agent_is_not_closed_by_its_old_one() -> None:
    new = Node(id=NodeId("node-1", 9999), state=NodeState.RUNNING, kubernetes_node_name="k1")
    state = state_of(new, a_node(state=NodeState.DECOMMISSIONED, kubernetes_node_name="k1"))
    assert not state.node_index.is_closed("k1")


def agents(*states: NodeState) -> list[Node]:
    """Return nodes of one Kubernetes node, each with cores of its own number."""
    return [
        Node(id=NodeId("h", n), state=state, kubernetes_node_name="k1", capability=Resource(1024 * n, n))
        for n, state in enumerate(states, 1)
    ]


def test_of_several_agents_of_a_kubernetes_node_the_first_that_registered_counts() -> None:
    first, second, third = agents(NodeState.RUNNING, NodeState.RUNNING, NodeState.RUNNING)
    state = state_of(second, first, third)
    assert list(state.node_index.agents_of("k1")) == [second.id, first.id, third.id]
    assert state.node_index.of_kubernetes("k1") == state.node_index.speaker("k1") == second
    assert [state.node_index.speaks(one) for one in (first, second, third)] == [False, True, False]
    assert state.usable_resource == second.capability, "a place that nothing can be placed on is none"

    state.publish([replace(second, state=NodeState.UNHEALTHY)])
    assert (state.node_index.of_kubernetes("k1"), state.usable_resource) == (None, NONE)
    assert state.node_index.is_closed("k1"), "that it is sick gives nobody its place"
    state.publish([replace(second, capability=Resource(512, 1))])
    assert state.node_index.speaker("k1") == state.nodes[second.id], "registered anew, it keeps its turn"

    state.publish([replace(second, state=NodeState.LOST)])
    assert state.node_index.of_kubernetes("k1") == first
    assert state.usable_resource == first.capability
    state.publish([second])
    assert state.node_index.speaker("k1") == first, "it was gone"
    state.publish([replace(first, kubernetes_node_name="k2")])
    assert (state.node_index.speaker("k1"), state.node_index.speaker("k2")) == (third, state.nodes[first.id])
    assert state.usable_resource == third.capability + first.capability
    state.publish([replace(one, state=NodeState.SHUTDOWN) for one in (third, second)])
    assert state.node_index.speaker("k1") is None
    assert state.node_index.is_closed("k1")


def test_after_a_takeover_the_agent_that_was_given_containers_is_the_first() -> None:
    first, second = agents(NodeState.RUNNING, NodeState.RUNNING)
    held = a_container(node_id=second.id, state=ContainerState.RUNNING)
    newer = a_container(container=9, node_id=first.id, state=ContainerState.RUNNING)
    for containers, speaker in (((), first), ((held,), second), ((newer, held), second)):
        rows = Snapshot(
            identity=IDENTITY,
            queues=(),
            applications=(an_application(),),
            attempts=(),
            containers=containers,
            nodes=(first, second),
            master_keys=(),
        )
        assert ClusterState.of(rows).node_index.speaker("k1") == speaker


def test_leaving_node_counts_as_what_it_holds() -> None:
    running = a_container(container=2, node_id=NODE_ID, state=ContainerState.RUNNING)
    size = Resource(8192, 8)
    state = state_of(a_node(state=NodeState.RUNNING, capability=size), running)
    assert state.total_resource == size
    state.publish([a_node(state=NodeState.DECOMMISSIONING, capability=size)])
    assert (state.usable_resource, state.total_resource) == (NONE, running.capability)
    state.publish([a_node(state=NodeState.DECOMMISSIONED, capability=size)])
    assert state.total_resource == NONE


def test_node_is_found_by_the_host_of_its_agent_those_in_use_first() -> None:
    lost = a_node("h", state=NodeState.LOST)
    used = replace(lost, id=NodeId("h", 2), state=NodeState.RUNNING)
    state = state_of(lost, used)
    assert state.node_index.of_host("h") == used
    assert state.node_index.of_host("elsewhere") is None
    assert state.change_counters.nodes == 2


def test_labels_are_those_that_some_node_has() -> None:
    assert state_of(a_node("a", labels=("gpu",)), a_node("b", labels=("ssd",)), a_node("c")).node_index.labels == {
        "gpu",
        "ssd",
    }


def test_tagged_containers_are_known_while_they_live() -> None:
    tagged = a_container(container=2, allocation_tags=("zk",))
    state = state_of(tagged, a_container(container=3))
    assert state.container_index.tagged == {tagged.id: tagged}
    bound = replace(tagged, version=7)
    state.publish([bound])
    assert state.container_index.tagged == {tagged.id: bound}
    state.publish([replace(tagged, state=ContainerState.COMPLETED)])
    assert state.container_index.tagged == {}


def test_misfits_change_the_version_that_bodies_are_cached_by() -> None:
    state = state_of()
    misfit = Misfit(attempt_id=an_attempt_id(), key=None, count=1, capability=Resource(1, 1), reason="why")
    key = (misfit.attempt_id, None)
    before = state.change_counters.version
    for given_misfit, more in ((misfit, 1), (misfit, 1), (None, 2), (None, 2)):
        state.reasons.explain_misfit(key, given_misfit)
        assert state.change_counters.version == before + more
    assert state.reasons.misfits == {}


NODE = a_node("n", state=NodeState.RUNNING, capability=Resource(4096, 4), kubernetes_node_name="n")
TASK = a_container(container=2, node_id=NODE_ID, state=ContainerState.RUNNING, capability=Resource(1024, 1))


@pytest.mark.parametrize(
    ("before", "after", "is_read"),
    [
        (an_attempt(), an_attempt(state=AttemptState.RUNNING), True),
        (an_attempt(), an_attempt(host="h"), False),
        (an_application(), replace(an_application(), submission=a_submission(priority=3)), True),
        (an_application(), replace(an_application(), submission=a_submission(queue="root.other")), True),
        (an_application(), replace(an_application(), diagnostics="why"), False),
        (NODE, replace(NODE, state=NodeState.DECOMMISSIONING), True),
        (NODE, replace(NODE, capability=Resource(8192, 4)), True),
        (NODE, replace(NODE, rack="/r2"), True),
        (NODE, replace(NODE, labels=("gpu",)), True),
        (NODE, replace(NODE, kubernetes_node_name="m"), True),
        (NODE, replace(NODE, last_health_ms=7, health_report="fine"), False),
        (TASK, replace(TASK, state=ContainerState.COMPLETED), True),
        (replace(TASK, state=ContainerState.PLANNED), replace(TASK, state=ContainerState.ALLOCATED), True),
        (replace(TASK, node_id=None), TASK, True),
        (TASK, replace(TASK, resize_to=Resource(2048, 1)), True),
        (replace(TASK, resize_to=Resource(1024, 1)), TASK, True),  # it may be resized again
        (TASK, replace(TASK, capability=Resource(2048, 1)), True),
        (replace(TASK, state=ContainerState.ALLOCATED), TASK, False),
        (TASK, replace(TASK, is_acknowledged=True, version=1), False),
    ],
)
def test_what_a_decision_reads_of_rows_is_told_by_a_number(before: Row, after: Row, is_read: bool) -> None:
    state = state_of(an_application(current_attempt=1), an_attempt(), before)
    decision_inputs = state.change_counters.decision_inputs
    state.publish([before])
    assert state.change_counters.decision_inputs == decision_inputs
    state.publish([after])
    assert (state.change_counters.decision_inputs > decision_inputs) is is_read


@pytest.mark.parametrize("row", [an_attempt(attempt=2), a_node("new"), a_container(container=9), an_application(7)])
def test_new_rows_are_read_by_a_decision(row: Row) -> None:
    state = state_of()
    decision_inputs = state.change_counters.decision_inputs
    state.publish([row])
    assert state.change_counters.decision_inputs == decision_inputs + 1
