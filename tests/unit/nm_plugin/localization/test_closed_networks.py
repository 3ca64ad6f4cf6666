"""Downloads over HTTP reach no closed network, however the URL, a redirect or a name leads there."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from ipaddress import ip_network

import httpx2
import pytest

from nm_plugin.localization.closed_networks import ClosedNetwork, Network, OpenNetworks, is_closed
from nm_plugin.settings import DEFAULT_CLOSED_NETWORKS
from yodel.errors import Unavailable
from yodel.hadoop_http.addresses import resolved

CLOSED = [
    *("127.0.0.1", "127.8.9.1", "0.0.0.0", "0.1.2.3", "::", "::1", "::ffff:127.0.0.1", "::ffff:7f00:1"),
    *("::127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "::ffff:0.0.0.0"),
    *("169.254.169.254", "169.254.1.1", "fe80::1", "fe80::1%eth0", "febf::1", "::ffff:169.254.169.254"),
    *("64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::", "fd00:ec2::254", "fd20:ce::254", "100.100.100.200", "192.0.0.192"),
    *("168.63.129.16", "nonsense", ""),
]
OPEN = ["10.0.0.9", "192.168.1.1", "203.0.113.7", "fd12::1", "::ffff:10.0.0.9", "169.253.1.1", "128.0.0.1", "fec0::1"]
OPEN_LATER = "127.0.0.2"
"""Another address of this machine, which is no closed one in these tests."""
NOT_THE_FIRST: tuple[Network, ...] = (ip_network("127.0.0.1/32"), ip_network("::1/128"))


@pytest.mark.parametrize("address", CLOSED)
def test_what_each_machine_has_is_closed_by_default(address: str) -> None:
    assert is_closed(address, DEFAULT_CLOSED_NETWORKS)


@pytest.mark.parametrize("address", OPEN)
def test_other_addresses_are_open(address: str) -> None:
    assert not is_closed(address, DEFAULT_CLOSED_NETWORKS)


def test_a_network_is_closed_as_it_is_written_too() -> None:
    assert is_closed("64:ff9b::a00:9", [ip_network("64:ff9b::/96")])
    assert is_closed("::ffff:10.0.0.9", [ip_network("10.0.0.0/8")])
    assert not is_closed("127.0.0.1", [])


@dataclass
class Site:
    """An HTTP server of all this machine's addresses, and a name service."""

    port: int = 0
    heads: list[tuple[str, str]] = field(default_factory=list)
    """By which address, and what was asked."""
    location: str = ""
    """Where everything but ``/end`` leads."""
    names: dict[str, list[list[str]]] = field(default_factory=dict)
    """The addresses that each name leads to, the first time it is asked for and later."""
    asked: list[str] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.heads.append((writer.get_extra_info("sockname")[0], head))
        leads = self.location and not head.startswith("GET /end ")
        status = f"302 Found\r\nLocation: {self.location}" if leads else "200 OK"
        writer.write(f"HTTP/1.1 {status}\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello".encode())
        await writer.drain()
        writer.close()

    async def resolve(self, host: str, port: int) -> list[str]:
        self.asked.append(host)
        if host not in self.names:
            return await resolved(host, port)
        answers = self.names[host]
        return answers.pop(0) if len(answers) > 1 else answers[0]

    def client(self, closed: tuple[Network, ...] = NOT_THE_FIRST) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(transport=OpenNetworks(closed, self.resolve), follow_redirects=True, max_redirects=3)

    async def fetched(self, url: str, closed: tuple[Network, ...] = NOT_THE_FIRST) -> httpx2.Response:
        async with self.client(closed) as client:
            return await client.get(url.format(port=self.port))


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    made = Site()
    server = await asyncio.start_server(made.serve, "0.0.0.0", 0)
    made.port = server.sockets[0].getsockname()[1]
    async with server:
        yield made


@pytest.mark.parametrize(
    "url",
    [
        *("http://127.0.0.1:{port}/", "http://localhost:{port}/", "http://[::1]:{port}/", "http://127.1:{port}/"),
        *("http://0x7f.1:{port}/", "http://2130706433:{port}/", "http://0177.0.0.1:{port}/"),
        *("http://[::ffff:127.0.0.1]:{port}/", "http://[::ffff:7f00:1]:{port}/", "http://user:word@127.0.0.1:{port}/"),
        *("http://0.0.0.0:{port}/", "http://127.0.0.2:{port}/", "http://[::]:{port}/", "https://127.0.0.1:{port}/"),
    ],
)
async def test_every_spelling_of_loopback_is_closed(site: Site, url: str) -> None:
    with pytest.raises((ClosedNetwork, Unavailable, httpx2.InvalidURL)):
        await site.fetched(url, DEFAULT_CLOSED_NETWORKS)
    assert site.heads == []


async def test_what_is_open_is_asked_by_its_name(site: Site) -> None:
    site.names["files.example"] = [[OPEN_LATER]]
    assert (await site.fetched("http://files.example:{port}/a?b=c")).text == "hello"
    ((address, head),) = site.heads
    assert address == OPEN_LATER
    assert head.startswith("GET /a?b=c HTTP/1.1\r\n")
    assert f"host: files.example:{site.port}\r\n" in head.lower()


@pytest.mark.parametrize(
    "location", ["http://127.0.0.1:{port}/end", "//localhost:{port}/end", "http://inner:{port}/end"]
)
async def test_a_redirect_is_judged_too(site: Site, location: str) -> None:
    site.names["inner"] = [["127.0.0.1"]]
    site.location = location.format(port=site.port)
    with pytest.raises(ClosedNetwork, match=r"is in a network from which nothing is fetched \(fetch_closed_networks\)"):
        await site.fetched(f"http://{OPEN_LATER}:{{port}}/")
    assert [address for address, _ in site.heads] == [OPEN_LATER]


@pytest.mark.parametrize("location", ["/end", "end", "http://127.0.0.3:{port}/end"])
async def test_an_open_redirect_is_followed(site: Site, location: str) -> None:
    """The redirect is resolved from the name, and not from the address that it had."""
    site.names["files.example"] = [[OPEN_LATER]]
    site.location = location.format(port=site.port)
    assert (await site.fetched("http://files.example:{port}/a")).text == "hello"
    assert site.heads[1][1].startswith("GET /end ")
    named = "127.0.0.3" if location.startswith("http") else "files.example"
    assert f"host: {named}:{site.port}\r\n" in site.heads[1][1].lower()


async def test_what_was_judged_is_what_is_connected_to(site: Site) -> None:
    """The name would lead elsewhere the second time; nobody asks a second time."""
    site.names["turning"] = [[OPEN_LATER], ["127.0.0.1"]]
    assert (await site.fetched("http://turning:{port}/")).text == "hello"
    assert (site.asked, site.heads[0][0]) == (["turning"], OPEN_LATER)
    with pytest.raises(ClosedNetwork):
        await site.fetched("http://turning:{port}/")
    assert len(site.heads) == 1


async def test_of_several_addresses_only_open_ones_are_tried(site: Site) -> None:
    site.names["both"] = [["127.0.0.1", "::1", "127.0.0.9", OPEN_LATER]]
    assert (await site.fetched("http://both:{port}/")).text == "hello"
    assert [address for address, _ in site.heads] == ["127.0.0.9"]


async def test_the_next_address_is_tried_where_nobody_listens_at_the_first(site: Site) -> None:
    site.names["both"] = [["::1", OPEN_LATER]]
    assert (await site.fetched("http://both:{port}/", ())).text == "hello"


async def test_a_certificate_has_to_be_for_the_name() -> None:
    named: list[str | None] = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)

    def refuse(_: object, name: str | None, __: object) -> int:
        named.append(name)
        return ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME

    context.sni_callback = refuse
    server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0, ssl=context)
    site = Site(port=server.sockets[0].getsockname()[1], names={"files.example": [["127.0.0.1"]]})
    async with server:
        with pytest.raises(httpx2.ConnectError):
            await site.fetched("https://files.example:{port}/", ())
    assert named == ["files.example"]


async def test_a_name_that_leads_nowhere_is_unavailable(site: Site) -> None:
    with pytest.raises(Unavailable, match="is not found"):
        await site.fetched("http://no-such-host.invalid:{port}/")
