"""Shares said by resource, with the figures worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from yodel.domain.queues.amounts import Amounts, Unit, most_of, said_in, text_of
from yodel.domain.queues.pools import PoolName, Pools, Wholes
from yodel.domain.queues.queue import Queue, applications_max
from yodel.domain.queues.shares import QueueShares, Share
from yodel.domain.resource import Resource

ROOT = Queue(path="root", is_leaf=False)
TOTAL = Resource(102_400, 100, (("gpu", 8),))


def of(text: str) -> Amounts:
    return said_in("capacity", text)


def queue(path: str, capacity: str = "", maximum: str = "", **changes: Any) -> Queue:
    return Queue(
        path=path,
        capacity_percent=0.0 if capacity else changes.pop("capacity_percent", 0.0),
        capacity_amounts=of(capacity) if capacity else (),
        maximum_amounts=of(maximum) if maximum else (),
        **changes,
    )


def shares(*queues: Queue, total: Resource = TOTAL) -> dict[str, Share]:
    return QueueShares((ROOT, *queues), total).shares


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("[memory=10240,vcores=12]", "[memory=10240,vcores=12]"),
        ("[ vcores = 12 , memory-mb = 10Gi ]", "[memory=10240,vcores=12]"),
        ("[memory=50%,vcores=2.5w,yarn.io/gpu=1]", "[memory=50%,vcores=2.5w,yarn.io/gpu=1]"),
        ("[memory=1Ti]", "[memory=1048576]"),
    ],
)
def test_amounts_are_read_and_written(text: str, written: str) -> None:
    assert text_of(of(text)) == written
    assert of(written) == of(text)


def test_amount_is_guaranteed_and_what_is_not_named_is_not() -> None:
    found = shares(queue("root.a", "[memory=10240,vcores=12]"), queue("root.b", "[memory=1024,vcores=1,gpu=2]"))
    assert found["root.a"].guaranteed == Resource(10_240, 12, (("gpu", 0),))
    assert found["root.b"].guaranteed == Resource(1024, 1, (("gpu", 2),))
    assert found["root.a"].maximum == TOTAL
    assert (found["root.a"].capacity, found["root.a"].queue.capacity_percent) == (0.12, 12.0)


def test_each_resource_is_scaled_by_itself_where_there_is_less_than_the_sum() -> None:
    small = Resource(8192, 100)
    found = shares(queue("root.a", "[memory=12288,vcores=12]"), queue("root.b", "[memory=4096,vcores=4]"), total=small)
    assert found["root.a"].guaranteed == Resource(6144, 12)
    assert found["root.b"].guaranteed == Resource(2048, 4)


def test_percents_are_of_what_amounts_leave_and_weights_of_what_percents_leave() -> None:
    found = shares(
        queue("root.a", "[memory=22400,vcores=20]"),
        queue("root.b", capacity_percent=25.0),
        queue("root.c", weight=1.0),
        queue("root.d", weight=3.0),
    )
    assert [found[f"root.{name}"].guaranteed for name in "abcd"] == [
        Resource(22_400, 20, (("gpu", 0),)),
        Resource(20_000, 20, (("gpu", 2),)),
        Resource(15_000, 15, (("gpu", 1),)),
        Resource(45_000, 45, (("gpu", 4),)),
    ]


def test_kinds_may_differ_by_resource() -> None:
    found = shares(queue("root.a", "[memory=50%,vcores=2w,gpu=1]"), queue("root.b", "[memory=2400,vcores=10,gpu=7w]"))
    assert found["root.a"].guaranteed == Resource(50_000, 90, (("gpu", 1),))
    assert found["root.b"].guaranteed == Resource(2400, 10, (("gpu", 7),))


def test_percents_below_an_amount_are_of_it_and_scaled_with_it() -> None:
    parent = queue("root.a", "[memory=20480,vcores=20]", "[memory=40960,vcores=40]", is_leaf=False)
    below = queue("root.a.x", capacity_percent=50.0, maximum_capacity_percent=50.0)
    other = queue("root.a.y", "", "[memory=99999999,vcores=10]", capacity_percent=50.0)
    found = shares(parent, below, other)
    assert found["root.a.x"].guaranteed == Resource(10_240, 10, (("gpu", 0),))
    assert found["root.a.x"].maximum == Resource(20_480, 20, (("gpu", 4),))
    assert found["root.a.y"].maximum == Resource(40_960, 10, (("gpu", 8),))  # never above its parent's
    halved = shares(parent, below, other, total=Resource(10_240, 10))
    assert halved["root.a.x"].guaranteed == Resource(5120, 5)


def test_percent_of_a_window_holds_beside_amounts() -> None:
    found = shares(queue("root.a", "", "[memory=81920,vcores=20]", maximum_capacity_percent=50.0))
    assert found["root.a"].maximum == Resource(51_200, 20, (("gpu", 4),))


def test_minimum_above_the_maximum_is_cut() -> None:
    found = shares(queue("root.a", "", "[memory=1024]", capacity_percent=50.0), queue("root.b", capacity_percent=50.0))
    assert found["root.a"].guaranteed == Resource(1024, 50, (("gpu", 4),))
    assert found["root.a"].maximum == Resource(1024, 100, (("gpu", 8),))


def test_queue_with_amounts_takes_applications_before_the_first_node_comes() -> None:
    found = shares(
        queue("root.a", "[memory=1024,vcores=1]", is_leaf=False),
        queue("root.a.x", capacity_percent=50.0),
        queue("root.b", "[memory=0,vcores=0]"),
        total=Resource(0, 0),
    )
    assert [applications_max(found[path].queue, found[path].capacity) for path in ("root.a.x", "root.b")] == [5000, 0]


def test_amounts_are_of_the_queues_own_pool() -> None:
    batch = PoolName("batch")
    pools = Pools(by_child={"root.b": batch})
    wholes = Wholes(pools=pools, totals={pools.default: Resource(8192, 8), batch: Resource(2048, 100)})
    found = QueueShares(
        (ROOT, queue("root.a", "[memory=4096,vcores=4]"), queue("root.b", "[memory=4096,vcores=4]")), wholes
    )
    assert found.shares["root.a"].guaranteed == Resource(4096, 4)
    assert found.shares["root.b"].guaranteed == Resource(2048, 4)


def test_maximum_is_at_most_the_parents() -> None:
    assert most_of(100, (200.0, Unit.ABSOLUTE)) == 100.0
    assert most_of(100, (40.0, Unit.ABSOLUTE)) == 40.0
    assert most_of(100, (0.0, Unit.ABSOLUTE)) == 100.0
    assert most_of(200, (25.0, Unit.PERCENT)) == 50.0
