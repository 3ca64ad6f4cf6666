"""Tracks usage of live containers, and what ended ones have used."""

from __future__ import annotations

from dataclasses import dataclass, replace

from yodel.domain.container import Container
from yodel.domain.ids import ApplicationId, NodeId
from yodel.domain.past import NOTHING_PREEMPTED, PastUsage, Preempted, preempted_of, used_by
from yodel.domain.resource import NONE, Resource
from yodel.domain.states import ContainerState


@dataclass(slots=True)
class Usage:
    """Live containers of an application, a node, a queue or the cluster.  Limits are of all of it; of what is shown as
    used, what is ``starting`` has no node yet."""

    resource: Resource = NONE
    containers: int = 0
    am_resource: Resource = NONE
    masters: int = 0
    """ApplicationMasters among them: applications that run."""
    starting: Resource = NONE
    starting_containers: int = 0

    @classmethod
    def of(cls, container: Container) -> Usage:
        is_starting = container.state is ContainerState.PLANNED
        starting = (container.reserved, 1) if is_starting else (NONE, 0)
        if container.is_am:
            return cls(container.reserved, 1, container.reserved, 1, *starting)
        return cls(container.reserved, 1, NONE, 0, *starting)

    @property
    def allocated(self) -> Resource:
        return self.resource - self.starting if self.starting_containers else self.resource

    @property
    def allocated_containers(self) -> int:
        return self.containers - self.starting_containers

    def plus(self, other: Usage, sign: int) -> Usage:
        """Another one: who has this one goes on reading it as it was."""
        found = replace(self)
        found.add(other, sign)
        return found

    def add(self, other: Usage, sign: int) -> None:
        self.resource += other.resource * sign
        self.containers += other.containers * sign
        if other.masters:
            self.am_resource += other.am_resource * sign
            self.masters += other.masters * sign
        if other.starting_containers:
            self.starting += other.starting * sign
            self.starting_containers += other.starting_containers * sign


@dataclass(slots=True)
class ResourceSeconds:
    """Integrals over ended containers; what live ones use is added when somebody asks."""

    memory_mib_s: int = 0
    vcore_s: int = 0
    preempted: Preempted = NOTHING_PREEMPTED


class UsageBook:
    """Tracks usage of the cluster, of each application and of each node.  Only ``ClusterState`` changes it."""

    def __init__(self) -> None:
        self.cluster = Usage()
        self.by_application: dict[ApplicationId, Usage] = {}
        self.by_node: dict[NodeId, Usage] = {}
        self.seconds: dict[ApplicationId, ResourceSeconds] = {}
        """The seconds of ended containers, forgotten ones too."""

    def hold(self, container: Container, held: Usage, sign: int) -> None:
        """A live container that came, or went."""
        usages = [self.cluster, self.by_application.setdefault(container.id.application_id, Usage())]
        if container.node_id is not None:
            usages.append(self.by_node.setdefault(container.node_id, Usage()))
        for usage in usages:
            usage.add(held, sign)

    def count_end(self, container: Container, *, is_counted: bool = False) -> None:
        """Count an end, or with ``is_counted`` only that it was preempted, as was told after its end."""
        memory_mib_s, vcore_s = (0, 0) if is_counted else used_by(container)
        self._add_seconds(container.id.application_id, memory_mib_s, vcore_s, preempted_of(container))

    def count_past(self, usage: PastUsage) -> None:
        """Count past usage as if its containers were still here."""
        self._add_seconds(usage.id.application_id, usage.memory_mib_s, usage.vcore_s, usage.preempted)

    def forget(self, application_id: ApplicationId) -> None:
        self.by_application.pop(application_id, None)
        self.seconds.pop(application_id, None)

    def _add_seconds(
        self, application_id: ApplicationId, memory_mib_s: int, vcore_s: int, preempted: Preempted
    ) -> None:
        seconds = self.seconds.setdefault(application_id, ResourceSeconds())
        seconds.memory_mib_s += memory_mib_s
        seconds.vcore_s += vcore_s
        if preempted is not NOTHING_PREEMPTED:
            seconds.preempted += preempted
