"""The service at work on the loopback: what reducers get, registration, and what a restarted agent still knows."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from nm_plugin.host.users import OsUser
from tests.support.node_agent import FakeUsers
from tests.support.shuffle import (
    APPLICATION,
    SECRET,
    Ask,
    attempt,
    fetch,
    output_dir,
    running_shuffle,
    service_data,
    write_map,
)
from yodel.domain.ids import ApplicationId


@pytest.fixture
def local(open_path: Path, alice: OsUser) -> Path:
    for number in range(3):
        write_map(open_path / "local", alice, attempt(number), [b"", bytes([65 + number]) * (10 + number)])
    return open_path


async def test_partitions_of_several_maps(local: Path, users: FakeUsers) -> None:
    async with running_shuffle(local, users) as service:
        await service.application_started(APPLICATION, "alice", service_data())
        reply = await fetch(Ask(port=service.server.port, maps=[attempt(2), attempt(0)], reduce=1))
    assert reply.status == 200
    assert reply.maps == [(attempt(2), 12, 24, 1, b"C" * 12), (attempt(0), 10, 20, 1, b"A" * 10)]
    assert (reply.headers["name"], reply.headers["version"]) == ("mapreduce", "1.0.0")


async def test_empty_partition_is_a_header_alone(local: Path, users: FakeUsers) -> None:
    async with running_shuffle(local, users) as service:
        await service.application_started(APPLICATION, "alice", service_data())
        reply = await fetch(Ask(port=service.server.port, maps=[attempt(1)], reduce=0))
    assert reply.maps == [(attempt(1), 0, 0, 0, b"")]


async def test_metadata_is_the_port(local: Path, users: FakeUsers) -> None:
    async with running_shuffle(local, users) as service:
        assert struct.unpack(">i", service.metadata) == (service.server.port,)
        assert service.health() == ""


async def test_secret_of_tez_is_its_tokens_password(local: Path, users: FakeUsers) -> None:
    secret = b"twenty bytes of Tez!"
    async with running_shuffle(local, users) as service:
        await service.application_started(
            APPLICATION, "alice", service_data(secret, identifier=b"\x1eapplication_1700000000000_0007")
        )
        reply = await fetch(Ask(port=service.server.port, maps=[attempt(0)], reduce=1, secret=secret))
    assert reply.status == 200


async def test_job_nobody_registered_is_401(local: Path, users: FakeUsers) -> None:
    async with running_shuffle(local, users) as service:
        reply = await fetch(Ask(port=service.server.port, maps=[attempt(0)]))
    assert (reply.status, reply.body) == (401, b"Can't find job token for job job_1700000000000_0007 !!")


async def test_unreadable_data_registers_nothing(local: Path, users: FakeUsers) -> None:
    async with running_shuffle(local, users) as service:
        await service.application_started(APPLICATION, "alice", b"no token")
        assert (await fetch(Ask(port=service.server.port, maps=[attempt(0)]))).status == 401


async def test_finished_job_is_forgotten(local: Path, users: FakeUsers) -> None:
    async with running_shuffle(local, users) as service:
        await service.application_started(APPLICATION, "alice", service_data())
        await service.application_finished(ApplicationId(1, 1))
        ask = Ask(port=service.server.port, maps=[attempt(0)])
        assert (await fetch(ask)).status == 200
        await service.application_finished(APPLICATION)
        assert (await fetch(ask)).status == 401
    assert list((local / "state" / "shuffle").glob("application_*")) == []


async def test_later_secret_of_the_job_counts(local: Path, users: FakeUsers) -> None:
    async with running_shuffle(local, users) as service:
        await service.application_started(APPLICATION, "alice", service_data(b"old"))
        await service.application_started(APPLICATION, "alice", service_data())
        ask = Ask(port=service.server.port, maps=[attempt(0)])
        assert (await fetch(ask)).status == 200
        assert (await fetch(ask.but(secret=b"old"))).status == 401


async def test_restarted_service_has_the_same_port_and_jobs(local: Path, users: FakeUsers) -> None:
    async with running_shuffle(local, users) as service:
        port = service.server.port
        await service.application_started(APPLICATION, "alice", service_data())
    async with running_shuffle(local, users) as service:
        assert service.server.port == port
        assert (await fetch(Ask(port=port, maps=[attempt(0)], reduce=1))).status == 200


async def test_port_that_somebody_took_meanwhile_is_given_up(local: Path, users: FakeUsers) -> None:
    async with running_shuffle(local, users) as first, running_shuffle(local, users) as second:
        assert second.server.port != first.server.port


async def test_state_that_cannot_be_saved_does_not_stop_the_job(local: Path, users: FakeUsers) -> None:
    async with running_shuffle(local, users) as service:
        blocker = local / "state" / "shuffle" / f"{APPLICATION}.json.tmp"
        blocker.mkdir()
        await service.application_started(APPLICATION, "alice", service_data())
        assert (await fetch(Ask(port=service.server.port, maps=[attempt(0)]))).status == 200


async def test_user_who_is_gone_is_500(local: Path, users: FakeUsers) -> None:
    async with running_shuffle(local, users) as service:
        await service.application_started(APPLICATION, "carol", service_data())
        reply = await fetch(Ask(port=service.server.port, maps=[attempt(0)]))
    assert (reply.status, reply.body) == (500, b"User carol not found")


async def test_gone_map_is_500_and_hadoops_text(local: Path, users: FakeUsers) -> None:
    async with running_shuffle(local, users) as service:
        await service.application_started(APPLICATION, "alice", service_data())
        reply = await fetch(Ask(port=service.server.port, maps=[attempt(0), attempt(5)]))
    place = output_dir(Path(), "alice", attempt(5)) / "file.out.index"
    assert reply.status == 500
    assert reply.body.decode() == f"Could not find {place} in any of the configured local directories"
    assert reply.headers["content-type"] == "text/plain; charset=UTF-8"


async def test_secret_is_not_shown(local: Path, users: FakeUsers, capsys: pytest.CaptureFixture[str]) -> None:
    async with running_shuffle(local, users) as service:
        await service.application_started(APPLICATION, "alice", service_data())
        await service.application_started(APPLICATION, "alice", service_data(SECRET) + b"trailing")
        await fetch(Ask(port=service.server.port, maps=[attempt(9)]))
    shown = "".join(capsys.readouterr())
    assert "shuffle_data_unreadable" in shown
    assert repr(SECRET)[2:-1] not in shown
