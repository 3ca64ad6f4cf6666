"""Endpoints as the network has them."""

from __future__ import annotations

import asyncio
from contextlib import suppress

CONNECT_S = 1.0


class TcpEndpoints:
    """Nothing is sent: what is accepted is there."""

    async def answers(self, host: str, port: int) -> bool:
        try:
            async with asyncio.timeout(CONNECT_S):
                _, writer = await asyncio.open_connection(host, port)
        except (OSError, TimeoutError, ValueError):  # a name that is none by IDNA's rules is a ValueError
            return False
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
        return True
