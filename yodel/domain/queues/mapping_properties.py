"""Parses mapping rules: ``queue-mappings``, or the JSON of ``mapping-rule-json`` (``MappingRuleCreator``).

If ``mapping-rule-format`` is ``json`` the JSON is used and ``queue-mappings`` is refused, because it would have no
effect; else the reverse.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from yodel.domain.queues.mapping import (
    ANYBODY,
    APPLICATION,
    DEFAULT,
    DEFAULT_PATH,
    PRIMARY,
    SECONDARY,
    SPECIFIED,
    USER,
    VARIABLES,
    Fallback,
    MappingPolicy,
    MappingRule,
    MappingRules,
    MatchKind,
)
from yodel.domain.queues.property_table import JSON_RULES, OVERRIDES, RULE_FORMAT, RULES
from yodel.domain.scheduler_conf import PREFIX
from yodel.errors import Refused

LEGACY, OVERRIDE, FORMAT, JSON = (PREFIX + row.name for row in (RULES, OVERRIDES, RULE_FORMAT, JSON_RULES))
MAPPING_PROPERTIES = frozenset({LEGACY, OVERRIDE, FORMAT, JSON})
TEXT_LENGTH_MAX = 65_536
"""The most characters of all rules."""
RULES_MAX = 500
TARGET_LENGTH_MAX = 1024
_FIELDS = frozenset(
    {"type", "matches", "policy", "parentQueue", "fallbackResult", "create", "value", "customPlacement"}
)
_TARGETS = {
    "specified": SPECIFIED,
    "defaultQueue": DEFAULT,
    "user": USER,
    "primaryGroup": PRIMARY,
    "secondaryGroup": SECONDARY,
    "primaryGroupUser": f"{PRIMARY}.{USER}",
    "secondaryGroupUser": f"{SECONDARY}.{USER}",
    "applicationName": APPLICATION,
}
_BELOW = frozenset(_TARGETS) - {"specified", "defaultQueue"}
"""Policies that a parentQueue may stand before."""
_POLICIES = (*_TARGETS, "custom", "setDefaultQueue", "reject")
_KINDS = {"u": MatchKind.USER, "g": MatchKind.GROUP}


def mapping_of(properties: Mapping[str, str], leaves: Collection[str], parents: Collection[str]) -> MappingRules:
    """The rules, whose targets are paths or names of queues that there are.

    Raises:
        Refused: names the property, the rule, the field, what is there and what was expected.
    """
    is_json = RULE_FORMAT.value(FORMAT, properties.get(FORMAT))
    unread = LEGACY if is_json else JSON
    if properties.get(unread, "").strip():
        raise Refused(f"Property {unread} has no effect with {FORMAT}={'json' if is_json else 'legacy'}")
    name = JSON if is_json else LEGACY
    text = properties.get(name, "").strip()
    if len(text) > TEXT_LENGTH_MAX:
        raise Refused(f"Invalid {name}: {len(text)} characters; expected at most {TEXT_LENGTH_MAX}")
    rules = (_of_json(text) if is_json else _of_words(text)) if text else ()
    if len(rules) > RULES_MAX:
        raise Refused(f"Invalid {name}: {len(rules)} rules; expected at most {RULES_MAX}")
    for number, rule in enumerate(rules, 1):
        _require_queue(f"{name}, rule {number}", rule, leaves, parents)
    return MappingRules(rules=rules, are_overriding=OVERRIDES.value(OVERRIDE, properties.get(OVERRIDE)))


def _of_words(text: str) -> tuple[MappingRule, ...]:
    """``u:USER:QUEUE`` and ``g:GROUP:QUEUE``, with commas between (``CSC.parseLegacyMappingRules``)."""
    found = []
    for entry in (part.strip() for part in text.split(",")):
        words = [word.strip() for word in entry.split(":")]
        if len(words) != 3 or not all(words):
            raise Refused(f"Illegal queue mapping {entry[:256]}; expected u:USER:QUEUE or g:GROUP:QUEUE")
        kind = _KINDS.get(words[0])
        if kind is None:
            raise Refused(f"unknown mapping prefix {words[0][:80]}; expected u or g")
        matches = ANYBODY if kind is MatchKind.USER and words[1] == USER else words[1]
        found.append(MappingRule(kind=kind, matches=matches, target=words[2], fallback=Fallback.PLACE_DEFAULT))
    return tuple(found)


def _of_json(text: str) -> tuple[MappingRule, ...]:
    try:
        said = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Refused(f"Invalid {JSON}: {str(error)[:200]}; expected JSON") from error
    rules = said.get("rules") if isinstance(said, dict) else None
    if not isinstance(rules, list) or {*said} != {"rules"}:
        raise Refused(f'Invalid {JSON}: expected an object with "rules", a list, and nothing else')
    return tuple(_rule(f"{JSON}, rule {number}", rule) for number, rule in enumerate(rules, 1))


def _rule(where: str, said: Any) -> MappingRule:
    if not isinstance(said, dict):
        raise Refused(f"Invalid {where}: expected an object")
    if unknown := sorted(map(str, said.keys() - _FIELDS)):
        raise Refused(f"Invalid {where}: {unknown[0][:80]!r}; expected one of {', '.join(sorted(_FIELDS))}")
    for name, value in said.items():
        if not isinstance(value, bool if name == "create" else str):
            raise Refused(f"Invalid {where}.{name}: expected {'true or false' if name == 'create' else 'text'}")
    policy = _one_of(where, said, "policy", _POLICIES)
    kind = MatchKind(_one_of(where, said, "type", tuple(MatchKind)))
    matches = _text(where, said, "matches", "Match string")
    if kind is MatchKind.GROUP and matches == ANYBODY:
        raise Refused(f"Invalid {where}.matches: Cannot match '*' for groups")
    fallback = Fallback(_one_of(where, {"fallbackResult": "skip", **said}, "fallbackResult", tuple(Fallback)))
    users = {"parentQueue": _BELOW, "customPlacement": ("custom",), "value": ("setDefaultQueue",)}
    for name, policies in users.items():
        if name in said and policy not in policies:
            raise Refused(f"Property {where}.{name} has no effect with the policy {policy}")
    if policy == "reject":
        return MappingRule(kind=kind, matches=matches, policy=MappingPolicy.REJECT, fallback=fallback)
    if policy == "setDefaultQueue":
        target = _text(where, said, "value", "default queue")
        return MappingRule(
            kind=kind, matches=matches, policy=MappingPolicy.SET_DEFAULT, target=target, fallback=fallback
        )
    target = _text(where, said, "customPlacement", "custom queue") if policy == "custom" else _TARGETS[policy]
    above = said.get("parentQueue", "").strip()
    target = f"{above}.{target}" if above else target
    return MappingRule(kind=kind, matches=matches, target=target, fallback=fallback)


def _one_of(where: str, said: Mapping[str, Any], name: str, known: Collection[str]) -> str:
    value = said.get(name)
    if value is None:
        raise Refused(f"Invalid {where}: Rule {name} is undefined; expected one of {', '.join(known)}")
    if value not in known:
        raise Refused(f"Invalid {where}.{name}: {str(value)[:80]!r}; expected one of {', '.join(known)}")
    return str(value)


def _text(where: str, said: Mapping[str, Any], name: str, what: str) -> str:
    if name not in said:
        raise Refused(f"Invalid {where}: {what} is undefined")
    value = str(said[name]).strip()
    if not value:
        raise Refused(f"Invalid {where}.{name}: {what} is empty")
    return value


def _require_queue(where: str, rule: MappingRule, leaves: Collection[str], parents: Collection[str]) -> None:
    """``MappingRuleValidationContextImpl``: what can be known of a target beforehand is right."""
    target = rule.target
    if rule.policy is MappingPolicy.REJECT:
        return
    if len(target) > TARGET_LENGTH_MAX:
        raise Refused(f"Invalid {where}: a queue of {len(target)} characters; expected at most {TARGET_LENGTH_MAX}")
    parts = target.split(".")
    if not all(parts):
        raise Refused(f"Invalid {where}: {target!r}; expected a queue's path without empty parts")
    for part in parts:
        if "%" in part and part not in VARIABLES:
            known = ", ".join(sorted(VARIABLES))
            raise Refused(f"Invalid {where}: {target!r}; expected parts that are names or one of {known}")
    first = next((place for place, part in enumerate(parts) if part in VARIABLES), None)
    if first is None:
        _require_leaf(where, target, leaves, parents)
    elif first > 0:
        above = ".".join(parts[:first])
        if above not in parents and not _named(above, parents):
            raise Refused(f"Invalid {where}: {target!r}; expected a queue {above} that has queues below it")


def _require_leaf(where: str, target: str, leaves: Collection[str], parents: Collection[str]) -> None:
    if target in leaves or target == DEFAULT_PATH:
        return
    named = _named(target, leaves)
    if len(named) == 1:
        return
    if len(named) > 1:
        raise Refused(f"Invalid {where}: {target!r} is the name of {len(named)} queues; expected a path")
    problem = "is no leaf" if target in parents or _named(target, parents) else "does not exist"
    raise Refused(f"Invalid {where}: queue {target!r} {problem}; expected a leaf queue")


def _named(name: str, paths: Collection[str]) -> list[str]:
    return [path for path in paths if "." not in name and path.rpartition(".")[2] == name]
