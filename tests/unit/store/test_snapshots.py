from __future__ import annotations

from tests.support.records import a_container, a_node, an_application, an_attempt
from yodel.domain.queues.queue import Queue
from yodel.domain.tokens import MasterKey
from yodel.ports.store import ClusterIdentity
from yodel.store.snapshots import snapshot_of


def test_rows_are_ordered_by_number_and_keys_as_they_came() -> None:
    keys = (("nm", MasterKey(key_id=9, secret=b"")), ("nm", MasterKey(key_id=1, secret=b"")))
    snapshot = snapshot_of(
        ClusterIdentity(cluster_timestamp_ms=1, epoch=0, application_sequence=0),
        queues=[Queue(path="root.b"), Queue(path="root"), Queue(path="root.a")],
        nodes=[a_node("b"), a_node("a")],
        applications=[an_application(10_000), an_application(9_999)],
        attempts=[an_attempt(1, 2), an_attempt(1, 1), an_attempt(2, 1)],
        containers=[a_container(container=1_000_000), a_container(container=999_999)],
        master_keys=keys,
    )

    assert [queue.path for queue in snapshot.queues] == ["root", "root.a", "root.b"]
    assert [node.id.host for node in snapshot.nodes] == ["a", "b"]
    assert [application.id.sequence for application in snapshot.applications] == [9_999, 10_000]
    assert snapshot.attempts == (an_attempt(1, 1), an_attempt(1, 2), an_attempt(2, 1))
    assert [container.id.sequence for container in snapshot.containers] == [999_999, 1_000_000]
    assert snapshot.master_keys == keys
