"""Load on an HTTP port from a process of its own: N kept connections that each ask again as soon as they are answered.

    python -m bench.http_load http://127.0.0.1:8088/ws/v1/cluster/info --connections 16 --seconds 3
    python -m bench.http_load URL --connections 64 --seconds 10 --pause-ms 50      # readers that take 64 KiB at a time

Prints one line of JSON: answers and bytes a second, p50 and p99 in milliseconds, and what was not answered with 200.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from typing import cast
from urllib.parse import urlsplit

import uvloop

BUFFER_BYTES = 1 << 20
SLOW_BYTES = 64 * 1024
HEAD_BYTES_MAX = 64 * 1024
CHUNKS_END = b"\r\n0\r\n\r\n"


class Asking(asyncio.BufferedProtocol):
    """One connection.  Bodies are counted and thrown away; of chunked ones only the end is looked for."""

    transport: asyncio.Transport

    def __init__(self, request: bytes, buffer: memoryview, pause_s: float) -> None:
        self._request, self._buffer, self._pause_s = request, buffer, pause_s
        self._head = b""
        self._left: int | None = None
        """Bytes of the body to come; None while it is chunked."""
        self._tail = b""
        self._asked_s = 0.0
        self.latencies_s: list[float] = []
        self.bytes = self.refused = 0
        self.error: str | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self._ask()

    def connection_lost(self, exc: Exception | None) -> None:
        self.error = self.error or str(exc or "closed")

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self.bytes += nbytes
        if self._pause_s:
            self.transport.pause_reading()
            asyncio.get_running_loop().call_later(self._pause_s, self._go_on)
        if self._head.endswith(b"\r\n\r\n"):
            self._take(self._buffer[:nbytes])
            return
        data = self._head + bytes(self._buffer[:nbytes])
        end = data.find(b"\r\n\r\n") + 4
        self._head = data[:end] if end > 3 else data
        if len(self._head) > HEAD_BYTES_MAX:
            self.transport.abort()
        elif end > 3:
            lines = self._head.lower().split(b"\r\n")
            lengths = [int(line[15:]) for line in lines if line.startswith(b"content-length:")]
            self._left = lengths[0] if lengths else None
            self.refused += b" 200 " not in lines[0]
            self._take(memoryview(data)[end:])

    def _take(self, data: memoryview) -> None:
        if self._left is not None:
            self._left -= len(data)
            is_over = self._left <= 0
        else:
            self._tail = (self._tail + bytes(data[-len(CHUNKS_END) :]))[-len(CHUNKS_END) :]
            is_over = self._tail == CHUNKS_END
        if is_over:
            self.latencies_s.append(time.perf_counter() - self._asked_s)
            self._ask()

    def _ask(self) -> None:
        self._head, self._tail, self._left = b"", b"", None
        self._asked_s = time.perf_counter()
        self.transport.write(self._request)

    def _go_on(self) -> None:
        if not self.transport.is_closing():
            self.transport.resume_reading()


async def load(url: str, connections: int, seconds: float, pause_s: float) -> dict[str, object]:
    parts = urlsplit(url)
    host, port = parts.hostname or "127.0.0.1", parts.port or 80
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    request = f"GET {target} HTTP/1.1\r\nHost: {parts.netloc}\r\nAccept: application/json\r\n\r\n".encode()
    buffer = memoryview(bytearray(SLOW_BYTES if pause_s else BUFFER_BYTES))
    loop = asyncio.get_running_loop()
    asking = [Asking(request, buffer, pause_s) for _ in range(connections)]
    begin_s = time.perf_counter()
    for one in asking:
        await loop.create_connection(lambda one=one: one, host, port)  # type: ignore[misc]
    await asyncio.sleep(seconds)
    taken_s = time.perf_counter() - begin_s
    errors = sorted({one.error for one in asking if one.error is not None})
    for one in asking:
        one.transport.abort()
    latencies_s = sorted(latency for one in asking for latency in one.latencies_s)
    return {
        "per_s": len(latencies_s) / taken_s,
        "mib_per_s": sum(one.bytes for one in asking) / taken_s / (1 << 20),
        "p50_ms": _percentile(latencies_s, 0.5) * 1000,
        "p99_ms": _percentile(latencies_s, 0.99) * 1000,
        "refused": sum(one.refused for one in asking),
        "errors": errors[:5],
    }


def _percentile(values: list[float], part: float) -> float:
    return values[min(len(values) - 1, int(len(values) * part))] if values else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--pause-ms", type=float, default=0.0)
    arguments = parser.parse_args()
    found = load(arguments.url, arguments.connections, arguments.seconds, arguments.pause_ms / 1000)
    print(json.dumps(uvloop.run(found)))


if __name__ == "__main__":
    main()
