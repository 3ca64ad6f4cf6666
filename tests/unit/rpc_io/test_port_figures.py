"""Some refusals are failures to log in, and are counted as such."""

from __future__ import annotations

import pytest

from yodel.hadoop_rpc import faults
from yodel.hadoop_rpc.faults import RemoteFault, RpcErrorCode
from yodel.rpc_io.port_figures import PortFigures

UNAUTHORIZED = RpcErrorCode.FATAL_UNAUTHORIZED


@pytest.mark.parametrize(
    ("fault", "counted"),
    [
        (RemoteFault(faults.SASL, "bad", code=UNAUTHORIZED), (1, 0)),
        (RemoteFault(faults.INVALID_TOKEN, "bad", code=UNAUTHORIZED), (1, 0)),
        (RemoteFault(faults.AUTHORIZATION, "bad", code=UNAUTHORIZED), (0, 1)),
        (RemoteFault(faults.RPC_SERVER, "bad", code=RpcErrorCode.FATAL_DESERIALIZING_REQUEST), (0, 0)),
        (None, (0, 0)),
    ],
)
def test_refusals_are_counted_by_their_reason(fault: RemoteFault | None, counted: tuple[int, int]) -> None:
    figures = PortFigures()
    figures.count_refusal(fault)
    assert (figures.unauthenticated, figures.unauthorized) == counted


def test_unknown_methods_are_calls_without_a_name() -> None:
    figures = PortFigures()
    figures.count_answer(None, 0.0, 0.0)
    figures.count_answer("allocate", 0.0, 0.0)
    assert (figures.calls.total, list(figures.methods)) == (2, ["allocate"])
