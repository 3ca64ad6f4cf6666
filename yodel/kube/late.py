"""A client that is still being opened: calls wait for it.

Reading a kubeconfig with the official package takes a second of imports; a restarting RM answers its clients meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from yodel.errors import Unavailable
from yodel.kube.api import ApiRequest, KubeApi


class LateKube:
    """``KubeApi`` over one that comes later.  A call that outlives its own deadline meanwhile is Unavailable."""

    def __init__(self) -> None:
        self._opened = asyncio.Event()
        self._api: KubeApi | None = None

    def open(self, api: KubeApi) -> None:
        """Use this API for calls from now on."""
        self._api = api
        self._opened.set()

    async def call(self, request: ApiRequest) -> bytes:
        api = await self._wait(request.timeout_s)
        return await api.call(request)

    @asynccontextmanager
    async def stream(self, request: ApiRequest) -> AsyncIterator[AsyncIterator[bytes]]:
        api = await self._wait(request.timeout_s)
        async with api.stream(request) as chunks:
            yield chunks

    async def _wait(self, timeout_s: float) -> KubeApi:
        if self._api is None:
            try:
                async with asyncio.timeout(timeout_s):
                    await self._opened.wait()
            except TimeoutError as error:
                raise Unavailable("the Kubernetes client is not ready yet") from error
        assert self._api is not None
        return self._api
