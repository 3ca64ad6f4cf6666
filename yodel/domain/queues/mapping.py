"""Mapping rules: which queue an application goes to that names none.  Pure.

Follows ``CSMappingPlacementRule`` and ``MappingRule`` of Hadoop 3.5, and the two ways they are written in
(``mapping_properties``).  Rules are tried in order; the first that places or refuses decides.  Queues that do not exist
are not made, so a rule whose queue is not there does what its ``fallback`` says, as in Hadoop under a parent that makes
none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

DEFAULT_QUEUE = "default"
DEFAULT_PATH = "root.default"
REJECTED = "Application submission have been rejected by a mapping rule. Please see the logs for details"
ANYBODY = "*"
USER, PRIMARY, SECONDARY = "%user", "%primary_group", "%secondary_group"
APPLICATION, SPECIFIED, DEFAULT = "%application", "%specified", "%default"
VARIABLES = frozenset({USER, PRIMARY, SECONDARY, APPLICATION, SPECIFIED, DEFAULT})
_VARIABLE = re.compile("|".join((USER, PRIMARY, APPLICATION, SPECIFIED, DEFAULT)))
"""In what is matched; the secondary group depends on a path."""

FindLeaf = Callable[[str], str | None]
"""The path of the leaf that a path or an unambiguous name means."""
HasQueue = Callable[[str], bool]
"""Whether there is a queue of this path, a leaf or not."""


class MatchKind(StrEnum):
    """Lists the attributes of a submission that a rule can match."""

    USER = "user"
    GROUP = "group"
    APPLICATION = "application"


class Fallback(StrEnum):
    """Lists the actions for a queue that does not exist."""

    SKIP = "skip"
    REJECT = "reject"
    PLACE_DEFAULT = "placeDefault"


class MappingPolicy(StrEnum):
    """Lists the actions of a rule that matches."""

    PLACE = "place"
    SET_DEFAULT = "set default"
    REJECT = "reject"


@dataclass(frozen=True, slots=True, kw_only=True)
class MappingRule:
    """``target`` is a path, or a leaf's name, whose parts may be variables."""

    kind: MatchKind
    matches: str
    policy: MappingPolicy = MappingPolicy.PLACE
    target: str = ""
    fallback: Fallback = Fallback.SKIP


@dataclass(frozen=True, slots=True, kw_only=True)
class MappingRules:
    """``are_overriding``: they are asked for applications that name a queue, too
    (``queue-mappings-override.enable``)."""

    rules: tuple[MappingRule, ...] = ()
    are_overriding: bool = False


NO_RULES = MappingRules()


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """Describes a submission to the rules.  ``groups``: the primary one first."""

    user: str
    groups: Sequence[str]
    application: str
    queue: str


class RejectedByRule(Exception):
    """A rule says so."""


def placed(rules: MappingRules, submitted: Submitted, find: FindLeaf, has: HasQueue) -> str:
    """The queue: as it was named where no rule places.  Raises RejectedByRule."""
    is_named = submitted.queue not in ("", DEFAULT_QUEUE)
    if not rules.rules or (is_named and not rules.are_overriding):
        return submitted.queue
    placing = _Placing(submitted, find, has)
    for rule in rules.rules:
        if placing.is_for(rule):
            found = placing.followed(rule)
            if found is not None:
                return found
    return submitted.queue


class _Placing:
    """One application."""

    def __init__(self, submitted: Submitted, find: FindLeaf, has: HasQueue) -> None:
        self._submitted, self._find, self._has = submitted, find, has
        groups = submitted.groups
        is_named = submitted.queue not in ("", DEFAULT_QUEUE)
        self._values = {
            USER: _clean(submitted.user),
            PRIMARY: _clean(groups[0]) if groups else "",
            APPLICATION: submitted.application,
            SPECIFIED: submitted.queue if is_named else "",
            DEFAULT: DEFAULT_PATH,
        }

    def is_for(self, rule: MappingRule) -> bool:
        submitted = self._submitted
        if rule.kind is MatchKind.USER:
            return rule.matches == ANYBODY or self._text(rule.matches) in (submitted.user, _clean(submitted.user))
        if rule.kind is MatchKind.APPLICATION:
            return rule.matches == ANYBODY or self._text(rule.matches) == submitted.application
        return self._text(rule.matches) in submitted.groups

    def followed(self, rule: MappingRule) -> str | None:
        """Return the queue that the rule chooses; None: the next rule is applied."""
        if rule.policy is MappingPolicy.REJECT:
            raise RejectedByRule(REJECTED)
        if rule.policy is MappingPolicy.SET_DEFAULT:
            self._values[DEFAULT] = self._path(rule.target)
            return None
        found = self._find(self._path(rule.target))
        if found is not None:
            return found
        if rule.fallback is Fallback.REJECT:
            raise RejectedByRule(REJECTED)
        return self._find(self._values[DEFAULT]) if rule.fallback is Fallback.PLACE_DEFAULT else None

    def _text(self, matches: str) -> str:
        """Variables are plain text here; what they stand for is not looked at again."""
        return _VARIABLE.sub(lambda found: self._values[found.group()], matches)

    def _path(self, target: str) -> str:
        """Variables are whole parts; a part that comes to nothing makes a path that no queue has."""
        parts: list[str] = []
        for part in target.split("."):
            parts.append(self._secondary(".".join(parts)) if part == SECONDARY else self._values.get(part, part))
        return ".".join(parts)

    def _secondary(self, above: str) -> str:
        """The first of the other groups that has a queue there."""
        for group in self._submitted.groups[1:]:
            name = _clean(group)
            path = f"{above}.{name}" if above else name
            if name and (self._has(path) or (not above and self._find(name) is not None)):
                return name
        return ""


def _clean(name: str) -> str:
    """A name as part of a path (``cleanName``)."""
    return name.replace(".", "_dot_")
