"""Limits the connections of a port, in total and by address, and chooses which to close when it is full.

New connections are not refused while others are idle: the one that has been idle for longest is closed first.  Its
client notices nothing, it connects again at its next call, as after Hadoop's own ``ipc.client.connection.maxidletime``.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Hashable, Iterator
from typing import Generic, Protocol, TypeVar

from yodel.hadoop_rpc import faults
from yodel.hadoop_rpc.faults import RemoteFault, RpcErrorCode
from yodel.telemetry.limit import Limit
from yodel.telemetry.limits import REFUSALS, RPC_CONNECTIONS, RPC_CONNECTIONS_PER_ADDRESS

IDLE_S = 10.0
"""Hadoop's clients close a connection themselves when it was idle for this long; with less, those who beat every second
would push each other out of a port that has one too many of them."""
IDLE_BEFORE_OPEN_S = 1.0
LOOK_S = 0.25
"""All are looked at this often at most when the port is full."""


class Sitter(Hashable, Protocol):
    """A connection."""

    @property
    def address(self) -> str: ...

    def idle_order(self, now_s: float) -> tuple[bool, float] | None:
        """Return whether it is open, and since when it has been idle, in seconds; None if it is not idle for long
        enough."""

    def give_way(self) -> None:
        """Close at once; the seat is taken back by who asks."""


S = TypeVar("S", bound=Sitter)


class Seats(Generic[S]):
    """The connections of one port."""

    def __init__(self, *, seats_max: int, per_address_max: int) -> None:
        self._max, self._per_address_max = seats_max, per_address_max
        self._taken: set[S] = set()
        self._by_address: Counter[str] = Counter()
        self._idle: deque[S] = deque()
        self._looked_s = float("-inf")

    def __len__(self) -> int:
        return len(self._taken)

    def __iter__(self) -> Iterator[S]:
        """Iterate over the present connections, whatever happens meanwhile."""
        return iter(tuple(self._taken))

    def take(self, sitter: S, now_s: float) -> RemoteFault | None:
        """Return why there is no seat, or None: it has one."""
        mine = self._by_address[sitter.address]
        if mine >= self._per_address_max:
            return _refusal(RPC_CONNECTIONS_PER_ADDRESS, sitter.address, mine + 1, self._per_address_max)
        if len(self._taken) >= self._max and not self._make_room(now_s):
            return _refusal(RPC_CONNECTIONS, sitter.address, len(self._taken) + 1, self._max)
        self._taken.add(sitter)
        self._by_address[sitter.address] += 1
        return None

    def leave(self, sitter: S) -> None:
        """It may not have had a seat."""
        if sitter in self._taken:
            self._taken.remove(sitter)
            self._by_address[sitter.address] -= 1
            if not self._by_address[sitter.address]:
                del self._by_address[sitter.address]

    def _make_room(self, now_s: float) -> bool:
        if not self._idle and now_s - self._looked_s >= LOOK_S:
            self._looked_s = now_s
            order = {sitter: order for sitter in self._taken if (order := sitter.idle_order(now_s)) is not None}
            self._idle.extend(sorted(order, key=order.__getitem__))
        while self._idle:
            sitter = self._idle.popleft()
            if sitter in self._taken and sitter.idle_order(now_s) is not None:
                REFUSALS.tell(RPC_CONNECTIONS, caller=sitter.address, value=len(self._taken) + 1, maximum=self._max)
                self.leave(sitter)
                sitter.give_way()
                return True
        return False


def _refusal(limit: Limit, address: str, value: int, maximum: int) -> RemoteFault:
    REFUSALS.tell(limit, caller=address, value=value, maximum=maximum)
    whose = "from your address" if limit is RPC_CONNECTIONS_PER_ADDRESS else "to this port"
    return RemoteFault(
        faults.RETRIABLE,
        f"{value} connections {whose}, at most {maximum} (setting {limit.setting})",
        code=RpcErrorCode.FATAL_UNKNOWN,
        fatal=True,
    )
