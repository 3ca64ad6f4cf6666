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

from tests.conformance.cluster import wait_for
from tests.e2e.kube_cluster import IS_SHORT, KubeCluster, environment_of_rig, upload_spark
from tests.e2e.left_over import leave_group
from tests.e2e.lending import published, unpublish
from tests.rigs.kubernetes import rig
from tests.rigs.kubernetes.install import COLOCATION


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    is_own = environment_of_rig() is not None

    def is_left_out(item: pytest.Item) -> bool:
        is_too_long = IS_SHORT and item.get_closest_marker("long") is not None
        return is_too_long or (is_own and item.get_closest_marker("anywhere") is None)

    left_out = [item for item in items if is_left_out(item)]
    config.hook.pytest_deselected(items=left_out)
    kept = [item for item in items if item not in left_out]
    # The cluster takes a minute or two to come up: what needs none is run meanwhile.  On a new one nobody left anything
    # that the terminal of docs/transcript.md would have to clear away.
    items[:] = sorted(kept, key=lambda item: (_uses(item, "cluster"), not _uses(item, "terminal")))


def _uses(item: pytest.Item, fixture: str) -> bool:
    return fixture in getattr(item, "fixturenames", ())


@pytest.fixture(scope="session", autouse=True)
def coming(request: pytest.FixtureRequest) -> Iterator[Future[KubeCluster] | None]:
    """The cluster, from the beginning of the first test on; None where no test needs it."""
    if not any(_uses(item, "cluster") for item in request.session.items):
        yield None
        return
    was_up = rig.is_up()
    if not was_up:
        rig.down(_say)  # its files, queues and jobs would be met again
    with ThreadPoolExecutor(1, thread_name_prefix="cluster") as beside:
        future = beside.submit(_bring_up, was_up)
        yield future
        wait([future])
    if not was_up:
        rig.down(_say)


def _say(line: str) -> None:
    print(line, file=sys.stderr)


def _bring_up(was_up: bool) -> KubeCluster:
    """Bring up a cluster with the code of this checkout, whoever started it."""
    started, own = time.monotonic(), environment_of_rig()

    def say(line: str) -> None:
        print(f"{time.monotonic() - started:6.1f} s  {line}", file=sys.stderr)

    state = rig.up(own, nodes=3, bare=False, say=say, put_files=lambda beside: upload_spark(beside.hdfs))
    assert state is not None
    say("the cluster is up")
    return KubeCluster(state, stays=was_up)


@pytest.fixture
def lender(cluster: KubeCluster) -> Iterator[KubeCluster]:
    """Nobody publishes anything at first; in the end somebody publishes again what the other scenarios draw on."""
    unpublish(cluster)
    before = cluster.yodel("queue", "export")
    yield cluster
    cluster.yodel("colocation", "off", "--now")
    wait_for("no name of ours", lambda: all(published(cluster, one) is None for one in cluster.node_names()))
    cluster.yodel("queue", "import", "/dev/stdin", given=before)
    cluster.lend(COLOCATION)


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest, coming: Future[KubeCluster] | None) -> KubeCluster:
    """The one of the rig, once it is there."""
    assert coming is not None
    found = coming.result()
    if any(_uses(item, "applications") for item in request.session.items):
        leave_group(found)  # for who asks at the end whether it is gone
    return found
