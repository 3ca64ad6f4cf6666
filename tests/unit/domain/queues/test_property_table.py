"""Every row of the table goes both ways, its default changes nothing, and what an export says is what there was."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.records import unsaid
from yodel.domain.property_row import PropertyEffect, PropertyRow, PropertyScope
from yodel.domain.queues.importing import understood
from yodel.domain.queues.properties import described, properties_of
from yodel.domain.queues.property_table import BY_QUEUE, BY_SCHEDULER, OF_QUEUES, OF_SCHEDULER, OF_WINDOWS, TABLE
from yodel.domain.queues.queue import Queue
from yodel.domain.queues.xml_file import entries, text_of
from yodel.domain.scheduler_conf import PREFIX
from yodel.errors import Refused

KEPT = [row for row in TABLE if row.effect is PropertyEffect.KEPT]
TEXTS = (
    *("0", "1", "-1", "1.0", "0.25", "12.5", "1e1", "33.333333333333336", "60", "100", " 7 ", "2147483647"),
    *("true", "false", " TRUE ", "fifo", "fair", "Fair", "utilization", "priority-utilization", "RUNNING", "STOPPED"),
    *("3w", "0.5w", "40%", "[memory=10240,vcores=12]", "[ vcores=2w, memory=50% ]", "[memory=20Gi,yarn.io/gpu=1]"),
    *("memory-mb=8192,vcores=4", "vcores=2", "a,b", " a , b ", "*", " ", "alice,bob etl", "7 alice", "legacy", "json"),
    *("u:%user:root.a", "0 8 * * 1-5", "@daily", "Europe/Berlin", "UTC", "koordinator", "crane", "volcano"),
    *("celeborn", "none", "spark", "refuse", "m-1:9097,m-2:9097", "hdfs:///a/client.jar", "0f" * 32, "3.5.9_2.12"),
)
"""Texts of all kinds: those that a row takes are its own."""
ids = [f"{row.scope.name}-{row.name}" for row in KEPT]
texts = st.sampled_from(TEXTS) | st.integers().map(str) | st.floats(allow_nan=False).map(str)


def full(row: PropertyRow) -> str:
    if row.scope is PropertyScope.COLOCATION:
        return row.name
    return f"{PREFIX}{'root.a.' if row.scope.is_of_queue else ''}{row.name}".replace("NAME", "w")


def require_both_ways(row: PropertyRow, text: str) -> bool:
    """Return whether the row takes the text."""
    try:
        value = row.kind.parse(full(row), text)
    except Refused:
        return False
    written = row.kind.text(value)
    assert row.kind.parse(full(row), written) == value
    assert row.kind.text(row.kind.parse(full(row), written)) == written
    return True


@pytest.mark.parametrize("row", KEPT, ids=ids)
def test_each_row_reads_what_it_writes(row: PropertyRow) -> None:
    taken = [text for text in TEXTS if require_both_ways(row, text)]
    assert taken, "none of these texts is of its kind"


@given(st.sampled_from(KEPT), texts)
def test_each_row_reads_what_it_writes_of_any_number(row: PropertyRow, text: str) -> None:
    require_both_ways(row, text)


@pytest.mark.parametrize("row", KEPT, ids=ids)
def test_each_row_with_values_of_a_kind_refuses_others_by_its_name(row: PropertyRow) -> None:
    if row.kind.name in ("text", "ACL") and require_both_ways(row, "@"):
        return
    with pytest.raises(Refused) as refused:
        row.kind.parse(full(row), "@")
    whose = "window w of root.a" if row.name in ("window.NAME.cron", "window.NAME.time-zone") else full(row)
    assert whose in str(refused.value)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("maximum-application-lifetime", "+60", 60),
        ("maximum-application-lifetime", f"{60:030}", 60),
        ("maximum-allocation", "[]", {}),
        ("max-parallel-apps", "2147483647", None),
        ("window.w.duration-s", " 600 ", 600),
    ],
)
def test_texts_that_were_stored_are_still_read(name: str, text: str, value: object) -> None:
    row = BY_QUEUE.find(name)
    assert row is not None
    assert row.value(name, text) == value
    assert require_both_ways(row, text)


def test_no_two_rows_are_of_one_name() -> None:
    counts = Counter((row.scope, row.name) for row in TABLE)
    assert [what for what, count in counts.items() if count > 1] == []
    of_both = {row.name for row in OF_QUEUES if row.scope is PropertyScope.LEAF} & {
        row.name for row in OF_QUEUES if row.scope is PropertyScope.PARENT
    }
    assert of_both == {"ordering-policy"}


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("user-settings.a.b.weight", "user-settings.USER.weight"),
        ("user-settings..weight", ""),
        ("window.night.cron", "window.NAME.cron"),
        ("window.a.b.cron", ""),
        ("accessible-node-labels", "accessible-node-labels"),
        ("accessible-node-labels.gpu.capacity", "accessible-node-labels."),
        ("auto-create-child-queue.enabled", "auto-create-child-queue.enabled"),
        ("auto-create-child-queue.max-queues", "auto-create-child-queue."),
        ("ordering-policy.fair.enable-size-based-weight", "ordering-policy.fair.enable-size-based-weight"),
        ("ordering-policy.exclusive-enforced-partitions", "ordering-policy."),
        ("yodel.remote-shuffle.option.a.b", "yodel.remote-shuffle.option.KEY"),
        ("queue-mappings", ""),
    ],
)
def test_a_name_finds_the_row_that_says_most_of_it(name: str, found: str) -> None:
    row = BY_QUEUE.find(name)
    assert (row.name if row else "") == found


def test_names_of_the_whole_scheduler_are_others() -> None:
    assert [row.scope for name in ("queue-mappings", "maximum-applications") if (row := BY_SCHEDULER.find(name))] == [
        PropertyScope.MAPPING,
        PropertyScope.SCHEDULER,
    ]
    assert BY_SCHEDULER.find("capacity") is None


TREE = {
    "root.queues": "a,b",
    "root.a.queues": "x,y",
    "root.b.queues": "z",
    **{f"root.{path}.capacity": "1w" for path in ("a", "b", "a.x", "a.y", "b.z")},
}


def of(said: dict[str, str]) -> tuple[Queue, ...]:
    return unsaid(described({PREFIX + name: text for name, text in {**TREE, **said}.items()}).queues)


@pytest.mark.parametrize("row", [row for row in OF_QUEUES if row.default and row.fields], ids=lambda row: row.name)
def test_default_of_a_queues_property_is_what_counts_where_nothing_is_said(row: PropertyRow) -> None:
    path = "root.a.x" if row.scope is not PropertyScope.PARENT else "root.a"
    if row.name == "capacity":  # weights stand beside it
        return
    said = {queue.path: queue for queue in of({f"{path}.{row.name}": row.default})}[path]
    bare = {queue.path: queue for queue in of({})}[path]
    acls = {"submit_acl": None, "administer_acl": None}  # that nothing is said is told apart
    assert replace(said, **acls) == replace(bare, **acls)  # type: ignore[arg-type]


@pytest.mark.parametrize("row", [row for row in OF_SCHEDULER if row.default], ids=lambda row: row.name)
def test_default_of_the_scheduler_likewise(row: PropertyRow) -> None:
    assert of({row.name: row.default}) == of({})


SAID = {
    "capacity": ["0w", "2w", "2.5w"],
    "maximum-capacity": ["50", "33.333333333333336", "100"],
    "user-limit-factor": ["-1", "0", "0.3", "2"],
    "minimum-user-limit-percent": ["25", "12.5"],
    "user-settings.alice.weight": ["0.5", "1"],
    "user-settings.b.c.weight": ["0", "0.25"],
    "maximum-am-resource-percent": ["0.5", "0"],
    "maximum-applications": ["0", "7"],
    "maximum-allocation-mb": ["2048", "4096"],
    "maximum-allocation-vcores": ["2", "3"],
    "maximum-allocation": ["memory-mb=1024", "[memory=1024,vcores=1]"],
    "max-parallel-apps": ["0", "2", "2147483647"],
    "priority": ["-3", "0", "5"],
    "disable_preemption": ["true", "false"],
    "intra-queue-preemption.disable_preemption": ["true", "false"],
    "acl_submit_applications": [" ", "*", "alice,bob etl"],
    "acl_administer_queue": [" ", "carol"],
    "maximum-application-lifetime": ["-1", "0", "60", "600"],
    "default-application-lifetime": ["-1", "0", "30"],
    "yodel.remote-shuffle.service": ["spark-decommission", "none"],
}
ORDERS = {True: ["fifo", "fair"], False: ["utilization", "priority-utilization"]}
LEAVES, PARENTS = ("root.a.x", "root.a.y", "root.b.z"), ("root", "root.a", "root.b")
OF_LEAVES = {row.name for row in OF_QUEUES if row.scope is PropertyScope.LEAF}


def own_words(path: str) -> st.SearchStrategy[dict[str, str]]:
    is_leaf = path in LEAVES
    known = {name: values for name, values in SAID.items() if is_leaf or name not in OF_LEAVES}
    known["ordering-policy"] = ORDERS[is_leaf]
    if path == "root":
        del known["capacity"]
    if path != "root":
        known["state"] = ["STOPPED"]
    names = st.sets(st.sampled_from(sorted(known)), max_size=6)
    return names.flatmap(
        lambda drawn: st.fixed_dictionaries({f"{path}.{name}": st.sampled_from(known[name]) for name in sorted(drawn)})
    )


windows = st.fixed_dictionaries(
    {
        "root.a.window.w.cron": st.sampled_from(["0 8 * * 1-5", "@daily"]),
        "root.a.window.w.duration-s": st.integers(60, 86_400).map(str),
        "root.a.window.w.maximum-capacity": st.floats(0, 100).map(repr),
    },
    optional={
        "root.a.window.w.time-zone": st.just("Europe/Berlin"),
        "root.a.window.w.stop-new-before-s": st.integers(0, 600).map(str),
        "root.a.window.w.give-back-stages": st.integers(0, 100).map(str),
    },
)
of_all = st.fixed_dictionaries(
    {},
    optional={
        "maximum-applications": st.integers(1, 20_000).map(str),
        "max-parallel-apps": st.integers(0, 9).map(str),
        "legacy-queue-mode.enabled": st.sampled_from(["true", "false"]),
    },
)


@settings(max_examples=150)
@given(st.tuples(*map(own_words, (*PARENTS, *LEAVES)), of_all, st.just({}) | windows))
def test_what_an_export_says_is_imported_as_the_same_queues(drawn: tuple[dict[str, str], ...]) -> None:
    try:
        queues = of({name: text for part in drawn for name, text in part.items()})
    except Refused as error:  # what one queue says does not go with what another says
        if not str(error).startswith(("The parent queue:", "Default lifetime", "Illegal queue capacity", "Weight (")):
            raise
        return
    exported = properties_of(queues, 0.5)
    found = understood(entries(text_of(exported, "exported").encode()))
    assert (found.refusals, found.notes) == ([], [])
    assert found.properties == exported
    again = described(found.properties)
    root, *rest = queues
    assert unsaid(again.queues) == (replace(root, submit_acl=root.submit_acl or "*"), *rest)
    assert again.am_share == 0.5
    assert properties_of(again.queues, 0.5) == exported


def test_the_trees_that_are_drawn_say_every_property_that_a_row_keeps_a_field_of() -> None:
    fields = {row.name for row in (*OF_QUEUES, *OF_WINDOWS) if row.fields}
    named = SAID.keys() | {"state", "ordering-policy"} | {row.name for row in OF_WINDOWS}
    assert fields <= named
