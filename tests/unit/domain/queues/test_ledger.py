"""Limits of queues and users, with the figures worked out by hand from the CapacityScheduler's formulas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from yodel.domain.allocation.outcomes import Hurdle
from yodel.domain.queues.ledger import UsageLedger
from yodel.domain.queues.queue import Queue
from yodel.domain.queues.shares import QueueShares
from yodel.domain.queues.window import Window
from yodel.domain.queues.windows import InForce, WindowEffect
from yodel.domain.resource import Resource
from yodel.services.writer.usage import Usage

SIZE = Resource(1024, 1)
TOTAL = SIZE * 100


def ledger(
    *queues: Queue,
    held: Mapping[tuple[str, str], int] | None = None,
    root: Mapping[str, Any] | None = None,
    **changes: Any,
) -> UsageLedger:
    """Queues below the root, with containers of one size held by leaf and user."""
    tree = QueueShares((Queue(path="root", is_leaf=False, **(root or {})), *queues), TOTAL)
    found = UsageLedger(tree, {}, {}, **{"minimum": SIZE, "am_share": 0.1, **changes})
    for (path, user), count in (held or {}).items():
        found.take(path, user, SIZE * count)
    return found


def leaf(path: str, capacity: float = 100.0, **changes: Any) -> Queue:
    return Queue(path=path, capacity_percent=capacity, **{"user_limit_factor": -1.0, **changes})


def test_shares_are_products_along_the_path_rounded_down() -> None:
    tree = QueueShares(
        (
            Queue(path="root", is_leaf=False),
            Queue(path="root.a", capacity_percent=33.3, maximum_capacity_percent=50.0, is_leaf=False),
            leaf("root.a.b", 50.0, maximum_capacity_percent=80.0),
        ),
        Resource(1000, 10, (("gpu", 3),)),
    )
    share = tree.shares["root.a.b"]
    assert (share.guaranteed, share.maximum) == (Resource(166, 1, (("gpu", 0),)), Resource(400, 4, (("gpu", 1),)))
    assert share.path == ("root.a.b", "root.a", "root")


def test_no_container_passes_the_maximum_of_its_queue_or_of_one_above() -> None:
    above = Queue(path="root.a", capacity_percent=50.0, maximum_capacity_percent=60.0, is_leaf=False)
    found = ledger(above, leaf("root.a.x", 50.0, maximum_capacity_percent=90.0), leaf("root.a.y", 50.0))
    assert found.count("root.a.x", "u", SIZE, 100) == 54
    found.take("root.a.y", "u", SIZE * 50)
    assert found.count("root.a.x", "u", SIZE, 100) == 10
    assert found.why_not("root.a.x", "u", SIZE * 10) is None
    hindrance = found.why_not("root.a.x", "u", SIZE * 11)
    assert hindrance is not None
    assert hindrance.hurdle is Hurdle.QUEUE_LIMIT
    assert hindrance.reason == (
        "Queue root.a is at its maximum capacity: used 50 GiB, 50 vcores of 60 GiB, 60 vcores; requested 11 GiB, "
        "11 vcores."
    )


def test_scarcest_resource_counts() -> None:
    found = ledger(leaf("root.a", 50.0, maximum_capacity_percent=50.0))
    assert found.count("root.a", "u", Resource(1024, 10), 100) == 5
    assert found.count("root.a", "u", Resource(10240, 1), 100) == 5


@pytest.mark.parametrize(
    ("factor", "users", "held", "allowed"),
    [
        (1.0, 1, 0, 40),  # one user: the guarantee
        (0.5, 1, 0, 20),
        (2.0, 1, 0, 40),  # alone in the queue he is limited by it, the more it holds the more
        (2.0, 1, 40, 1),
        (-1.0, 1, 0, 100),
        (1.0, 2, 0, 40),  # 100 %: the second has to wait for the first
    ],
)
def test_limit_of_a_user_is_a_multiple_of_the_guarantee(factor: float, users: int, held: int, allowed: int) -> None:
    active = {"root.a": {f"u{number}" for number in range(users)}}
    found = ledger(leaf("root.a", 40.0, user_limit_factor=factor), held={("root.a", "u0"): held}, active=active)
    assert found.count("root.a", "u0", SIZE, 1000) == allowed


@pytest.mark.parametrize(
    ("percent", "held", "may"),
    [
        (100.0, {"u": 40}, {"u"}),
        (100.0, {"u": 38}, {"u"}),  # the container that passes the guarantee
        (50.0, {"u": 20, "v": 20}, {"u", "v"}),
        (50.0, {"u": 22, "v": 20}, {"v"}),
        (50.0, {"u": 24, "v": 20, "w": 0}, {"v", "w"}),  # w waits for something else, and holds up nobody
        (50.0, {"u": 79}, set()),  # the factor is never passed
    ],
)
def test_above_the_guarantee_who_has_no_more_than_his_share_may_have_one_of_any_size(
    percent: float, held: Mapping[str, int], may: set[str]
) -> None:
    queue = leaf("root.a", 40.0, user_limit_factor=2.0, minimum_user_limit_percent=percent)
    users = {("root.a", user): count for user, count in held.items()}
    found = ledger(queue, held=users, active={"root.a": set(held)})
    assert {user for user in held if found.count("root.a", user, SIZE * 4, 1)} == may
    assert {user for user in held if found.why_not("root.a", user, SIZE * 4) is None} == may


def test_users_are_compared_by_what_they_hold_most_of() -> None:
    """A user who holds much memory still has room for cores, and for a resource of which his share has none."""
    total = Resource(102_400, 100, (("gpu", 8),))
    queue = leaf("root.a", 50.0, user_limit_factor=2.0, minimum_user_limit_percent=50.0)
    tree = QueueShares((Queue(path="root", is_leaf=False), queue), total)
    found = UsageLedger(tree, {}, {}, minimum=SIZE, am_share=0.1, active={"root.a": {"u", "v"}})
    found.take("root.a", "u", Resource(10_240, 20))
    found.take("root.a", "v", Resource(51_200, 2))
    assert found.count("root.a", "u", Resource(1024, 4), 1) == 1
    assert found.count("root.a", "u", Resource(1024, 1, (("gpu", 1),)), 1) == 1
    assert found.count("root.a", "v", Resource(1024, 1), 1) == 0


def test_weight_of_a_user_holds_above_the_guarantee() -> None:
    queue = leaf("root.a", 40.0, user_limit_factor=2.0, minimum_user_limit_percent=25.0, user_weights=(("u", 1.5),))
    held = {("root.a", "u"): 24, ("root.a", "v"): 16}
    found = ledger(queue, held=held, active={"root.a": {"u", "v"}})
    assert [found.count("root.a", user, SIZE * 4, 1) for user in ("u", "v")] == [1, 1]
    found.take("root.a", "v", SIZE * 4)
    assert [found.count("root.a", user, SIZE * 4, 1) for user in ("u", "v")] == [1, 0]


def test_limit_of_users_follows_what_is_taken() -> None:
    queue = leaf("root.a", 40.0, user_limit_factor=2.0, minimum_user_limit_percent=25.0)
    found = ledger(queue, active={"root.a": {"u", "v"}})
    share = found.share("root.a")
    assert found.user_limit(share, "u") == SIZE * 10
    found.take("root.a", "u", SIZE * 30)
    assert found.user_limit(share, "u") == SIZE * 16  # (30 + 0) / 2, and one more
    found.take("root.a", "v", SIZE * 10)
    assert found.user_limit(share, "u") == SIZE * 21
    found.use_active({"root.a": {"v"}})
    assert found.user_limit(share, "v") == SIZE * 11


def test_cluster_without_anything_limits_without_a_fault() -> None:
    tree = QueueShares((Queue(path="root", is_leaf=False), leaf("root.a", 40.0, user_limit_factor=1.0)), Resource(0, 0))
    found = UsageLedger(tree, {}, {}, minimum=SIZE, am_share=0.1, active={"root.a": {"u"}})
    found.take("root.a", "u", SIZE)
    assert found.count("root.a", "u", SIZE, 5) == 0
    assert found.headroom("root.a", "u") == Resource(0, 0)
    assert found.why_not("root.a", "u", SIZE) is not None


def test_active_users_share_down_to_the_least_percent() -> None:
    queue = leaf("root.a", 40.0, user_limit_factor=1.0, minimum_user_limit_percent=25.0)
    active = {"root.a": {"u0", "u1"}}
    found = ledger(queue, held={("root.a", "u0"): 12, ("root.a", "u1"): 4}, active=active)
    # (16 + 1) / 2, rounded up, is less than 25 % of 40: each may have 10.
    assert found.user_limit(found.share("root.a"), "u1") == SIZE * 10
    assert found.count("root.a", "u0", SIZE, 100) == 0
    assert found.count("root.a", "u1", SIZE, 100) == 6
    hindrance = found.why_not("root.a", "u0", SIZE)
    assert hindrance is not None
    assert hindrance.hurdle is Hurdle.USER_LIMIT
    assert hindrance.reason.startswith(
        "User capacity has reached its maximum limit, user limit is <memory:10240, vCores:10>, resource used by u0 is "
        "<memory:12288, vCores:12>."
    )


def test_weight_of_a_user_counts_after_the_factor() -> None:
    queue = leaf("root.a", 40.0, user_limit_factor=1.0, minimum_user_limit_percent=50.0, user_weights=(("u0", 1.5),))
    found = ledger(queue, active={"root.a": {"u0", "u1"}})
    assert found.user_limit(found.share("root.a"), "u0") == SIZE * 30
    assert found.user_limit(found.share("root.a"), "u1") == SIZE * 20


def test_first_container_of_a_user_always_starts_within_the_queue() -> None:
    found = ledger(leaf("root.a", 1.0, maximum_capacity_percent=10.0, user_limit_factor=0.1))
    assert found.count("root.a", "u", SIZE * 2, 5) == 1
    assert found.why_not("root.a", "u", SIZE * 2) is None
    assert found.count("root.a", "u", SIZE * 11, 5) == 0


def test_masters_have_a_part_of_what_the_queue_may_hold_now() -> None:
    queues = leaf("root.a", 50.0, maximum_capacity_percent=80.0), leaf("root.b", 50.0)
    found = ledger(*queues)
    assert found.am_limit(found.share("root.a")) == SIZE * 8
    found.take("root.b", "v", SIZE * 70)
    assert found.am_limit(found.share("root.a")) == SIZE * 5  # of the guarantee, which others hold
    found.take("root.a", "u", SIZE * 5, is_am=True)
    hindrance = found.why_no_am("root.a", "u", SIZE)
    assert hindrance is not None
    assert hindrance.hurdle is Hurdle.AM_SHARE
    assert "Queue's AM resource limit exceeded. " in hindrance.reason
    assert "Queue Resource Limit for AM = <memory:5120, vCores:5>" in hindrance.reason


def test_first_master_of_a_queue_starts_whatever_its_share() -> None:
    found = ledger(leaf("root.a", 1.0, maximum_capacity_percent=10.0, am_share=0.1))
    assert found.why_no_am("root.a", "u", SIZE * 5) is None
    found.take("root.a", "u", SIZE * 5, is_am=True)
    assert found.why_no_am("root.a", "v", SIZE) is not None


def test_masters_of_one_user_have_a_part_of_the_share() -> None:
    queue = leaf("root.a", 100.0, user_limit_factor=0.5, minimum_user_limit_percent=50.0, am_share=0.4)
    found = ledger(queue, active={"root.a": {"u", "v"}})
    found.take("root.a", "u", SIZE * 10, is_am=True)
    hindrance = found.why_no_am("root.a", "u", SIZE)
    assert hindrance is not None
    assert "User's AM resource limit exceeded. " in hindrance.reason
    assert "User AM Resource Limit of the queue = <memory:10240, vCores:10>" in hindrance.reason
    assert found.why_no_am("root.a", "v", SIZE) is None


def test_headroom_is_the_least_of_user_queue_and_those_above() -> None:
    above = Queue(path="root.a", capacity_percent=50.0, maximum_capacity_percent=60.0, is_leaf=False)
    queues = above, leaf("root.a.x", 50.0, user_limit_factor=1.0), leaf("root.a.y", 50.0)
    found = ledger(*queues, held={("root.a.x", "u"): 5})
    assert found.headroom("root.a.x", "u") == SIZE * 20
    found.take("root.a.y", "v", SIZE * 45)
    assert found.headroom("root.a.x", "u") == SIZE * 10
    found.take("root.a.y", "v", SIZE * 30)
    assert found.headroom("root.a.x", "u") == Resource(0, 0)


def test_queue_that_is_in_no_row_has_no_guarantee_and_comes_last() -> None:
    found = ledger(leaf("root.a", 100.0))
    found.take("root.a", "u", SIZE * 60)
    found.take("root.gone", "u", SIZE)
    assert found.serving_rank("root.gone") > found.serving_rank("root.a")
    assert found.count("root.gone", "u", SIZE, 5) == 5


def test_what_is_held_counts_on_every_level() -> None:
    above = Queue(path="root.a", is_leaf=False)
    held = {"root": Usage(SIZE * 9), "root.a": Usage(SIZE * 7), "root.a.x": Usage(SIZE * 3, 1, SIZE)}
    tree = QueueShares((Queue(path="root", is_leaf=False), above, leaf("root.a.x")), TOTAL)
    found = UsageLedger(tree, held, {("root.a.x", "u"): Usage(SIZE * 2)}, minimum=SIZE, am_share=0.5)
    found.take("root.a.x", "u", SIZE)
    assert [found.used(path) for path in ("root", "root.a", "root.a.x")] == [SIZE * 10, SIZE * 8, SIZE * 4]
    assert found.used_by("root.a.x", "u") == SIZE * 3


def test_a_ledger_that_holds_still_does_not_see_what_is_held_afterwards() -> None:
    tree = QueueShares((Queue(path="root", is_leaf=False), leaf("root.a")), TOTAL)
    of_queue, of_user = Usage(resource=SIZE, containers=1), Usage(resource=SIZE, containers=1)
    by_queue, by_user = {"root": of_queue, "root.a": of_queue}, {("root.a", "u"): of_user}
    found = UsageLedger(tree, by_queue, by_user, minimum=SIZE, am_share=0.1)
    found.hold_still()
    by_queue["root.a"] = of_queue.plus(Usage(resource=SIZE, containers=1), 1)
    by_user["root.a", "u"] = by_user["root.a", "v"] = of_user.plus(Usage(resource=SIZE, containers=1), 1)
    assert (found.used("root.a"), found.used_by("root.a", "u"), found.used_by("root.a", "v")) == (SIZE, SIZE, SIZE * 0)
    found.take("root.a", "u", SIZE)
    assert found.used("root") == SIZE * 2


def test_nothing_starts_just_before_a_window_of_the_queue_or_of_one_above() -> None:
    above = Queue(path="root.a", capacity_percent=50.0, is_leaf=False)
    found = ledger(above, leaf("root.a.x"), leaf("root.b", 50.0))
    assert found.count("root.a.x", "u", SIZE, 10) == 10
    found.tree.windows = InForce(
        holds={
            "root.a": WindowEffect(near=Window(name="day", cron="15 22 * * *", duration_s=600, maximum_percent=25.0))
        }
    )
    assert (found.count("root.a.x", "u", SIZE, 10), found.count("root.b", "u", SIZE, 10)) == (0, 10)


def test_shares_of_masters_are_rounded_up_for_each_resource() -> None:
    """The whole is 32 GiB and 32 cores; a queue has three quarters, a user is in it, and a leaf has a quarter."""
    whole = Resource(32 * 1024, 32)
    queues = [
        Queue(path="root", is_leaf=False),
        Queue(path="root.a", capacity_percent=75.0, am_share=0.1),
        Queue(path="root.b", capacity_percent=25.0, maximum_capacity_percent=25.0, am_share=0.1),
    ]
    ledger = UsageLedger(QueueShares(queues, whole), {}, {}, minimum=Resource(1024, 1), am_share=0.1)
    share = ledger.share("root.a")
    assert ledger.am_limit(share) == Resource(4096, 4)
    assert ledger.user_am_limit(share, "alice", ledger.am_limit(share)) == Resource(3072, 3)
    assert ledger.am_limit(ledger.share("root.b")) == Resource(1024, 1)


def test_applications_whose_masters_run_elsewhere_count_among_those_that_run_at_once() -> None:
    queue = Queue(path="root.a", maximum_parallel_applications=1)
    tree = QueueShares([Queue(path="root", is_leaf=False), queue], SIZE * 10)
    ledger = UsageLedger(tree, {}, {}, minimum=SIZE, am_share=1.0, unmanaged={"root": 1, "root.a": 1})
    hindrance = ledger.why_no_am("root.a", "alice", SIZE)
    assert hindrance is not None
    assert hindrance.hurdle is Hurdle.PARALLEL
