"""One cluster for all scenarios: the one that ``make cluster`` left, or one for this run only."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import pytest

from tests.e2e.kube_cluster import KubeCluster, environment_of_rig
from tests.rigs.kubernetes import rig


@pytest.fixture(scope="session")
def cluster() -> Iterator[KubeCluster]:
    """With the code of this checkout, whoever started it."""
    started = time.monotonic()

    def say(line: str) -> None:
        print(f"{time.monotonic() - started:6.1f} s  {line}", file=sys.stderr)

    was_up = rig.read_state() is not None
    state = rig.up(environment_of_rig(), nodes=3, bare=False, say=say)
    assert state is not None
    cluster = KubeCluster(state)
    cluster.upload_spark()
    yield cluster
    if not was_up:
        rig.down(say)
