"""A caller whose request head never ends, for the web ports that have to hang up on it."""

from __future__ import annotations

import asyncio


async def is_hung_up_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, path: str) -> bool:
    """Writes up to 16 MiB of one header; whether the reason arrived all the same.  Raises TimeoutError when the
    connection is still open ten seconds later.
    """
    writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\nX-Long: ".encode())
    closed = asyncio.create_task(reader.read())
    for _ in range(1_000):
        if closed.done() or writer.is_closing():
            break
        writer.write(b"x" * 16_384)
        await asyncio.sleep(0)
    async with asyncio.timeout(60):
        (ended,) = await asyncio.gather(closed, return_exceptions=True)
    return isinstance(ended, bytes) and ended.startswith(b"HTTP/1.1 431 ") and b"http_head_bytes" in ended
