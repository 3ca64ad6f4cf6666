"""One cluster for all scenarios: the one that ``make cluster`` left, or one for this run only.

``KUBECONFIG`` names another, which nothing may be done to: only what is marked ``anywhere`` runs there.
``YODEL_E2E=short`` leaves out what is marked ``long``, and shortens silences: what ``.ci/run`` does on every change.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import pytest

from tests.e2e.kube_cluster import IS_SHORT, KubeCluster, environment_of_rig
from tests.rigs.kubernetes import rig


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    is_own = environment_of_rig() is not None

    def is_left_out(item: pytest.Item) -> bool:
        is_too_long = IS_SHORT and item.get_closest_marker("long") is not None
        return is_too_long or (is_own and item.get_closest_marker("anywhere") is None)

    left_out = [item for item in items if is_left_out(item)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


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
    if state.nodes:
        cluster.upload_spark()
    yield cluster
    if not was_up:
        rig.down(say)
