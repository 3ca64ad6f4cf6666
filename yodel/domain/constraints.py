"""Placement constraints and allocation tags: what they say, and whether a node satisfies them.  Pure.

Follows PlacementConstraintsUtil.canSatisfyConstraints: a single constraint bounds how many containers with a tag the
node (or its rack) holds *before* the new one comes, and holds for each of its tags.  IN is "at least one", NOTIN is
"none".  Constraints combine by AND and OR.

What Kubernetes' scheduler can keep exactly is reduced to ``TagRule``s (``rules_of``); for the rest the ResourceManager
counts and names the nodes.  Refused when they are read, so they cannot be built here: node attributes and DELAYED_OR.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from enum import Enum

from yodel.domain.ids import ApplicationId

TAGS_MAX = 32
"""Tags of one request or target."""
TAG_LENGTH_MAX = 256
SLOTS_MAX = 1_000
"""Containers with one tag on one node that a rule can tell apart."""

ApplicationTags = Callable[[ApplicationId], Collection[str]]
"""The tags that an application was submitted with (not its allocation tags)."""


class Scope(Enum):
    """Within what containers are counted (PlacementConstraints.NODE, RACK)."""

    NODE = "node"
    RACK = "rack"


class NamespaceKind(Enum):
    """Names the applications whose containers are counted (AllocationTagNamespaceType)."""

    SELF = "self"
    NOT_SELF = "not-self"
    APP_ID = "app-id"
    APP_TAG = "app-tag"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Namespace:
    """``value`` is the application's id or tag where the kind has one."""

    kind: NamespaceKind = NamespaceKind.SELF
    value: str = ""

    def includes(self, own: ApplicationId, other: ApplicationId, tags_of: ApplicationTags) -> bool:
        """Return True if containers of ``other`` count for a request of ``own``."""
        match self.kind:
            case NamespaceKind.SELF:
                return own == other
            case NamespaceKind.NOT_SELF:
                return own != other
            case NamespaceKind.APP_ID:
                return str(other) == self.value
            case NamespaceKind.APP_TAG:
                return self.value in tags_of(other)
            case NamespaceKind.ALL:
                return True

    def __str__(self) -> str:
        return f"{self.kind.value}/{self.value}" if self.value else self.kind.value


@dataclass(frozen=True, slots=True)
class TagTarget:
    """Containers with a tag, in a namespace."""

    tag: str
    namespace: Namespace = Namespace()

    def __str__(self) -> str:
        return self.tag if self.namespace == Namespace() else f"{self.namespace}/{self.tag}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Single:
    """``minimum`` to ``maximum`` containers of each target are in the scope already; None is no bound.

    ``partition``: the node has this label (the target yarn_node_partition/).
    """

    scope: Scope = Scope.NODE
    minimum: int = 0
    maximum: int | None = None
    targets: tuple[TagTarget, ...] = ()
    partition: str | None = None

    def __str__(self) -> str:
        of = ",".join(map(str, self.targets))
        if self.partition is not None:
            return f"in,node,yarn_node_partition/={self.partition}"
        if (self.minimum, self.maximum) == (0, 0):
            return f"notin,{self.scope.value},{of}"
        if (self.minimum, self.maximum) == (1, None):
            return f"in,{self.scope.value},{of}"
        most = "" if self.maximum is None else self.maximum
        return f"cardinality,{self.scope.value},{of},{self.minimum},{most}"


@dataclass(frozen=True, slots=True)
class AllOf:
    children: tuple[Constraint, ...]

    def __str__(self) -> str:
        return f"and({':'.join(map(str, self.children))})"


@dataclass(frozen=True, slots=True)
class AnyOf:
    children: tuple[Constraint, ...]

    def __str__(self) -> str:
        return f"or({':'.join(map(str, self.children))})"


Constraint = Single | AllOf | AnyOf


@dataclass(frozen=True, slots=True, kw_only=True)
class TagRule:
    """Describes a rule that Kubernetes' scheduler keeps by itself: next to pods with the tag, or apart from them.

    ``applications`` are those whose pods count, or all others if ``are_excluded``; empty: all.  With ``slots`` above 0
    only pods of the same ``slot`` are meant, which turns "apart" into "at most so many": each container takes one of
    the slots, and no two of a slot share a node.
    """

    is_apart: bool
    scope: Scope
    tag: str
    applications: tuple[str, ...] = ()
    are_excluded: bool = False
    slots: int = 0
    slot: int = 0


def singles(constraint: Constraint) -> Iterator[Single]:
    """All leaves."""
    if isinstance(constraint, Single):
        yield constraint
    else:
        for child in constraint.children:
            yield from singles(child)


def holds(constraint: Constraint, count: Callable[[Scope, TagTarget], int], has_label: Callable[[str], bool]) -> bool:
    """Return True if a node satisfies the constraint; ``count`` returns the containers of a target around the node."""
    if isinstance(constraint, AllOf):
        return all(holds(child, count, has_label) for child in constraint.children)
    if isinstance(constraint, AnyOf):
        return any(holds(child, count, has_label) for child in constraint.children)
    if constraint.partition is not None and not has_label(constraint.partition):
        return False
    return all(_is_within(count(constraint.scope, target), constraint) for target in constraint.targets)


def rules_of(
    constraint: Constraint,
    own: ApplicationId,
    own_tags: Collection[str],
    tagged: Callable[[str], Collection[ApplicationId]],
    *,
    are_racks_labelled: bool,
) -> tuple[TagRule, ...] | None:
    """The rules that say the same; None when there are none: OR, minima above one, bounds on others' containers, and
    the company of several tags, which to Kubernetes means pods that have them all.

    ``tagged`` finds applications by their tag.  Racks need a label on every node: Kubernetes does not count those
    without one as a rack of their own.
    """
    rules = _rules_of(constraint, own, own_tags, tagged, are_racks_labelled=are_racks_labelled)
    if rules is None or sum(not rule.is_apart for rule in rules) > 1:
        return None
    return rules


def _rules_of(
    constraint: Constraint,
    own: ApplicationId,
    own_tags: Collection[str],
    tagged: Callable[[str], Collection[ApplicationId]],
    *,
    are_racks_labelled: bool,
) -> tuple[TagRule, ...] | None:
    if isinstance(constraint, AnyOf):
        return None
    if isinstance(constraint, AllOf):
        parts = [
            _rules_of(child, own, own_tags, tagged, are_racks_labelled=are_racks_labelled)
            for child in constraint.children
        ]
        return None if any(part is None for part in parts) else tuple(rule for part in parts for rule in part or ())
    if constraint.partition is not None or (constraint.scope is Scope.RACK and not are_racks_labelled):
        return None
    rules = []
    for target in constraint.targets:
        shape = _shape(constraint, target, own_tags)
        if shape is None:
            return None
        is_apart, slots = shape
        applications, are_excluded = _applications(target.namespace, own, tagged)
        if target.namespace.kind is NamespaceKind.APP_TAG and not applications:
            return None  # nobody has that tag now; an empty list would mean everybody
        rules.append(
            TagRule(
                is_apart=is_apart,
                scope=constraint.scope,
                tag=target.tag,
                applications=applications,
                are_excluded=are_excluded,
                slots=slots,
            )
        )
    return tuple(rules)


def _shape(single: Single, target: TagTarget, own_tags: Collection[str]) -> tuple[bool, int] | None:
    """(apart, slots) of a rule for one target."""
    if single.maximum is None:
        return (False, 0) if single.minimum == 1 else None
    if single.minimum > 0:
        return None
    if single.maximum == 0:
        return (True, 0)
    is_own = target.namespace.kind is NamespaceKind.SELF and target.tag in own_tags
    return (True, single.maximum + 1) if is_own and single.maximum < SLOTS_MAX else None


def _applications(
    namespace: Namespace, own: ApplicationId, tagged: Callable[[str], Collection[ApplicationId]]
) -> tuple[tuple[str, ...], bool]:
    match namespace.kind:
        case NamespaceKind.SELF:
            return (str(own),), False
        case NamespaceKind.NOT_SELF:
            return (str(own),), True
        case NamespaceKind.APP_ID:
            return (namespace.value,), False
        case NamespaceKind.APP_TAG:
            return tuple(sorted(str(found) for found in tagged(namespace.value))), False
        case NamespaceKind.ALL:
            return (), False


def _is_within(count: int, single: Single) -> bool:
    return count >= single.minimum and (single.maximum is None or count <= single.maximum)
