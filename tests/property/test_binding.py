"""Whatever happens, and in whatever order it is heard of: no node is given more than the ledger says it has."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from yodel.domain.pod import PodHolding
from yodel.ports.kube_nodes import NodeObservation
from yodel.translator.binding import Chooser, wants_of
from yodel.translator.ledger import Key, NodeLedger
from yodel.translator.node_fit import Amounts

NODES = ("n1", "n2", "n3")
SLOTS = 6
nodes, slots, sizes = st.sampled_from(NODES), st.integers(0, SLOTS - 1), st.integers(0, 5)
WATCH_LAG_MAX = 4


class Cluster(RuleBasedStateMachine):
    """A cluster, the ledger that hears of it late, and a model of what the ledger has heard."""

    def __init__(self) -> None:
        super().__init__()
        self.ledger = NodeLedger()
        self.chooser = Chooser(self.ledger)
        self.version = 0
        self.now_s = 0.0
        self.pods: dict[Key, PodHolding] = {}
        self.heard: dict[Key, PodHolding] = {}
        self.events: list[tuple[str, PodHolding]] = []
        self.assumed: dict[Key, Amounts] = {}
        for name in NODES:
            self.chooser.open(name, is_open=True)
        self.ledger.nodes_listed([self.node(name, 8) for name in NODES])
        self.ledger.pods_listed([])

    def node(self, name: str, cpu: int, **changes: Any) -> NodeObservation:
        self.version += 1
        allocatable = {"cpu": str(cpu), "pods": "5"}
        return NodeObservation(
            name=name, uid=name, resource_version=str(self.version), ready=True, allocatable=allocatable, **changes
        )

    @rule(slot=slots, cpu=sizes)
    def bind(self, slot: int, cpu: int) -> None:
        """We choose a node; the pod is created there."""
        key = ("ours", f"p{slot}")
        if key in self.pods or self.ledger.assumed_node(key) is not None:
            return
        spec = {"containers": [{"resources": {"requests": {"cpu": str(cpu)}}}]}
        wants = wants_of({"metadata": {}, "spec": spec})
        name = self.chooser.choose(wants)
        fitting = [n for n in self.ledger.nodes.values() if n.fits(wants.amounts) and not n.unschedulable]
        assert (name is None) is (not fitting)
        if name is None:
            assert "available" in self.chooser.explain(wants)
            return
        assert self.ledger.nodes[name].fits(wants.amounts)
        self.ledger.assume(key, name, wants.amounts, "a", self.now_s + 10)
        self.assumed[key] = dict(wants.amounts)
        self.create(key, name, dict(wants.amounts))

    @rule(slot=slots, cpu=sizes, name=nodes)
    def others_bind(self, slot: int, cpu: int, name: str) -> None:
        if ("others", f"p{slot}") not in self.pods:
            self.create(("others", f"p{slot}"), name, {"cpu": cpu * 1000, "pods": 1000})

    def create(self, key: Key, name: str, amounts: Amounts) -> None:
        self.version += 1
        pod = PodHolding(
            namespace=key[0],
            name=key[1],
            uid=str(self.version),
            resource_version=str(self.version),
            node_name=name,
            amounts=amounts,
        )
        self.pods[key] = pod
        self.tell("seen", pod)

    @precondition(lambda self: self.pods)
    @rule(data=st.data(), is_deleted=st.booleans())
    def change(self, data: st.DataObject, is_deleted: bool) -> None:
        key = data.draw(st.sampled_from(sorted(self.pods)))
        self.version += 1
        pod = replace(self.pods[key], resource_version=str(self.version))
        if is_deleted:
            del self.pods[key]
            self.tell("gone", pod)
        else:
            self.pods[key] = pod
            self.tell("seen", pod)

    def tell(self, what: str, pod: PodHolding) -> None:
        self.events.append((what, pod))
        while len(self.events) > WATCH_LAG_MAX:
            self.deliver()

    @precondition(lambda self: self.events)
    @rule()
    def deliver(self) -> None:
        what, pod = self.events.pop(0)
        key = (pod.namespace, pod.name)
        if what == "seen":
            self.heard[key] = pod
            self.ledger.pod_seen(pod)
        else:
            self.heard.pop(key, None)
            self.ledger.pod_gone(pod)

    @precondition(lambda self: self.heard)
    @rule(data=st.data())
    def repeat(self, data: st.DataObject) -> None:
        self.ledger.pod_seen(self.heard[data.draw(st.sampled_from(sorted(self.heard)))])

    @rule()
    def relist(self) -> None:
        self.events.clear()
        self.heard = dict(self.pods)
        self.ledger.pods_listed([*self.pods.values()])

    @rule(name=nodes, cpu=st.integers(0, 12), unschedulable=st.booleans())
    def node_changes(self, name: str, cpu: int, unschedulable: bool) -> None:
        self.ledger.node_seen(self.node(name, cpu, unschedulable=unschedulable))

    @rule(name=nodes)
    def node_goes(self, name: str) -> None:
        self.ledger.node_gone(name)

    @rule(seconds=st.integers(1, 12))
    def time_passes(self, seconds: int) -> None:
        self.now_s += seconds
        self.ledger.expire(self.now_s)

    @invariant()
    def the_books_are_right(self) -> None:
        """Used is what was heard of, and what is assumed."""
        used: Counter[tuple[str, str]] = Counter()
        for pod in self.heard.values():
            used.update({(pod.node_name, resource): amount for resource, amount in pod.amounts.items()})
        for key, amounts in self.assumed.items():
            name = self.ledger.assumed_node(key)
            if name is not None:
                used.update({(name, resource): amount for resource, amount in amounts.items()})
        for node in self.ledger.nodes.values():
            for resource in ("cpu", "pods"):
                assert node.used.get(resource, 0) == used[node.name, resource]
                assert node.free.get(resource, 0) == node.allocatable.get(resource, 0) - used[node.name, resource]


Cluster.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestCluster = Cluster.TestCase
