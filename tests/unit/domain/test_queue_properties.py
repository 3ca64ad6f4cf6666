from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.records import unsaid
from yodel.domain.queues.pools import PoolName, Pools
from yodel.domain.queues.properties import (
    MAXIMUM_AM_SHARE,
    QUEUES_MAX,
    Present,
    described,
    properties_of,
    require_passable,
)
from yodel.domain.queues.property_table import TABLE
from yodel.domain.queues.queue import (
    Ordering,
    Queue,
    QueueState,
    applications_max,
    default_queues,
    largest_container,
    leaves_under_root,
    lifetime_s,
)
from yodel.domain.resource import Resource
from yodel.domain.scheduler_conf import PREFIX, ConfUpdate, QueueUpdate, assembled
from yodel.errors import Refused

TREE = (
    Queue(path="root", is_leaf=False, submit_acl="*"),
    Queue(path="root.etl", is_leaf=False, capacity_percent=60.0, maximum_capacity_percent=80.0),
    Queue(
        path="root.etl.night",
        capacity_percent=100.0,
        state=QueueState.STOPPED,
        maximum_lifetime_s=60,
        default_lifetime_s=30,
        submit_acl="alice,bob etl",
        administer_acl="carol",
    ),
    Queue(path="root.default", capacity_percent=40.0),
)


def conf(**changes: str) -> dict[str, str]:
    """A sound configuration of root.a (40) and root.b (60), changed; ``_`` stands for a dot after a queue's name."""
    found = {"root.queues": "a,b", "root.a.capacity": "40", "root.b.capacity": "60", **changes}
    return {PREFIX + name: value for name, value in found.items() if value}


def test_queues_come_back_from_their_properties() -> None:
    found = described(properties_of(TREE, 0.5))
    assert (unsaid(found.queues), found.am_share) == (TREE, 0.5)


@pytest.mark.parametrize(
    ("changes", "again"),
    [
        ({"root.a.x.priority": "3"}, {"root", "root.a", "root.a.y", "root.b"}),
        ({"root.a.disable_preemption": "true"}, {"root", "root.b"}),
        ({"root.a.x.capacity": "40", "root.a.y.capacity": "60"}, {"root", "root.a", "root.b"}),
        ({"root.queues": "a,b,c", "root.c.capacity": "0"}, {"root.a", "root.a.x", "root.a.y", "root.b"}),
        ({"root.b.queues": "z", "root.b.z.capacity": "100"}, {"root", "root.a", "root.a.x", "root.a.y"}),
        ({"maximum-applications": "50"}, set[str]()),
    ],
)
def test_queue_is_the_same_object_where_neither_its_properties_nor_those_above_changed(
    changes: dict[str, str], again: set[str]
) -> None:
    before = conf(**{"root.a.queues": "x,y", "root.a.x.capacity": "50", "root.a.y.capacity": "50"})
    present = {queue.path: queue for queue in described(before).queues}
    wanted = before | {PREFIX + name: text for name, text in changes.items()}
    found = described(wanted, present=Present(before, present)).queues
    assert {queue.path for queue in found if present.get(queue.path) is queue} == again


def test_weight_among_other_kinds_is_no_longer_a_percent_of_the_weights() -> None:
    before = conf(**{"root.a.capacity": "1w", "root.b.capacity": "1w", "legacy-queue-mode.enabled": "false"})
    present = Present(before, {queue.path: queue for queue in described(before).queues})
    wanted = {**before, f"{PREFIX}root.a.capacity": "30"}
    assert [queue.capacity_percent for queue in described(wanted, present=present).queues] == [100.0, 30.0, 0.0]
    assert described(wanted, present=present) == described(wanted)


def test_limits_come_back_from_their_properties() -> None:
    root = Queue(path="root", is_leaf=False, submit_acl="*", maximum_parallel_applications=5)
    limited = Queue(
        path="root.a",
        capacity_percent=75.0,
        weight=3.0,
        user_limit_factor=-1.0,
        minimum_user_limit_percent=25.0,
        user_weights=(("alice", 2.5), ("bob", 0.5)),
        am_share=0.25,
        maximum_applications=7,
        maximum_parallel_applications=3,
        ordering=Ordering.FAIR,
    )
    plain = Queue(path="root.b", capacity_percent=25.0, weight=1.0)
    assert unsaid(described(properties_of((root, limited, plain), 0.5)).queues) == (root, limited, plain)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"root.a.capacity": "3w"}, "have children queue used mixed of  weight mode, percentage and absolute mode"),
        ({"root.a.capacity": "20001w", "root.b.capacity": "1w"}, "Illegal weight=20001.0 for queue=root.alabel="),
        (
            {"root.a.capacity": "3w", "root.b.capacity": "1w", "root.a.maximum-capacity": "50"},
            r"\(abs-capacity=0.75\) > \(abs-maximum-capacity=0.5\)",
        ),
        (
            {"root.a.user-settings.alice.weight": "2"},
            r'Weight \(2.0\) for user "alice" must be between 0 and',
        ),
        ({"root.a.user-settings.alice.weight": "-1"}, r'Weight \(-1.0\) for user "alice"'),
        ({"root.a.user-settings.alice.weight": "heavy"}, "user-settings.alice.weight"),
        (
            {"root.a.user-settings.alice.weight": "1e300", "root.a.minimum-user-limit-percent": "1e-305"},
            r'Weight \(1e\+300\) for user "alice" must be between',  # sums of such weights are no numbers
        ),
        ({"root.user-settings.alice.weight": "2"}, r'Weight \(2.0\) for user "alice" .* users in root.a\)'),
    ],
)
def test_limits_that_cannot_be_kept_are_refused(changes: dict[str, str], text: str) -> None:
    with pytest.raises(Refused, match=text):
        described(conf(**changes))


def test_weights_of_users_pass_down_and_are_judged_where_users_are() -> None:
    percents = {f"root.{name}.minimum-user-limit-percent": "25" for name in "ab"}
    weights = {"root.user-settings.a.b.weight": "3", "root.b.user-settings.a.b.weight": "0.5"}
    found = {queue.path: queue for queue in described(conf(**percents, **weights)).queues}
    assert found["root.a"].user_weights == (("a.b", 3.0),)
    assert found["root.b"].user_weights == (("a.b", 0.5),)


def test_applications_that_run_at_once_are_as_the_scheduler_says_where_a_queue_says_nothing() -> None:
    """The limit applies to root and to parents too, and a queue does not take it from the one above."""
    tree = {"root.a.queues": "x,y", "root.a.x.capacity": "50", "root.a.y.capacity": "50"}
    said = {"max-parallel-apps": "9", "root.a.max-parallel-apps": "2", "root.b.max-parallel-apps": str(2**31 - 1)}
    queues = described(conf(**tree, **said)).queues
    assert {queue.path: queue.maximum_parallel_applications for queue in queues} == {
        "root": 9,
        "root.a": 2,
        "root.a.x": 9,
        "root.a.y": 9,
        "root.b": None,
    }


def test_order_passes_down_to_parents_and_is_read_again_as_it_was_said() -> None:
    tree = {"root.a.queues": "x", "root.a.x.capacity": "100", "root.b.queues": "y", "root.b.y.capacity": "100"}
    said = {"root.ordering-policy": "priority-utilization", "root.b.ordering-policy": "utilization"}
    queues = described(conf(**tree, **said, **{"root.a.x.priority": "-3"})).queues
    assert [queue.path for queue in queues if queue.is_by_priority] == ["root", "root.a"]
    assert [queue.priority for queue in queues if queue.priority] == [-3]
    again = described(properties_of(queues, 0.5)).queues
    assert [(q.path, q.is_by_priority, q.priority) for q in again] == [
        (q.path, q.is_by_priority, q.priority) for q in queues
    ]


BATCH = Pools(by_child={"root.b": PoolName("batch"), "root.c": PoolName("batch")})


@pytest.mark.parametrize(
    ("capacities", "says"),
    [
        (("100", "40", "60"), ""),
        (("30", "30", "40"), ""),  # over all, as before pools
        (("100", "40", "50"), "Illegal capacity sum of 0.9 for children of queue root"),
        (("50", "40", "60"), "Illegal capacity sum of 0.5 for children of queue root"),
        (("0", "40", "60"), ""),
    ],
)
def test_percents_of_roots_children_are_of_their_own_pool(capacities: tuple[str, ...], says: str) -> None:
    said = {"root.queues": "a,b,c"} | {f"root.{n}.capacity": text for n, text in zip("abc", capacities, strict=True)}
    if not says:
        found = {queue.path: queue.capacity_percent for queue in described(conf(**said), BATCH).queues}
        assert [found[f"root.{name}"] for name in "abc"] == [float(text) for text in capacities]
        return
    with pytest.raises(Refused, match=says) as refused:
        described(conf(**said), BATCH)
    assert "which share one pool" in refused.value.__notes__[0]


def test_weights_of_roots_children_are_among_those_of_their_pool() -> None:
    said = {"root.queues": "a,b,c", "root.a.capacity": "5w", "root.b.capacity": "1w", "root.c.capacity": "3w"}
    found = {queue.path: queue.capacity_percent for queue in described(conf(**said), BATCH).queues}
    assert [found[f"root.{name}"] for name in "abc"] == [100.0, 25.0, 75.0]


def test_who_does_not_know_the_pools_takes_as_many_as_there_may_be() -> None:
    said = conf(**{"root.a.capacity": "100", "root.b.capacity": "100"})
    assert described(said, None)
    with pytest.raises(Refused, match=r"Illegal capacity sum of 2\.0"):
        described(said)
    with pytest.raises(Refused, match=r"Illegal capacity sum of 1\.5"):
        described(conf(**{"root.a.capacity": "100", "root.b.capacity": "50"}), None)


def test_giving_back_passes_down_and_is_read_again_as_it_was_said() -> None:
    tree = {"root.a.queues": "x,y", "root.a.x.capacity": "50", "root.a.y.capacity": "50"}
    said = {"root.a.disable_preemption": "true", "root.a.y.disable_preemption": " False "}
    within = {"root.b.intra-queue-preemption.disable_preemption": "true"}
    queues = described(conf(**tree, **said, **within)).queues
    found = {queue.path: queue for queue in queues}
    assert [path for path, queue in found.items() if queue.is_preemption_disabled] == ["root.a", "root.a.x"]
    assert [path for path, queue in found.items() if queue.is_intra_queue_preemption_disabled] == ["root.b"]
    written = properties_of(queues, 0.5)
    assert {name.removeprefix(PREFIX): text for name, text in written.items() if "disable_preemption" in name} == {
        "root.a.disable_preemption": "true",
        "root.a.y.disable_preemption": "false",
        "root.b.intra-queue-preemption.disable_preemption": "true",
    }
    again = described(written).queues
    assert [(q.path, q.is_preemption_disabled, q.is_intra_queue_preemption_disabled) for q in again] == [
        (q.path, q.is_preemption_disabled, q.is_intra_queue_preemption_disabled) for q in queues
    ]


def test_configuration_reads_as_hadoops_file_does() -> None:
    found = properties_of(default_queues(), 0.5)
    assert found == {
        MAXIMUM_AM_SHARE: "0.5",
        f"{PREFIX}resource-calculator": "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
        f"{PREFIX}root.queues": "default",
        f"{PREFIX}root.acl_submit_applications": "*",
        f"{PREFIX}root.default.capacity": "100",
        f"{PREFIX}root.default.maximum-capacity": "100",
        f"{PREFIX}root.default.state": "RUNNING",
        f"{PREFIX}root.default.user-limit-factor": "1",
        f"{PREFIX}root.default.maximum-application-lifetime": "-1",
        f"{PREFIX}root.default.default-application-lifetime": "-1",
    }


@pytest.mark.parametrize("count", [3, 7, 11])
def test_even_shares_of_the_settings_add_up(count: int) -> None:
    queues = leaves_under_root([f"q{n}" for n in range(count)], maximum_lifetime_s=-1, default_lifetime_s=-1)
    found = described(properties_of(queues, 0.5)).queues
    assert [queue.capacity_percent for queue in found] == [queue.capacity_percent for queue in queues]


def test_queues_of_the_settings_share_what_they_draw_on() -> None:
    """So that the first change of one is not refused for what nobody said."""
    pools = Pools(by_child={"root.b": PoolName("volcano")})
    queues = leaves_under_root("abc", maximum_lifetime_s=-1, default_lifetime_s=-1, pool_of=pools.of)
    assert {queue.path: queue.capacity_percent for queue in queues[1:]} == {
        "root.a": 50.0,
        "root.b": 100.0,
        "root.c": 50.0,
    }
    found = properties_of(queues, 0.5) | {f"{PREFIX}root.a.capacity": "30", f"{PREFIX}root.c.capacity": "70"}
    assert described(found, pools=pools).queues[1].capacity_percent == 30.0


def test_queue_is_as_its_parent_unless_it_says() -> None:
    changes = {"root.a.state": "STOPPED", "root.a.queues": "x", "root.a.x.capacity": "100"}
    by_path = {queue.path: queue for queue in described(conf(**changes)).queues}
    assert by_path["root.a.x"].state is QueueState.STOPPED
    assert by_path["root.b"].state is QueueState.RUNNING


def test_what_is_done_in_one_way_may_be_said() -> None:
    assert described(
        conf(
            **{"root.a.user-limit-factor": "1.0", "root.a.ordering-policy": "fifo", "legacy-queue-mode.enabled": "True"}
        )
    )


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (
            {"root.a.capacity": "30"},
            "Illegal capacity sum of 0.9 for children of queue root for label=. It should be either 0 or 1.0",
        ),
        (
            {"root.a.capacity": "", "root.b.capacity": "0"},
            "Illegal capacity sum of 0.0 for children of queue root for label=. It is set to 0, but parent percent != 0"
            ", and doesn't allow children capacity to set to 0",
        ),
        ({"root.a.capacity": "101"}, "Illegal capacity of 101.0 for queue root.a"),
        ({"root.a.maximum-capacity": "200"}, "Illegal maximum-capacity of 200.0 for queue root.a"),
        ({"root.capacity": "90"}, "Illegal capacity of 0.9 for queue root. Must be 100.0"),
        (
            {"root.a.maximum-capacity": "20"},
            "Illegal queue capacity setting, (abs-capacity=0.4) > (abs-maximum-capacity=0.2). When label=[]",
        ),
        (
            {"root.a.maximum-application-lifetime": "5", "root.a.default-application-lifetime": "6"},
            "Default lifetime 6 can't exceed maximum lifetime 5",
        ),
        (
            {"root.state": "STOPPED", "root.a.state": "RUNNING"},
            "The parent queue:root cannot be STOPPED as the child queue:root.a is in RUNNING state.",
        ),
    ],
)
def test_unsound_configuration_is_refused_in_hadoops_words(changes: dict[str, str], text: str) -> None:
    with pytest.raises(Refused) as refused:
        described(conf(**changes))
    assert str(refused.value) == text


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("root.a.capacity", "xw"),
        ("root.a.capacity", "[memory=1024,vcores=1"),
        ("root.a.capacity", "[memory=1024,memory-mb=1]"),
        ("root.a.capacity", "[memory=1.5]"),
        ("root.a.capacity", "[memory=-1,vcores=1]"),
        ("root.a.capacity", "[memory=99999999999999999]"),
        ("root.a.capacity", "[memory=50%,vcores=101%]"),
        ("root.a.capacity", "[memory=50%]"),
        ("root.a.capacity", "[memory=0,vcores=1]"),
        ("root.a.maximum-capacity", "[memory=1Zi]"),
        ("root.capacity", "[memory=1024]"),
        ("legacy-queue-mode.enabled", "no"),
        ("root.a.capacity", "nan"),
        ("root.a.capacity", "4_0"),
        ("root.a.maximum-capacity", "1_00"),
        ("root.a.maximum-application-lifetime", "6_0"),
        ("root.a.state", "DRAINING"),
        ("root.a.maximum-application-lifetime", "a day"),
        ("root.a.maximum-application-lifetime", "99999999999999"),
        ("root.a.user-limit-factor", "-0.5"),
        ("root.a.user-limit-factor", "1_0"),
        ("root.a.user-limit-factor", "inf"),
        ("root.user-limit-factor", "2"),
        ("root.a.minimum-user-limit-percent", "101"),
        ("root.a.maximum-am-resource-percent", "1.1"),
        ("root.maximum-am-resource-percent", "0.5"),
        ("root.a.maximum-applications", "10.5"),
        ("root.a.maximum-applications", "-2"),
        ("root.a.max-parallel-apps", "2.5"),
        ("root.a.priority", "1.5"),
        ("root.a.priority", "2147483648"),
        ("root.max-parallel-apps", "many"),
        ("max-parallel-apps", "-1"),
        ("user.max-parallel-apps", "5"),
        ("user.alice.max-parallel-apps", "5"),
        ("root.a.disable_preemption", "yes"),
        ("root.a.ordering-policy", "utilization"),
        ("root.ordering-policy", "fifo"),
        ("root.a.user-settings..weight", "1"),
        ("root.gone.capacity", "10"),
        ("root.a.acl_submit_applications", "a\x00b"),
        ("root.a.acl_submit_applications", "a" * 5000),
        ("root.maximum-applications", "10"),
        ("maximum-applications", "0"),
        ("node-locality-delay", "40"),
        ("maximum-am-resource-percent", "0"),
        ("maximum-am-resource-percent", "much"),
        ("root.queues", "a,b,a"),
        ("root.queues", "a,b,c d"),
    ],
)
def test_what_would_come_to_nothing_is_refused_by_its_name(name: str, value: str) -> None:
    with pytest.raises(Refused, match=name.replace(".", r"\.")):
        described(conf(**{name: value}))


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("root.a.maximum-capacit", "did you mean maximum-capacity?"),
        ("root.a.maximum-aplications", "did you mean maximum-applications?"),
        ("root.a.colour", "it has no effect"),
        ("root.beta1.capacity", "did you mean beta?"),
        ("maximum-am-resource-percnt", "did you mean maximum-am-resource-percent?"),
        ("queue-mapings", "did you mean queue-mappings?"),
    ],
)
def test_mistyped_property_is_answered_with_the_nearest(name: str, hint: str) -> None:
    """The hint follows from where the names differ: that all of them begin alike says nothing."""
    properties = {"root.queues": "a,beta", "root.a.capacity": "50", "root.beta.capacity": "50", name: "5"}
    with pytest.raises(Refused) as refused:
        described({PREFIX + key: value for key, value in properties.items()})
    assert str(refused.value) == f"Property {PREFIX}{name} is not supported: {hint}"


def test_property_of_something_else_is_refused() -> None:
    with pytest.raises(Refused, match=r"Property yarn\.acl\.enable is not supported"):
        described({**conf(), "yarn.acl.enable": "true"})


def test_tree_is_bounded_in_number_and_depth() -> None:
    names = [f"q{number}" for number in range(QUEUES_MAX)]
    with pytest.raises(Refused, match="Too many queues"):
        described({f"{PREFIX}root.queues": ",".join(names)})
    deep: dict[str, str] = {}
    path = "root"
    for _ in range(12):
        deep[f"{PREFIX}{path}.queues"], path = "a", f"{path}.a"
    with pytest.raises(Refused, match="Too many queues"):
        described(deep)


values = st.sampled_from(
    [
        "[memory=2048,vcores=2]",
        "[memory=9w,vcores=40%]",
        "false",
        "",
        "0",
        "40",
        "100",
        "-1",
        "1e400",
        "inf",
        "2w",
        "RUNNING",
        "STOPPED",
        "a,b",
        "x y",
        "*",
    ]
)
names = st.sampled_from(
    [*sorted({row.name for row in TABLE if row.scope.is_of_queue and row.may_be_set}), "unheard-of"]
) | st.text(max_size=5)
paths = st.sampled_from(["root", "root.a", "root.b", "root.a.b", "b", ""])
changes = st.lists(st.builds(lambda p, n, v: QueueUpdate(path=p, properties={n: v}), paths, names, values), max_size=4)


@given(st.lists(paths, max_size=2), changes, changes, st.dictionaries(names.map(PREFIX.__add__), values, max_size=2))
def test_whatever_is_asked_is_refused_or_describes_queues(
    removed: list[str], added: list[QueueUpdate], updated: list[QueueUpdate], overall: dict[str, str]
) -> None:
    update = ConfUpdate(removed=removed, added=added, updated=updated, overall=overall)
    try:
        found = described(assembled(conf(), update))
    except Refused:
        return
    assert found.queues[0].path == "root"
    assert unsaid(described(properties_of(found.queues, 0.5)).queues) == tuple(
        replace(queue, submit_acl="*") if queue.path == "root" and queue.submit_acl is None else queue
        for queue in unsaid(found.queues)
    )


# --- from one tree to another


def tree(*queues: Queue) -> dict[str, Queue]:
    return {queue.path: queue for queue in (Queue(path="root", is_leaf=False), *queues)}


LEAF: dict[str, Any] = {"path": "root.a"}


@pytest.mark.parametrize(
    ("state", "is_used", "says"),
    [
        (QueueState.RUNNING, False, "RUNNING"),
        (QueueState.STOPPED, True, "DRAINING"),
    ],
)
def test_queue_that_is_not_stopped_and_empty_stays(state: QueueState, is_used: bool, says: str) -> None:
    present = tree(Queue(**LEAF, state=state))
    with pytest.raises(Refused) as refused:
        require_passable(present, tree(), {"root.a"} if is_used else set())
    assert str(refused.value) == (
        "root.a cannot be deleted from the capacity scheduler configuration, as the queue is not yet in stopped state. "
        f"Current State : {says}"
    )
    parent = tree(Queue(**LEAF, is_leaf=False), Queue(path="root.a.b"))
    with pytest.raises(Refused, match=f"Can not convert the leaf queue: root.a to parent .* Current State : {says}"):
        require_passable(present, parent, {"root.a"} if is_used else set())


def test_queue_that_is_stopped_and_empty_may_go_or_have_queues_below_it() -> None:
    present = tree(Queue(**LEAF, state=QueueState.STOPPED))
    require_passable(present, tree(), set())
    require_passable(present, tree(Queue(**LEAF, is_leaf=False), Queue(path="root.a.b")), set())


def test_parent_may_become_a_leaf() -> None:
    present = tree(Queue(**LEAF, is_leaf=False), Queue(path="root.a.b", state=QueueState.STOPPED))
    require_passable(present, tree(Queue(**LEAF)), set())


def test_queues_with_long_names_may_be_as_many_as_there_may_be() -> None:
    names = [f"team-{number:04}-with-a-long-name" for number in range(QUEUES_MAX - 1)]
    tree = leaves_under_root(names, maximum_lifetime_s=-1, default_lifetime_s=-1)
    found = properties_of(tree, 0.5)
    assert len(found[f"{PREFIX}root.queues"]) > 4096
    assert unsaid(described(found).queues)[1:] == tree[1:]


def test_property_counts_for_the_queue_it_is_of_where_one_is_called_as_it_begins() -> None:
    tree = {
        "root.queues": "user-settings,intra-queue-preemption",
        "root.user-settings.capacity": "50",
        "root.user-settings.user-settings.bob.weight": "0.5",
        "root.intra-queue-preemption.capacity": "50",
        "root.intra-queue-preemption.disable_preemption": "true",
    }
    found = {queue.path: queue for queue in described({PREFIX + name: text for name, text in tree.items()}).queues}
    weights = {path: queue.user_weights for path, queue in found.items() if queue.user_weights}
    assert weights == {"root.user-settings": (("bob", 0.5),)}
    assert [path for path, queue in found.items() if queue.is_preemption_disabled] == ["root.intra-queue-preemption"]
    assert not any(queue.is_intra_queue_preemption_disabled for queue in found.values())


@pytest.mark.parametrize(
    ("said", "longest_s", "usual_s"),
    [
        ({"root.a.maximum-application-lifetime": "20"}, 20, 20),
        ({"root.maximum-application-lifetime": "20"}, 20, 20),
        ({"root.default-application-lifetime": "10"}, -1, 10),
        ({"root.maximum-application-lifetime": "20", "root.default-application-lifetime": "10"}, 20, 10),
        ({"root.maximum-application-lifetime": "20", "root.a.maximum-application-lifetime": "50"}, 50, 50),
        ({"root.maximum-application-lifetime": "20", "root.a.maximum-application-lifetime": "0"}, 0, 0),
        ({"root.default-application-lifetime": "10", "root.a.maximum-application-lifetime": "5"}, 5, 5),
    ],
)
def test_lifetimes_are_as_of_the_queue_above_and_the_longest_is_the_usual_one(
    said: dict[str, str], longest_s: int, usual_s: int
) -> None:
    words = {"root.queues": "a", "root.a.capacity": "100", **said}
    queues = described({PREFIX + name: value for name, value in words.items()}).queues
    leaf = queues[-1]
    assert (leaf.maximum_lifetime_s, leaf.usual_lifetime_s) == (longest_s, usual_s)
    assert lifetime_s(leaf, 0) == usual_s


def test_applications_of_the_whole_scheduler_are_counted_of_leaves_that_say_nothing() -> None:
    words = {"maximum-applications": "100", "root.queues": "a,b", "root.a.capacity": "25", "root.b.capacity": "75"}
    queues = described({PREFIX + name: value for name, value in words.items()}).queues
    assert [applications_max(queue, queue.capacity_percent / 100) for queue in queues if queue.is_leaf] == [25, 75]
    assert properties_of(queues, 0.1)[f"{PREFIX}maximum-applications"] == "100"


@pytest.mark.parametrize(
    ("said", "largest"),
    [
        ({}, Resource(8192, 4)),
        ({"root.maximum-allocation-mb": "2048"}, Resource(2048, 4)),
        ({"root.maximum-allocation-mb": "2048", "root.a.maximum-allocation-mb": "4096"}, Resource(4096, 4)),
        ({"root.a.maximum-allocation": "memory-mb=2048,vcores=2"}, Resource(2048, 2)),
        ({"root.a.maximum-allocation-vcores": "100"}, Resource(8192, 4)),
        # Memory by the queue, where maximum-allocation counts; cores by the queue above.
        (
            {
                "root.maximum-allocation-vcores": "3",
                "root.a.maximum-allocation-mb": "4096",
                "root.a.maximum-allocation": "memory-mb=2048",
            },
            Resource(2048, 3),
        ),
        # Memory by the cluster, cores by the queue.
        (
            {"root.maximum-allocation": "memory-mb=99999,vcores=4", "root.a.maximum-allocation-vcores": "2"},
            Resource(8192, 2),
        ),
    ],
)
def test_largest_container_is_as_of_the_queue_above_and_within_the_clusters(
    said: dict[str, str], largest: Resource
) -> None:
    words = {PREFIX + name: value for name, value in {"root.queues": "a", "root.a.capacity": "100", **said}.items()}
    queues = described(words).queues
    assert largest_container(queues[-1], Resource(8192, 4)) == largest
    assert described(properties_of(queues, 0.1)).queues[-1].maximum_allocation_mib == queues[-1].maximum_allocation_mib


@pytest.mark.parametrize("text", ["memory-mb=x", "gpu=1", "memory-mb=0", "2048", "memory-mb=٢"])
def test_largest_container_that_is_none_is_refused_by_its_name(text: str) -> None:
    words = {"root.queues": "a", "root.a.capacity": "100", "root.a.maximum-allocation": text}
    with pytest.raises(Refused, match=r"root\.a\.maximum-allocation: "):
        described({PREFIX + name: value for name, value in words.items()})
