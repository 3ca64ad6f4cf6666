"""The longest calls a node accepts: none keeps the agent's loop for long, whatever its elements are."""

from __future__ import annotations

import asyncio
import contextlib
import gc
from collections.abc import Iterator

from google.protobuf.message import Message

from tests.support.node_agent import Rig, add_resource, container_id, context_of, start_request
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.hadoop_pb import yarn_service_protos_pb2 as msg
from yodel.hadoop_rpc.faults import RemoteFault
from yodel.pb_convert import ids
from yodel.telemetry.loop_turns import LONG_S, LoopTurns

NUMBER = 3_000
"""The elements, of the 5,000 that one call may hold: without turns for others each takes 30 ms or more."""
TRIES = 3
"""A collection of garbage or another thread's start may fall into one."""
KNOWN = container_id(2)


def calls(rig: Rig) -> Iterator[tuple[str, Message, type[Message]]]:
    """Each method that takes a list, with as many elements as a call may have."""
    empty = pb.ContainerLaunchContextProto()
    strangers = [ids.container_id_pb(container_id(10 + number)) for number in range(NUMBER)]
    known = [ids.container_id_pb(KNOWN)] * NUMBER
    start = start_request(rig.running.node_id, KNOWN, empty)
    files = context_of("exec sleep 300")
    add_resource(files, "link", rig.root / "file")
    resource = files.localResources[0].value
    more = [pb.StringLocalResourceMapProto(key=f"l{number}", value=resource) for number in range(NUMBER)]
    own = ids.container_id_pb(KNOWN)
    for containers in (strangers, known):
        yield (
            "getContainerStatuses",
            msg.GetContainerStatusesRequestProto(container_id=containers),
            msg.GetContainerStatusesResponseProto,
        )
        yield (
            "getLocalizationStatuses",
            msg.GetLocalizationStatusesRequestProto(container_id=containers),
            msg.GetLocalizationStatusesResponseProto,
        )
    yield (
        "startContainers",
        msg.StartContainersRequestProto(start_container_request=[start] * NUMBER),
        msg.StartContainersResponseProto,
    )
    yield (
        "updateContainer",
        msg.ContainerUpdateRequestProto(update_container_token=[start.container_token] * NUMBER),
        msg.ContainerUpdateResponseProto,
    )
    more[-1].key = "l0"  # a name twice: nothing is brought, all is read
    yield (
        "localize",
        msg.ResourceLocalizationRequestProto(container_id=own, local_resources=more),
        msg.ResourceLocalizationResponseProto,
    )
    files.localResources.extend(more)
    yield (
        "reInitializeContainer",
        msg.ReInitializeContainerRequestProto(container_id=own, container_launch_context=files),
        msg.ReInitializeContainerResponseProto,
    )
    yield "stopContainers", msg.StopContainersRequestProto(container_id=strangers), msg.StopContainersResponseProto


async def longest_s(rig: Rig, method: str, request: Message, response: type[Message]) -> float:
    """Return the loop's longest turn meanwhile, in processor time. Who calls has a thread and a loop of his own."""

    async def call() -> None:
        client = rig.client()
        with contextlib.suppress(RemoteFault):
            await client.call(method, request, response)
        await client.close()

    turns = LoopTurns()
    watch = asyncio.create_task(turns.run())
    gc.disable()  # a collection of all that the tests hold is no part of a call
    try:
        await asyncio.to_thread(asyncio.run, call())
        await asyncio.sleep(0.02)
    finally:
        gc.enable()
        watch.cancel()
    return turns.longest_s


async def test_no_call_of_thousands_of_elements_keeps_the_loop(rig: Rig) -> None:
    await rig.pod(KNOWN)
    (rig.root / "file").write_text("x")
    await rig.start(KNOWN, context_of("exec sleep 300"))
    await rig.tracker.until_running(KNOWN)
    found = dict[str, float]()
    for method, request, response in calls(rig):
        seen_s = []
        while len(seen_s) < TRIES and min(seen_s, default=LONG_S) >= LONG_S:
            seen_s.append(await longest_s(rig, method, request, response))
        found[method] = max(min(seen_s), found.get(method, 0.0))
    assert {method: seen for method, seen in found.items() if seen >= LONG_S} == {}


async def test_container_named_twice_tells_of_its_resources_once(rig: Rig) -> None:
    context = context_of("exec sleep 300")
    (rig.root / "file").write_text("x")
    add_resource(context, "link", rig.root / "file")
    await rig.start(KNOWN, context)
    client = rig.client()
    request = msg.GetLocalizationStatusesRequestProto(
        container_id=[ids.container_id_pb(i) for i in (KNOWN, container_id(9), KNOWN, container_id(9))]
    )
    answer = await client.call("getLocalizationStatuses", request, msg.GetLocalizationStatusesResponseProto)
    await client.close()
    told = [ids.container_id(entry.container_id) for entry in answer.cntn_localization_statuses]
    refused = [ids.container_id(entry.container_id) for entry in answer.failed_requests]
    assert (told, refused) == ([KNOWN], [container_id(9)])
