"""Work that comes round."""

from __future__ import annotations

import asyncio

import structlog
from structlog.testing import capture_logs

from yodel.errors import Unavailable
from yodel.services.upkeep import repeatedly


async def test_it_looks_at_once_and_again_sooner_when_the_store_was_away() -> None:
    looks: list[float] = []
    enough = asyncio.Event()
    loop = asyncio.get_running_loop()

    async def look() -> None:
        looks.append(loop.time())
        if len(looks) == 1:
            raise Unavailable("the store is away")
        if len(looks) == 3:
            enough.set()

    begun = loop.time()
    with capture_logs() as logs:
        task = asyncio.create_task(repeatedly(look, 0.3, 0.01, structlog.get_logger()))
        await asyncio.wait_for(enough.wait(), 20)
        task.cancel()
    assert looks[0] - begun < looks[2] - looks[1]
    assert looks[1] - looks[0] < 0.3 <= looks[2] - looks[1] + 0.01
    assert [(line["log_level"], line["error"], line["retry_s"]) for line in logs] == [
        ("warning", "the store is away", 0.01)
    ]
