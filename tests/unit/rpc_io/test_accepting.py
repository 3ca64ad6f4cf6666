"""Newcomers of an RPC port: without descriptors for them, and many addresses that are one caller."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import resource
import socket
from collections.abc import Iterator
from typing import Any

from tests.unit.rpc_io.test_server import Service, serving
from yodel.rpc_io.connection import Connection
from yodel.rpc_io.server import ACCEPTED_AT_ONCE, RpcLimits


class Wire(asyncio.Transport):
    """Takes what is written."""

    def __init__(self, address: str) -> None:
        super().__init__({"peername": (address, 40_000, 0, 0)})

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None: ...

    def write(self, data: bytes | bytearray | memoryview) -> None: ...

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None: ...

    def is_closing(self) -> bool:
        return False

    def abort(self) -> None: ...

    def close(self) -> None: ...


async def test_without_a_descriptor_left_it_tries_a_few_times_a_second_and_serves_later() -> None:
    failures: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, failure: failures.append(failure))
    async with serving(Service(), accept=False) as (server, port):
        waiting = [socket.create_connection(("127.0.0.1", port)) for _ in range(3 * ACCEPTED_AT_ONCE)]
        with no_descriptors_left():
            await server.accept_connections()
            for _ in range(10):
                await asyncio.sleep(0)
            assert 0 < len(failures) <= ACCEPTED_AT_ONCE
            assert {failure["exception"].errno for failure in failures} == {errno.EMFILE}
            assert server.connection_count == 0
        async with asyncio.timeout(60):
            while server.connection_count < len(waiting):  # noqa: ASYNC110 - no event tells of it
                await asyncio.sleep(0.01)
        for sock in waiting:
            sock.close()


@contextlib.contextmanager
def no_descriptors_left() -> Iterator[None]:
    held = [os.open(os.devnull, os.O_RDONLY)]
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (held[0] + 64, limits[1]))
    try:
        with contextlib.suppress(OSError):
            while True:
                held.append(os.dup(held[0]))
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        for descriptor in held:
            os.close(descriptor)


async def test_addresses_of_one_ipv6_network_are_one_caller() -> None:
    def from_there(address: str) -> Connection:
        connection = Connection(server)
        connection.connection_made(Wire(address))
        return connection

    async with serving(Service(), limits=RpcLimits(connections_per_address_max=2)) as (server, _):
        seated = [from_there(address) for address in ("2001:db8::1", "2001:db8::2")]
        from_there("2001:db8::3")
        assert (server.connection_count, server.figures.dropped_connections) == (2, 1)
        seated.append(from_there("2001:db8:0:1::1"))
        assert (server.connection_count, server.figures.dropped_connections) == (3, 1)
        for connection in seated:
            connection.connection_lost(None)
