"""Bytes of frames that began and did not end yet, of all ports of a process together.

A limit for each connection is none for two thousand of them.  When there are too many, the frame goes that began first
among those of the address that holds most: a flood from elsewhere costs nobody his frame.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import Protocol

from yodel.hadoop_rpc.framing import MIB

UNFINISHED_BYTES_MAX = 64 * MIB


class FrameOwner(Hashable, Protocol):
    """A connection that has the beginning of a frame."""

    @property
    def address(self) -> str: ...

    def drop_frame(self, held_bytes: int, bytes_max: int) -> None:
        """Refuse the peer and forget what it sent.  ``held_bytes`` are those of everybody."""


class UnfinishedFrames:
    """``bytes_max`` of all holders together."""

    def __init__(self, bytes_max: int = UNFINISHED_BYTES_MAX) -> None:
        self._bytes_max = bytes_max
        self._held: dict[FrameOwner, int] = {}
        """By when they began."""
        self._by_address: Counter[str] = Counter()
        self.total_bytes = 0

    def hold(self, holder: FrameOwner, size: int) -> None:
        """The holder has so many bytes now.  May drop its frame or others'."""
        self._add(holder, size - self._held.get(holder, 0))
        self._held[holder] = size
        while self.total_bytes > self._bytes_max:
            held_bytes, first = self.total_bytes, self._first_of_the_heaviest()
            self.release(first)
            first.drop_frame(held_bytes, self._bytes_max)

    def release(self, holder: FrameOwner) -> None:
        """It holds nothing any more; it may not have held anything."""
        self._add(holder, -self._held.pop(holder, 0))

    def _add(self, holder: FrameOwner, size: int) -> None:
        self.total_bytes += size
        self._by_address[holder.address] += size
        if not self._by_address[holder.address]:
            del self._by_address[holder.address]

    def _first_of_the_heaviest(self) -> FrameOwner:
        ((heaviest, _),) = self._by_address.most_common(1)
        return next(holder for holder in self._held if holder.address == heaviest)
