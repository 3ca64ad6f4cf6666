"""A client that is still being opened."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from yodel.errors import Unavailable
from yodel.kube.api import ApiRequest
from yodel.kube.late import LateKube


class Api:
    async def call(self, request: ApiRequest) -> bytes:
        return request.path.encode()

    @asynccontextmanager
    async def stream(self, request: ApiRequest) -> AsyncIterator[AsyncIterator[bytes]]:
        async def chunks() -> AsyncIterator[bytes]:
            yield request.path.encode()

        yield chunks()


async def test_a_call_waits_until_the_client_is_open() -> None:
    late = LateKube()
    call = asyncio.create_task(late.call(ApiRequest(path="/a")))
    await asyncio.sleep(0)
    assert not call.done()
    late.open(Api())
    assert await call == b"/a"


async def test_a_stream_goes_through_once_open() -> None:
    late = LateKube()
    late.open(Api())
    async with late.stream(ApiRequest(path="/w")) as chunks:
        assert [chunk async for chunk in chunks] == [b"/w"]


async def test_a_call_that_outlives_its_deadline_is_unavailable() -> None:
    with pytest.raises(Unavailable):
        await LateKube().call(ApiRequest(path="/a", timeout_s=0.001))
