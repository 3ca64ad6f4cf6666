"""Long lists are read in pieces, and come out as they went in."""

from __future__ import annotations

import asyncio

import pytest

from yodel.errors import InvalidValue
from yodel.hadoop_pb.yarn_protos_pb2 import ResourceRequestProto
from yodel.pb_convert import asks
from yodel.serving.pieces import PIECE, in_pieces


@pytest.mark.parametrize("number", [0, 1, PIECE, PIECE + 1, 5 * PIECE])
async def test_others_have_a_turn_between_pieces(number: int) -> None:
    turns: list[int] = []
    found: list[int] = []

    def read(message: int) -> int:
        found.append(message)
        return -message

    async def other() -> None:
        while True:
            turns.append(len(found))
            await asyncio.sleep(0)

    neighbour = asyncio.create_task(other())
    assert await in_pieces(read, range(number)) == [-message for message in range(number)]
    neighbour.cancel()
    assert all(after - before <= PIECE for before, after in zip([0, *turns], turns, strict=False))
    assert len(turns) >= number // PIECE


async def test_what_is_wrong_is_said() -> None:
    wrong = ResourceRequestProto(resource_name="x" * 600)
    with pytest.raises(InvalidValue, match="resource_name"):
        await in_pieces(asks.ask, [wrong])
