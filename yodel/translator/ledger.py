"""Tracks the free resources of each node, as this RM sees them: allocatable less what all pods use.

It is told of nodes and of bound pods by watches, and of pods that are about to be created by whoever chose their node:
such a pod is *assumed* until its watch shows it, or until it should have been seen long ago.  Listings are the truth;
between them the newer resource version of an object counts.  Watches lag, so the picture may be wrong: the kubelet of
the node decides, and ``turn_away`` is how it is heard.

Nodes are kept in order of their free share, so that choosing looks at a few of them.  Pure: it is told the time, and
waits for nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from yodel.domain.pod import PodHolding
from yodel.translator.node_fit import PODS, Amounts, Fitted, Object, amounts

LEVEL_MAX = 100
"""Shares are compared in hundredths, as kube-scheduler's scores: nodes alike within one are equally good."""
ORDERS_MAX = 32
"""Different sets of resources that nodes are kept in order of; a dialect makes one."""

Key = tuple[str, str]
"""Namespace and name of a pod."""


class SeenNode(Fitted, Protocol):
    """A node as its watch tells of it; quantities as Kubernetes writes them."""

    @property
    def uid(self) -> str: ...

    @property
    def resource_version(self) -> str: ...

    @property
    def ready(self) -> bool: ...

    @property
    def allocatable(self) -> Mapping[str, str]: ...


@dataclass(slots=True, eq=False)
class NodeBook:
    """One node.  ``is_there`` is False for a name that only pods tell of.  Amounts are in thousandths."""

    name: str
    uid: str = ""
    version: str = ""
    is_there: bool = False
    ready: bool = False
    unschedulable: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: Sequence[Object] = ()
    allocatable: Amounts = field(default_factory=dict)
    used: Amounts = field(default_factory=dict)
    free: Amounts = field(default_factory=dict)
    others: Amounts = field(default_factory=dict)
    """The part of ``used`` that pods of others hold."""
    pods_of: dict[str, int] = field(default_factory=dict)
    """Pods by application."""

    def fits(self, wanted: Mapping[str, int]) -> bool:
        free = self.free
        for name, amount in wanted.items():  # noqa: SIM110 - a generator in all() takes three times as long
            if amount > free.get(name, 0):
                return False
        return True

    def level(self, names: Iterable[str]) -> int:
        """The free share of the scarcest of these resources, in hundredths."""
        lowest = LEVEL_MAX
        for name in names:
            total = self.allocatable.get(name, 0)
            if total <= 0:
                return 0
            lowest = min(lowest, self.free.get(name, 0) * LEVEL_MAX // total)
        return max(lowest, 0)


class NodeOrder:
    """All nodes by level; within one, the one that changed longest ago is first."""

    def __init__(self, names: tuple[str, ...], nodes: Iterable[NodeBook]) -> None:
        self._names = names
        self.levels: tuple[dict[NodeBook, None], ...] = tuple({} for _ in range(LEVEL_MAX + 1))
        self.level_of: dict[NodeBook, int] = {}
        for node in nodes:
            self.put(node)

    def put(self, node: NodeBook) -> None:
        self.drop(node)
        level = self.level_of[node] = node.level(self._names)
        self.levels[level][node] = None

    def drop(self, node: NodeBook) -> None:
        level = self.level_of.pop(node, None)
        if level is not None:
            del self.levels[level][node]


@dataclass(frozen=True, slots=True)
class _Assumed:
    """A pod that is being created.  ``replaces_uid``: the pod that had its name before and may still be seen."""

    node_name: str
    amounts: Mapping[str, int]
    application: str
    until_s: float
    replaces_uid: str


class NodeLedger:
    """See the module's docstring.  Times are monotonic seconds."""

    def __init__(self) -> None:
        self.nodes: dict[str, NodeBook] = {}
        """Those that are there."""
        self.growth = 0
        """Grows with all that may make room for a pod that fitted nowhere."""
        self.facts_version = 0
        """Grows when nodes come and go, and with labels, taints, cordons and readiness."""
        self.nodes_are_known = self.pods_are_known = False
        """After the first listings."""
        self.others_changed: set[str] = set()
        """Nodes on which others hold more or less since somebody looked."""
        self.changed: set[str] = set()
        """Nodes on which anybody does, likewise."""
        self._absent: dict[str, NodeBook] = {}
        self._held: dict[Key, PodHolding] = {}
        self._assumed: dict[Key, _Assumed] = {}
        self._turned_away: dict[str, float] = {}
        self._orders: dict[tuple[str, ...], NodeOrder] = {}

    def others_on(self, name: str) -> Amounts:
        """Return the usage of pods there that are not ours."""
        book = self.nodes.get(name) or self._absent.get(name)
        return book.others if book is not None else {}

    def held_on(self, name: str) -> Amounts:
        """Return the usage of all pods there, including those that are being created."""
        book = self.nodes.get(name) or self._absent.get(name)
        return book.used if book is not None else {}

    @property
    def is_known(self) -> bool:
        return self.nodes_are_known and self.pods_are_known

    # --- nodes -----------------------------------------------------------------------------------------------------

    def nodes_listed(self, nodes: Sequence[SeenNode]) -> None:
        """The whole truth."""
        self._orders.clear()  # made anew when it is asked for, which costs less than keeping it true meanwhile
        names = {node.name for node in nodes}
        for name in [name for name in self.nodes if name not in names]:
            self.node_gone(name)
        for node in nodes:
            self._take_node(node)
        self.nodes_are_known = True
        self.growth += 1

    def node_seen(self, node: SeenNode) -> None:
        known = self.nodes.get(node.name)
        if known is None or known.uid != node.uid or not is_older(node.resource_version, known.version):
            self._take_node(node)

    def node_gone(self, name: str) -> None:
        book = self.nodes.pop(name, None)
        if book is None:
            return
        book.is_there = False
        for order in self._orders.values():
            order.drop(book)
        if book.used.get(PODS):
            self._absent[name] = book
        self.facts_version += 1

    def turn_away(self, name: str, until_s: float) -> None:
        """Its kubelet had less than this picture says: nothing goes there for a while."""
        self._turned_away[name] = until_s

    @property
    def turned_away(self) -> frozenset[str]:
        return frozenset(self._turned_away)

    def _take_node(self, node: SeenNode) -> None:
        book = self.nodes.get(node.name)
        is_new = book is None
        if book is None:
            known = self._absent.pop(node.name) if node.name in self._absent else NodeBook(node.name)
            book = self.nodes[node.name] = known
        facts = (True, node.ready, node.unschedulable, node.labels, node.taints)
        if facts != (book.is_there, book.ready, book.unschedulable, book.labels, book.taints):
            book.is_there, book.ready, book.unschedulable, book.labels, book.taints = facts
            self.facts_version += 1
            self.growth += 1
        book.uid, book.version = node.uid, node.resource_version
        allocatable = amounts(node.allocatable)
        if allocatable != book.allocatable or is_new:
            book.allocatable = allocatable
            names = {*allocatable, *book.used}
            book.free = {name: allocatable.get(name, 0) - book.used.get(name, 0) for name in names}
            self.growth += 1
            self._reorder(book)

    # --- pods ------------------------------------------------------------------------------------------------------

    def pods_listed(self, pods: Sequence[PodHolding]) -> None:
        """The whole truth; pods that are assumed may be younger than it."""
        self._orders.clear()
        listed = {(pod.namespace, pod.name) for pod in pods}
        for key in [key for key in self._held if key not in listed]:
            self._let_go(self._held.pop(key))
        for pod in pods:
            self._take_pod(pod)
        self.pods_are_known = True
        self.growth += 1

    def pod_seen(self, pod: PodHolding) -> None:
        known = self._held.get((pod.namespace, pod.name))
        if known is None or known.uid != pod.uid or not is_older(pod.resource_version, known.resource_version):
            self._take_pod(pod)

    def pod_gone(self, pod: PodHolding) -> None:
        """It was removed, has ended, or has lost its node."""
        key = (pod.namespace, pod.name)
        known = self._held.get(key)
        if known is not None and known.uid == pod.uid:
            self._let_go(self._held.pop(key))

    def assume(self, key: Key, node_name: str, wanted: Mapping[str, int], application: str, until_s: float) -> None:
        """A pod is about to be created on a node; an earlier assumption about it falls."""
        self.release(key)
        held = self._held.get(key)
        uid = held.uid if held is not None else ""
        self._assumed[key] = _Assumed(node_name, wanted, application, until_s, uid)
        self._account(node_name, wanted, application, 1)

    def assumed_node(self, key: Key) -> str | None:
        assumed = self._assumed.get(key)
        return assumed.node_name if assumed is not None else None

    def keep_until(self, key: Key, until_s: float) -> None:
        """Set when an assumption ends, if the pod has not been seen by then."""
        assumed = self._assumed.get(key)
        if assumed is not None:
            self._assumed[key] = _Assumed(
                assumed.node_name, assumed.amounts, assumed.application, until_s, assumed.replaces_uid
            )

    def release(self, key: Key) -> None:
        """The pod was not created after all."""
        assumed = self._assumed.pop(key, None)
        if assumed is not None:
            self._account(assumed.node_name, assumed.amounts, assumed.application, -1)

    def expire(self, now_s: float) -> None:
        """Forget assumptions and nodes turned away whose time is up."""
        for key in [key for key, assumed in self._assumed.items() if assumed.until_s <= now_s]:
            self.release(key)
        for name in [name for name, until_s in self._turned_away.items() if until_s <= now_s]:
            del self._turned_away[name]
            self.growth += 1

    def order(self, names: tuple[str, ...]) -> NodeOrder:
        """Nodes by their free share of these resources; kept up to date from now on."""
        found = self._orders.get(names)
        if found is None:
            if len(self._orders) >= ORDERS_MAX:
                self._orders.clear()
            found = self._orders[names] = NodeOrder(names, self.nodes.values())
        return found

    def _take_pod(self, pod: PodHolding) -> None:
        key = (pod.namespace, pod.name)
        before, self._held[key] = self._held.get(key), pod
        assumed = self._assumed.get(key)
        if assumed is not None and assumed.node_name == pod.node_name and assumed.replaces_uid != pod.uid:
            del self._assumed[key]
            self._exchange((assumed.node_name, assumed.amounts, assumed.application), pod)
            if before is not None:
                self._let_go(before)
        elif before is not None:
            self._exchange((before.node_name, before.amounts, before.application), pod)
        else:
            self._account(pod.node_name, pod.amounts, pod.application, 1)

    def _exchange(self, before: tuple[str, Mapping[str, int], str], pod: PodHolding) -> None:
        after = (pod.node_name, pod.amounts, pod.application)
        if before != after:
            self._account(*before, -1)
            self._account(*after, 1)

    def _let_go(self, pod: PodHolding) -> None:
        self._account(pod.node_name, pod.amounts, pod.application, -1)

    def _account(self, name: str, held: Mapping[str, int], application: str, sign: int) -> None:
        book = self.nodes.get(name) or self._absent.get(name)
        if book is None:
            book = self._absent[name] = NodeBook(name)
        for resource, amount in held.items():
            used = book.used[resource] = book.used.get(resource, 0) + sign * amount
            book.free[resource] = book.allocatable.get(resource, 0) - used
        self.changed.add(name)
        if not application:
            self.others_changed.add(name)
            for resource, amount in held.items():
                book.others[resource] = book.others.get(resource, 0) + sign * amount
        else:
            count = book.pods_of.get(application, 0) + sign
            if count > 0:
                book.pods_of[application] = count
            else:
                book.pods_of.pop(application, None)
        self.growth += sign < 0
        if book.is_there:
            self._reorder(book)
        elif not book.used.get(PODS):
            del self._absent[name]

    def _reorder(self, book: NodeBook) -> None:
        for order in self._orders.values():
            order.put(book)


def is_older(version: str, than: str) -> bool:
    """Resource versions of one object are compared as numbers (API conventions since Kubernetes 1.35); what is no
    number is taken as news."""
    return version.isdecimal() and than.isdecimal() and int(version) < int(than)
