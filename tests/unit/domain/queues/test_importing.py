"""Real shapes of capacity-scheduler.xml go in and come out the same; what cannot is refused with its line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.records import unsaid
from yodel.domain.queues.importing import ImportRemark, Understood, understood
from yodel.domain.queues.properties import described, properties_of
from yodel.domain.queues.property_table import WITHOUT_EFFECT
from yodel.domain.queues.queue import Queue, leaves_under_root
from yodel.domain.queues.xml_file import Entry, NotReadable, entries, text_of
from yodel.domain.scheduler_conf import PREFIX
from yodel.settings.rm import Settings

STOCK = {
    "maximum-applications": "10000",
    "maximum-am-resource-percent": "0.1",
    "resource-calculator": "org.apache.hadoop.yarn.util.resource.DefaultResourceCalculator",
    "root.queues": "default",
    "root.default.capacity": "100",
    "root.default.user-limit-factor": "1",
    "root.default.maximum-capacity": "100",
    "root.default.state": "RUNNING",
    "root.default.acl_submit_applications": "*",
    "root.default.acl_administer_queue": "*",
    "root.default.acl_application_max_priority": "*",
    "root.default.maximum-application-lifetime": "-1",
    "root.default.default-application-lifetime": "-1",
    "node-locality-delay": "40",
    "rack-locality-additional-delay": "-1",
    "queue-mappings": "",
    "queue-mappings-override.enable": "false",
    "per-node-heartbeat.maximum-offswitch-assignments": "1",
    "application.fail-fast": "false",
    "workflow-priority-mappings": "",
    "workflow-priority-mappings-override.enable": "false",
}
"""The configuration that Hadoop 3.5 comes with."""
DEEP = {
    "root.queues": "prod,dev",
    "root.prod.queues": "etl,bi",
    "root.prod.etl.queues": "hourly,nightly",
    "root.prod.capacity": "70",
    "root.ordering-policy": "priority-utilization",
    "root.prod.priority": "5",
    "ordering-policy.priority-utilization.underutilized-preemption.enabled": "false",
    "root.prod.maximum-capacity": "90",
    "root.prod.acl_administer_queue": " ops",
    "root.prod.user-settings.alice.weight": "0.5",
    "root.prod.etl.capacity": "60",
    "root.prod.etl.hourly.capacity": "50.5",
    "root.prod.etl.nightly.capacity": "49.5",
    "root.prod.etl.nightly.state": "STOPPED",
    "root.prod.bi.capacity": "40",
    "root.prod.bi.ordering-policy": "fair",
    "root.prod.bi.minimum-user-limit-percent": "25",
    "root.dev.capacity": "30",
    "root.dev.user-limit-factor": "-1",
    "root.dev.maximum-am-resource-percent": "0.3",
    "root.dev.maximum-applications": "50",
    "max-parallel-apps": "20",
    "root.prod.max-parallel-apps": "10",
    "root.dev.disable_preemption": "true",
    "root.acl_submit_applications": " ",
}
FLAT = {"root.queues": "a, b ,c", "root.a.capacity": "20", "root.b.capacity": "30", "root.c.capacity": "50"}
PERCENT = {**FLAT, "root.b.maximum-capacity": "60%", "user-limit-factor": "2", "root.a.user-limit-factor": "0.5"}
WEIGHT = {**FLAT, "root.a.capacity": "2w", "root.b.capacity": "3.5w", "root.c.capacity": "0w"}
ABSOLUTE = {
    **FLAT,
    "root.a.capacity": "[memory=20480,vcores=20]",
    "root.b.capacity": "[memory=10240,vcores=10]",
    "root.c.capacity": "[memory=10240,vcores=10]",
    "root.c.maximum-capacity": "[memory=20480,vcores=20]",
}
MIXED = {
    **FLAT,
    "legacy-queue-mode.enabled": "false",
    "root.a.capacity": "[memory=20Gi, vcores=2w, yarn.io/gpu=1]",
    "root.b.capacity": "[memory=50%,vcores=25%]",
    "root.b.maximum-capacity": "[memory=75%]",
    "root.c.capacity": "2w",
}
LABELS = {
    **FLAT,
    "root.accessible-node-labels.gpu.capacity": "100",
    "root.a.accessible-node-labels": "gpu",
    "root.a.accessible-node-labels.gpu.capacity": "100",
    "root.a.default-node-label-expression": "gpu",
    "root.b.accessible-node-labels": "*",
    "queue-mappings": "u:%user:a,g:dev:b",
}


def file_of(said: dict[str, str]) -> bytes:
    """One property a line, the first in line 2."""
    items = "".join(
        f"<property><name>{PREFIX}{name}</name><value>{value}</value></property>\n" for name, value in said.items()
    )
    return f"<configuration>\n{items}</configuration>".encode()


def read(said: dict[str, str]) -> Understood:
    return understood(entries(file_of(said)))


def said_rows(found: Understood) -> list[Queue]:
    return list(described(found.properties).queues)


@pytest.mark.parametrize(
    "said",
    [STOCK, FLAT, DEEP, PERCENT, WEIGHT, ABSOLUTE, MIXED],
    ids=["stock", "flat", "deep", "percent", "weight", "absolute", "mixed"],
)
def test_shape_comes_in_goes_out_and_comes_in_the_same(said: dict[str, str]) -> None:
    first = read(said)
    assert first.refusals == []
    rows = said_rows(first)
    second = understood(entries(text_of(first.properties, "version 7").encode()))
    assert (second.refusals, second.notes) == ([], [])
    assert second.properties == first.properties
    assert said_rows(second) == rows


@pytest.mark.parametrize("said", [STOCK, DEEP, PERCENT, WEIGHT, ABSOLUTE, MIXED])
def test_nothing_is_dropped_without_a_word(said: dict[str, str]) -> None:
    found = read(said)
    lines = {name: line for line, name in enumerate(said, 2)}
    untouched = {name for name, value in said.items() if found.properties.get(PREFIX + name) == value}
    noted = {note.line for note in found.notes}
    assert {lines[name] for name in said if name not in untouched} == noted
    texts = " ".join(note.text for note in found.notes)
    assert all(f"{PREFIX}{name} " in texts for name in said if name not in untouched)


def test_what_the_stock_file_says_of_the_whole_is_converted_or_left_out() -> None:
    found = read(STOCK)
    assert found.properties[f"{PREFIX}resource-calculator"].endswith(".DominantResourceCalculator")
    assert found.properties[f"{PREFIX}maximum-applications"] == "10000"


def test_limits_of_the_whole_become_those_of_leaves_that_say_nothing() -> None:
    found = read({**DEEP, "user-limit-factor": "2", "global-queue-max-application": "100"})
    by_path = {queue.path: queue for queue in described(found.properties).queues}
    assert (by_path["root.prod.bi"].user_limit_factor, by_path["root.dev"].user_limit_factor) == (2.0, -1.0)
    assert (by_path["root.prod.bi"].maximum_applications, by_path["root.dev"].maximum_applications) == (100, 50)
    assert by_path["root.prod"].user_limit_factor == 1.0


def test_labels_are_refused_by_name_and_line() -> None:
    found = read(LABELS)
    assert [said.line for said in found.refusals] == [6, 7, 8, 9]
    assert str(found.refusals[0]) == (
        f"line 6: {PREFIX}root.accessible-node-labels.gpu.capacity is not supported here yet: shares by node label"
    )
    assert found.properties[f"{PREFIX}root.b.accessible-node-labels"] == "*"


MAPPED = {
    **FLAT,
    "mapping-rule-format": "json",
    "mapping-rule-json": '{"rules": [\n {"type": "user", "matches": "*", "policy": "custom", "customPlacement": "a"}]}',
    "queue-mappings-override.enable": "true",
}


def test_mapping_rules_come_in_and_out() -> None:
    found = read(MAPPED)
    assert found.refusals == []
    rules = described(found.properties).mapping
    assert (len(rules.rules), rules.are_overriding) == (1, True)
    again = understood(entries(text_of(found.properties, "x").encode()))
    assert described(again.properties).mapping == rules


def test_mapping_rule_that_is_wrong_is_refused_with_its_line() -> None:
    (refusal,) = read({**FLAT, "queue-mappings": "u:%user:a,g:dev:nowhere"}).refusals
    expected = f"Invalid {PREFIX}queue-mappings, rule 2: queue 'nowhere' does not exist; expected a leaf queue"
    assert (refusal.line, refusal.text) == (2 + len(FLAT), expected)
    (refusal,) = read({**FLAT, "mapping-rule-json-file": "/etc/rules.json"}).refusals
    assert "a separate file of mapping rules" in refusal.text


MALFORMED = {
    "sum": ({"root.a.capacity": "30"}, 3, "Illegal capacity sum of 1.1 for children of queue root"),
    "below 0": ({"root.b.capacity": "-1"}, 4, "Illegal capacity of -1.0 for queue root.b"),
    "above 100": ({"root.c.maximum-capacity": "101"}, 6, "Illegal maximum-capacity of 101.0 for queue root.c"),
    "more than its maximum": (
        {"root.c.maximum-capacity": "40"},
        6,
        "When label=[] in queue root.c",
    ),
    "no number": ({"root.b.capacity": "many"}, 4, "root.b.capacity: 'many'; expected a number"),
    "mixed kinds": ({"root.a.capacity": "2w"}, 3, "have children queue used mixed of  weight mode"),
    "weight": ({**WEIGHT, "root.a.capacity": "10001w"}, 3, "Illegal weight=10001.0 for queue=root.a"),
    "name": ({"root.queues": "a,b,c,d e"}, 2, "root.queues: 'a,b,c,d e'; expected names of letters"),
    "name twice": ({"root.queues": "a,b,c,a"}, 2, "none twice"),
    "no queue": ({"root.queues": ""}, 2, "root.queues names no queue"),
    "state": ({"root.b.state": "RUNING"}, 6, "root.b.state: 'RUNING'; expected RUNNING or STOPPED"),
    "child of a stopped queue": (
        {
            "root.a.queues": "x",
            "root.a.x.capacity": "100",
            "root.a.state": "STOPPED",
            "root.a.x.state": "RUNNING",
        },
        3,
        "The parent queue:root.a cannot be STOPPED as the child queue:root.a.x is in RUNNING state.",
    ),
    "unknown property": ({"root.a.capcity": "1"}, 6, "root.a.capcity is unknown"),
    "unknown of all": ({"maximum-aplications": "1"}, 6, "maximum-aplications is unknown"),
    "limit of applications": ({"maximum-applications": "0"}, 6, "maximum-applications: '0'; expected a number from 1"),
    "root's capacity": ({"root.capacity": "50"}, 6, "Illegal capacity of 0.5 for queue root. Must be 100.0"),
    "user's weight": ({"root.a.user-settings.x.weight": "2"}, 3, 'Weight (2.0) for user "x" must be between 0 and 100'),
    "factor of a parent": (
        {"root.a.queues": "x", "root.a.x.capacity": "100", "root.a.user-limit-factor": "2"},
        8,
        "root.a is not a leaf queue",
    ),
    "lifetimes": (
        {"root.a.maximum-application-lifetime": "5", "root.a.default-application-lifetime": "6"},
        None,
        "Default lifetime 6 can't exceed maximum lifetime 5",
    ),
    "zero below some": (
        {"root.a.queues": "x", "root.a.x.capacity": "0"},
        3,
        "It is set to 0, but parent percent != 0",
    ),
    "priority": ({"root.a.priority": "high"}, 6, "root.a.priority: 'high'; expected a number from -2.14748e+09"),
    "preemption by priority": (
        {"ordering-policy.priority-utilization.underutilized-preemption.enabled": "true"},
        6,
        "underutilized-preemption.enabled is not supported here yet: preemption by priority of queues",
    ),
    "order of a parent": ({"root.ordering-policy": "random"}, 6, "expected priority-utilization or utilization"),
    "ordering": ({"root.a.ordering-policy": "random"}, 6, "root.a.ordering-policy: 'random'; expected fair or fifo"),
    "calculator": ({"resource-calculator": "x.Y"}, 6, "resource-calculator cannot be x.Y"),
    "variable": ({"root.a.state": "${state}"}, 6, "contains a variable, which is not expanded"),
    "mode": ({"legacy-queue-mode.enabled": "maybe"}, 6, "legacy-queue-mode.enabled: 'maybe'; expected true or false"),
    "amount and percent": ({"root.a.capacity": "[memory=1024,vcores=1]"}, 3, "{Queue=root.a, label= uses absolute"),
    "amount of nothing known": (
        {"root.a.capacity": "[memory]"},
        3,
        "root.a.capacity: '[memory]'; expected amounts such as [memory",
    ),
    "unit": ({**ABSOLUTE, "root.b.capacity": "[memory=10240,vcores=1Gi]"}, 4, "expected vcores without a unit"),
    "weight as a maximum": (
        {**MIXED, "root.b.maximum-capacity": "[memory=2w]"},
        7,
        "Resource memory-mb has WEIGHT maximum capacity type, which is not supported in queue root.b",
    ),
    "minimum above maximum": (
        {**ABSOLUTE, "root.c.maximum-capacity": "[memory=1024,vcores=20]"},
        5,
        "Min resource configuration <memory:10240, vCores:10> is greater than its max value:<memory:1024, vCores:20> "
        "in queue:root.c",
    ),
    "more than the parent": (
        {**ABSOLUTE, "root.a.queues": "x", "root.a.x.capacity": "[memory=20481,vcores=1]"},
        3,
        "Parent Queues capacity: <memory:20480, vCores:20> is less than to its children:<memory:20481, vCores:1> for "
        "queue:root.a",
    ),
    "percent below an amount": (
        {**ABSOLUTE, "root.a.queues": "x", "root.a.x.capacity": "100"},
        3,
        "Parent=root.a: When absolute minResource is used, we must make sure both parent and child all use absolute",
    ),
    "too many percents": (
        {**MIXED, "root.a.queues": "x,y", "root.a.x.capacity": "[memory=60%,vcores=1]", "root.a.y.capacity": "50"},
        3,
        "Illegal capacity sum of 1.1 for children of queue root.a for label=. It should be at most 1.0 of memory-mb",
    ),
    "parallel of users": (
        {"user.max-parallel-apps": "5"},
        6,
        "user.max-parallel-apps is not supported here yet: limits of parallel applications by user",
    ),
    "parallel of one user": (
        {"user.alice.max-parallel-apps": "5"},
        6,
        "user.alice.max-parallel-apps is not supported here yet: limits of parallel applications by user",
    ),
    "parallel": ({"root.a.max-parallel-apps": "-1"}, 6, "root.a.max-parallel-apps: '-1'; expected a number from 0"),
    "made by themselves": ({"root.a.auto-queue-creation-v2.enabled": "true"}, 6, "automatic creation of queues"),
    "share of masters": (
        {"maximum-am-resource-percent": "10"},
        6,
        "expected a part of the cluster, over 0",
    ),
    "underscore": ({"root.b.capacity": "3_0"}, 4, "root.b.capacity: '3_0'; expected a number"),
}


@pytest.mark.parametrize(("changes", "line", "text"), MALFORMED.values(), ids=MALFORMED)
def test_malformed_file_is_refused_with_its_line(changes: dict[str, str], line: int | None, text: str) -> None:
    (refusal,) = read({**FLAT, **changes}).refusals
    assert text in str(refusal)
    assert line is None or refusal.line == line


@pytest.mark.parametrize(
    ("path", "order", "why"),
    [
        ("root", "fair", "applications, and this is a parent queue"),
        ("root", " FIFO ", "applications, and this is a parent queue"),
        ("root.a", "fifo", "applications, and this is a parent queue"),
        ("root.a", "fifo-with-partitions", "applications, and this is a parent queue"),
        ("root.b", "utilization", "queues, and this is a leaf queue"),
        ("root.a.x", "priority-utilization", "queues, and this is a leaf queue"),
    ],
)
def test_an_order_of_the_other_kind_of_queue_is_left_out(path: str, order: str, why: str) -> None:
    """Hadoop's own ResourceManager ends at it (CapacitySchedulerConfiguration.getQueueOrderingPolicy)."""
    said = {**FLAT, "root.a.queues": "x", "root.a.x.capacity": "100", f"{path}.ordering-policy": order}
    found = read(said)
    assert found.refusals == []
    (note,) = [note for note in found.notes if "ordering-policy" in note.text]
    assert note.text == (
        f"{PREFIX}{path}.ordering-policy is left out: {order.strip()} orders {why}; Hadoop's ResourceManager "
        "does not start with it"
    )
    assert f"{PREFIX}{path}.ordering-policy" not in found.properties
    assert read({**said, f"{path}.ordering-policy": "random"}).refusals


def test_what_is_said_of_a_property_is_so() -> None:
    """Reasons name settings that there are; what is called missing has no effect here."""
    reasons = " ".join(row.why for row in WITHOUT_EFFECT)
    named = set(re.findall(r"\b[a-z]+(?:_[a-z]+)+\b", reasons))
    assert named == {"node_locality_delay_s", "rack_locality_delay_s"}
    assert named <= Settings.model_fields.keys()
    for wrong in ("nothing is preempted", "no node is reserved", "locality is asked of Kubernetes"):
        assert wrong not in reasons, "it exists"


def test_several_faults_are_told_at_once() -> None:
    said = {
        **FLAT,
        "root.a.state": "x",
        "root.b.state": "y",
        "root.a.user-limit-factor": "z",
        "root.c.reservable": "true",
    }
    found = read(said)
    assert [refusal.line for refusal in found.refusals] == [6, 7, 8, 9]
    assert sorted(found.refused) == sorted(PREFIX + name for name in said if name not in FLAT)
    assert found.properties == read(FLAT).properties, "what is left may be taken over"


def test_property_that_is_said_twice_is_refused() -> None:
    twice = file_of(FLAT).replace(b"</configuration>", file_of({"root.a.capacity": "1"})[16:])
    (refusal,) = understood(entries(twice)).refusals
    assert str(refusal) == f"line 6: {PREFIX}root.a.capacity is set twice, also in line 3"


def test_property_of_something_else_is_refused() -> None:
    data = file_of(FLAT).replace(b"yarn.scheduler.capacity.root.b", b"yarn.scheduler.fair.root.b")
    assert "is not a property of the CapacityScheduler" in str(understood(entries(data)).refusals[0])


def test_values_over_several_lines_are_one() -> None:
    data = file_of(FLAT).replace(b"a, b ,c", b"\n   a,\n   b,\n   c\n  ")
    assert understood(entries(data)).properties[f"{PREFIX}root.queues"] == "a, b, c"


PROPERTY = "<property><name>a</name></property>"
BROKEN = {
    "empty": ("", 1, "not XML: no element found"),
    "no xml": ("capacity: 10", 1, "not XML"),
    "cut off": ("<configuration>\n<property>", 2, "not XML"),
    "doctype": ('\n<!DOCTYPE a [<!ENTITY b "c">]><configuration/>', 2, "a DOCTYPE is not read"),
    "entity": ("<configuration><property><name>&b;</name></property></configuration>", 1, "not XML: undefined entity"),
    "root": ("<properties/>", 1, "<properties> is not read; expected <configuration>"),
    "include": ('<configuration xmlns:xi="x">\n<xi:include href="/etc/passwd"/></configuration>', 2, "<xi:include> is"),
    "within": (f"<configuration>\n\n<property>{PROPERTY}</property></configuration>", 3, "<property> is not read"),
    "element": ("<configuration><property>\n<nam>a</nam></property></configuration>", 2, "<nam> is not read"),
    "deep": ("<configuration><property><name><b/></name></property></configuration>", 1, "<b> is not read"),
    "nameless": ("<configuration><property>\n</property></configuration>", 1, "a property without a name"),
    "name twice": ("<configuration><property><name>a</name>\n<name>b</name>", 2, "<name> twice in one property"),
    "attribute": ('<configuration><property name="a" value="b"/></configuration>', 1, "has the attribute 'name'"),
    "text": ("<configuration>\nroot.queues</configuration>", 2, "text between elements: 'root.queues'"),
    "encoding": ('<?xml version="1.0" encoding="klingon"?><configuration/>', 1, "not XML"),
}


@pytest.mark.parametrize(("text", "line", "words"), BROKEN.values(), ids=BROKEN)
def test_file_that_is_no_configuration_is_refused_with_its_line(text: str, line: int, words: str) -> None:
    with pytest.raises(NotReadable) as refused:
        entries(text.encode())
    assert words in str(refused.value)
    assert refused.value.line == line


def test_sizes_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotReadable, match="expected at most 8388608"):
        entries(b" " * (8 * 1024 * 1024 + 1))
    monkeypatch.setattr("yodel.domain.queues.xml_file.PROPERTIES_MAX", 3)
    with pytest.raises(NotReadable, match="line 5: more than 3 properties"):
        entries(file_of(FLAT))


def test_descriptions_and_comments_say_nothing() -> None:
    data = file_of(FLAT).replace(
        b"<name>", b"<!-- x --><final>true</final><description>&lt;b&gt;</description><name>", 1
    )
    assert understood(entries(data)).properties == read(FLAT).properties


def test_queues_of_the_settings_come_out_and_in() -> None:
    tree = leaves_under_root(["a", "b", "c"], maximum_lifetime_s=60, default_lifetime_s=-1)
    found = understood(entries(text_of(properties_of(tree, 0.5), "x").encode()))
    assert (found.refusals, found.notes) == ([], [])
    assert unsaid(described(found.properties).queues)[1:] == tree[1:]


@settings(max_examples=200)
@given(st.dictionaries(st.text(min_size=1, max_size=8), st.text(max_size=20), max_size=5), st.data())
def test_any_file_is_read_or_refused_and_never_lost(said: dict[str, str], data: st.DataObject) -> None:
    """The file is refused, or every property is taken over as it is or told with its line."""
    tree = dict(FLAT)
    names = ["capacity", "queues", "state", "a.b", "priority", "acl_submit_applications", "user-settings.x.weight"]
    for name, value in said.items():
        tree[data.draw(st.sampled_from([f"root.a.{n}" for n in names] + names))] = value
        tree[f"root.{name}"] = value
    printable = {n: v for n, v in tree.items() if n.isprintable() and v.isprintable() and n == n.strip()}
    found = understood(entries(text_of({PREFIX + n: v for n, v in printable.items()}, "x").encode()))
    told = [said.text for said in (*found.notes, *found.refusals)]
    assert not found.refusals or min(refusal.line for refusal in found.refusals) > 0
    for name, value in printable.items() if not found.refusals else ():
        is_there = found.properties.get(PREFIX + name) == value
        assert is_there or any(f"{PREFIX}{name} " in text or f"{PREFIX}{name}:" in text for text in told)


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("root" + "." * 100_000, "1", "expected a printable name of at most 4096 bytes"),
        ("root.default" + ".a" * 100, "1", "expected at most"),
        ("root.default.user-settings." + "." * 3_900 + ".weight", "1", "the name of a user of at most 256 characters"),
        ("root.queues", "a," * 400_000, "characters; expected at most"),
        ("root.default.queues", "a," * 6_000, "Too many queues"),
    ],
)
def test_what_is_too_long_is_refused_with_its_line(name: str, value: str, text: str) -> None:
    stock = [
        Entry(PREFIX + said, words, number) for number, (said, words) in enumerate(STOCK.items(), 1) if said != name
    ]
    found = understood([*stock, Entry(PREFIX + name, value, 99)])
    told = [refusal for refusal in found.refusals if refusal.line == 99]
    assert [text in refusal.text for refusal in told] == [True]
    assert len(told[0].text) < 300


def test_more_queues_than_a_tree_may_have_are_refused() -> None:
    tree = {"root.queues": "a,b"} | {f"root.{q}.queues": ",".join(f"q{n}" for n in range(3_000)) for q in "ab"}
    found = understood(Entry(PREFIX + name, text, line) for line, (name, text) in enumerate(tree.items(), 1))
    (refusal,) = found.refusals
    assert "Too many queues: at most 5000" in refusal.text


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (f"{PREFIX}root.a.acl_administer_jobs", "*"),
        (f"{PREFIX}root.acl_administer_jobs", "*"),
        (f"{PREFIX}default.minimum-user-limit-percent", "100"),
        ("capacity-scheduler", "null"),
        (f"{PREFIX}root.gone.capacity", "10"),
        (f"{PREFIX}root.A.capacity", "10"),
        (f"{PREFIX}root.gone.below.acl_submit_applications", "*"),
        (f"{PREFIX}root.gone.window.w.cron", "@daily"),
        (f"{PREFIX}root.gone.yodel.remote-shuffle.service", "none"),
        (f"{PREFIX}root.maximum-applications", "10"),
    ],
)
def test_what_hadoop_ignores_is_left_out_and_told(name: str, value: str) -> None:
    lines = [
        *((f"{PREFIX}root.queues", "a"), (f"{PREFIX}root.a.capacity", "100")),
        (name, value),
    ]
    found = understood([Entry(said, text, number) for number, (said, text) in enumerate(lines, 1)])
    assert found.refusals == []
    assert [note.line for note in found.notes] == [3]
    assert f"{name} is left out, Hadoop ignores this: " in found.notes[0].text
    assert name not in found.properties


AMBARI = (Path(__file__).parent / "ambari_capacity_scheduler.xml").read_bytes()
"""In the form of Ambari 2.7, with what its template for HDP 3 says, three queues, and a queue that was taken away."""


def told(said: Sequence[ImportRemark]) -> list[tuple[int, str]]:
    return [(one.line, one.text.removeprefix(PREFIX).partition(":")[0]) for one in said]


def test_a_file_of_ambari_is_taken_over_and_each_property_that_is_not_is_told_with_its_line() -> None:
    found = understood(entries(AMBARI))
    assert found.refusals == []
    assert told(found.notes) == [
        (14, "root.default.acl_administer_jobs is left out, Hadoop ignores this"),
        (16, "node-locality-delay is left out"),
        (17, "default.minimum-user-limit-percent is left out, Hadoop ignores this"),
        (18, "resource-calculator became DominantResourceCalculator"),
        (20, "capacity-scheduler is left out, Hadoop ignores this"),
        (26, "root.hive1.capacity is left out, Hadoop ignores this"),
        (28, "schedule-asynchronously.maximum-threads is left out"),
        (29, "schedule-asynchronously.scheduling-interval-ms is left out"),
    ]
    assert found.notes[5].text.endswith("no queues property names root.hive1; the nearest queue is root.hive2")
    queues = {queue.path: queue for queue in described(found.properties).queues}
    assert {path: queue.capacity_percent for path, queue in queues.items() if queue.is_leaf} == {
        "root.default": 20.0,
        "root.hive2": 30.0,
        "root.etl": 50.0,
    }


def test_all_refusals_of_a_file_of_ambari_are_told_and_the_rest_goes_without_them() -> None:
    """Each refusal names its property: labels, a share that is none, and priorities by user."""
    more = {
        "root.accessible-node-labels.default.capacity": "-1",
        "root.etl.maximum-capacity": "abc",
        "root.etl.acl_application_max_priority": "[user=hive max_priority=10]",
    }
    lines = "".join(
        f"<property><name>{PREFIX}{name}</name><value>{text}</value></property>\n" for name, text in more.items()
    )
    found = understood(entries(AMBARI.replace(b"</configuration>", lines.encode() + b"</configuration>")))
    assert [line for line, _ in told(found.refusals)] == [30, 31, 32]
    assert sorted(found.refused) == sorted(PREFIX + name for name in more)
    assert found.properties == understood(entries(AMBARI)).properties
