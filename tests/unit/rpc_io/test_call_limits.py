"""A call that holds too much is refused before anything is built of it, and keeps nobody waiting meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from yodel.hadoop_pb.RpcHeader_pb2 import RpcResponseHeaderProto
from yodel.hadoop_pb.yarn_service_protos_pb2 import AllocateRequestProto, AllocateResponseProto
from yodel.hadoop_rpc import faults
from yodel.hadoop_rpc.faults import RemoteFault
from yodel.hadoop_rpc.framing import take_delimited
from yodel.hadoop_rpc.server_connection import CallReceived, CallTarget
from yodel.hadoop_rpc.server_policy import CallerIdentity
from yodel.rpc_io.call_limits import LARGE_BYTES, SMALL_BYTES
from yodel.rpc_io.dispatch import CallContext, CallLimits, Dispatcher, RpcMethod, RpcProtocol
from yodel.telemetry.limit import Limit
from yodel.telemetry.limits import REFUSALS, RPC_CALL_FIELDS, RPC_CALL_ITEMS, RPC_LARGE_CALLS

PEER = CallContext.of(CallerIdentity(user="alice"), "10.0.0.1", 1)
ASK = bytes((AllocateRequestProto.DESCRIPTOR.fields_by_name["ask"].number << 3 | 2, 0))
URL = bytes((AllocateRequestProto.DESCRIPTOR.fields_by_name["tracking_url"].number << 3 | 2,))


class Port:
    """One method, which counts the asks it sees."""

    def __init__(self, limits: CallLimits) -> None:
        self.seen: list[int] = []
        self.gate = asyncio.Event()
        self.gate.set()
        method = RpcMethod(name="allocate", request_type=AllocateRequestProto, handler=self.allocate)
        self.dispatcher = Dispatcher(
            [RpcProtocol(name="p", methods={"allocate": method})],
            fault_for=lambda error: RemoteFault(faults.YARN_EXCEPTION, str(error)),
            retry_cache=None,
            call_limits=limits,
        )

    async def allocate(self, _context: CallContext, request: AllocateRequestProto) -> AllocateResponseProto:
        self.seen.append(len(request.ask))
        await self.gate.wait()
        return AllocateResponseProto(response_id=1)

    async def call(self, body: bytes) -> RpcResponseHeaderProto:
        answer: bytes | Coroutine[Any, Any, bytes] = self.dispatcher.dispatch(
            PEER, CallReceived(0, b"", 0, CallTarget("p", 1, "allocate"), body)
        )
        frame = answer if isinstance(answer, bytes) else await answer
        return RpcResponseHeaderProto.FromString(take_delimited(frame, 4)[0])


def told(limit: Limit) -> int:
    return REFUSALS.counts()[limit.name]


def padded(body: bytes, size: int) -> bytes:
    """Return the body with a long text behind it."""
    text = b"x" * (size - len(body) - 5)
    return body + URL + bytes((len(text) & 0x7F | 0x80, len(text) >> 7 & 0x7F | 0x80, len(text) >> 14)) + text


@pytest.mark.parametrize("size", [SMALL_BYTES + 1000, LARGE_BYTES + 1000])
@pytest.mark.parametrize(("number", "is_refused"), [(100, False), (101, True)])
async def test_elements_of_lists_are_counted_before_they_are_used(size: int, number: int, is_refused: bool) -> None:
    before, port = told(RPC_CALL_ITEMS), Port(CallLimits(items_max=100))
    header = await port.call(padded(ASK * number, size))
    assert port.seen == ([] if is_refused else [number])
    assert told(RPC_CALL_ITEMS) == before + is_refused
    if is_refused:
        assert header.exceptionClassName == faults.RPC_SERVER
        assert header.errorMsg == "101 elements in the lists of a call, at most 100 (setting rpc.call_items_max)"


@pytest.mark.parametrize(("fields", "is_refused"), [(40_000, False), (40_001, True)])
async def test_fields_are_counted_before_the_call_is_read(fields: int, is_refused: bool) -> None:
    before, port = told(RPC_CALL_FIELDS), Port(CallLimits(fields_max=40_000, items_max=1_000_000))
    header = await port.call(ASK * fields)
    assert port.seen == ([] if is_refused else [fields])
    assert told(RPC_CALL_FIELDS) == before + is_refused
    if is_refused:
        assert header.exceptionClassName == faults.RPC_SERVER
        assert header.errorMsg == "40001 fields or more in a call, at most 40000 (setting rpc.call_fields_max)"


async def test_millions_of_fields_keep_nobody_waiting() -> None:
    port = Port(CallLimits())
    call = asyncio.create_task(port.call(ASK * 4_000_000))
    await asyncio.sleep(0)
    turns = 0
    while not call.done():
        await asyncio.sleep(0)
        turns += 1
    assert "fields or more" in (await call).errorMsg
    assert turns >= 30
    assert port.seen == []


async def test_large_calls_under_way_are_bounded_together() -> None:
    before, port = told(RPC_LARGE_CALLS), Port(CallLimits(large_calls_bytes_max=2 * LARGE_BYTES + 100))
    port.gate.clear()
    body = padded(b"", LARGE_BYTES + 50)
    calls = [asyncio.create_task(port.call(body)) for _ in range(3)]
    async with asyncio.timeout(60):
        header = await calls[2]
    assert header.exceptionClassName == faults.RETRIABLE
    assert told(RPC_LARGE_CALLS) == before + 1
    port.gate.set()
    assert [(await call).status for call in calls[:2]] == [RpcResponseHeaderProto.SUCCESS] * 2
    assert (await port.call(body)).status == RpcResponseHeaderProto.SUCCESS
