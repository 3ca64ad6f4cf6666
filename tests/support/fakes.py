"""Fakes the parts of a World: Kubernetes, node agents, a clock and users, which follow orders and remember them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from math import ceil
from typing import Any

from tests.support.records import CLUSTER_TIMESTAMP_MS
from yodel.domain.ids import NodeId
from yodel.domain.pod import PodObservation, PodPhase
from yodel.errors import Refused
from yodel.ports.identity import PosixUser
from yodel.ports.kube_nodes import NodeObservation
from yodel.ports.node_agents import AmStart
from yodel.ports.pods import Manifest
from yodel.translator.names import PUBLISHED, PUBLISHER

NODE = NodeId("node-1", 8041)


class Crash(BaseException):
    """The process died here.  Not an Exception: nothing may handle it."""


@dataclass(slots=True, order=True)
class FakeTimer:
    """Rings when the clock is moved past ``due_ms``."""

    due_ms: int
    number: int
    callback: Callable[[], None] | None = field(compare=False)

    def cancel(self) -> None:
        self.callback = None


class FakeClock:
    """Stands still until it is moved.  Implements yodel.ports.clock.{Clock, Timers}."""

    def __init__(self) -> None:
        self.elapsed_ms = 0
        self._timers: list[FakeTimer] = []
        self._timers_set = 0
        self.skew_ms = 0
        """The milliseconds that the wall clock was set forward, or back."""

    def now_ms(self) -> int:
        return CLUSTER_TIMESTAMP_MS + self.elapsed_ms + self.skew_ms

    def monotonic_s(self) -> float:
        return self.elapsed_ms / 1000

    def ring(self, delay_s: float, callback: Callable[[], None]) -> FakeTimer:
        """After a millisecond at least, or time would stand still."""
        self._timers_set += 1
        timer = FakeTimer(self.elapsed_ms + max(1, ceil(delay_s * 1000)), self._timers_set, callback)
        heappush(self._timers, timer)
        return timer

    def advance(self, seconds: float) -> None:
        """Move it, and ring what is due by then."""
        self.elapsed_ms += round(seconds * 1000)
        while self._timers and self._timers[0].due_ms <= self.elapsed_ms:
            callback = heappop(self._timers).callback
            if callback is not None:
                callback()


class FakePods:
    """Kubernetes: keeps pods, remembers what was asked of it, and tells of changes when ``events`` are delivered."""

    def __init__(self, step: Callable[[str], None]) -> None:
        self._step = step
        self.pods: dict[str, PodObservation] = {}
        self.manifests: dict[str, Manifest] = {}
        self.created: list[str] = []
        self.deleted: list[str] = []
        self.events: list[tuple[str, PodObservation]] = []
        self.create_errors: list[Exception] = []
        """Raised by the next calls, one each."""
        self.delete_errors: list[Exception] = []
        self.resize_errors: list[Exception] = []
        self.resized: list[str] = []
        self.classes = {"": 0, "koord-batch": -200}
        """Priorities by PriorityClass; of no name: of pods without one."""
        self.try_errors: list[Exception] = []
        self._version = 0

    async def priority_of(self, manifest: Manifest) -> int | None:
        if self.try_errors:
            raise self.try_errors.pop(0)
        name = manifest["spec"].get("priorityClassName", "")
        if name not in self.classes:
            raise Refused(f'Dry run of a pod: pods "a" is forbidden: no PriorityClass with name {name} was found')
        return self.classes[name]

    async def create(self, manifest: Manifest) -> None:
        self._step("before pod creation")
        if self.create_errors:
            raise self.create_errors.pop(0)
        metadata = manifest["metadata"]
        name = metadata["name"]
        self.created.append(name)
        self.manifests[name] = manifest
        if name not in self.pods:
            earlier = self.created.count(name) - 1
            self.put(
                PodObservation(
                    name=name,
                    uid=f"uid-{name}-{earlier}" if earlier else f"uid-{name}",
                    resource_version="",
                    labels=dict(metadata["labels"]),
                    annotations=dict(metadata.get("annotations", {})),
                    node_name=manifest["spec"].get("nodeName"),
                )
            )
        self._step("after pod creation")

    async def delete(self, name: str, *, grace_s: int | None = None) -> None:
        self._step("before pod deletion")
        if self.delete_errors:
            raise self.delete_errors.pop(0)
        self.deleted.append(name)
        self.remove(name)
        self._step("after pod deletion")

    async def resize(self, manifest: Manifest) -> None:
        self._step("before pod resize")
        if self.resize_errors:
            raise self.resize_errors.pop(0)
        name = manifest["metadata"]["name"]
        if name in self.pods:
            self.resized.append(name)
            self.manifests[name] = manifest
        self._step("after pod resize")

    async def get(self, name: str) -> PodObservation | None:
        return self.pods.get(name)

    # --- what happens in the cluster -----------------------------------------------------------------------------

    def put(self, pod: PodObservation) -> None:
        self._version += 1
        self.pods[pod.name] = replace(pod, resource_version=str(self._version))
        self.events.append(("seen", self.pods[pod.name]))

    def remove(self, name: str) -> None:
        """Gone at once, whoever asked for it."""
        pod = self.pods.pop(name, None)
        if pod is not None:
            self.events.append(("gone", replace(pod, deletion_requested=True)))

    def change(self, name: str, **changes: Any) -> None:
        self.put(replace(self.pods[name], **changes))

    def bind_all(self, node_name: str = NODE.host) -> None:
        for pod in list(self.pods.values()):
            if pod.node_name is None:
                self.change(pod.name, node_name=node_name, phase=PodPhase.RUNNING)

    def finish(self, name: str, exit_code: int, **changes: Any) -> None:
        phase = PodPhase.SUCCEEDED if exit_code == 0 else PodPhase.FAILED
        self.change(name, phase=phase, exit_code=exit_code, **changes)


class FakeStatuses:
    """Kubernetes' nodes and their statuses.  Implements yodel.ports.kube_nodes.NodeStatuses; changes are told when
    ``events`` are delivered.  Everybody's writes come here, with the field manager's name."""

    def __init__(self, step: Callable[[str], None]) -> None:
        self._step = step
        self.nodes: dict[str, NodeObservation] = {}
        self.events: list[NodeObservation] = []
        self.errors: list[Exception] = []
        """Raised by the next patches, one each."""
        self.patches: list[tuple[str, dict[str, int | None]]] = []
        self.missing: Sequence[str] = ()
        self._version = 0

    async def publish(self, node: str, amounts: Mapping[str, int | None]) -> str:
        self._step("before node status")
        if self.errors:
            raise self.errors.pop(0)
        self.patches.append((node, dict(amounts)))
        if node in self.nodes:
            self.write(node, amounts, PUBLISHER)
        self._step("after node status")
        return str(self._version) if node in self.nodes else ""

    async def missing_rights(self) -> Sequence[str]:
        return self.missing

    # --- what happens in the cluster -----------------------------------------------------------------------------

    def put(self, name: str, **fields: Any) -> None:
        """A node that is new, or made anew."""
        self._version += 1
        machine = {"cpu": "16", "memory": "16Gi"}
        defaults = {"uid": f"uid-{name}", "ready": True, "capacity": machine, "allocatable": machine}
        node = NodeObservation(name=name, resource_version=str(self._version), **{**defaults, **fields})
        self.nodes[name] = node
        self.events.append(node)

    def write(self, name: str, amounts: Mapping[str, int | None], manager: str) -> None:
        """Somebody writes names of its capacity, and its kubelet makes allocatable of it."""
        node = self.nodes[name]
        capacity, managers = {**node.capacity}, {**node.capacity_managers}
        for resource, amount in amounts.items():
            for table, value in ((capacity, str(amount)), (managers, manager)):
                table.pop(resource, None)
                if amount is not None:
                    table[resource] = value
        own = {name: node.allocatable[name] for name in ("cpu", "memory") if name in node.allocatable}
        allocatable = {**capacity, **own}
        changes: dict[str, Any] = {"capacity": capacity, "allocatable": allocatable, "capacity_managers": managers}
        if manager == PUBLISHER:
            left = sorted(resource for resource, amount in amounts.items() if amount is not None)
            changes["annotations"] = {PUBLISHED: ",".join(left)} if left else {}
        self.change(name, **changes)

    def change(self, name: str, **changes: Any) -> None:
        self._version += 1
        self.nodes[name] = replace(self.nodes[name], resource_version=str(self._version), **changes)
        self.events.append(self.nodes[name])


class FakeNodeAgents:
    """Accepts every ApplicationMaster unless told otherwise.  ``meanwhile`` happens before the answer is out."""

    def __init__(self, step: Callable[[str], None]) -> None:
        self._step = step
        self.started: list[AmStart] = []
        self.errors: list[Exception] = []
        self.meanwhile: Callable[[], Awaitable[None]] | None = None

    async def start_am(self, start: AmStart) -> None:
        self._step("before AM start")
        if self.errors:
            raise self.errors.pop(0)
        self.started.append(start)
        if self.meanwhile is not None:
            await self.meanwhile()
        self._step("after AM start")


class FakeEndpoints:
    """All are there but those that are ``down``."""

    def __init__(self) -> None:
        self.down: set[tuple[str, int]] = set()

    async def answers(self, host: str, port: int) -> bool:
        return (host, port) not in self.down


class NoUsers:
    """Nobody is in a group, and whose pods are made is nobody's business."""

    def is_known(self, user: str) -> bool:
        return True

    async def look_up(self, user: str) -> None: ...

    def forget(self) -> None: ...

    def groups_of(self, user: str) -> Sequence[str]:
        return ()

    def is_mapped(self, user: str) -> bool:
        return False

    def posix_user(self, user: str) -> PosixUser:
        raise Refused(f"User {user} not found")
