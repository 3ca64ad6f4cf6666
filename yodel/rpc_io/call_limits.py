"""Limits the content of one call before values are built of it, so that no call keeps the loop for long.

A small body holds few of anything.  Of a larger one the elements of lists are counted when it is parsed, which is
cheap, and before they are used, which is not.  Of a large one the fields are counted before it is parsed, a step at a
time: other calls are answered between.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from google.protobuf.message import Message

from yodel.hadoop_rpc import faults
from yodel.hadoop_rpc.faults import RemoteFault, RpcErrorCode
from yodel.hadoop_rpc.framing import MIB
from yodel.hadoop_rpc.wire_count import count_fields, count_items, repeated_paths
from yodel.serving.turns import others_first
from yodel.telemetry.limit import Limit
from yodel.telemetry.limits import REFUSALS, RPC_CALL_FIELDS, RPC_CALL_ITEMS, RPC_LARGE_CALLS

SMALL_BYTES = 4 * 1024
"""Two thousand elements at most."""
LARGE_BYTES = 64 * 1024
"""Thirty thousand fields at most, which are parsed in three milliseconds."""
LARGE_CALLS_BYTES_MAX = 64 * MIB


@dataclass(frozen=True, slots=True, kw_only=True)
class CallLimits:
    """Limits one call; ``large_calls_bytes_max`` is of all large ones in progress on a port."""

    fields_max: int = 150_000
    items_max: int = 5_000
    large_calls_bytes_max: int = LARGE_CALLS_BYTES_MAX


class CallScale:
    """Weighs the calls of one port.  ``caller`` is for the log."""

    def __init__(self, limits: CallLimits) -> None:
        self._limits = limits
        self._large_bytes = 0
        self._lists: dict[type[Message], tuple[tuple[str, ...], ...]] = {}

    def check_items(self, request: Message, caller: str) -> None:
        """Raises RemoteFault: too many elements."""
        kind = type(request)
        lists = self._lists.get(kind)
        if lists is None:
            lists = self._lists[kind] = repeated_paths(request.DESCRIPTOR)
        count = count_items(request, lists)
        if count > self._limits.items_max:
            raise _refusal(RPC_CALL_ITEMS, caller, count, self._limits.items_max, "elements in the lists of a call")

    async def check_fields(self, kind: type[Message], body: bytes, caller: str) -> None:
        """Raises RemoteFault: too many fields."""
        limit, count = self._limits.fields_max, 0
        for so_far in count_fields(kind.DESCRIPTOR, body, limit):
            count = so_far
            await others_first()
        if count > limit:
            raise _refusal(RPC_CALL_FIELDS, caller, count, limit, "fields or more in a call")

    @contextmanager
    def under_way(self, size: int, caller: str) -> Iterator[None]:
        """A large call, as long as its bytes are held.  Raises RemoteFault: too many already are."""
        total, limit = self._large_bytes + size, self._limits.large_calls_bytes_max
        if total > limit:
            REFUSALS.tell(RPC_LARGE_CALLS, caller=caller, value=total, maximum=limit)
            text = f"unfinished large calls take {total} bytes, at most {limit} (fixed)"
            raise RemoteFault(faults.RETRIABLE, text, code=RpcErrorCode.ERROR_RPC_SERVER)
        self._large_bytes = total
        try:
            yield
        finally:
            self._large_bytes -= size


def _refusal(limit: Limit, caller: str, value: int, maximum: int, what: str) -> RemoteFault:
    REFUSALS.tell(limit, caller=caller, value=value, maximum=maximum)
    text = f"{value} {what}, at most {maximum} (setting {limit.setting})"
    return RemoteFault(faults.RPC_SERVER, text, code=RpcErrorCode.ERROR_RPC_SERVER)
