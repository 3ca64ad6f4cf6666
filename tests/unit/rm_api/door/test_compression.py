"""Compressed answers."""

from __future__ import annotations

import gzip

import pytest

from tests.support.records import an_application
from tests.support.rest_world import RestWorld
from yodel.domain.states import ApplicationState


async def test_gzip_for_who_asks_for_it_and_nobody_else(world: RestWorld) -> None:
    plain = await world.get("/scheduler", headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    async with world.client.stream("GET", "/ws/v1/cluster/scheduler", headers={"Accept-Encoding": "gzip"}) as packed:
        raw = b"".join([part async for part in packed.aiter_raw()])
    assert (packed.headers["content-encoding"], packed.headers["vary"]) == ("gzip", "Accept-Encoding")
    assert gzip.decompress(raw) == plain.content


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        ("gzip;q=0", None),
        ("deflate, GZIP ; Q=0.00, br", None),
        ("gzip;q=0.1", "gzip"),
        ("br;q=0, gzip", "gzip"),
        ("gzip, br;q=0", "gzip"),
    ],
)
async def test_no_gzip_for_who_refuses_it(world: RestWorld, asked: str, given: str | None) -> None:
    rows = [an_application(number, state=ApplicationState.FAILED, finished_ms=2000) for number in range(1, 40)]
    await world.put(*rows)
    for path in ("/scheduler", "/apps"):
        answer = await world.get(path, headers={"Accept-Encoding": asked})
        assert answer.headers.get("content-encoding") == given
        assert "Accept-Encoding" in answer.headers["vary"]
