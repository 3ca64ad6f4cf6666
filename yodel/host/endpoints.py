"""Connects to endpoints, to see whether somebody accepts."""

from __future__ import annotations

import asyncio
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial

CONNECT_S = 1.0
"""For the name and for the connection together."""
RESOLVERS = 4
"""Threads of its own that ask for names: where a name server is away, nobody else waits for one."""


class TcpEndpoints:
    """Nothing is sent: what is accepted is there."""

    def __init__(self) -> None:
        self._resolvers = ThreadPoolExecutor(RESOLVERS, thread_name_prefix="endpoints")

    async def answers(self, host: str, port: int) -> bool:
        try:
            async with asyncio.timeout(CONNECT_S):
                return await self._connects(host, port)
        except (OSError, TimeoutError, ValueError):  # a name that is none by IDNA's rules is a ValueError
            return False

    async def _connects(self, host: str, port: int) -> bool:
        """Raises OSError, ValueError."""
        ask = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
        for *_, address in await asyncio.get_running_loop().run_in_executor(self._resolvers, ask):
            with suppress(OSError):
                _, writer = await asyncio.open_connection(str(address[0]), port)
                writer.close()
                return True
        return False
