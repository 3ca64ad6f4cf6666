"""What of ``yodel local`` can be seen without its processes; the rest is in tests/conformance/test_yodel_local.py."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from yodel.errors import Refused, Unavailable
from yodel.local import quickstart
from yodel.local.options import LocalOptions
from yodel.local.port_choice import NodePorts, Ports

PORTS = Ports(
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
    content = quickstart._Cluster(tmp_path, PORTS)._ready()
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


def test_terminal_is_told_the_next_commands(tmp_path: Path) -> None:
    said = quickstart._what_to_type(LocalOptions(directory=tmp_path), PORTS)
    assert "Ready.  Its page: http://127.0.0.1:4/cluster\n" in said
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
    async with asyncio.timeout(5):
        await stop.wait()


@pytest.mark.usefixtures("handlers")
async def test_nohup_stays_in_force() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    quickstart.stop_on_signals(asyncio.Event())
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
