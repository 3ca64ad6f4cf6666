"""The scheduler of the local cluster: one loop that binds pending pods, whatever ``schedulerName`` they carry.

It is told of every change by the store and only records it; a pass runs when there is something to do and never polls.
A pod that did not fit is tried again when capacity came free or a node changed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from datetime import datetime

from yodel.local.events import WARNING, EventRecorder, EventSource
from yodel.local.neighbours import Neighbour, neighbour, terms_of
from yodel.local.objects import ObjectChange, ObjectStore, StoredObject
from yodel.local.placement import SchedulerNode, node_view, place, pod_requests
from yodel.local.registry import Registry
from yodel.local.statuses import Json
from yodel.local.times import to_text
from yodel.translator.node_fit import Amounts

YIELD_EVERY = 20  # pods decided before the loop gets a turn for heartbeats and watches

_Key = tuple[str, str]


class PodScheduler:
    """Construct it before the first change is made; ``run`` until cancelled."""

    def __init__(
        self, store: ObjectStore, registry: Registry, events: EventRecorder, now: Callable[[], datetime]
    ) -> None:
        self._store, self._registry, self._events, self._now = store, registry, events, now
        self._nodes: dict[str, SchedulerNode] = {}
        self._bound: dict[_Key, tuple[str, Amounts]] = {}
        self._waiting: dict[_Key, None] = {}  # an ordered set: first come, first served
        self._unfit: dict[_Key, None] = {}
        self._neighbours: dict[_Key, Neighbour] = {}
        self._keep_others_away: dict[_Key, None] = {}
        self._wake = asyncio.Event()
        for record in store.list("nodes"):
            self._node_seen(record.item)
        for record in sorted(store.list("pods"), key=lambda record: record.version):
            self._pod_seen(record)
        store.listen(self._on_change)

    async def run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            for turn, key in enumerate(list(self._waiting), start=1):
                self._schedule(key)
                if turn % YIELD_EVERY == 0:
                    await asyncio.sleep(0)

    def schedule_waiting(self) -> None:
        """One pass without yielding."""
        for key in list(self._waiting):
            self._schedule(key)

    def _schedule(self, key: _Key) -> None:
        self._waiting.pop(key, None)
        record = self._store.find("pods", *key)
        if record is None or not _is_pending(record.item):
            return
        pod = record.item
        placement = place(pod, pod_requests(pod), self._nodes.values(), self._neighbours_of(pod))
        source = EventSource(component=pod["spec"]["schedulerName"])
        if placement.node is None:
            self._unfit[key] = None
            self._refuse(record, placement.message, source)
            return
        self._registry.assign(record, placement.node)
        text = f"Successfully assigned {key[0]}/{key[1]} to {placement.node}"
        self._events.record(pod, "Scheduled", text, source=source)

    def _neighbours_of(self, pod: Json) -> Collection[Neighbour]:
        """All pods that are placed for a pod that minds them; else only those that mind others."""
        if terms_of(pod, "podAffinity") or terms_of(pod, "podAntiAffinity"):
            return self._neighbours.values()
        return [self._neighbours[key] for key in self._keep_others_away]

    def _refuse(self, record: StoredObject, message: str, source: EventSource) -> None:
        status = record.item["status"]
        old = next((c for c in status.get("conditions") or [] if c["type"] == "PodScheduled"), None)
        if old is not None and old.get("message") == message:
            return
        condition = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": message,
            "lastProbeTime": None,
            "lastTransitionTime": (old or {}).get("lastTransitionTime") or to_text(self._now()),
        }
        others = [c for c in status.get("conditions") or [] if c["type"] != "PodScheduled"]
        self._store.replace("pods", {**record.item, "status": {**status, "conditions": [*others, condition]}})
        self._events.record(record.item, "FailedScheduling", message, source=source, kind=WARNING)

    def _on_change(self, change: ObjectChange) -> None:
        if change.resource == "pods":
            if change.kind == "DELETED":
                self._pod_gone(change.record.key[1:])
            else:
                self._pod_seen(change.record)
        elif change.resource == "nodes":
            if change.kind == "DELETED":
                self._nodes.pop(change.record.key[2], None)
            elif change.previous is None or _matters(change.previous.item) != _matters(change.record.item):
                self._node_seen(change.record.item)

    def _pod_seen(self, record: StoredObject) -> None:
        key, pod = record.key[1:], record.item
        if _is_pending(pod):
            if key not in self._unfit:
                self._waiting[key] = None
                self._wake.set()
        elif pod["status"].get("phase") in ("Succeeded", "Failed"):
            self._pod_gone(key)
        elif pod["spec"].get("nodeName"):
            self._unfit.pop(key, None)
            self._meet(key, pod)
            self._account_as(key, (pod["spec"]["nodeName"], pod_requests(pod)))

    def _meet(self, key: _Key, pod: Json) -> None:
        """A pod was placed: others may have waited for its company."""
        is_new, self._neighbours[key] = key not in self._neighbours, neighbour(pod)
        if self._neighbours[key].apart:
            self._keep_others_away[key] = None
        if is_new and any(self._wants_company(waiting) for waiting in self._unfit):
            self._retry_unfit()

    def _wants_company(self, key: _Key) -> bool:
        record = self._store.find("pods", *key)
        return record is not None and bool(terms_of(record.item, "podAffinity"))

    def _account_as(self, key: _Key, held: tuple[str, Amounts]) -> None:
        """A pod was bound, or resized since."""
        if self._bound.get(key) == held:
            return
        is_known = key in self._bound
        if is_known:
            self._account(key, -1)
        self._bound[key] = held
        self._account(key, 1)
        if is_known:
            self._retry_unfit()

    def _pod_gone(self, key: _Key) -> None:
        self._waiting.pop(key, None)
        self._unfit.pop(key, None)
        self._neighbours.pop(key, None)
        self._keep_others_away.pop(key, None)
        if key in self._bound:
            self._account(key, -1)
            del self._bound[key]
            self._retry_unfit()

    def _account(self, key: _Key, sign: int) -> None:
        name, requests = self._bound[key]
        node = self._nodes.get(name)
        if node is not None:
            for resource, milli in requests.items():
                node.used[resource] = node.used.get(resource, 0) + sign * milli

    def _node_seen(self, node: Json) -> None:
        view = node_view(node)
        self._nodes[view.name] = view
        for key, (name, _) in self._bound.items():
            if name == view.name:
                self._account(key, 1)
        self._retry_unfit()

    def _retry_unfit(self) -> None:
        if self._unfit:
            self._waiting = {**self._unfit, **self._waiting}
            self._unfit = {}
            self._wake.set()


def _is_pending(pod: Json) -> bool:
    return (
        not pod["spec"].get("nodeName")
        and not pod["metadata"].get("deletionTimestamp")
        and pod["status"].get("phase") == "Pending"
    )


def _matters(node: Json) -> tuple[object, ...]:
    """Return the parts of a node that can change a decision, without its heartbeat."""
    return node["metadata"].get("labels"), node.get("spec"), (node.get("status") or {}).get("allocatable")
