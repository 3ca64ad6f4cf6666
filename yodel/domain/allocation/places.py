"""Nodes as places for containers: which of them would do, how much room they have, what stands there.  Pure.

``Places`` is a snapshot for one decision.  What the decision itself plans is put into it (``assume``), so that two
containers that must stand apart are not both counted into the last free place; where Kubernetes really puts them is
its own affair.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from yodel.domain.allocation.outcomes import Hurdle
from yodel.domain.constraints import ApplicationTags, Constraint, Scope, TagRule, TagTarget, holds, singles
from yodel.domain.container import Placement
from yodel.domain.ids import ApplicationId, NodeId
from yodel.domain.node import DEFAULT_RACK
from yodel.domain.node_labels import expression_of
from yodel.domain.resource import NONE, Resource, times_in

VERDICTS_MAX = 10_000
"""Answers remembered; what is asked for repeats itself at every tick."""
NAMED_MAX = 3
"""Places that a text names; of more it says how many."""


_Piece = tuple[Placement, Resource, frozenset[NodeId]]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePlace:
    """One node that may be used.  ``names`` are all that an ApplicationMaster may call it by."""

    id: NodeId
    rack: str
    label: str
    capability: Resource
    names: frozenset[str]

    def is_named(self, placement: Placement) -> bool:
        return not self.names.isdisjoint(placement.hosts) or self.rack in placement.racks


@dataclass(frozen=True, slots=True)
class Tagged:
    """A live container with allocation tags.  ``node_id`` None: it is on its way to some node."""

    application_id: ApplicationId
    tags: tuple[str, ...]
    node_id: NodeId | None
    placement: Placement


@dataclass(frozen=True, slots=True)
class Never:
    """Tell why no node could take something even if all were empty."""

    hurdle: Hurdle
    text: str


class PlaceIndex:
    """Nodes by name and by rack, and what was found out about them: good until one of them changes."""

    def __init__(self, nodes: Sequence[NodePlace]) -> None:
        self.nodes = nodes
        self.by_id = {node.id: node for node in nodes}
        self.by_name: dict[str, list[NodePlace]] = {}
        self.by_rack: dict[str, list[NodePlace]] = {}
        self.verdicts: dict[tuple[Placement, Resource, bool], Never | None] = {}
        """Return why a placement of a size is never possible; None: it may be."""
        for node in nodes:
            self.by_rack.setdefault(node.rack, []).append(node)
            for name in node.names:
                self.by_name.setdefault(name, []).append(node)


class Places:
    """See the module.  ``free_on`` is what is left on a node by the ledger of bound containers."""

    def __init__(
        self,
        nodes: Sequence[NodePlace] | PlaceIndex,
        free_on: Callable[[NodeId], Resource],
        *,
        are_labels_enabled: bool = False,
        tagged: Iterable[Tagged] = (),
        tags_of: ApplicationTags = lambda _: (),
        pool: str = "",
        held: Collection[NodeId] = (),
        roomy: Callable[[Resource], Iterable[NodeId]] | None = None,
    ) -> None:
        """``pool`` names what the nodes lend to, where that is not ordinary capacity.  ``held`` are nodes that are kept
        for one container each.  ``roomy`` finds all nodes that may have room for a size, and not too many others."""
        self._pool, self._held, self._roomy = pool, held, roomy
        self._pieces: dict[_Piece, Iterator[NodePlace]] = {}
        """Nodes not looked at yet, by what is looked for: one that was full once is so to the end."""
        self._piece: dict[_Piece, NodePlace] = {}
        self._index = nodes if isinstance(nodes, PlaceIndex) else PlaceIndex(nodes)
        self.nodes, self._free_on = self._index.nodes, free_on
        self._are_labels_enabled, self._tags_of = are_labels_enabled, tags_of
        self._taken: dict[NodeId, Resource] = {}
        self._on_node: dict[NodeId, Counter[tuple[ApplicationId, str]]] = {}
        self._on_rack: dict[str, Counter[tuple[ApplicationId, str]]] = {}
        self._under_way: set[tuple[ApplicationId, str]] = set()
        """Tags of containers whose node nobody knows yet."""
        self._guessed: set[tuple[ApplicationId, str]] = set()
        """Tags that this decision has put where they will probably go."""
        self._slots: Counter[tuple[ApplicationId, TagRule]] = Counter()
        self._satisfying: dict[tuple[Placement, Constraint, ApplicationId], Sequence[NodePlace]] = {}
        """Found so far; good until something is counted."""
        for one in tagged:
            self._slots.update((one.application_id, rule) for rule in one.placement.rules if rule.slots)
            if one.node_id is None:
                self._under_way.update((one.application_id, tag) for tag in one.tags)
            else:
                self._count(one.application_id, one.tags, one.node_id)

    @property
    def are_racks_labelled(self) -> bool:
        return DEFAULT_RACK not in self._index.by_rack

    def free(self, node: NodePlace) -> Resource:
        if node.id in self._held:
            return NONE
        return self._free_on(node.id) - self._taken.get(node.id, NONE)

    def held_free(self, node_id: NodeId) -> Resource:
        """Return the free capacity of a reserved node, for the request it is reserved for."""
        return self._free_on(node_id) if node_id in self._index.by_id else NONE

    def take_piece(self, placement: Placement, capability: Resource, avoided: frozenset[NodeId] = frozenset()) -> bool:
        """Return True if a single node has enough free capacity; it is then not offered a second time."""
        key = (placement, capability, avoided)
        node = self._piece.get(key)
        if node is None or not capability.fits_in(self.free(node)):
            if key not in self._pieces:
                self._pieces[key] = self._with_room(*key)
            node = next(self._pieces[key], None)
        if node is None:
            return False
        self._piece[key] = node
        self.assume(node, capability)
        return True

    def _with_room(self, placement: Placement, capability: Resource, avoided: frozenset[NodeId]) -> Iterator[NodePlace]:
        by_id = self._index.by_id
        ids = self._roomy(capability) if self._roomy is not None else list(by_id)
        for node_id in ids:
            node = by_id.get(node_id)
            if node is None or node_id in avoided or not capability.fits_in(self.free(node)):
                continue
            if self.is_open_to(node, placement):
                yield node

    def room(self, node: NodePlace, capability: Resource) -> int:
        """Containers of this size that the node still takes."""
        return times_in(capability, self.free(node))

    def assume(self, node: NodePlace, capability: Resource, count: int = 1) -> None:
        """So many containers are planned that will probably go there."""
        self._taken[node.id] = self._taken.get(node.id, NONE) + capability * count

    def guess(self, node: NodePlace, application_id: ApplicationId, tags: Sequence[str]) -> None:
        """A container with these tags is planned that will probably go there."""
        self._count(application_id, tags, node.id)
        self._guessed.update((application_id, tag) for tag in tags)

    def send(self, application_id: ApplicationId, tags: Sequence[str]) -> None:
        """A container with these tags is planned, for one of several nodes."""
        self._under_way.update((application_id, tag) for tag in tags)

    def is_settled(self, constraint: Constraint, own: ApplicationId, *, are_guesses_good: bool) -> bool:
        """Return True if the nodes of all containers that the constraint counts are known."""
        moving = self._under_way if are_guesses_good else self._under_way | self._guessed
        return not any(
            tag == target.tag and target.namespace.includes(own, application_id, self._tags_of)
            for single in singles(constraint)
            for target in single.targets
            for application_id, tag in moving
        )

    def with_slot(self, own: ApplicationId, rule: TagRule) -> TagRule:
        """The rule with the slot that fewest containers have."""
        if not rule.slots:
            return rule
        choices = [replace(rule, slot=number) for number in range(rule.slots)]
        chosen = min(choices, key=lambda choice: self._slots[(own, choice)])
        self._slots[(own, chosen)] += 1
        return chosen

    def applications_tagged(self, tag: str) -> list[ApplicationId]:
        """Applications submitted with the tag that hold or will hold containers with allocation tags."""
        counted = {key[0] for counter in self._on_node.values() for key in counter}
        known = counted.union(key[0] for key in self._under_way)
        return [application_id for application_id in known if tag in self._tags_of(application_id)]

    def labelled(self, placement: Placement) -> Sequence[NodePlace]:
        """Nodes of the partition asked for; those with a label are for who asks for it (exclusive partitions)."""
        if not self._are_labels_enabled and not placement.node_label:
            return self.nodes
        expression = expression_of(placement.node_label)
        return [node for node in self.nodes if expression.admits(node.label)]

    def allowed(self, placement: Placement) -> list[NodePlace]:
        """Return nodes where the placement is possible, however full they are; constraints are not looked at."""
        return [node for node in self.labelled(placement) if _is_allowed(node, placement)]

    def named(self, placement: Placement) -> list[NodePlace]:
        """Return the nodes of the requested hosts that may take a container."""
        found = {node.id: node for host in placement.hosts for node in self._index.by_name.get(host, ())}
        return [node for node in found.values() if self.is_open_to(node, placement)]

    def near(self, placement: Placement, racks: Collection[str]) -> list[NodePlace]:
        """Nodes of the racks where it may go."""
        found = (node for rack in racks for node in self._index.by_rack.get(rack, ()))
        return [node for node in found if self.is_open_to(node, placement)]

    def satisfying(
        self, placement: Placement, constraint: Constraint, application_id: ApplicationId
    ) -> Sequence[NodePlace]:
        """Return nodes where the placement is possible and the constraint holds, however full they are."""
        key = (placement, constraint, application_id)
        if key not in self._satisfying:
            allowed = self.allowed(placement)
            self._satisfying[key] = [node for node in allowed if self.satisfies(node, constraint, application_id)]
        return self._satisfying[key]

    def why_never(self, placement: Placement, capability: Resource) -> str:
        """Return why no node could take it even if all were empty; empty when one could."""
        never = self.never(placement, capability)
        return never.text if never is not None else ""

    def never(self, placement: Placement, capability: Resource) -> Never | None:
        """The same with what is in the way; None when a node could."""
        key, verdicts = (placement, capability, self._are_labels_enabled), self._index.verdicts
        if key not in verdicts:
            if len(verdicts) >= VERDICTS_MAX:
                verdicts.clear()
            verdicts[key] = self._verdict(placement, capability)
        return verdicts[key]

    def _verdict(self, placement: Placement, capability: Resource) -> Never | None:
        if any(capability.fits_in(n.capability) and self.is_open_to(n, placement) for n in self.nodes):
            return None
        if not self.nodes:
            nowhere = f"no node offers capacity in pool {self._pool}" if self._pool else _NO_NODE
            return Never(Hurdle.NODES, nowhere)
        in_partition = self.labelled(placement)
        if not in_partition:
            label = placement.node_label
            return Never(Hurdle.LABEL, _no_label(label) if label else _ALL_LABELLED)
        named = [n for n in in_partition if n.is_named(placement)] if placement.is_strict else in_partition
        if not named:
            places = _list((*placement.hosts, *placement.racks))
            return Never(Hurdle.PLACES, f"locality is strict and none of {places} is in the cluster")
        allowed = [node for node in named if _is_allowed(node, placement)]
        if not allowed:
            return Never(Hurdle.BLACKLIST, "every eligible node is on the blacklist")
        largest = max(allowed, key=lambda node: (node.capability.memory_mib, node.capability.vcores)).capability
        text = f"{capability.with_units} is larger than every eligible node; the largest node has {largest.with_units}"
        return Never(Hurdle.SIZE, text)

    def is_of_partition(self, node: NodePlace, placement: Placement) -> bool:
        is_label_checked = self._are_labels_enabled or bool(placement.node_label)
        return not is_label_checked or expression_of(placement.node_label).admits(node.label)

    def at(self, node_id: NodeId) -> NodePlace | None:
        return self._index.by_id.get(node_id)

    def is_open_to(self, node: NodePlace, placement: Placement) -> bool:
        """Return whether the placement may be had there, however full it is; constraints are not looked at."""
        return self.is_of_partition(node, placement) and _is_allowed(node, placement)

    def satisfies(self, node: NodePlace, constraint: Constraint, own: ApplicationId) -> bool:
        def count(scope: Scope, target: TagTarget) -> int:
            held: Mapping[tuple[ApplicationId, str], int] = (
                self._on_node.get(node.id, {}) if scope is Scope.NODE else self._on_rack.get(node.rack, {})
            )
            return sum(
                number
                for (application_id, tag), number in held.items()
                if tag == target.tag and target.namespace.includes(own, application_id, self._tags_of)
            )

        return holds(constraint, count, lambda label: node.label == label)

    def _count(self, application_id: ApplicationId, tags: Collection[str], node_id: NodeId) -> None:
        self._satisfying.clear()
        keys = [(application_id, tag) for tag in tags]
        self._on_node.setdefault(node_id, Counter()).update(keys)
        node = self._index.by_id.get(node_id)
        if node is not None:
            self._on_rack.setdefault(node.rack, Counter()).update(keys)


_NO_NODE = "the cluster has no usable node"
_ALL_LABELLED = "every node has a label, and the request names none"


def _no_label(text: str) -> str:
    if expression_of(text).is_one_label:
        return f"no node has the label '{text}'"
    return f"no node has a label that matches the expression '{text}'"


def _is_allowed(node: NodePlace, placement: Placement) -> bool:
    if not node.names.isdisjoint(placement.avoid) or node.rack in placement.avoid:
        return False
    if placement.nodes and node.id.host not in placement.nodes:
        return False
    return not placement.is_strict or node.is_named(placement)


def _list(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED_MAX} more" if len(names) > NAMED_MAX else ""
    return ", ".join(names[:NAMED_MAX]) + more
