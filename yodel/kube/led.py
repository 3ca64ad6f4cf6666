"""Requests are made only while we lead: a process that stood still may wake up with some that another decided again."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager

from yodel.kube.api import ApiRequest, KubeApi


class LedKube:
    """``KubeApi`` over another.  ``require`` raises Unavailable when we do not lead.

    Watches go through: they change nothing.
    """

    def __init__(self, api: KubeApi, require: Callable[[], None]) -> None:
        self._api, self._require = api, require

    async def call(self, request: ApiRequest) -> bytes:
        self._require()
        return await self._api.call(request)

    def stream(self, request: ApiRequest) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self._api.stream(request)
