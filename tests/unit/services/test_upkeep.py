"""Work that comes round."""

from __future__ import annotations

import asyncio

import pytest
import structlog
from structlog.testing import capture_logs

from yodel.errors import Unavailable
from yodel.services.keys.upkeep import repeatedly

pytestmark = pytest.mark.looptime


async def test_it_looks_at_once_and_again_sooner_when_the_store_was_away() -> None:
    looks: list[float] = []
    loop = asyncio.get_running_loop()
    begun = loop.time()

    async def look() -> None:
        looks.append(loop.time() - begun)
        if len(looks) == 1:
            raise Unavailable("the store is away")

    with capture_logs() as logs:
        task = asyncio.create_task(repeatedly(look, 30.0, 5.0, structlog.get_logger()))
        await asyncio.sleep(40)
        task.cancel()
    assert looks == pytest.approx([0, 5, 35])
    assert [(line["log_level"], line["error"], line["retry_s"]) for line in logs] == [
        ("warning", "the store is away", 5.0)
    ]
