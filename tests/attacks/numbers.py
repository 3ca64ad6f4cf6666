"""Numbers that are as large as their fields."""

from __future__ import annotations

from tests.attacks.attack import Target, Works, attack
from tests.attacks.neighbours import killed, master_of, submitted
from yodel.errors import YodelError
from yodel.hadoop_pb import yarn_service_protos_pb2 as msg
from yodel.hadoop_rpc.faults import RemoteFault

INT32_MAX, INT64_MAX = 2**31 - 1, 2**63 - 1


def _ask(request: msg.AllocateRequestProto, priority: int, count: int, memory: int = 1024) -> None:
    ask = request.ask.add(resource_name="*", num_containers=count)
    ask.priority.priority = priority
    ask.capability.memory, ask.capability.virtual_cores = memory, 1


async def _allocated(target: Target, *requests: msg.AllocateRequestProto) -> str:
    """Send the requests in turn and return what became of the last one."""
    rpc = target.client()
    application_id = await submitted(rpc)
    master, said = await master_of(target, rpc, application_id), "accepted"
    try:
        for number, request in enumerate(requests):
            request.response_id = number
            try:
                await master.call("allocate", request, msg.AllocateResponseProto)
            except RemoteFault as fault:
                said = f"refused: {fault.message}"[:120]
                if "internal error" in fault.message.lower() or fault.java_class == "java.io.IOException":
                    raise Works(f"an internal error: {fault}") from fault
        return said
    finally:
        try:
            await killed(rpc, application_id)
        except YodelError as error:
            raise Works(f"the application cannot be killed any more: {error}") from error
        await master.close()
        await rpc.close()


@attack
async def two_asks_of_two_thousand_million(target: Target) -> str:
    request = msg.AllocateRequestProto(progress=0.5)
    _ask(request, 1, INT32_MAX)
    _ask(request, 2, INT32_MAX)
    return await _allocated(target, request, msg.AllocateRequestProto(progress=0.5))


@attack
async def asks_as_large_as_their_fields(target: Target) -> str:
    found = set()
    for priority, count, memory in (
        (INT32_MAX, 1, 1024),
        (1, 1, INT64_MAX),
        (1, -INT32_MAX - 1, 1024),
        (1, 1, -INT64_MAX),
    ):
        request = msg.AllocateRequestProto(progress=float("inf"))
        _ask(request, priority, count, memory)
        found.add((await _allocated(target, request)).partition(":")[0])
    return ", ".join(sorted(found))
