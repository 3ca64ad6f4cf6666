"""Connections to Hadoop's ports that say nothing, too much, or never all of it."""

from __future__ import annotations

import asyncio
import contextlib
import secrets

from tests.attacks.attack import CLIENT_PROTOCOL, MIB, Target, Works, attack
from yodel.hadoop_rpc.client_connection import ClientConnection, ClientIdentity

IDLE = 2_000
UNFINISHED = 64
GROWTH_MIB_MAX = 160.0
"""64 MiB of unfinished frames together, what reading them costs beside, and a moment's garbage."""
HUGE = 60 * MIB


def _opening(protocol: str) -> bytes:
    """Return the bytes that open a connection as SIMPLE."""
    identity = ClientIdentity(client_id=secrets.token_bytes(16), protocol=protocol, user="mallory")
    return ClientConnection(identity=identity, cnonce="c").connect()


async def _said(reader: asyncio.StreamReader, timeout_s: float) -> bytes:
    """All until the peer closes, or until then.  Empty too when the connection was reset."""
    found = bytearray()
    with contextlib.suppress(TimeoutError, ConnectionError):
        async with asyncio.timeout(timeout_s):
            while data := await reader.read(65_536):
                found += data
    return bytes(found)


async def _announce(target: Target, port: str, size: int) -> bytes:
    """The answer to a frame of this size of which nothing but the length comes."""
    async with target.connection(target.addresses[port]) as (reader, writer):
        writer.write(_opening(CLIENT_PROTOCOL) + size.to_bytes(4, "big") + b"x" * 10_000)
        return await _said(reader, 10.0)


@attack
async def frames_too_large(target: Target) -> str:
    """60 MiB announced on the clients' and the administrators' ports."""
    for port in ("client", "admin"):
        said = await _announce(target, port, HUGE)
        if b"RpcServerException" not in said:
            raise Works(f"a frame of {HUGE // MIB} MiB is waited for on the {port} port, or refused without a word")
    return "refused with its reason"


@attack
async def frames_that_never_end(target: Target) -> str:
    """Send as many bytes as a frame may have but one, on many connections at once."""
    before = target.resident_mib()
    async with contextlib.AsyncExitStack() as stack:
        for port, size in (("client", 4 * MIB), ("admin", MIB)):
            for _ in range(UNFINISHED):
                with contextlib.suppress(ConnectionError, TimeoutError):
                    _, writer = await stack.enter_async_context(target.connection(target.addresses[port]))
                    writer.write(_opening(CLIENT_PROTOCOL) + size.to_bytes(4, "big") + b"x" * (size - 1))
                    await asyncio.wait_for(writer.drain(), 10)
        after = target.resident_mib()
    if before is not None and after is not None and after - before > GROWTH_MIB_MAX:
        raise Works(f"{2 * UNFINISHED} unfinished frames hold {after - before:.0f} MiB; at most {GROWTH_MIB_MAX:.0f}")
    return f"{2 * UNFINISHED} unfinished frames"


@attack
async def silent_connections(target: Target) -> str:
    """Connections that never say who they are, on the clients' port."""
    async with contextlib.AsyncExitStack() as stack:
        opened = 0
        for _ in range(IDLE):
            with contextlib.suppress(ConnectionError, TimeoutError):
                await stack.enter_async_context(target.connection(target.addresses["client"]))
                opened += 1
        await asyncio.sleep(3)
    return f"{opened} silent connections"


async def _long_turns(target: Target) -> tuple[float, float]:
    """Return how many turns of the loop took more than 20 ms of processor time, and the longest, s; of all time."""
    _, body = await target.http("GET", "/prom")
    lines = dict(line.rsplit(" ", 1) for line in body.decode().splitlines() if line.startswith("yodel_loop_turn"))
    return float(lines["yodel_loop_turns_over_20_ms_total"]), float(lines["yodel_loop_turn_longest_seconds"])


@attack
async def one_call_of_tiny_fields(target: Target) -> str:
    """A request of nearly the greatest size out of fields that nobody knows: parsing them is the attack."""
    before, _ = await _long_turns(target)
    async with target.connection(target.addresses["client"]) as (reader, writer):
        identity = ClientIdentity(client_id=secrets.token_bytes(16), protocol=CLIENT_PROTOCOL, user="mallory")
        machine = ClientConnection(identity=identity, cnonce="c")
        writer.write(machine.connect())
        body = b"\xf8\x7f\x01" * ((4 * MIB - 4_096) // 3)
        for call_id in range(3):
            writer.write(machine.call(call_id=call_id, method="getApplications", body=body))
        said = await _said(reader, 8.0)
    if b"rpc.call_fields_max" not in said:
        raise Works("calls of more than a million fields are not refused by their limit")
    after, longest_s = await _long_turns(target)
    if after - before >= 3:
        raise Works(
            f"{after - before:.0f} turns of more than 20 ms of processor time, the longest ever {longest_s:.3f} s"
        )
    return f"three calls of 4 MiB; {after - before:.0f} turns of more than 20 ms, the longest ever {longest_s:.3f} s"
