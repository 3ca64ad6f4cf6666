"""A way to a PostgreSQL that is cut at a COMMIT: before it arrives, once it is answered, or once it is sent on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from enum import Enum

from sqlalchemy import make_url

CHUNK_BYTES = 65_536
COMMIT = b"COMMIT;\x00"
"""As asyncpg sends it: a simple query."""


class Cut(Enum):
    """Lists what can happen to the next COMMIT."""

    BEFORE = "it does not arrive"
    AFTER = "it is carried out and its answer does not arrive"
    BETWEEN = "it is sent on and nobody waits for what comes of it"


class CuttingProxy:
    """Passes everything on, both ways, until a cut is planned and a COMMIT comes."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port
        self.cuts: list[Cut] = []
        """The cuts of the next COMMITs, one each."""

    async def serve(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        server, to_server = await asyncio.open_connection(self._host, self._port)
        back = asyncio.create_task(self._pass_on(server, to_client))
        try:
            while data := await client.read(CHUNK_BYTES):
                if COMMIT in data and self.cuts:
                    await self._cut(self.cuts.pop(0), data, to_server, server, back)
                    return
                to_server.write(data)
                await to_server.drain()
        except (ConnectionError, asyncio.CancelledError):
            return  # a cancelled one is the server's end: nobody asks how this task ended
        finally:
            back.cancel()
            for writer in (to_client, to_server):
                writer.transport.abort()

    async def _cut(
        self,
        cut: Cut,
        data: bytes,
        to_server: asyncio.StreamWriter,
        server: asyncio.StreamReader,
        back: asyncio.Task[None],
    ) -> None:
        if cut is Cut.BEFORE:
            return
        back.cancel()
        with suppress(asyncio.CancelledError):
            await back
        to_server.write(data)
        await to_server.drain()
        if cut is Cut.AFTER:
            assert await server.read(CHUNK_BYTES), "the server did not answer"

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(CHUNK_BYTES):
                writer.write(data)
                await writer.drain()
        writer.close()


@asynccontextmanager
async def cutting_proxy(url: str) -> AsyncIterator[tuple[CuttingProxy, str]]:
    """The proxy, and the database's URL by way of it."""
    parsed = make_url(url)
    assert parsed.host is not None
    assert parsed.port is not None
    proxy = CuttingProxy(parsed.host, parsed.port)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        yield proxy, parsed.set(host="127.0.0.1", port=port).render_as_string(hide_password=False)
