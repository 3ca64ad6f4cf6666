"""Transfers into a socket pair: what is sent in one turn, and what happens when the other end does not read."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from nm_plugin.shuffle.map_output import MapOutputUnreadable, Piece
from nm_plugin.shuffle.spill_index import Partition
from nm_plugin.shuffle.transfer import TURN_BYTES, Transfer, TransferEnd
from tests.support.opened_files import descriptors_along

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    theirs.settimeout(10)
    yield ours, theirs
    ours.close()
    theirs.close()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "file.out"
    path.write_bytes(bytes(range(256)) * 4)
    return path


def piece(start: int, length: int, header: bytes = b"H") -> Piece:
    partition = Partition(start=start, raw_length=length, part_length=length)
    return Piece(map_name="m", header=header, partition=partition, local_dir=Path("/"))


def transfer(pair: Pair, data: Path, *pieces: Piece, head: bytes = b"head") -> Transfer:
    return Transfer(pair[0], head, pieces, lambda _: os.open(data, os.O_RDONLY))


def test_small_answer_takes_one_turn(pair: Pair, data: Path) -> None:
    sent = transfer(pair, data, piece(3, 5), piece(0, 0), piece(256, 2))
    assert sent.turn() is TransferEnd.DONE
    assert pair[1].recv(1000) == b"headH\x03\x04\x05\x06\x07HH\x00\x01"
    assert sent.sent_bytes == 14
    assert str(data) not in descriptors_along(data)


def test_answer_without_pieces_is_its_head(pair: Pair, data: Path) -> None:
    assert transfer(pair, data).turn() is TransferEnd.DONE
    assert pair[1].recv(1000) == b"head"


def test_reader_that_does_not_read_blocks_and_later_gets_everything(pair: Pair, tmp_path: Path) -> None:
    data = tmp_path / "large"
    content = os.urandom(3 << 20)
    data.write_bytes(content)
    sent = transfer(pair, data, piece(0, len(content)), head=b"")
    received = b""
    while (turn := sent.turn()) is not TransferEnd.DONE:
        assert turn is TransferEnd.BLOCKED
        received += pair[1].recv(1 << 20)
    pair[0].close()
    while chunk := pair[1].recv(1 << 20):
        received += chunk
    assert received == b"H" + content


def test_turn_ends_so_that_others_have_theirs(data: Path, pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sendfile", lambda out, file, offset, count: count)
    sent = transfer(pair, data, piece(0, 3 * TURN_BYTES))
    turns = []
    while not turns or turns[-1] is not TransferEnd.DONE:
        turns.append(sent.turn())
    assert turns[:-1] == [TransferEnd.MORE] * (len(turns) - 1)
    assert len(turns) in (3, 4)


def test_file_that_shrinks_meanwhile_is_an_error(pair: Pair, data: Path) -> None:
    sent = transfer(pair, data, piece(1000, 100))
    with pytest.raises(MapOutputUnreadable, match="became shorter"):
        sent.turn()
    assert str(data) in descriptors_along(data)
    sent.close()
    sent.close()
    assert str(data) not in descriptors_along(data)


def test_reader_that_left_is_an_error(pair: Pair, data: Path) -> None:
    pair[1].close()
    with pytest.raises(OSError, match="Broken pipe"):
        transfer(pair, data, piece(0, 10)).turn()
