"""Every store gives back what it was given: each kind of row, whole and in its order."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.records import (
    INT32_MAX,
    INT64_MAX,
    ODD_TEXTS,
    a_container,
    a_node,
    a_submission,
    an_application,
    an_attempt,
    an_attempt_id,
)
from tests.support.store_opening import Open, parents_of, stored
from yodel.domain.constraints import Scope, TagRule
from yodel.domain.container import Placement
from yodel.domain.ids import CONTAINER_SEQUENCE_MASK, ContainerId, NodeId
from yodel.domain.resource import Resource
from yodel.domain.shuffle.decision import AddedSetting, ShuffleDecision
from yodel.domain.shuffle.report import Cause, LeftOut, Reason, Report, ShuffleOutcome
from yodel.domain.states import (
    ApplicationState,
    AttemptState,
    ContainerState,
    FinalApplicationStatus,
    NodeState,
)
from yodel.domain.tokens import MasterKey
from yodel.ports.store import Commit


async def test_application_comes_back_whole(open_store: Open) -> None:
    application = an_application(
        INT32_MAX,
        submission=a_submission(
            name="名前 ☃",
            user="",
            queue="root.a.b",
            application_type="SPARK",
            tags=("b", "a", "", "ü"),
            priority=-INT32_MAX,
            max_attempts=INT32_MAX,
            global_max_attempts=3,
            attempt_failures_validity_interval_ms=INT64_MAX,
            keep_containers_across_attempts=True,
            is_unmanaged=True,
            am_capability=Resource(INT64_MAX, INT32_MAX, (("nvidia.com/gpu", 8), ("yarn.io/fpga", INT64_MAX))),
            am_node_label="gpu",
            node_label="x",
            view_acl="*",
            modify_acl="alice,bob admins",
            lifetime_s=3600,
            context=bytes(range(256)),
        ),
        state=ApplicationState.FINISHING,
        final_status=FinalApplicationStatus.ENDED,
        diagnostics="it\nwas\tgood",
        current_attempt=2,
        failure_times_ms=(5, 3, INT64_MAX),
        submitted_ms=INT64_MAX,
        launched_ms=2,
        finished_ms=3,
    )
    store, _ = await open_store()
    await store.commit(Commit(rows=[application]))

    assert (await stored(open_store)).applications == (application,)


async def test_attempt_comes_back_whole(open_store: Open) -> None:
    attempt = an_attempt(
        1,
        7,
        state=AttemptState.FAILED,
        am_container_id=ContainerId.of(an_attempt_id(1, 7), CONTAINER_SEQUENCE_MASK, epoch=12),
        host="10.0.0.1",
        rpc_port=65535,
        tracking_url="http://[::1]:4040/ä",
        final_status=FinalApplicationStatus.FAILED,
        diagnostics="exit 1",
        finished_ms=INT64_MAX,
        shuffle=ShuffleDecision(
            service="spark-decommission",
            queue="root.default",
            lines=(AddedSetting("spark.a", "b=c", "why", "service of root"),),
            told=(("service", "spark-decommission"), ("fallback", "hdfs:///ä/")),
            reason="\0",
            is_refused=True,
            report=Report(ShuffleOutcome.ADDED, (LeftOut(("spark.a",), Cause(Reason.NO_FALLBACK_STORAGE, "ä\0")),)),
        ),
    )
    store, _ = await open_store()
    await store.commit(Commit(rows=[an_application(), attempt, replace(attempt, id=an_attempt_id(1, 8))]))

    assert (await stored(open_store)).attempts == (attempt, replace(attempt, id=an_attempt_id(1, 8)))


async def test_unmanaged_attempt_has_no_container(open_store: Open) -> None:
    store, _ = await open_store()
    await store.commit(Commit(rows=[an_application(), an_attempt(am_container_id=None)]))

    assert (await stored(open_store)).attempts[0].is_unmanaged


async def test_container_comes_back_whole(open_store: Open) -> None:
    container = a_container(
        id=ContainerId.of(an_attempt_id(), CONTAINER_SEQUENCE_MASK, epoch=2**23 - 1),
        capability=Resource(INT64_MAX, INT32_MAX, (("a", 0), ("gpu", -1))),
        placement=Placement(
            hosts=("h1", "h2"),
            racks=("/r",),
            is_strict=True,
            avoid=("h3",),
            node_label="ssd",
            nodes=("h4",),
            rules=(
                TagRule(is_apart=True, scope=Scope.RACK, tag="zk ☠", applications=("a",), are_excluded=True),
                TagRule(is_apart=False, scope=Scope.NODE, tag="hbase", slots=3, slot=2),
            ),
        ),
        allocation_tags=("hbase", "zk ☠"),
        allocation_request_id=INT64_MAX,
        state=ContainerState.COMPLETED,
        pod="kept-7",
        node_id=NodeId("node.example", 65535),
        finished_ms=INT64_MAX,
        exit_status=-1000,
        diagnostics="☠",
        is_acknowledged=True,
    )
    store, _ = await open_store()
    await store.commit(Commit(rows=[container, *parents_of()]))

    assert (await stored(open_store)).containers == (container,)


async def test_node_comes_back_whole(open_store: Open) -> None:
    node = a_node(
        "Node_1.example",
        state=NodeState.DECOMMISSIONING,
        http_port=8042,
        capability=Resource(1 << 40, 512, (("gpu", 8),)),
        rack="/dc1/räck",
        labels=("gpu", "ssd"),
        kubernetes_node_name="node-1",
        version="3.5.0",
        health_report="1/1 local-dirs are bad",
        last_health_ms=INT64_MAX,
    )
    store, _ = await open_store()
    await store.commit(Commit(rows=[node, a_node("a")]))

    assert (await stored(open_store)).nodes == (node, a_node("a"))


@pytest.mark.parametrize("text", [*ODD_TEXTS, "☃" * 65536])
async def test_any_text_comes_back_as_it_was(open_store: Open, text: str) -> None:
    application = an_application(submission=a_submission(name=text, tags=(text,)), diagnostics=text)
    container = a_container(placement=Placement(hosts=(text,)), diagnostics=text)
    store, _ = await open_store()
    await store.commit(Commit(rows=[application, an_attempt(), container, a_node(rack=text, labels=(text,))]))

    snapshot = await stored(open_store)

    assert (snapshot.applications, snapshot.containers) == ((application,), (container,))
    assert (snapshot.nodes[0].rack, snapshot.nodes[0].labels) == (text, (text,))


async def test_launch_contexts_of_five_megabytes_come_back(open_store: Open) -> None:
    applications = tuple(an_application(n, submission=a_submission(context=bytes([n]) * 5_000_000)) for n in (1, 2))
    store, _ = await open_store()
    await store.commit(Commit(rows=applications))

    assert (await stored(open_store)).applications == applications


async def test_rows_come_back_in_the_order_of_their_numbers(open_store: Open) -> None:
    store, _ = await open_store()
    sequences = (10_000, 9_999, 2, 123_456)
    await store.commit(Commit(rows=[row for n in sequences for row in (*parents_of(n), a_container(n))]))

    snapshot = await stored(open_store)

    assert [application.id.sequence for application in snapshot.applications] == sorted(sequences)
    assert [attempt.id.application_id.sequence for attempt in snapshot.attempts] == sorted(sequences)
    assert [container.id.application_id.sequence for container in snapshot.containers] == sorted(sequences)


async def test_master_keys_come_back_newest_last_whatever_their_numbers(open_store: Open) -> None:
    keys = [
        ("amrm", MasterKey(key_id=INT32_MAX, secret=b"\x00" * 32)),
        ("nm", MasterKey(key_id=5, secret=bytes(range(32)))),
        ("amrm", MasterKey(key_id=-INT32_MAX - 1, secret=b"")),
        ("container", MasterKey(key_id=5, secret=b"c")),
    ]
    store, _ = await open_store()
    await store.commit(Commit(master_keys=keys[:3]))
    await store.commit(Commit(master_keys=keys[3:]))

    assert list((await stored(open_store)).master_keys) == keys


async def test_master_key_written_again_keeps_its_place(open_store: Open) -> None:
    first, second = ("nm", MasterKey(key_id=1, secret=b"1")), ("nm", MasterKey(key_id=2, secret=b"2"))
    store, _ = await open_store()
    await store.commit(Commit(master_keys=[first, second]))
    await store.commit(Commit(master_keys=[first]))

    assert (await stored(open_store)).master_keys == (first, second)


async def test_of_rows_that_a_commit_has_twice_the_last_stays(open_store: Open) -> None:
    """PostgreSQL refuses a statement that would write a row twice."""
    last = an_application(1, diagnostics="second")
    store, _ = await open_store()
    await store.commit(Commit(rows=[an_application(1, diagnostics="first"), an_application(2), last]))

    assert (await stored(open_store)).applications == (last, an_application(2))
