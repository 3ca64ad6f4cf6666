"""Compressed answers."""

from __future__ import annotations

import gzip

from tests.support.rest_world import RestWorld


async def test_gzip_for_who_asks_for_it_and_nobody_else(world: RestWorld) -> None:
    plain = await world.get("/scheduler", headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    async with world.client.stream("GET", "/ws/v1/cluster/scheduler", headers={"Accept-Encoding": "gzip"}) as packed:
        raw = b"".join([part async for part in packed.aiter_raw()])
    assert (packed.headers["content-encoding"], packed.headers["vary"]) == ("gzip", "Accept-Encoding")
    assert gzip.decompress(raw) == plain.content
