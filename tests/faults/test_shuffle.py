"""Reducers and users that mean harm, disks and agents that fail: nothing leaks, nobody else notices.

The service runs as in the agent, on the loopback, with real files and sockets; the last tests are about a whole agent.
"""

from __future__ import annotations

import asyncio
import os
import struct
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from nm_plugin.app import NodeAgent
from nm_plugin.host.users import OsUser
from nm_plugin.shuffle.service import MapReduceShuffle
from tests.support.fake_tracker import FakeTracker
from tests.support.node_agent import (
    FakeUsers,
    Rig,
    container_id,
    context_of,
    eventually,
    make_settings,
)
from tests.support.shuffle import (
    APPLICATION,
    LIMITS,
    Ask,
    Reducer,
    attempt,
    fetch,
    index_bytes,
    output_dir,
    own,
    running_shuffle,
    service_data,
    write_map,
)
from tests.unit.nm_plugin.conftest import alice, bob, open_path, tracker, users  # noqa: F401
from yodel.domain.ids import ApplicationId

SECRET_TEXT = b"what only bob may read"
LARGE_BYTES = 64 << 20


@pytest.fixture
def files(open_path: Path, alice: OsUser, bob: OsUser) -> Path:  # noqa: F811
    """A job of alice with two maps, one of them large, and something of bob's."""
    write_map(open_path / "local", alice, attempt(0), [b"a" * 100, b"b" * 200])
    large = write_map(open_path / "local", alice, attempt(1), [b""])
    os.truncate(large / "file.out", LARGE_BYTES)
    (large / "file.out.index").write_bytes(index_bytes([(0, LARGE_BYTES, LARGE_BYTES)]))
    theirs = write_map(open_path / "local", bob, attempt(0), [SECRET_TEXT])
    theirs.chmod(0o700)
    return open_path


@pytest.fixture
async def service(files: Path, users: FakeUsers) -> AsyncIterator[MapReduceShuffle]:  # noqa: F811
    async with running_shuffle(files, users) as service:
        await service.application_started(APPLICATION, "alice", service_data())
        yield service
        await still_serves(service)


@pytest.fixture(autouse=True)
def _no_descriptor_is_left() -> Iterator[None]:
    before = len(os.listdir("/proc/self/fd"))
    yield
    assert len(os.listdir("/proc/self/fd")) <= before + 2  # the loop's own are closed after this


def ask(service: MapReduceShuffle, **changes: object) -> Ask:
    return Ask(port=service.server.port, maps=[attempt(0)]).but(**changes)


async def still_serves(service: MapReduceShuffle) -> None:
    """The good reducer gets its bytes and every connection ends."""
    reply = await fetch(ask(service, reduce=1))
    assert (reply.status, reply.maps[0][4]) == (200, b"b" * 200)
    await eventually(lambda: service.server.connections == 0)


@pytest.mark.parametrize("changes", [{"secret": b"guessed!"}, {"url_hash": "AAAA"}, {"url_hash": ""}])
async def test_wrong_hash_learns_nothing(service: MapReduceShuffle, changes: dict[str, object]) -> None:
    """The same answer whether the map exists or not."""
    for maps in ([attempt(0)], [attempt(9)], ["../../x"]):
        reply = await fetch(ask(service, maps=maps, **changes))
        assert (reply.status, reply.body) == (401, b"Verification of the hashReply failed")


async def test_hash_of_another_request_is_worth_nothing(service: MapReduceShuffle) -> None:
    stolen = ask(service).data().split(b"UrlHash: ")[1].split(b"\r\n")[0].decode()
    assert (await fetch(ask(service, reduce=1, url_hash=stolen))).status == 401


@pytest.mark.parametrize(
    "name",
    [
        "../../../../../bob/appcache/application_1700000000000_0007/output/" + attempt(0),
        "..%2F..%2Foutput%2F" + attempt(0),
        attempt(0) + "/../" + attempt(1),
        "/etc",
        "attempt_1700000000000_0008_m_000000_0",
        "",
    ],
)
async def test_forged_map_is_refused_with_a_right_hash(service: MapReduceShuffle, name: str) -> None:
    reply = await fetch(ask(service, maps=[attempt(0), name]))
    assert (reply.status, reply.body) == (400, b"Bad map parameter")


@pytest.mark.parametrize("name", ["file.out", "file.out.index"])
async def test_link_to_files_of_others_is_not_followed(
    service: MapReduceShuffle,
    files: Path,
    alice: OsUser,  # noqa: F811
    name: str,
) -> None:
    ours = write_map(files / "local", alice, attempt(2), [b"x" * len(SECRET_TEXT)])
    (ours / name).unlink()
    (ours / name).symlink_to(output_dir(files / "local", "bob", attempt(0)) / name)
    reply = await fetch(ask(service, maps=[attempt(2)]))
    assert reply.status == 500
    assert SECRET_TEXT not in reply.body


async def test_link_in_place_of_a_folder_is_not_followed(
    service: MapReduceShuffle,
    files: Path,
    alice: OsUser,  # noqa: F811
) -> None:
    place = output_dir(files / "local", "alice", attempt(2))
    place.symlink_to(output_dir(files / "local", "bob", attempt(0)))
    own(files / "local" / "usercache" / "alice", alice)
    assert (await fetch(ask(service, maps=[attempt(2)]))).status == 500


@pytest.mark.parametrize(
    "record",
    [(0, 1, 2**62), (2**62, 1, 2**62), (2**63 - 1, 1, 2**63 - 1), (0, 1, 201), (-5, 1, 5), (0, 1, -1), (301, 1, 0)],
)
async def test_index_that_lies_promises_nothing(
    service: MapReduceShuffle,
    files: Path,
    alice: OsUser,  # noqa: F811
    record: tuple[int, int, int],
) -> None:
    directory = write_map(files / "local", alice, attempt(2), [b"x" * 200])
    (directory / "file.out.index").write_bytes(index_bytes([record]))
    assert (await fetch(ask(service, maps=[attempt(2)]))).status == 500


@pytest.mark.parametrize("reduce", [-1, 2, 2**31 - 1, -(2**31)])
async def test_partition_that_does_not_exist_is_500(service: MapReduceShuffle, reduce: int) -> None:
    assert (await fetch(ask(service, reduce=reduce))).status == 500


@pytest.mark.parametrize("reduce", [2**31, 10**30, "0x1", "NaN"])
async def test_range_that_is_no_number_is_400(service: MapReduceShuffle, reduce: object) -> None:
    assert (await fetch(ask(service, reduce=reduce))).status == 400


async def test_damaged_checksum_is_500(service: MapReduceShuffle, files: Path, alice: OsUser) -> None:  # noqa: F811
    directory = write_map(files / "local", alice, attempt(2), [b"x"])
    content = (directory / "file.out.index").read_bytes()
    (directory / "file.out.index").write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    reply = await fetch(ask(service, maps=[attempt(2)]))
    assert reply.status == 500
    assert reply.body.startswith(b"Error Reading IndexFile")


async def test_truncated_file_is_500_before_anything_is_sent(service: MapReduceShuffle, files: Path) -> None:
    os.truncate(output_dir(files / "local", "alice", attempt(1)) / "file.out", LARGE_BYTES - 1)
    reply = await fetch(ask(service, maps=[attempt(0), attempt(1)]))
    assert reply.status == 500


async def test_file_that_shrinks_while_it_is_sent_ends_the_connection(service: MapReduceShuffle, files: Path) -> None:
    reducer = await Reducer.connect(service.server.port)
    await reducer.send(ask(service, maps=[attempt(1)]).data())
    head = await reducer.head()
    os.truncate(output_dir(files / "local", "alice", attempt(1)) / "file.out", 0)
    reply = await reducer.body_of(head)
    assert len(reply.body) < int(head.headers["content-length"])
    await reducer.close()


async def test_map_that_goes_between_two_of_an_answer_ends_the_connection(
    service: MapReduceShuffle, files: Path
) -> None:
    reducer = await Reducer.connect(service.server.port)
    await reducer.send(ask(service, maps=[attempt(1), attempt(0)]).data())
    head = await reducer.head()
    (output_dir(files / "local", "alice", attempt(0)) / "file.out").rename(files / "moved")
    reply = await reducer.body_of(head)
    (files / "moved").rename(output_dir(files / "local", "alice", attempt(0)) / "file.out")
    assert LARGE_BYTES < len(reply.body) < int(head.headers["content-length"])
    await reducer.close()


async def test_slow_readers_hold_no_thread_and_no_memory(service: MapReduceShuffle) -> None:
    """Far more of them than threads, each inside a large answer, and the good reducer is served."""
    slow = [await Reducer.connect(service.server.port) for _ in range(30)]
    before = resident_bytes()
    for reducer in slow:
        await reducer.send(ask(service, maps=[attempt(1)]).data())
        await reducer.head()
    assert (await fetch(ask(service, reduce=1))).status == 200
    assert resident_bytes() - before < LARGE_BYTES
    for reducer in slow:
        await reducer.close()


async def test_reader_that_stops_is_dropped_in_the_end(files: Path, users: FakeUsers) -> None:  # noqa: F811
    async with running_shuffle(files, users, replace(LIMITS, stall_s=0.2)) as service:
        await service.application_started(APPLICATION, "alice", service_data())
        reducer = await Reducer.connect(service.server.port)
        await reducer.send(ask(service, maps=[attempt(1)]).data())
        await reducer.head()
        await eventually(lambda: service.server.connections == 0)
        await reducer.close()
        await still_serves(service)


async def test_flood_of_connections_is_turned_away(files: Path, users: FakeUsers) -> None:  # noqa: F811
    """Some are told to come back, the rest is closed, and after it there is room again."""
    async with running_shuffle(files, users, replace(LIMITS, connections_max=5)) as service:
        await service.application_started(APPLICATION, "alice", service_data())
        flood = [await Reducer.connect(service.server.port) for _ in range(200)]
        statuses = await asyncio.gather(*(status_of(reducer) for reducer in flood[5:]))
        assert set(statuses) <= {429, None}
        assert 429 in statuses
        assert service.server.connections == 5
        for reducer in flood:
            await reducer.close()
        await eventually(lambda: service.server.connections == 0)
        await still_serves(service)


async def test_drip_of_bytes_is_cut_off(files: Path, users: FakeUsers) -> None:  # noqa: F811
    async with running_shuffle(files, users, replace(LIMITS, head_s=0.3)) as service:
        await service.application_started(APPLICATION, "alice", service_data())
        reducer = await Reducer.connect(service.server.port)
        await reducer.send(ask(service).data()[:40])
        assert await reducer.at_end()
        await reducer.close()
        await still_serves(service)


async def test_endless_head_is_400(service: MapReduceShuffle) -> None:
    reducer = await Reducer.connect(service.server.port)
    await reducer.send(b"GET /mapOutput?" + b"x" * 40_000)
    assert (await reducer.reply()).status == 400
    await reducer.close()


async def test_reducers_in_flight_find_a_restarted_service(files: Path, users: FakeUsers) -> None:  # noqa: F811
    """The agent goes while a reducer reads: the same port and secret serve the whole of it again."""
    async with running_shuffle(files, users) as service:
        await service.application_started(APPLICATION, "alice", service_data())
        request = ask(service, maps=[attempt(1)])
        reducer = await Reducer.connect(service.server.port)
        await reducer.send(request.data())
        head = await reducer.head()
    cut = await reducer.body_of(head)
    assert len(cut.body) < int(head.headers["content-length"])
    await reducer.close()
    async with running_shuffle(files, users):
        again = await fetch(request)
    assert len(again.body) == int(head.headers["content-length"])


async def test_restarted_agent_serves_the_running_job(
    open_path: Path,  # noqa: F811
    users: FakeUsers,  # noqa: F811
    tracker: FakeTracker,  # noqa: F811
    alice: OsUser,  # noqa: F811
) -> None:
    """The AM's answer and a task's environment are as before, and the same holds after a restart."""
    application = ApplicationId(1700000000000, 7)
    context = context_of('echo "$NM_AUX_SERVICE_mapreduce_shuffle" | base64 -d | od -An -tx1; exec sleep 60')
    context.service_data.add(key="mapreduce_shuffle", value=service_data())
    settings = make_settings(open_path, tracker.port)
    async with NodeAgent(settings, users=users).running() as running:
        await tracker.until(lambda: bool(tracker.heartbeats))
        rig = Rig(root=open_path, tracker=tracker, running=running, users=users)
        pod = await rig.pod(container_id(2))
        response = await rig.start(container_id(2), context)
        (metadata,) = (entry.value for entry in response.services_meta_data if entry.key == "mapreduce_shuffle")
        (port,) = struct.unpack(">i", metadata)
        output = open_path / "logs" / str(application) / str(container_id(2)) / "prelaunch.out"
        await eventually(output.exists)
        write_map(open_path / "local", alice, attempt(0), [b"x" * 50])
        request = Ask(port=port, maps=[attempt(0)])
        assert (await fetch(request)).maps[0][4] == b"x" * 50
    with pytest.raises(ConnectionRefusedError):
        await fetch(request)
    async with NodeAgent(settings, users=users).running():
        assert (await fetch(request)).maps[0][4] == b"x" * 50
    await pod.destroy()


async def status_of(reducer: Reducer) -> int | None:
    """None: closed without a word."""
    try:
        return (await reducer.reply()).status
    except (EOFError, ConnectionError):
        return None


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
