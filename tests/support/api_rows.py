"""Fills the API in tests: two applications, their containers and pods, two nodes."""

from __future__ import annotations

from typing import Any

from tests.support.records import a_container, a_node, a_submission, an_application, an_attempt
from tests.support.rest_world import RestWorld
from yodel.domain.ids import dns_name
from yodel.domain.node_load import NodeLoad, Utilization
from yodel.domain.pod import PodObservation, PodPhase
from yodel.domain.resource import Resource
from yodel.domain.states import (
    ApplicationState,
    AttemptState,
    ContainerState,
    ContainerType,
    FinalApplicationStatus,
    NodeState,
)
from yodel.services.nodes.agents import NodeRuntime

NODE = a_node(
    state=NodeState.RUNNING,
    http_port=8042,
    capability=Resource(8192, 8),
    labels=("gpu",),
    kubernetes_node_name="kube-1",
    last_health_ms=5,
)
GONE = a_node("node-2", state=NodeState.LOST, http_port=8042, capability=Resource(4096, 4), health_report="silent")
RUNNING = an_application(
    1,
    state=ApplicationState.RUNNING,
    current_attempt=1,
    submitted_ms=1000,
    submission=a_submission(name="sort", tags=("nightly",)),
)
FAILED = an_application(
    2,
    state=ApplicationState.FAILED,
    final_status=FinalApplicationStatus.FAILED,
    submitted_ms=2000,
    finished_ms=9000,
    diagnostics="it broke",
    submission=a_submission(user="bob", application_type="SPARK"),
)
MASTER = a_container(container=1, type=ContainerType.APPLICATION_MASTER, state=ContainerState.RUNNING, node_id=NODE.id)
TASK = a_container(container=2, state=ContainerState.RUNNING, node_id=NODE.id)
WAITING = a_container(container=3)
ENDED = a_container(
    container=4, state=ContainerState.COMPLETED, node_id=NODE.id, finished_ms=4000, exit_status=1, diagnostics="bad"
)


async def fill(world: RestWorld) -> None:
    await world.put(NODE, GONE, RUNNING, FAILED)
    await world.put(an_attempt(1, state=AttemptState.RUNNING, host="node-1", rpc_port=4000))
    await world.put(MASTER, TASK, WAITING, ENDED)
    world.rm.state.reasons.explain_wait(WAITING.id, "0/1 nodes are available")
    load = NodeLoad(containers=Utilization(physical_mib=300, cpu_cores=0.5), node=Utilization(physical_mib=900))
    world.rm.nodes.runtimes[NODE.id] = NodeRuntime(last_seen_s=0.0, last_seen_ms=1_700_000_000_000, load=load)
    world.rm.reconciler.pod_seen(
        PodObservation(
            name=dns_name(TASK.id),
            uid="u",
            resource_version="1",
            node_name="kube-1",
            phase=PodPhase.RUNNING,
            is_ready=True,
        )
    )


async def api_get(world: RestWorld, path: str, status: int = 200) -> Any:
    answer = await world.client.get(path)
    assert answer.status_code == status, answer.text
    return answer.json()
