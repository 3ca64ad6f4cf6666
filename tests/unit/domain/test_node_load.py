from __future__ import annotations

from yodel.domain.node_load import NodeLoad, Utilization


def test_node_that_told_nothing_has_no_load() -> None:
    assert NodeLoad() == NodeLoad(containers=Utilization(), node=Utilization(cpu_cores=0.0), health_ms=0)
