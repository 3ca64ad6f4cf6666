"""A long answer written in pieces has the bytes of one that is written at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from typing import Any

import pytest

from yodel.hadoop_pb.yarn_protos_pb2 import ApplicationReportProto
from yodel.hadoop_pb.yarn_service_protos_pb2 import GetApplicationsResponseProto, GetNewApplicationResponseProto
from yodel.rpc_io.serialized import SERIALIZED_PIECE, serialized


def listed(count: int, **texts: str) -> GetApplicationsResponseProto:
    report = ApplicationReportProto(user="alice", queue="default", **texts)
    response = GetApplicationsResponseProto()
    for number in range(count):
        report.applicationId.id = number
        response.applications.append(report)
    return response


@pytest.mark.parametrize("count", [0, 1, SERIALIZED_PIECE, SERIALIZED_PIECE + 1, 5 * SERIALIZED_PIECE + 7])
async def test_long_list_has_the_bytes_of_one_that_is_written_at_once(count: int) -> None:
    response = listed(count, name="x" * 30, diagnostics="y" * 200)
    assert await serialized(response) == response.SerializeToString()
    new = GetNewApplicationResponseProto()
    new.application_id.id = 7
    assert await serialized(new) == new.SerializeToString()


async def longest_turn_s(work: Coroutine[Any, Any, object]) -> float:
    """Return the longest turn in processor time until the work is done."""
    task, longest_s, before_s = asyncio.ensure_future(work), 0.0, time.thread_time()
    while not task.done():
        await asyncio.sleep(0)
        now_s = time.thread_time()
        longest_s, before_s = max(longest_s, now_s - before_s), now_s
    await task
    return longest_s


async def test_list_of_a_hundred_thousand_is_written_in_short_turns() -> None:
    """Beside the time of writing it at once on this machine, a tenth of it; the best of five tries counts."""
    response = listed(100_000)

    async def at_once() -> bytes:
        return response.SerializeToString()

    whole_s = min([await longest_turn_s(at_once()) for _ in range(5)])
    assert min([await longest_turn_s(serialized(response)) for _ in range(5)]) <= whole_s * 0.75


async def test_others_have_a_turn_between_pieces_that_are_written() -> None:
    task, turns = asyncio.ensure_future(serialized(listed(5 * SERIALIZED_PIECE))), 0
    while not task.done():
        await asyncio.sleep(0)
        turns += 1
    assert turns >= 5
