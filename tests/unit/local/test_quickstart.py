"""Parts of ``yodel local`` are seen without its processes; the rest is in tests/conformance/test_yodel_local.py."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from yodel.errors import Refused, Unavailable
from yodel.local import quickstart
from yodel.local.options import LocalOptions
from yodel.local.port_choice import ClusterPorts, NodePorts

PORTS = ClusterPorts(
    client=1,
    scheduler=2,
    tracker=3,
    admin=9,
    webapp=4,
    kube=5,
    nodes=(NodePorts(name="node-1", host="127.0.0.1", rpc_port=6, http_port=7, shuffle_port=8),),
)


@pytest.fixture
def handlers() -> Iterator[None]:
    """Puts the signals back as they were."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in numbers}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_lock_refuses_a_second_one_and_names_the_first(tmp_path: Path) -> None:
    text = rf"already runs on .* \(pid {os.getpid()}\).*choose another --dir"
    with quickstart._locked(tmp_path), pytest.raises(Refused, match=text):
        quickstart._locked(tmp_path).__enter__()
    with quickstart._locked(tmp_path):
        assert (tmp_path / "lock").read_text() == str(os.getpid())


async def test_refused_start_says_nothing_and_writes_no_ready_file(tmp_path: Path) -> None:
    said: list[str] = []
    with quickstart._locked(tmp_path), pytest.raises(Refused):
        await quickstart.run_local(LocalOptions(directory=tmp_path), asyncio.Event(), said.append)
    assert said == []
    assert not (tmp_path / "ready.json").exists()


def test_ready_file_holds_addresses_and_pids_by_role(tmp_path: Path) -> None:
    content = quickstart._Cluster(LocalOptions(directory=tmp_path), PORTS, print)._ready()
    assert content["rm"] == {
        "host": "127.0.0.1",
        "client": "127.0.0.1:1",
        "scheduler": "127.0.0.1:2",
        "tracker": "127.0.0.1:3",
        "admin": "127.0.0.1:9",
        "webapp": "127.0.0.1:4",
    }
    assert content["rest_url"] == "http://127.0.0.1:4"
    assert content["kube_url"] == "https://127.0.0.1:5"
    assert content["nodes"] == [{"name": "node-1", "node_id": "127.0.0.1:6", "http": "127.0.0.1:7"}]
    assert content["pids"] == {"supervisor": os.getpid(), "kube": 0, "rm": 0, "node-1": 0}


@dataclass(frozen=True)
class Disk:
    """Answer as ``shutil.disk_usage`` does."""

    total: int
    free: int


async def test_full_disk_is_told_once_and_so_is_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    looks = iter([50, 1, 0, 0, 20, 30])

    async def looked(_: object, path: Path) -> Disk:
        free_mib = next(looks, None)
        if free_mib is None:
            raise asyncio.CancelledError
        return Disk(total=64 << 20, free=free_mib << 20)

    monkeypatch.setattr(quickstart, "FULL_LOOK_S", 0)
    monkeypatch.setattr(asyncio, "to_thread", looked)
    with pytest.raises(asyncio.CancelledError):
        await quickstart._Cluster(LocalOptions(directory=tmp_path), PORTS, said.append)._tell_of_a_full_disk()
    assert [line.split(":")[0] for line in said] == [
        f"The disk of {tmp_path} is full (64 MiB, 0 KiB free)",
        f"The disk of {tmp_path} has free space again (20 MiB free).",
    ]


async def test_ready_file_that_cannot_be_written_is_written_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster, restarted = quickstart._Cluster(LocalOptions(directory=tmp_path), PORTS, print), asyncio.Event()
    refusals, write = [OSError(28, "No space left on device")] * 2, quickstart.write_atomically

    def written(path: Path, text: str, mode: int) -> None:
        if refusals:
            raise refusals.pop()
        write(path, text, mode)

    monkeypatch.setattr(quickstart, "FULL_LOOK_S", 0)
    monkeypatch.setattr(quickstart, "write_atomically", written)
    keeping = asyncio.create_task(cluster._keep_ready(restarted))
    restarted.set()
    async with asyncio.timeout(60):
        while not (tmp_path / "ready.json").exists():  # noqa: ASYNC110
            await asyncio.sleep(0)
    keeping.cancel()


@pytest.mark.looptime
async def test_start_that_takes_long_is_told_to_go_on(tmp_path: Path) -> None:
    said: list[str] = []
    cluster = quickstart._Cluster(LocalOptions(directory=tmp_path, wait_s=100), PORTS, said.append)
    telling = asyncio.create_task(cluster._say_what_starts())
    await asyncio.sleep(65)
    telling.cancel()
    assert [line.partition(";")[0] for line in said] == [
        "Still starting after 30 s, of at most 100 (--wait-s)",
        "Still starting after 60 s, of at most 100 (--wait-s)",
    ]


def test_every_child_may_take_as_long_as_the_start(tmp_path: Path) -> None:
    children = quickstart._Cluster(LocalOptions(directory=tmp_path, wait_s=100), PORTS, print)._all()
    assert {one.child.ready_timeout_s for one in children} == {100}
    assert LocalOptions(directory=tmp_path).wait_s == 600


def test_terminal_is_told_the_next_commands(tmp_path: Path) -> None:
    said = quickstart._what_to_type(LocalOptions(directory=tmp_path), PORTS)
    assert "Ready.  Web page: http://127.0.0.1:4/cluster\n" in said
    assert "  yodel app list\n" in said
    assert f"export HADOOP_CONF_DIR={tmp_path}/hadoop-conf" in said
    assert "spark-submit --master yarn" in said
    assert "curl http://127.0.0.1:4/ws/v1/cluster/apps" in said
    assert f"kubectl --kubeconfig {tmp_path}/kubeconfig get pods" in said


async def test_work_that_ends_first_is_done() -> None:
    async def work() -> None:
        return

    assert await quickstart._unless_stopped(work(), asyncio.Event())


async def test_stop_ends_the_work_and_hides_the_failure_it_caused() -> None:
    stop, ended = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        stop.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
            raise Unavailable("a child got the same Ctrl-C")

    assert not await quickstart._unless_stopped(work(), stop)
    assert ended.is_set()


async def test_failure_of_the_work_comes_through() -> None:
    async def work() -> None:
        raise Unavailable("port taken")

    with pytest.raises(Unavailable, match="port taken"):
        await quickstart._unless_stopped(work(), asyncio.Event())


@pytest.mark.usefixtures("handlers")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
async def test_signals_ask_for_the_stop(number: signal.Signals) -> None:
    stop = asyncio.Event()
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    quickstart.stop_on_signals(stop)
    os.kill(os.getpid(), number)
    async with asyncio.timeout(60):
        await stop.wait()


@pytest.mark.usefixtures("handlers")
async def test_nohup_stays_in_force() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    quickstart.stop_on_signals(asyncio.Event())
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
