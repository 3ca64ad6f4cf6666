"""Addresses that the web proxy must not call for whoever names them as his ApplicationMaster's page."""

from __future__ import annotations

import asyncio

from tests.attacks.attack import Target, Works, attack
from tests.attacks.neighbours import killed, master_of, submitted

METADATA = (
    "http://169.254.169.254/latest/meta-data/",
    "http://[::ffff:169.254.169.254]/",
    "http://2852039166/",
    "http://0xa9fea9fe/",
    "http://0251.0376.0251.0376/",
    "http://169.254.43518/",
    "http://[fd00:ec2::254]/",
)
LOOPBACK = ("http://127.0.0.99:{port}/", "http://[::ffff:127.0.0.99]:{port}/", "http://2130706531:{port}/")


async def _proxied(target: Target, tracking_url: str) -> tuple[int, bytes]:
    rpc = target.client()
    application_id = await submitted(rpc)
    master = await master_of(target, rpc, application_id, tracking_url)
    try:
        return await target.http("GET", f"/proxy/{application_id}/?user.name=mallory")
    finally:
        await killed(rpc, application_id)
        await master.close()
        await rpc.close()


@attack
async def metadata_services(target: Target) -> str:
    for url in METADATA:
        status, said = await _proxied(target, url)
        if status < 400 or b"No answer" in said:  # "Not proxied" is a refusal, whatever its status
            raise Works(f"{url} was called: HTTP {status} {said[:100]!r}")
    return f"{len(METADATA)} spellings refused"


@attack
async def loopback(target: Target) -> str:
    """A service of the ResourceManager's own machine on an address that no node has."""
    called: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        called.append((await reader.read(200)).decode(errors="replace"))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nsecret")
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.99", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        for url in LOOPBACK:
            _, said = await _proxied(target, url.format(port=port))
            if called or b"secret" in said:
                raise Works(f"{url.format(port=port)} was called")
    return f"{len(LOOPBACK)} spellings refused"


@attack
async def administration_by_proxy(target: Target) -> str:
    """An application whose pages are the ResourceManager's own: the proxy is inside the administrators' network."""
    tried = 0
    for name, (host, port) in target.addresses.items():
        status, said = await _proxied(target, f"http://{host}:{port}/ws/v1/cluster/scheduler-conf/")
        if status < 400 or b"No answer" in said:
            raise Works(f"the port {name} was called: HTTP {status} {said[:100]!r}")
        tried += 1
    return f"{tried} ports refused"
