"""Addresses the web proxy connects to."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from dataclasses import replace
from ipaddress import ip_network

import pytest

from tests.support.records import a_node, an_application, an_attempt
from tests.support.rest_world import RestWorld, rest_world
from yodel.domain.ids import NodeId
from yodel.domain.states import ApplicationState, AttemptState, NodeState
from yodel.errors import InvalidValue, Unavailable
from yodel.hadoop_http.addresses import ADDRESSES_MAX, resolved
from yodel.rm_api.proxy.addresses import AddressRules
from yodel.rm_api.proxy.web_proxy import MARK, WebProxy
from yodel.rm_api.server import serve

ELSEWHERE = AddressRules(nodes=frozenset({"node-1", "10.0.0.1"}))
LAPTOP = AddressRules(nodes=frozenset({"127.0.0.1"}))
APP = an_application(1, state=ApplicationState.RUNNING, current_attempt=1)
HERE = f"/proxy/{APP.id}"

LOOPBACK = (
    *("127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1", "::ffff:7f00:1", "::127.0.0.1"),
    *("64:ff9b::7f00:1", "2002:7f00:1::"),
)
EVERYBODYS = (
    *("169.254.169.254", "169.254.1.1", "fe80::1", "fe80::1%eth0", "::ffff:169.254.169.254", "fd00:ec2::254"),
    *("fd20:ce::254", "100.100.100.200", "192.0.0.192", "168.63.129.16", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::"),
    *("0.0.0.0", "::", "::ffff:0.0.0.0", "224.0.0.1", "ff02::1", "nonsense", ""),
)


@pytest.mark.parametrize("address", [*LOOPBACK, *EVERYBODYS])
def test_what_each_machine_has_is_not_connected_to(address: str) -> None:
    with pytest.raises(InvalidValue, match="an address of this cluster's network"):
        ELSEWHERE.allowed("driver.example", [address], 80)


@pytest.mark.parametrize("address", ["10.0.0.9", "192.168.1.1", "203.0.113.7", "fd12::1", "::ffff:10.0.0.9"])
def test_other_addresses_are_connected_to(address: str) -> None:
    assert ELSEWHERE.allowed("driver.example", ["169.254.169.254", address, "127.0.0.1"], 80) == [address]


@pytest.mark.parametrize("address", LOOPBACK)
def test_where_nodes_are_on_loopback_so_are_applications(address: str) -> None:
    assert LAPTOP.allowed("localhost", [address], 80) == [address]
    assert AddressRules(nodes=frozenset(), trusted=frozenset({"localhost"})).allowed("localhost", [address], 80)


@pytest.mark.parametrize("address", EVERYBODYS)
def test_node_on_loopback_opens_nothing_else(address: str) -> None:
    with pytest.raises(InvalidValue):
        LAPTOP.allowed("driver.example", [address], 80)


def test_nodes_name_and_address_lead_to_the_node() -> None:
    assert ELSEWHERE.allowed("node-1", ["127.0.1.1"], 80) == ["127.0.1.1"]
    linked = AddressRules(nodes=frozenset({"169.254.7.7"}))
    assert linked.allowed("driver", ["169.254.7.8", "169.254.7.7"], 80) == ["169.254.7.7"]
    with pytest.raises(InvalidValue):
        ELSEWHERE.allowed("node-1", ["0.0.0.0"], 80)


def test_host_of_many_addresses_is_tried_at_a_few() -> None:
    assert len(ELSEWHERE.allowed("driver", [f"10.0.1.{n}" for n in range(50)], 80)) == ADDRESSES_MAX


async def test_every_spelling_of_an_address_is_found_to_be_it() -> None:
    for spelling in ("127.1", "0x7f.1", "0177.0.0.1", "2130706433", "0x7f000001"):
        found = await resolved(spelling, 80)
        with pytest.raises(InvalidValue):
            ELSEWHERE.allowed(spelling, found, 80)
    with pytest.raises(Unavailable, match="is not found"):
        await resolved("no-such-host.invalid", 80)


class Pages:
    """An HTTP server of a loopback address, and the names that were looked up."""

    def __init__(self) -> None:
        self.heads: list[bytes] = []
        self.port = 0
        self.answers: list[list[str]] = []
        self.asked: list[str] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")
        await writer.drain()
        writer.close()

    async def resolve(self, host: str, _: int) -> list[str]:
        self.asked.append(host)
        return self.answers.pop(0)


@pytest.fixture
async def pages() -> AsyncIterator[Pages]:
    made = Pages()
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    async with server:
        yield made


@pytest.fixture
async def world(pages: Pages) -> AsyncIterator[RestWorld]:
    async with rest_world() as made:
        made.app.state.proxy.web_proxy = WebProxy(resolve=pages.resolve)
        yield made


async def register(world: RestWorld, tracking_url: str, node: str, host: str) -> None:
    attempt = an_attempt(1, state=AttemptState.RUNNING, host=host, tracking_url=tracking_url)
    await world.put(a_node(state=NodeState.RUNNING, id=NodeId(node, 8041)), APP, attempt)


async def test_what_was_judged_is_what_is_connected_to(world: RestWorld, pages: Pages) -> None:
    """The name would lead elsewhere the second time; nobody asks a second time."""
    await register(world, f"http://driver.example:{pages.port}", "127.0.0.1", "driver.example")
    pages.answers = [["127.0.0.1"], ["203.0.113.1"]]
    answer = await world.client.get(f"{HERE}/jobs")
    assert (answer.status_code, answer.text, pages.asked) == (200, "hello", ["driver.example"])
    assert f"Host: driver.example:{pages.port}\r\n".lower().encode() in pages.heads[0].lower()


async def test_name_that_turns_to_this_machine_is_not_followed(world: RestWorld, pages: Pages) -> None:
    await register(world, f"http://driver.example:{pages.port}", "10.0.0.1", "driver.example")
    pages.answers = [["127.0.0.1"]]
    answer = await world.client.get(f"{HERE}/jobs")
    assert (answer.status_code, pages.heads) == (502, [])
    assert "an address of this cluster" in answer.text


async def test_next_address_is_tried_where_nobody_listens_at_the_first(world: RestWorld, pages: Pages) -> None:
    await register(world, f"http://localhost:{pages.port}", "127.0.0.1", "localhost")
    pages.answers = [["127.0.0.77", "127.0.0.1"]]
    assert (await world.client.get(f"{HERE}/")).text == "hello"


@pytest.mark.parametrize("rest", [":1/x", "@127.0.0.1:1/", "//127.0.0.1:1/", "http://127.0.0.1:1/"])
async def test_path_never_leads_to_another_port(world: RestWorld, pages: Pages, rest: str) -> None:
    await register(world, f"http://127.0.0.1:{pages.port}", "127.0.0.1", "127.0.0.1")
    pages.answers = [["127.0.0.1"]]
    assert (await world.client.get(f"http://rm-host:8088{HERE}/{rest}")).text == "hello"


SELF = AddressRules(
    nodes=frozenset({"127.0.0.1"}), trusted=frozenset({"localhost"}), own_ports=frozenset({8033, 8088, 8099})
)


@pytest.mark.parametrize("port", [8033, 8088, 8099])
@pytest.mark.parametrize("address", [*LOOPBACK, "0.0.0.0", "::", "::ffff:0.0.0.0"])
def test_resource_managers_own_ports_are_not_connected_to(address: str, port: int) -> None:
    with pytest.raises(InvalidValue, match="not the ResourceManager itself"):
        SELF.allowed("localhost", ["10.0.0.1", address], port)


def test_own_ports_are_those_of_this_machine_only() -> None:
    assert SELF.allowed("localhost", ["127.0.0.1"], 8089) == ["127.0.0.1"]
    assert SELF.allowed("10.255.255.1", ["10.255.255.1"], 8088) == ["10.255.255.1"]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        asked.connect(("203.0.113.1", 9))
        own = asked.getsockname()[0]
    with pytest.raises(InvalidValue, match="not the ResourceManager itself"):
        SELF.allowed(own, [own], 8088)


async def test_application_does_not_make_the_proxy_administer_its_resource_manager() -> None:
    """The proxy calls from inside the networks that administration is taken from; its caller is outside."""
    async with rest_world(admin_networks=(ip_network("127.0.0.0/8"),), anonymous_allowed=True) as world:
        server, port = await serve(world.app, "127.0.0.1", 0)
        try:
            change = f"{HERE}/ws/v1/cluster/scheduler-conf/format"
            for host in ("127.0.0.1", "localhost"):
                await register(world, f"http://{host}:{port}", "127.0.0.1", host)
                answer = await world.client.get(f"{change}?user.name=admin")
                assert answer.status_code == 502, answer.text
                assert "not the ResourceManager itself" in answer.text
        finally:
            await server.stop()


async def test_all_ports_of_the_process_are_its_own(world: RestWorld) -> None:
    proxy = world.app.state.proxy
    proxy.rules = replace(proxy.rules, probe_port=8099)
    proxy.origins.bound_to(8088, 8089)
    assert proxy.own_ports() == {8088, 8089, 8099}


async def test_call_of_the_proxy_that_comes_back_is_refused(world: RestWorld, pages: Pages) -> None:
    """A name can lead a call around: a gateway's or a service's address is none of this machine's."""
    await register(world, f"http://127.0.0.1:{pages.port}", "127.0.0.1", "127.0.0.1")
    pages.answers = [["127.0.0.1"]]
    assert (await world.client.get(f"{HERE}/")).status_code == 200
    assert f"\r\n{MARK}: true\r\n".encode() in pages.heads[0].lower()
    for path in ("/ws/v1/cluster/info", "/cluster", f"{HERE}/", "/ws/v1/cluster/scheduler-conf"):
        answer = await world.client.get(path, headers={MARK: "true"})
        assert (answer.status_code, "not an ApplicationMaster" in answer.text) == (403, True)
