"""Beans have the attributes that were recorded from a real Hadoop 3.5.0 ResourceManager, in their order."""

from __future__ import annotations

import inspect
import json
import pathlib
import re
from dataclasses import replace
from typing import Any

import pytest

from tests.support.records import a_container, a_node, an_application, an_attempt
from tests.support.rest_world import RestWorld
from yodel.domain.resource import Resource
from yodel.domain.states import ApplicationState, AttemptState, ContainerExitStatus, ContainerState, NodeState
from yodel.hadoop_http import rpc_beans
from yodel.hadoop_http.beans import pretty
from yodel.hadoop_rpc.faults import RemoteFault
from yodel.rm_api.hadoop.wire import jmx as wire_jmx
from yodel.rpc_io.dispatch import Dispatcher
from yodel.rpc_io.server import RpcServer, ServerSecurity

GOLDEN = pathlib.Path(__file__).parents[4] / "conformance" / "golden" / "rest"
RM = "Hadoop:service=ResourceManager,name="


def recorded(name: str) -> str:
    return (GOLDEN / f"{name}.txt").read_text().partition("\n<\n")[2].strip()


@pytest.fixture
async def busy(world: RestWorld) -> RestWorld:
    node = a_node(state=NodeState.RUNNING, http_port=8042, capability=Resource(8192, 8))
    app = an_application(1, state=ApplicationState.RUNNING, current_attempt=1)
    ended = a_container(container=3, state=ContainerState.COMPLETED)
    await world.put(node, app, an_attempt(1, state=AttemptState.RUNNING))
    await world.put(a_container(state=ContainerState.RUNNING, node_id=node.id), ended)
    await world.put(an_application(2, state=ApplicationState.FINISHED))
    return world


async def beans(world: RestWorld, **query: str) -> list[dict[str, Any]]:
    answer = await world.client.get("/jmx", params=query)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json; charset=utf8")
    assert answer.headers["access-control-allow-origin"] == "*"
    found: list[dict[str, Any]] = answer.json()["beans"]
    return found


WITHOUT_A_SOURCE = re.compile(
    r"AM\w+Delay\w+|AppAttemptFirst\w+|ContainerAssigned\w+|\w+EventQueueSize|RmEventProcCPU\w+|"
    r"Aggregate\w+(LocalContainersAllocated|OffSwitchContainersAllocated)|Aggregate(OffSwitch)\w+"
)


@pytest.mark.parametrize(
    ("name", "bean"),
    [
        ("rm-jmx-cluster", "ClusterMetrics"),
        ("rm-jmx-queue", "QueueMetrics,q0=root"),
        ("rm-jmx-rmnminfo", "RMNMInfo"),
    ],
)
async def test_attributes_are_as_recorded(busy: RestWorld, name: str, bean: str) -> None:
    theirs = json.loads(recorded(name))["beans"][0]
    (ours,) = await beans(busy, qry=RM + bean)
    shared = {key: value for key, value in theirs.items() if not WITHOUT_A_SOURCE.fullmatch(key)}
    assert list(ours) == list(shared)
    assert {key: type(value) for key, value in ours.items()} == {key: type(value) for key, value in shared.items()}
    identity = ("name", "modelerType", "tag.Queue", "tag.Context")
    assert [ours.get(key) for key in identity] == [theirs.get(key) for key in identity]


async def test_node_managers_are_json_in_a_text(busy: RestWorld) -> None:
    theirs = json.loads(json.loads(recorded("rm-jmx-rmnminfo"))["beans"][0]["LiveNodeManagers"])
    (bean,) = await beans(busy, qry=RM + "RMNMInfo")
    (node,) = live = json.loads(bean["LiveNodeManagers"])
    assert bean["LiveNodeManagers"] == json.dumps(live, separators=(",", ":"))
    assert list(node) == list(theirs[0])
    assert (node["HostName"], node["NumContainers"], node["UsedMemoryMB"]) == ("node-1", 1, 2048)


@pytest.mark.parametrize("name", ["rm-jmx-cluster", "rm-jmx-queue", "rm-jmx-rmnminfo"])
def test_it_is_written_as_jackson_writes_it(name: str) -> None:
    text = recorded(name)
    assert pretty(json.loads(text)) == text


def test_what_is_empty() -> None:
    assert pretty({"beans": [], "none": {}, "null": None}) == '{\n  "beans" : [ ],\n  "none" : { },\n  "null" : null\n}'


async def test_what_was_taken_back_is_counted(busy: RestWorld) -> None:
    running = a_container(container=4, state=ContainerState.RUNNING, node_id=a_node().id, created_ms=1_000)
    await busy.put(running)
    ended = replace(running, state=ContainerState.COMPLETED, exit_status=ContainerExitStatus.PREEMPTED)
    await busy.put(replace(ended, finished_ms=4_000))
    names = ("ContainersPreempted", "MemoryMBPreempted", "VcoresPreempted", "MemoryMBSecondsPreempted")
    size = running.capability
    for bean in await beans(busy, qry=RM + "QueueMetrics,*"):
        found = [bean[f"Aggregate{name}"] for name in (*names, "VcoreSecondsPreempted")]
        assert found == [1, size.memory_mib, size.vcores, 3 * size.memory_mib, 3 * size.vcores]


async def test_resource_manager_says_that_it_is_active(busy: RestWorld) -> None:
    (bean,) = await beans(busy, qry=RM + "RMInfo")
    assert bean["modelerType"] == "org.apache.hadoop.yarn.server.resourcemanager.RMInfo"
    assert (bean["State"], bean["SecurityEnabled"]) == ("active", False)


async def test_queues_count_what_is_in_them(busy: RestWorld) -> None:
    root, leaf = await beans(busy, qry=RM + "QueueMetrics,*")
    assert (root["tag.Queue"], leaf["tag.Queue"]) == ("root", "root.default")
    assert leaf["name"] == RM + "QueueMetrics,q0=root,q1=default"
    for bean in (root, leaf):
        assert (bean["AppsSubmitted"], bean["AppsRunning"], bean["AppsCompleted"], bean["running_1440"]) == (2, 1, 1, 1)
        assert (bean["AllocatedMB"], bean["AvailableMB"], bean["AllocatedContainers"]) == (2048, 6144, 1)
        assert (bean["AggregateContainersAllocated"], bean["AggregateContainersReleased"]) == (2, 1)
    assert (root["AMResourceLimitMB"], leaf["AMResourceLimitMB"]) == (0, 4096)


async def test_limits_of_a_queue_are_its_own(busy: RestWorld) -> None:
    state = busy.rm.state
    limited = replace(state.queues["root.default"], am_share=0.25, maximum_capacity_percent=50.0, capacity_percent=50.0)
    state.publish([limited])
    _, leaf = await beans(busy, qry=RM + "QueueMetrics,*")
    assert leaf["AMResourceLimitMB"] == 1024  # a quarter of the half that it may hold
    assert (leaf["GuaranteedMB"], leaf["MaxCapacityMB"], leaf["AvailableMB"]) == (4096, 4096, 2048)


async def test_counters_do_not_fall_when_applications_are_forgotten(busy: RestWorld) -> None:
    busy.rm.state.remove_application(an_application(2).id)
    busy.rm.state.remove_container(a_container(container=3).id)
    for bean in await beans(busy, qry=RM + "QueueMetrics,*"):
        assert (bean["AppsSubmitted"], bean["AppsRunning"], bean["AppsCompleted"]) == (2, 1, 1)
        assert (bean["AggregateContainersAllocated"], bean["AggregateContainersReleased"]) == (2, 1)
    metrics = (await busy.json("/metrics"))["clusterMetrics"]
    assert (metrics["appsSubmitted"], metrics["appsRunning"], metrics["appsCompleted"]) == (2, 1, 1)


@pytest.fixture
def port() -> RpcServer:
    """One that has been spoken to, as far as its figures go."""
    dispatcher = Dispatcher((), fault_for=lambda error: RemoteFault("", str(error)), retry_cache=None)
    server = RpcServer(
        name="client", dispatcher=dispatcher, security=ServerSecurity(allow_simple=True), nonce=lambda: "0" * 16
    )
    server.port, dispatcher.faults = 8032, 1
    figures = server.figures
    figures.received_bytes, figures.sent_bytes, figures.received_calls, figures.authorized = 1000, 2000, 4, 3
    for method in ("getClusterMetrics", "getClusterMetrics", None):
        figures.count_answer(method, 0.25, 0.0)
    return server


async def test_ports_of_the_rpc_tell_what_they_counted(busy: RestWorld, port: RpcServer) -> None:
    busy.app.state.hadoop.process.rpc_servers = lambda: [port]
    (bean,) = await beans(busy, qry=RM + "RpcActivityForPort8032")
    assert (bean["modelerType"], bean["tag.port"]) == ("RpcActivityForPort8032", "8032")
    assert (bean["tag.serverName"], bean["tag.Context"]) == ("ApplicationClientProtocolService", "rpc")
    assert (bean["ReceivedBytes"], bean["SentBytes"], bean["TotalRequests"]) == (1000, 2000, 4)
    assert (bean["RpcProcessingTimeNumOps"], bean["RpcProcessingTimeAvgTime"]) == (3, 250.0)
    assert (bean["RpcCallSuccesses"], bean["RpcAuthorizationSuccesses"], bean["NumOpenConnections"]) == (2, 3, 0)
    assert {"RpcQueueTimeAvgTime", "CallQueueLength", "RpcAuthenticationFailures"} <= set(bean)
    (detailed,) = await beans(busy, qry=RM + "RpcDetailedActivityForPort8032")
    assert (detailed["GetClusterMetricsNumOps"], detailed["GetClusterMetricsAvgTime"]) == (2, 250.0)
    assert detailed["tag.Context"] == "rpcdetailed"
    names = {bean["name"] for bean in await beans(busy, qry=RM + "Rpc*")}
    assert names == {RM + "RpcActivityForPort8032", RM + "RpcDetailedActivityForPort8032"}


async def test_lookups_of_groups_are_told(busy: RestWorld) -> None:
    busy.app.state.hadoop.process.group_lookups.add(0.002, 0.0)
    (bean,) = await beans(busy, qry=RM + "UgiMetrics")
    assert (bean["GetGroupsNumOps"], bean["GetGroupsAvgTime"], "LoginFailureNumOps" in bean) == (1, 2.0, False)


async def test_all_beans_have_names_of_their_own(busy: RestWorld) -> None:
    names = [bean["name"] for bean in await beans(busy)]
    assert len(names) == len(set(names))
    assert {RM + "JvmMetrics", "java.lang:type=Memory", "java.lang:type=Threading"} <= set(names)
    assert {name.partition(":")[0] for name in names} == {"Hadoop", "java.lang"}
    (memory,) = await beans(busy, qry="java.lang:type=Memory")
    assert memory["HeapMemoryUsage"]["used"] > 0


async def test_empty_pattern_is_every_beans(busy: RestWorld) -> None:
    """javax.management.ObjectName: the empty string is ``*:*``."""
    assert [bean["name"] for bean in await beans(busy, qry="")] == [bean["name"] for bean in await beans(busy)]
    first, second = await beans(busy, get="::NumActiveNMs")
    assert (first["NumActiveNMs"], second["result"]) == (1, "ERROR")


async def test_what_an_alert_of_ambari_reads_is_there(busy: RestWorld) -> None:
    (system,) = await beans(busy, qry="java.lang:type=OperatingSystem")
    assert 0.0 <= system["SystemCpuLoad"] <= 1.0
    assert system["AvailableProcessors"] > 0


async def test_one_attribute(busy: RestWorld) -> None:
    assert await beans(busy, get=RM + "ClusterMetrics::NumActiveNMs") == [
        {"name": RM + "ClusterMetrics", "modelerType": "ClusterMetrics", "NumActiveNMs": 1}
    ]
    assert await beans(busy, get=RM + "Nothing::NumActiveNMs") == []


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ({"get": RM + "ClusterMetrics"}, {"result": "ERROR", "message": "query format is not as expected."}),
        ({"get": "a::b::c"}, {"result": "ERROR", "message": "query format is not as expected."}),
        ({"qry": "nonsense"}, {}),
        ({"get": "nonsense::x"}, {}),
    ],
)
async def test_questions_that_are_none_are_answered_all_the_same(
    busy: RestWorld, query: dict[str, str], shown: dict[str, str]
) -> None:
    answer = await busy.client.get("/jmx", params=query)
    assert (answer.status_code, answer.json()) == (200, shown)


async def test_attribute_that_a_bean_has_not_ends_the_list(busy: RestWorld) -> None:
    answer = await busy.client.get("/jmx", params={"get": RM + "*::NumActiveNMs"})
    first, second = answer.json()["beans"]
    assert first["NumActiveNMs"] == 1
    assert (second["result"], second["message"]) == ("ERROR", "No attribute with name NumActiveNMs was found.")
    assert (answer.status_code, set(second)) == (200, {"name", "modelerType", "result", "message"})


ZERO_BY_NATURE = {"RpcQueueTimeAvgTime", "CallQueueLength"}


def test_no_figure_is_a_zero_in_the_source_but_those_that_are_zero_by_nature() -> None:
    """A figure without a source is absent."""
    sources = inspect.getsource(wire_jmx) + inspect.getsource(rpc_beans)
    constants = re.findall(r'"(\w+)": 0(?:\.0)?,', sources)
    assert set(constants) == ZERO_BY_NATURE
