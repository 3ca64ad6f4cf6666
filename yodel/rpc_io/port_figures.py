"""Counts the activity of an RPC port, for its beans.  All but the open connections only grow."""

from __future__ import annotations

from dataclasses import dataclass, field

from yodel.hadoop_rpc import faults
from yodel.hadoop_rpc.faults import RemoteFault, RpcErrorCode
from yodel.telemetry.rates import Rate


@dataclass(slots=True)
class PortFigures:
    """``calls`` are those that were answered, and how long that took from when they were read."""

    received_bytes: int = 0
    sent_bytes: int = 0
    dropped_connections: int = 0
    token_logins: int = 0
    authorized: int = 0
    unauthenticated: int = 0
    unauthorized: int = 0
    received_calls: int = 0
    put_off_calls: int = 0
    """Told to come again because too much is running."""
    calls: Rate = field(default_factory=Rate)
    methods: dict[str, Rate] = field(default_factory=dict)

    def count_answer(self, method: str | None, took_s: float, now_s: float) -> None:
        """``method`` has to be one that the port has, or None: its name is kept."""
        self.calls.add(took_s, now_s)
        if method is not None:
            rate = self.methods.get(method)
            if rate is None:
                rate = self.methods[method] = Rate()
            rate.add(took_s, now_s)

    def count_refusal(self, fault: RemoteFault | None) -> None:
        """Count a refused connection; only refusals of a caller are failed logins."""
        if fault is not None and fault.code is RpcErrorCode.FATAL_UNAUTHORIZED:
            is_known_caller = fault.java_class == faults.AUTHORIZATION
            self.unauthorized += is_known_caller
            self.unauthenticated += not is_known_caller
