"""One cluster for all scenarios: the one that ``make cluster`` left, or one for this run only.

``KUBECONFIG`` names another, which nothing may be done to: only what is marked ``anywhere`` runs there.
``YODEL_E2E=short`` leaves out what is marked ``long``, and shortens silences: what ``.ci/run`` does on every change.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait

import pytest

from tests.e2e.kube_cluster import IS_SHORT, KubeCluster, environment_of_rig, upload_spark
from tests.rigs.kubernetes import rig


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    is_own = environment_of_rig() is not None

    def is_left_out(item: pytest.Item) -> bool:
        is_too_long = IS_SHORT and item.get_closest_marker("long") is not None
        return is_too_long or (is_own and item.get_closest_marker("anywhere") is None)

    left_out = [item for item in items if is_left_out(item)]
    config.hook.pytest_deselected(items=left_out)
    kept = [item for item in items if item not in left_out]
    # The cluster takes a minute or two to come up: what needs none is run meanwhile.
    items[:] = [item for item in kept if not _needs_cluster(item)] + [item for item in kept if _needs_cluster(item)]


def _needs_cluster(item: pytest.Item) -> bool:
    return "cluster" in getattr(item, "fixturenames", ())


@pytest.fixture(scope="session", autouse=True)
def coming(request: pytest.FixtureRequest) -> Iterator[Future[KubeCluster] | None]:
    """The cluster, from the beginning of the first test on; None where no test needs it."""
    if not any(_needs_cluster(item) for item in request.session.items):
        yield None
        return
    was_up = rig.read_state() is not None
    with ThreadPoolExecutor(1, thread_name_prefix="cluster") as beside:
        future = beside.submit(_bring_up)
        yield future
        wait([future])
    if not was_up:
        rig.down(lambda line: print(line, file=sys.stderr))


def _bring_up() -> KubeCluster:
    """With the code of this checkout, whoever started it."""
    started, own = time.monotonic(), environment_of_rig()

    def say(line: str) -> None:
        print(f"{time.monotonic() - started:6.1f} s  {line}", file=sys.stderr)

    state = rig.up(own, nodes=3, bare=False, say=say, put_files=lambda beside: upload_spark(beside.hdfs))
    assert state is not None
    say("the cluster is up")
    return KubeCluster(state)


@pytest.fixture(scope="session")
def cluster(coming: Future[KubeCluster] | None) -> KubeCluster:
    """The one of the rig, once it is there."""
    assert coming is not None
    return coming.result()
