"""Sends one answer from the disk to a socket: ``sendfile``, so that no byte of a map output enters this process.

A socket that does not block still makes a thread wait for the *disk*, so every turn is a call in a pool thread, and
waiting for the *reader* is the event loop's: a slow reader costs a socket and a descriptor, never a thread.
"""

from __future__ import annotations

import contextlib
import enum
import os
import socket
from collections.abc import Callable, Sequence

from nm_plugin.shuffle.map_output import MapOutputUnreadable, Piece

TURN_BYTES = 8 << 20
"""After so much another connection may have the thread."""
CHUNK_BYTES = 2 << 20
READ_AHEAD_BYTES = 4 << 20
"""mapreduce.shuffle.readahead.bytes"""
READ_AHEAD_BYTES_MIN = 256 << 10
"""The kernel's own reading ahead covers less."""


_FLAGS = int(socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
_MORE = _FLAGS | int(socket.MSG_MORE)


class TransferEnd(enum.Enum):
    """Lists how a turn can end."""

    DONE = enum.auto()
    BLOCKED = enum.auto()  # the socket takes no more now
    MORE = enum.auto()  # it might: others are to have their turn


class Transfer:
    """One answer; ``turn`` until DONE, then or on any error ``close``.  Never two turns at once."""

    def __init__(
        self, sock: socket.socket, head: bytes, pieces: Sequence[Piece], open_piece: Callable[[Piece], int]
    ) -> None:
        self._socket, self._open = sock, open_piece
        self._pieces = list(reversed(pieces))
        self._buffer = memoryview(head)
        self._file: int | None = None
        self._offset = self._end = 0
        self.body_bytes = sum(piece.length for piece in pieces)
        self.sent_bytes = 0

    def turn(self) -> TransferEnd:
        """Send what the socket takes.

        Raises:
            OSError: the peer is gone, or the disk failed.
            MapOutputUnreadable: the file is gone or became shorter since it was located.
        """
        limit = self.sent_bytes + TURN_BYTES
        try:
            while self._load():
                self._send_some()
                if self.sent_bytes >= limit:
                    return TransferEnd.MORE
        except BlockingIOError:
            return TransferEnd.BLOCKED
        return TransferEnd.DONE

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _load(self) -> bool:
        """The next thing to send is at hand; False when there is none."""
        if self._buffer or self._offset < self._end:
            return True
        self.close()
        if not self._pieces:
            return False
        piece = self._pieces.pop()
        self._file = self._open(piece)
        self._offset, self._end = piece.partition.start, piece.partition.end
        self._buffer = memoryview(piece.header)
        return True

    def _send_some(self) -> None:
        if self._buffer:
            sent = self._socket.send(self._buffer, _MORE if self._pieces or self._offset < self._end else _FLAGS)
            self._buffer = self._buffer[sent:]
        else:
            assert self._file is not None
            self._read_ahead()
            count = min(CHUNK_BYTES, self._end - self._offset)
            sent = os.sendfile(self._socket.fileno(), self._file, self._offset, count)
            if sent == 0:
                raise MapOutputUnreadable("the file became shorter while it was sent")
            self._offset += sent
        self.sent_bytes += sent

    def _read_ahead(self) -> None:
        assert self._file is not None
        length = min(READ_AHEAD_BYTES, self._end - self._offset)
        if length < READ_AHEAD_BYTES_MIN:
            return
        with contextlib.suppress(OSError):  # advice only
            os.posix_fadvise(self._file, self._offset, length, os.POSIX_FADV_WILLNEED)
