"""Requests of a leader, and of one that is none any more."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from yodel.errors import Unavailable
from yodel.kube.api import ApiRequest
from yodel.kube.led import LedKube


class Api:
    def __init__(self) -> None:
        self.asked: list[str] = []

    async def call(self, request: ApiRequest) -> bytes:
        self.asked.append(request.path)
        return b"answer"

    @asynccontextmanager
    async def stream(self, request: ApiRequest) -> AsyncIterator[AsyncIterator[bytes]]:
        async def chunks() -> AsyncIterator[bytes]:
            yield b"chunk"

        yield chunks()


def lost() -> None:
    raise Unavailable("lost")


async def test_a_leader_s_requests_go_through() -> None:
    assert await LedKube(Api(), lambda: None).call(ApiRequest(path="/a")) == b"answer"


async def test_without_the_lead_nothing_is_asked() -> None:
    api = Api()
    with pytest.raises(Unavailable, match="lost"):
        await LedKube(api, lost).call(ApiRequest(path="/a"))
    assert api.asked == []


async def test_watches_change_nothing_and_go_through() -> None:
    async with LedKube(Api(), lost).stream(ApiRequest(path="/w")) as chunks:
        assert [chunk async for chunk in chunks] == [b"chunk"]
