"""Mapping rules: where an application goes, how rules are written, and what is none."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yodel.domain.queues.mapping import Fallback, MappingPolicy, MappingRules, RejectedByRule, Submitted, placed
from yodel.domain.queues.mapping_properties import FORMAT, JSON, LEGACY, OVERRIDE, mapping_of
from yodel.errors import Refused

LEAVES = (
    *("root.default", "root.etl", "root.users.alice", "root.users.bob_dot_b", "root.teams.dev", "root.teams.ops"),
    *("root.dev.alice", "root.a.twice", "root.b.twice", "root.nightly"),
)
PARENTS = ("root", "root.users", "root.teams", "root.dev", "root.a", "root.b")


def rule(policy: str = "custom", *, type: str = "user", matches: str = "*", **more: Any) -> dict[str, Any]:
    return {"type": type, "matches": matches, "policy": policy, **more}


def of_json(*rules: dict[str, Any], **more: str) -> MappingRules:
    return mapping_of({FORMAT: "json", JSON: json.dumps({"rules": rules}), **more}, LEAVES, PARENTS)


def of_words(text: str, **more: str) -> MappingRules:
    return mapping_of({LEGACY: text, **more}, LEAVES, PARENTS)


def find(name: str) -> str | None:
    if name in LEAVES:
        return name
    named = [path for path in (*LEAVES, *PARENTS) if path.rpartition(".")[2] == name]
    return named[0] if len(named) == 1 and named[0] in LEAVES else None


def queue_of(
    rules: MappingRules,
    user: str = "alice",
    groups: tuple[str, ...] = ("dev", "staff", "ops"),
    application: str = "pi",
    queue: str = "default",
) -> str:
    submitted = Submitted(user=user, groups=groups, application=application, queue=queue)
    return placed(rules, submitted, find, (*LEAVES, *PARENTS).__contains__)


@pytest.mark.parametrize(
    ("said", "queue"),
    [
        (rule(customPlacement="root.etl"), "root.etl"),
        (rule(customPlacement="etl"), "root.etl"),
        (rule("user", parentQueue="root.users"), "root.users.alice"),
        (rule("primaryGroup", parentQueue="root.teams"), "root.teams.dev"),
        (rule("secondaryGroup", parentQueue="root.teams"), "root.teams.ops"),
        (rule("primaryGroupUser", parentQueue="root"), "root.dev.alice"),
        (rule("applicationName"), "default"),
        (rule("defaultQueue"), "root.default"),
        (rule(customPlacement="root.%primary_group.%user"), "root.dev.alice"),
        (rule(matches="bob", customPlacement="root.etl"), "default"),
        (rule(matches="%user", customPlacement="root.etl"), "root.etl"),
        (rule(type="group", matches="ops", customPlacement="root.etl"), "root.etl"),
        (rule(type="group", matches="none", customPlacement="root.etl"), "default"),
        (rule(type="application", matches="pi", customPlacement="root.etl"), "root.etl"),
        (rule(type="application", matches="%user", customPlacement="root.etl"), "default"),
        (rule("primaryGroup", parentQueue="root.users"), "default"),
        (rule("primaryGroup", parentQueue="root.users", fallbackResult="placeDefault"), "root.default"),
    ],
)
def test_rule_places_or_leaves_it(said: dict[str, Any], queue: str) -> None:
    assert queue_of(of_json(said)) == queue


def test_first_rule_that_places_decides_and_a_default_may_be_set() -> None:
    rules = of_json(
        rule("setDefaultQueue", value="root.etl"),
        rule("primaryGroup", parentQueue="root.users"),
        rule("defaultQueue"),
        rule(customPlacement="root.users.alice"),
    )
    assert queue_of(rules) == "root.etl"
    rules = of_json(rule("setDefaultQueue", value="root.etl"), rule(customPlacement="root.users.alice"))
    assert queue_of(rules) == "root.users.alice", "setting a default places nobody"


def test_names_with_dots_are_parts_of_a_path() -> None:
    rules = of_json(rule("user", parentQueue="root.users"))
    assert queue_of(rules, "bob.b") == "root.users.bob_dot_b"
    assert queue_of(rules, "users.alice") == "default", "nobody gets another's queue by his name"
    assert queue_of(rules, "..") == queue_of(rules, "") == "default"


def test_what_a_variable_stands_for_is_no_variable() -> None:
    rules = of_json(rule(type="application", matches="%user", customPlacement="root.etl"))
    assert queue_of(rules, "%application") == "default"
    assert queue_of(rules, "%application", application="%application") == "root.etl"
    assert queue_of(of_json(rule("user", parentQueue="root.users")), "%specified", queue="default") == "default"


def test_rule_refuses() -> None:
    for rules in (
        of_json(rule("reject", matches="alice")),
        of_json(rule("primaryGroup", parentQueue="root.users", fallbackResult="reject")),
    ):
        with pytest.raises(RejectedByRule, match="rejected by a mapping rule"):
            queue_of(rules)
    assert queue_of(of_json(rule("reject", matches="alice")), "bob") == "default"


def test_who_names_a_queue_keeps_it_unless_rules_override() -> None:
    said = rule(customPlacement="root.etl")
    assert queue_of(of_json(said), queue="root.nightly") == "root.nightly"
    assert queue_of(of_json(said), queue="root.default") == "root.default"
    assert queue_of(of_json(said, **{OVERRIDE: "true"}), queue="root.nightly") == "root.etl"
    specified = of_json(rule("specified"), rule(customPlacement="root.etl"), **{OVERRIDE: "true"})
    assert [queue_of(specified, queue=name) for name in ("nightly", "default")] == ["root.nightly", "root.etl"]


def test_queue_mappings() -> None:
    rules = of_words("u:bob:etl, g:ops:root.teams.ops ,u:%user:root.users.%user")
    assert queue_of(rules, "bob") == "root.etl"
    assert queue_of(rules) == "root.teams.ops"
    assert queue_of(rules, groups=("dev",)) == "root.users.alice"
    assert queue_of(rules, "carol", ()) == "root.default", "placed in the default queue where its own is not there"


@pytest.mark.parametrize(
    ("properties", "text"),
    [
        ({LEGACY: "u:alice"}, "Illegal queue mapping u:alice"),
        ({LEGACY: "u:alice:"}, "Illegal queue mapping u:alice:"),
        ({LEGACY: "x:alice:etl"}, "unknown mapping prefix x"),
        ({LEGACY: "u:a:nowhere"}, "queue-mappings, rule 1: queue 'nowhere' does not exist; expected a leaf queue"),
        ({LEGACY: "u:a:root.users"}, "queue 'root.users' is no leaf"),
        ({LEGACY: "u:a:twice"}, "'twice' is the name of 2 queues; expected a path"),
        ({LEGACY: "u:a:root..x"}, "expected a queue's path without empty parts"),
        ({LEGACY: "u:a:root.%group"}, "expected parts that are names or one of %application"),
        ({LEGACY: "u:a:root.x%user"}, "expected parts that are names or one of"),
        ({LEGACY: "u:a:root.etl.%user"}, "expected a queue root.etl that has queues below it"),
        ({LEGACY: ",".join(["u:a:etl"] * 501)}, "501 rules; expected at most 500"),
        ({LEGACY: "u:a:" + "x" * 2000}, "a queue of 2000 characters; expected at most 1024"),
        ({LEGACY: "x" * 70_000}, "70000 characters; expected at most 65536"),
        ({OVERRIDE: "yes"}, "queue-mappings-override.enable: 'yes'; expected true or false"),
        ({FORMAT: "yaml"}, "mapping-rule-format: 'yaml'; expected json or legacy"),
        ({FORMAT: "json", LEGACY: "u:a:etl"}, "queue-mappings has no effect with .*=json"),
        ({JSON: "{}"}, "mapping-rule-json has no effect with .*=legacy"),
        ({FORMAT: "json", JSON: "{"}, "mapping-rule-json: .*expected JSON"),
        ({FORMAT: "json", JSON: "[" * 5000}, "expected JSON"),
        ({FORMAT: "json", JSON: "[]"}, 'expected an object with "rules", a list, and nothing else'),
        ({FORMAT: "json", JSON: '{"rules": [], "x": 1}'}, "and nothing else"),
        ({FORMAT: "json", JSON: '{"rules": [1]}'}, "rule 1: expected an object"),
    ],
)
def test_what_is_no_rule_is_refused_by_its_place(properties: dict[str, str], text: str) -> None:
    with pytest.raises(Refused, match=text):
        mapping_of(properties, LEAVES, PARENTS)


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (
            {"matches": "*", "policy": "user"},
            "rule 2: Rule type is undefined; expected one of user, group, application",
        ),
        ({"type": "user", "matches": "*"}, "rule 2: Rule policy is undefined"),
        ({"type": "user", "policy": "user"}, "rule 2: Match string is undefined"),
        (rule("user", matches=" "), "rule 2.matches: Match string is empty"),
        (rule("user", type="group"), r"rule 2.matches: Cannot match '\*' for groups"),
        (rule("queue"), "rule 2.policy: 'queue'; expected one of specified, defaultQueue, user"),
        (rule("custom"), "rule 2: custom queue is undefined"),
        (rule("setDefaultQueue"), "rule 2: default queue is undefined"),
        (rule("user", fallbackResult="stop"), "rule 2.fallbackResult: 'stop'; expected one of skip, reject, placeD"),
        (rule("user", create="yes"), "rule 2.create: expected true or false"),
        (rule("user", parentQueue=1), "rule 2.parentQueue: expected text"),
        (rule("user", parent="root"), "rule 2: 'parent'; expected one of create, customPlacement"),
        (
            rule("custom", customPlacement="etl", parentQueue="root"),
            "rule 2.parentQueue has no effect with the policy c",
        ),
        (rule("user", value="etl"), "rule 2.value has no effect with the policy user"),
        (rule("user", parentQueue="root.nowhere"), "expected a queue root.nowhere that has queues below it"),
        (rule("setDefaultQueue", value="nowhere"), "queue 'nowhere' does not exist"),
    ],
)
def test_rule_of_the_wrong_form_is_refused_by_its_number_and_field(said: dict[str, Any], text: str) -> None:
    with pytest.raises(Refused, match=text):
        of_json(rule("defaultQueue"), said)


names = st.one_of(st.sampled_from(["alice", "bob.b", "dev", "..", "%user", "root", ""]), st.text(max_size=12))


@given(st.data(), names, st.lists(names, max_size=3), names, names)
def test_whoever_it_is_goes_to_a_leaf_or_is_refused(
    data: st.DataObject, user: str, groups: list[str], application: str, queue: str
) -> None:
    policies = ("specified", "defaultQueue", "user", "primaryGroup", "secondaryGroup", "primaryGroupUser", "reject")
    said = []
    for policy in data.draw(st.lists(st.sampled_from(policies), min_size=1, max_size=4)):
        kind = data.draw(st.sampled_from(["user", "group", "application"]))
        matches = data.draw(st.sampled_from(["%user", "%primary_group", "alice", "%application"]))
        fallback = data.draw(st.sampled_from(["skip", "reject", "placeDefault"]))
        said.append(rule(policy, type=kind, matches=matches, fallbackResult=fallback))
    rules = of_json(*said, **{OVERRIDE: data.draw(st.sampled_from(["true", "false"]))})
    try:
        found = queue_of(rules, user, tuple(groups), application, queue)
    except RejectedByRule:
        assert any(one.policy is MappingPolicy.REJECT or one.fallback is Fallback.REJECT for one in rules.rules)
    else:
        assert found in LEAVES or found == queue
