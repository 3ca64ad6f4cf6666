"""Chooses nodes for the pods of queues with ``placement = "bind"``, and keeps the picture that this is done from.

It follows what nodes offer and is a ``HoldingSink``; the reconciler asks it before it creates a pod and tells it what
became of that.  The pod is created with its node in it (``spec.nodeName``), so no scheduler ever sees it.  Others
choose nodes too, and the last word is the kubelet's: a node whose kubelet refuses a container's pod is left out for
that container for a while, and for all of them for a shorter while when it had too little.

A container that fits nowhere stays planned and stands in a line with those that want the same.  When something may have
made room, each line is tried, and the first of a line that fits is looked at again; the next follows once it has its
place.  Nothing is tried while nothing changes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import structlog

from yodel.domain.container import Container
from yodel.domain.ids import ContainerId, NodeId
from yodel.domain.node import Node
from yodel.domain.pod import PodObservation, PodPhase
from yodel.ports.clock import Clock
from yodel.ports.kube_nodes import NodeObservation
from yodel.ports.pods import Manifest, PodHolding
from yodel.ports.store import Row
from yodel.services.pods.held import held_for_others
from yodel.services.writer.changes import Changes
from yodel.services.writer.state import ClusterState
from yodel.translator.binding import Chooser, Wants, wants_of
from yodel.translator.ledger import Key, NodeLedger

ASSUMED_S = 150.0
"""How long a pod that is being created counts: longer than a round of the reconciler may take."""
SEEN_WITHIN_S = 30.0
"""How long a created pod counts that the watch does not show: it was deleted at once, or its answer was a mistake."""
AVOIDED_S = 60.0
"""How long a container keeps away from a node whose kubelet refused its pod."""
TURNED_AWAY_S = 10.0
"""How long everybody keeps away from a node that had less than the ledger says: the watch has caught up by then."""
AVOIDED_MAX = 100
"""Nodes that one container keeps away from; of more, the latest."""
ADMISSION_S = 5.0
"""How long a pod's kubelet has to admit or to refuse it before it counts as placed all the same."""
EXPIRY_INTERVAL_S = 1.0
EXPLAINED_EVERY_S = 1.0
"""How often a line may ask why it does not fit: that looks at every node."""
EXPLANATION_PAUSE_S = 0.05
"""Between the explanations of any two lines; who comes sooner is told so much as NO_ROOM."""
NO_ROOM = "no eligible node has enough free capacity"
LINES_AT_ONCE = 50
"""Lines tried in one piece; the event loop is let go between two (about 0.3 ms each with 1,000 nodes)."""
UNKNOWN = "the free capacity of nodes is not known yet: nodes and pods are being listed"
TOO_LITTLE = "OutOf"
"""How a kubelet's reasons begin when a resource is short."""

Line = tuple[tuple[object, ...], frozenset[str]]
"""The wants of a container, and the nodes that it keeps away from."""
log = structlog.get_logger("yodel.binder")


@dataclass(frozen=True, slots=True)
class NoPlace:
    """Says why a pod cannot be created now, and when to look again though nothing changes (None: not)."""

    reason: str
    again_s: float | None = None


@dataclass(slots=True)
class _WaitingPod:
    """One line.  ``reason`` was true at ``explained_s``, and that nothing fits at ``growth``."""

    wants: Wants
    containers: dict[ContainerId, None]
    growth: int = -1
    reason: str = NO_ROOM
    explained_s: float = float("-inf")


class Binder:
    """``binds`` tells whether a container's node is chosen here; ``enqueue`` asks for a round of a container."""

    def __init__(
        self,
        state: ClusterState,
        clock: Clock,
        namespace: str,
        binds: Callable[[Container], bool],
        enqueue: Callable[[ContainerId], object],
        see_others: Callable[[str, Mapping[str, int]], None] = lambda _, __: None,
        held_changed: Callable[[str], None] = lambda _: None,
    ) -> None:
        """``see_others`` is told what pods of others hold on a node: thousandths by resource name; ``held_changed`` of
        which node ``held_on`` is to be asked again."""
        self._see_others, self._held_changed = see_others, held_changed
        self._state, self._clock, self._namespace = state, clock, namespace
        self._binds, self._enqueue = binds, enqueue
        self._ledger = NodeLedger()
        self._chooser = Chooser(self._ledger)
        self._lines: dict[Line, _WaitingPod] = {}
        self._line_of: dict[ContainerId, Line] = {}
        self._avoided: dict[ContainerId, dict[str, float]] = {}
        self._bound_since_s: dict[ContainerId, float] = {}
        self._agents: dict[NodeId, str] = {}
        self._tried_at_growth = -1
        self._is_pass_due = False
        self._explained_s = float("-inf")
        self.published(list(state.nodes.values()))

    # --- what is asked ---------------------------------------------------------------------------------------------

    def place(self, container: Container, manifest: Manifest) -> Manifest | NoPlace:
        """The manifest with its node; unchanged when Kubernetes chooses."""
        if not self._binds(container):
            return manifest
        wants, key = wants_of(manifest), self._key(container)
        own = self._avoided_by(container.id)
        avoided = self._ledger.turned_away.union(own, held_for_others(self._state, container))
        node_name = self._ledger.assumed_node(key)
        if node_name is None or node_name in avoided or not self._chooser.may_go(wants, node_name):
            self._ledger.release(key)
            node_name = self._chosen(container.id, wants, own, avoided)
        if node_name is None:
            return self._no_place(container.id, own)
        self._leave_line(container.id)
        self._ledger.assume(key, node_name, wants.amounts, wants.application, self._clock.monotonic_s() + ASSUMED_S)
        self._after_change()
        return {**manifest, "spec": {**manifest["spec"], "nodeName": node_name}}

    def held_on(self, node_name: str) -> Mapping[str, int] | None:
        """Return the requests of all pods of a node, in thousandths by resource name; None before they were listed."""
        return self._ledger.held_on(node_name) if self._ledger.pods_are_known else None

    def others_on(self, node_name: str) -> Mapping[str, int]:
        """Return ``held_on`` of pods that are not ours."""
        return self._ledger.others_on(node_name)

    def admission_left_s(self, container: Container, pod: PodObservation) -> float:
        """Return the seconds to wait for the kubelet's decision about a pod that has a node.

        A node may lend less by the time its kubelet decides, so no container on lent capacity is offered before; one
        that is refused (``OutOf…``) then gets another pod, and its ApplicationMaster never hears of the first.  On
        ordinary capacity only ApplicationMasters wait that were bound here: each is launched as soon as its container
        has a node, and its attempt would fail with it.  An offered task can be taken back until it is handed over.
        """
        waits = self._is_on_lent_capacity(container) or (container.is_am and self._binds(container))
        if not waits or _is_admitted(pod):
            return 0.0
        now_s = self._clock.monotonic_s()
        return self._bound_since_s.setdefault(container.id, now_s) + ADMISSION_S - now_s

    def _is_on_lent_capacity(self, container: Container) -> bool:
        pools = self._state.pools
        return pools.is_published(pools.pools.of(container.queue))

    # --- what became of it -----------------------------------------------------------------------------------------

    def created(self, container: Container) -> None:
        """The API server has the pod; its watch will show it."""
        self._bound_since_s.pop(container.id, None)
        self._ledger.keep_until(self._key(container), self._clock.monotonic_s() + SEEN_WITHIN_S)

    def not_created(self, container: Container) -> None:
        """The API server refused the pod."""
        self._ledger.release(self._key(container))
        self._after_change()

    def refused(self, container: Container, pod: PodObservation) -> None:
        """The kubelet did not admit the pod."""
        if pod.node_name is None or not self._binds(container):
            return
        now_s = self._clock.monotonic_s()
        log.info("node refused a pod", node=pod.node_name, container_id=str(container.id), reason=pod.reason)
        avoided = self._avoided.setdefault(container.id, {})
        avoided.pop(pod.node_name, None)
        while len(avoided) >= AVOIDED_MAX:
            del avoided[next(iter(avoided))]
        avoided[pod.node_name] = now_s + AVOIDED_S
        if pod.reason.startswith(TOO_LITTLE):
            self._ledger.turn_away(pod.node_name, now_s + TURNED_AWAY_S)
        self.not_created(container)

    def over(self, container_id: ContainerId) -> None:
        """The container wants no pod any more."""
        self._leave_line(container_id)
        self._avoided.pop(container_id, None)
        self._bound_since_s.pop(container_id, None)

    # --- what is seen ----------------------------------------------------------------------------------------------

    def nodes_changed(self, changes: Changes, counted: Callable[[str], NodeObservation | None]) -> None:
        """``counted`` finds a node as queues may count on it; None: it is gone."""
        found = {name: counted(name) for name in changes.nodes}
        there = [node for node in found.values() if node is not None]
        if changes.is_listing:
            self._ledger.nodes_listed(there)
        else:
            for name in [name for name, node in found.items() if node is None]:
                self._ledger.node_gone(name)
            for node in there:
                self._ledger.node_seen(node)
        self._after_change()

    def holdings_listed(self, pods: Sequence[PodHolding]) -> None:
        self._ledger.pods_listed(pods)
        self._ledger.changed.update(self._ledger.nodes)  # what they ask for is known now, be it nothing
        self._tell_of_others()
        self._after_change()

    def holding_seen(self, pod: PodHolding) -> None:
        self._ledger.pod_seen(pod)
        self._tell_of_others()
        self._after_change()

    def holding_gone(self, pod: PodHolding) -> None:
        self._ledger.pod_gone(pod)
        self._tell_of_others()
        self._after_change()

    def tell_of_all_others(self) -> None:
        """Report the usage of others of all nodes, from now on."""
        self._ledger.others_changed.update(self._ledger.nodes)
        self._tell_of_others()

    def _tell_of_others(self) -> None:
        changed, self._ledger.others_changed = self._ledger.others_changed, set()
        for name in changed:
            self._see_others(name, self._ledger.others_on(name))
        changed, self._ledger.changed = self._ledger.changed, set()
        for name in changed:
            self._held_changed(name)

    def published(self, rows: Iterable[Row]) -> None:
        """Rows that were committed: of nodes, whether their agents may be given containers."""
        for row in rows:
            if isinstance(row, Node):
                for name in {self._agents.get(row.id, ""), row.kubernetes_node_name} - {""}:
                    self._look_at_agent(name)
                self._agents[row.id] = row.kubernetes_node_name
        self._after_change()

    def holds_changed(self) -> None:
        """Nodes are held for others, or are not any more."""
        self._ledger.growth += 1
        self._after_change()

    async def run(self) -> None:
        """Forget what did not come true."""
        while True:
            await asyncio.sleep(EXPIRY_INTERVAL_S)
            self.expire()

    def expire(self) -> None:
        self._ledger.expire(self._clock.monotonic_s())
        self._after_change()

    # --- choosing and waiting --------------------------------------------------------------------------------------

    def _chosen(
        self, container_id: ContainerId, wants: Wants, own: frozenset[str], avoided: frozenset[str]
    ) -> str | None:
        key: Line = (wants.shape, own)
        line = self._lines.get(key)
        if self._ledger.is_known and (line is None or line.growth != self._ledger.growth):
            found = self._chooser.choose(wants, avoided)
            if found is not None:
                return found
        self._stand_in_line(container_id, key, wants)
        return None

    def _stand_in_line(self, container_id: ContainerId, key: Line, wants: Wants) -> None:
        if self._line_of.get(container_id) != key:
            self._leave_line(container_id)
        line = self._lines.setdefault(key, _WaitingPod(wants, {}))
        line.containers[container_id] = None
        self._line_of[container_id] = key
        line.growth = self._ledger.growth if self._ledger.is_known else -1

    def _leave_line(self, container_id: ContainerId) -> None:
        key = self._line_of.pop(container_id, None)
        if key is None:
            return
        line = self._lines[key]
        line.containers.pop(container_id, None)
        if line.containers:
            self._tried_at_growth = -1  # the next of the line
            self._after_change()
        else:
            del self._lines[key]

    def _no_place(self, container_id: ContainerId, own: frozenset[str]) -> NoPlace:
        if not self._ledger.is_known:
            return NoPlace(UNKNOWN)
        line, now_s = self._lines[self._line_of[container_id]], self._clock.monotonic_s()
        if now_s - line.explained_s >= EXPLAINED_EVERY_S and now_s - self._explained_s >= EXPLANATION_PAUSE_S:
            held = self._held(container_id)
            line.reason = self._chooser.explain(line.wants, self._ledger.turned_away.union(own), held)
            line.explained_s = self._explained_s = now_s
        return NoPlace(line.reason, min(self._avoided[container_id].values()) - now_s if own else None)

    def _after_change(self) -> None:
        """Look, once what is under way is done, whether somebody who waits fits now."""
        if self._lines and not self._is_pass_due and self._tried_at_growth != self._ledger.growth:
            self._is_pass_due = True
            asyncio.get_running_loop().call_soon(self._try_lines)

    def _try_lines(self) -> None:
        self._tried_at_growth = self._ledger.growth
        self._try_some(iter([*self._lines] if self._ledger.is_known else ()))

    def _try_some(self, keys: Iterator[Line]) -> None:
        """A slice now, the others as soon as the loop has done what else there is."""
        some = [*islice(keys, LINES_AT_ONCE)]
        for key in some:
            line = self._lines.get(key)
            if line is not None:
                self._try(line, key[1])
        if len(some) == LINES_AT_ONCE:
            asyncio.get_running_loop().call_soon(self._try_some, keys)
        else:
            self._is_pass_due = False
            self._after_change()  # what has changed meanwhile

    def _try(self, line: _WaitingPod, own: frozenset[str]) -> None:
        first = next(iter(line.containers))
        avoided = self._ledger.turned_away.union(own, self._held(first))
        fits = self._chooser.choose(line.wants, avoided) is not None
        line.growth = -1 if fits else self._ledger.growth
        if fits:
            self._enqueue(first)

    def _held(self, container_id: ContainerId) -> frozenset[str]:
        """Nodes that are held for others."""
        container = self._state.containers.get(container_id)
        return held_for_others(self._state, container) if container is not None else frozenset()

    def _avoided_by(self, container_id: ContainerId) -> frozenset[str]:
        avoided = self._avoided.get(container_id)
        if avoided is None:
            return frozenset()
        now_s = self._clock.monotonic_s()
        left = {name: until_s for name, until_s in avoided.items() if until_s > now_s}
        if left:
            self._avoided[container_id] = left
        else:
            del self._avoided[container_id]
        return frozenset(left)

    def _look_at_agent(self, kubernetes_name: str) -> None:
        is_open = self._state.node_index.of_kubernetes(kubernetes_name) is not None
        if self._chooser.open(kubernetes_name, is_open=is_open) and is_open:
            self._ledger.growth += 1

    def _key(self, container: Container) -> Key:
        return self._namespace, container.pod


def _is_admitted(pod: PodObservation) -> bool:
    """The kubelet has written a status."""
    return pod.phase is not PodPhase.PENDING or pod.is_ready is not None
