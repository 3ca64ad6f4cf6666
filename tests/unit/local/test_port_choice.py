"""Ports of a local cluster.  Sockets are bound on the loopback and never spoken to."""

from __future__ import annotations

import json
import socket
import stat
from pathlib import Path

import pytest

from yodel.errors import Unavailable
from yodel.local import port_choice
from yodel.local.port_choice import choose_ports, is_free


def test_automatic_ports_are_free_and_differ(tmp_path: Path) -> None:
    ports = choose_ports("auto", 3, tmp_path / "ports.json")
    of_rm = {ports.client, ports.scheduler, ports.tracker, ports.webapp, ports.kube}
    assert len(of_rm) == 5
    assert all(is_free("127.0.0.1", port) for port in of_rm)
    assert [(node.name, node.host) for node in ports.nodes] == [
        ("node-1", "127.0.0.1"),
        ("node-2", "127.0.0.2"),
        ("node-3", "127.0.0.3"),
    ]


def test_automatic_ports_are_none_that_clients_get(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = tmp_path / "ip_local_port_range"
    monkeypatch.setattr(port_choice, "CLIENT_PORTS_PATH", limits)
    for content, highest in (("23000\t60999\n", 23_000), ("1024\t65000\n", 32_768), ("nonsense", 32_768)):
        limits.write_text(content)
        ports = choose_ports("auto", 1, tmp_path / f"{highest}-{len(content)}.json")
        assert all(20_000 <= port < highest for port in (ports.client, ports.webapp, ports.kube))


def test_automatic_ports_are_kept_for_the_next_start(tmp_path: Path) -> None:
    memory = tmp_path / "ports.json"
    first = choose_ports("auto", 1, memory)
    assert choose_ports("auto", 1, memory) == first
    assert choose_ports("auto", 2, memory).nodes[0] == first.nodes[0]
    assert stat.S_IMODE(memory.stat().st_mode) == 0o600


def test_remembered_port_that_somebody_took_is_given_up(tmp_path: Path) -> None:
    memory = tmp_path / "ports.json"
    first = choose_ports("auto", 1, memory)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", first.client))
        taken.listen()
        assert choose_ports("auto", 1, memory).client != first.client


@pytest.mark.parametrize("content", ["", "[1]", '{"client": "x"}', '{"client": 70000}', "\x00"])
def test_unreadable_memory_is_as_good_as_none(tmp_path: Path, content: str) -> None:
    memory = tmp_path / "ports.json"
    memory.write_text(content)
    assert 0 < choose_ports("auto", 1, memory).client < 65536
    assert isinstance(json.loads(memory.read_text())["client"], int)


def test_standard_ports_are_yarns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(port_choice, "is_free", lambda host, port: True)
    ports = choose_ports("standard", 2, tmp_path / "ports.json")
    assert (ports.client, ports.scheduler, ports.tracker, ports.admin, ports.webapp) == (8032, 8030, 8031, 8033, 8088)
    assert {(node.rpc_port, node.http_port, node.shuffle_port) for node in ports.nodes} == {(8041, 8042, 13562)}


def test_taken_standard_port_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(port_choice, "is_free", lambda host, port: port != 8031)
    with pytest.raises(Unavailable, match=r"port 8031 on 127\.0\.0\.1 is taken.*--ports auto"):
        choose_ports("standard", 1, tmp_path / "ports.json")


def test_port_in_use_is_not_free() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert not is_free("127.0.0.1", taken.getsockname()[1])
    assert not is_free("127.0.0.1", 70000)
    assert not is_free("192.0.2.1", 8088)
