"""Holds the state of the RM in memory: the committed rows with their indexes, and what lives only as long as the
process.

Only the engine calls ``publish`` and ``remove_*``; everybody else reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from yodel.domain.application import Application
from yodel.domain.ask_book import AskKey
from yodel.domain.attempt import Attempt
from yodel.domain.colocation.node import Intake
from yodel.domain.container import Container
from yodel.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId
from yodel.domain.node import Node
from yodel.domain.past import NOTHING_PREEMPTED, PastUsage, PastUsageId, newly_preempted
from yodel.domain.queues.queue import Queue
from yodel.domain.resource import NONE, Resource
from yodel.domain.scheduler_conf import SchedulerConf
from yodel.domain.states import AttemptState, ContainerState
from yodel.ports.store import ClusterIdentity, Row, Snapshot
from yodel.services.writer.application_index import ApplicationIndex
from yodel.services.writer.change_counters import ChangeCounters
from yodel.services.writer.container_index import ContainerIndex
from yodel.services.writer.endpoint_book import EndpointBook
from yodel.services.writer.hold_book import HoldBook
from yodel.services.writer.intake_book import IntakeBook
from yodel.services.writer.masters import Masters
from yodel.services.writer.node_index import NodeIndex
from yodel.services.writer.notice_book import NoticeBook
from yodel.services.writer.pool_book import PoolBook
from yodel.services.writer.queue_use import QueueUse
from yodel.services.writer.reasons import Reasons
from yodel.services.writer.totals import TotalsBook
from yodel.services.writer.usage import Usage, UsageBook
from yodel.translator.pools import PoolRules

ALLOCATED = (AttemptState.ALLOCATED, AttemptState.LAUNCHED, AttemptState.RUNNING, AttemptState.FINISHING)


def _standing(row: Application) -> tuple[object, ...]:
    """Return the fields of an application that a decision reads."""
    return row.submission.priority, row.submission.queue


def _room(row: Node) -> tuple[object, ...]:
    """Return the fields of a node that a decision reads."""
    return row.state, row.capability, row.rack, row.labels, row.kubernetes_node_name, row.is_node_manager


def _burden(row: Container) -> tuple[object, ...]:
    """Return the fields of a container that a decision reads, and by which it is charged; its queue and type stay."""
    return row.is_live, row.state is ContainerState.PLANNED, row.node_id, row.reserved, row.resize_to


def ask_key(container: Container) -> AskKey:
    return AskKey(
        container.priority,
        container.allocation_request_id,
        container.asked_execution_type,
        container.asked_capability,
    )


def _in_order(nodes: Iterable[Node], containers: Sequence[Container]) -> list[Node]:
    """Order the agents of a Kubernetes node.  No row records which registered first; it is the one with the first
    container."""
    first = {container.node_id: -number for number, container in enumerate(reversed(containers))}
    return sorted(nodes, key=lambda node: (first.get(node.id, 1), node.id))


class ClusterState:
    """All rows by identifier, and what is derived from them."""

    def __init__(self, identity: ClusterIdentity) -> None:
        self.identity = identity
        self.web_address = ""
        """host:port of the RM's web pages, which diagnostics name; known once they are served."""
        self.change_counters = ChangeCounters()
        self.applications: dict[ApplicationId, Application] = {}
        self.index = ApplicationIndex()
        self.attempts: dict[ApplicationAttemptId, Attempt] = {}
        self.containers: dict[ContainerId, Container] = {}
        """Live ones, and ended ones until they are forgotten."""
        self.nodes: dict[NodeId, Node] = {}
        self.node_index = NodeIndex(self.nodes)
        self.queues: dict[str, Queue] = {}
        self.totals = TotalsBook(self.queues.keys())
        """The counts of what began and ended; forgetting takes nothing back."""
        self.scheduler_conf = SchedulerConf()
        self.masters = Masters(self._requests_changed)
        self.usage = UsageBook()
        self.queue_use = QueueUse()
        self.past_usage: dict[PastUsageId, PastUsage] = {}
        """The use of containers that were forgotten; in ``usage`` too."""
        self.container_index = ContainerIndex()
        self.pools = PoolBook(self.queues, self.node_index.speaks)
        self.notices = NoticeBook()
        self.endpoints = EndpointBook()
        self.intakes = IntakeBook()
        self.holds = HoldBook()
        self.reasons = Reasons(self.containers, self.change_counters.changed)
        self._past_of: dict[ApplicationId, dict[PastUsageId, None]] = {}
        self._attempts_of: dict[ApplicationId, dict[ApplicationAttemptId, None]] = {}
        self._containers_of: dict[ApplicationAttemptId, dict[ContainerId, None]] = {}

    @classmethod
    def of(cls, snapshot: Snapshot) -> ClusterState:
        state = cls(snapshot.identity)
        state.publish(snapshot.queues)
        state.scheduler_conf = snapshot.scheduler_conf
        applications = sorted(snapshot.applications, key=lambda a: a.id)
        attempts = sorted(snapshot.attempts, key=lambda a: a.id)
        containers = sorted(snapshot.containers, key=lambda c: c.id)
        state.publish(applications)
        state.index.order_finished(row for row in applications if row.state.is_final)
        state.publish(attempts)
        state.publish(_in_order(snapshot.nodes, containers))
        state.publish(containers)
        state.publish(snapshot.past_usage)
        for usage in snapshot.past_usage:
            state._count_past(usage)
        return state

    def publish(self, rows: Iterable[Row]) -> None:
        """Take committed rows over."""
        self.change_counters.changed()
        for row in rows:
            match row:
                case Container():
                    self._publish_container(row)
                case Application():
                    old = self.applications.get(row.id)
                    self.index.put(row, old)
                    self.totals.count_application(row, old)
                    self.queue_use.publish(row, old, self.usage.by_application.get(row.id))
                    self.applications[row.id] = row
                    if old is None or _standing(old) != _standing(row):
                        self.change_counters.decision_input_changed(row.id)
                case Attempt():
                    self._publish_attempt(row)
                case Node():
                    self._publish_node(row)
                case Queue():
                    self.pools.queues_changed()
                    self.queues[row.path] = row
                    self.change_counters.queue_changed()
                case SchedulerConf():
                    self.scheduler_conf = row
                case PastUsage():
                    self.past_usage[row.id] = row
                    self._past_of.setdefault(row.id.application_id, {})[row.id] = None

    def closed_for(self, queue: str) -> frozenset[str]:
        """Kubernetes nodes on which nothing of a queue may be placed: those that are closed for all, and those that
        lend no more of what it draws on."""
        return self.node_index.closed.union(self.intakes.closed(self.pools.pools.of(queue)))

    def is_closed_for(self, queue: str, kubernetes_name: str) -> bool:
        is_closed = self.node_index.is_closed(kubernetes_name)
        return is_closed or self._intake(queue, kubernetes_name) is Intake.CLOSED

    def is_open_for(self, queue: str, kubernetes_name: str) -> bool:
        """Return True if the node is not in ``closed_for``."""
        is_closed = self.node_index.is_closed(kubernetes_name)
        return not is_closed and self._intake(queue, kubernetes_name) is Intake.OPEN

    def is_awaited_for(self, queue: str, kubernetes_name: str) -> bool:
        """Return True if containers of the queue must wait until more is known of what the node lends."""
        return self._intake(queue, kubernetes_name) is Intake.AWAITED

    def _intake(self, queue: str, kubernetes_name: str) -> Intake:
        return self.intakes.of(self.pools.pools.of(queue), kubernetes_name)

    def served_at(self, web_address: str) -> None:
        self.web_address = web_address

    def containers_of(self, attempt_id: ApplicationAttemptId) -> list[Container]:
        return [self.containers[i] for i in self._containers_of.get(attempt_id, ())]

    def container_ids_of(self, attempt_id: ApplicationAttemptId) -> list[ContainerId]:
        return list(self._containers_of.get(attempt_id, ()))

    def attempts_of(self, application_id: ApplicationId) -> list[Attempt]:
        """Oldest first, without those that were forgotten."""
        return [self.attempts[i] for i in self._attempts_of.get(application_id, ())]

    def attempt_count(self, application_id: ApplicationId) -> int:
        return len(self._attempts_of.get(application_id, ()))

    def is_heard_of(self, container: Container) -> bool:
        """It has ended, its node agent has told what it knows, and everybody who has to hear of that has heard."""
        if container.is_live or container.awaits_agent:
            return False
        attempt_id = container.id.attempt_id
        application = self.applications[attempt_id.application_id]
        if container.is_acknowledged or application.state.is_final:
            return True
        keeps = application.submission.keep_containers_across_attempts
        return self.attempts[attempt_id].state.is_final and not keeps

    def unheard_completions(self, attempt_id: ApplicationAttemptId) -> list[ContainerId]:
        """Ends that the attempt's AM has to hear of: of its own containers, and of those it took over."""
        held = self._held_by(attempt_id)
        return [c.id for c in held if not (c.is_live or c.awaits_agent or c.is_acknowledged or c.is_am)]

    def unheard_updates(self, attempt_id: ApplicationAttemptId) -> list[ContainerId]:
        """New sizes that the attempt's AM has to hear of."""
        return [c.id for c in self._held_by(attempt_id) if c.is_live and c.update_type is not None]

    def needs_master(self, attempt: Attempt) -> bool:
        """Return True if the attempt's ApplicationMaster container is still to be planned."""
        return attempt.state is AttemptState.SCHEDULED and attempt.am_container_id not in self.containers

    def pending_of(self, attempt_id: ApplicationAttemptId) -> tuple[int, Resource]:
        """Containers that an attempt waits for and that are not planned, its ApplicationMaster's too, and their size in
        all."""
        runtime = self.masters.runtimes.get(attempt_id)
        if runtime is None:
            return 0, NONE
        count, size = runtime.wishes.pending()
        if not self.needs_master(self.attempts[attempt_id]):
            return count, size
        return count + 1, size + self.applications[attempt_id.application_id].submission.am_capability

    def is_pending(self, row: Application) -> bool:
        """Return True for a pending application (QueueMetrics): its attempt was allocated nothing yet."""
        attempt = self.attempts.get(row.current_attempt_id)
        return attempt is not None and not attempt.state.is_final and not self.is_running(row)

    def is_running(self, row: Application) -> bool:
        """Return True for a running application: from its attempt's first container, the ApplicationMaster's, to the
        attempt's end."""
        attempt = self.attempts.get(row.current_attempt_id)
        if attempt is None or attempt.state not in ALLOCATED:
            return False
        if not row.submission.is_unmanaged:
            return True
        usage = self.usage.by_application.get(row.id)
        return (usage is not None and usage.allocated_containers > 0) or row.id in self.usage.seconds

    def live_containers(self) -> Iterator[Container]:
        return (self.containers[container_id] for container_id in self.container_index.live)

    def container_ids_on(self, node_id: NodeId) -> list[ContainerId]:
        """Return the containers about which the node's agent may report: live ones, and those whose ends it has yet to
        explain."""
        return [*self.container_index.on_node(node_id), *self.container_index.awaiting(node_id)]

    def nodes_of_live_applications(self) -> set[NodeId]:
        """Return the nodes on which a live application has or had a container, including forgotten ones."""
        found = {usage_id.node_id for live in self.index.live for usage_id in self._past_of.get(live, ())}
        for attempt in (attempt for live in self.index.live for attempt in self.attempts_of(live)):
            found |= {container.node_id for container in self.containers_of(attempt.id)}
        return {node_id for node_id in found if node_id is not None}

    @property
    def total_resource(self) -> Resource:
        """Return the whole capacity, used or free."""
        return self.pools.total

    @property
    def usable_resource(self) -> Resource:
        """Return the capacity of nodes in state RUNNING."""
        return self.pools.size

    def use_pools(self, rules: PoolRules, *, are_nodes_watched: bool) -> None:
        """Set the pools of queues; published amounts must be reported again.

        ``are_nodes_watched``: they are reported, so that an agent's own figure counts for ordinary capacity only.
        """
        self.pools.use(rules, self.nodes.values(), self.live_containers(), are_nodes_watched=are_nodes_watched)
        self.change_counters.changed()

    def kubernetes_nodes_listed(self) -> None:
        """The book of pools was told of all Kubernetes' nodes."""
        self.pools.listed()
        for node in self.nodes.values():
            self.pools.publish(node)
        self.change_counters.changed()

    def lent_anew(self, kubernetes_name: str) -> bool:
        """The book of pools was told of a Kubernetes node.  Whether a decision reads something else now."""
        node = self.node_index.of_kubernetes(kubernetes_name)
        is_news = node is not None and self.pools.publish(node)
        if is_news:
            self.change_counters.changed()
        return is_news

    def _requests_changed(self, application_id: ApplicationId) -> None:
        self.change_counters.requests_changed(application_id)

    def touch(self, application_id: ApplicationId) -> None:
        """Something was heard of an application that is in no row."""
        self.change_counters.heartbeat_received()
        self.index.touch(application_id)

    def remove_queue(self, path: str) -> None:
        self.queues.pop(path, None)
        self.pools.queues_changed()
        self.change_counters.queue_changed()
        self.totals.remove_queue(path)
        self.change_counters.changed()

    def remove_application(self, application_id: ApplicationId) -> None:
        for attempt in self.attempts_of(application_id):
            self.remove_attempt(attempt.id)
        self._attempts_of.pop(application_id, None)
        self.queue_use.forget(self.applications[application_id])
        self.index.remove(self.applications.pop(application_id))
        self.usage.forget(application_id)
        for usage_id in self._past_of.pop(application_id, ()):
            del self.past_usage[usage_id]
        self.change_counters.changed()
        self.change_counters.decision_input_changed(application_id)

    def remove_attempt(self, attempt_id: ApplicationAttemptId) -> None:
        """Remove an attempt with its containers."""
        for container in self.containers_of(attempt_id):
            self.remove_container(container.id)
        self._containers_of.pop(attempt_id, None)
        del self._attempts_of[attempt_id.application_id][attempt_id]
        self.masters.remove(self.attempts.pop(attempt_id))
        self.index.touch(attempt_id.application_id)
        self.change_counters.changed()

    def remove_container(self, container_id: ContainerId) -> None:
        container = self.containers.pop(container_id)
        if container.is_live:
            self.change_counters.decision_input_changed(container_id.application_id)
        self.container_index.remove(container)
        self._account(container, -1)
        self.reasons.ended(container_id)
        self._containers_of.get(container_id.attempt_id, {}).pop(container_id, None)
        self.index.touch(container_id.application_id)
        self.change_counters.changed()

    def _held_by(self, attempt_id: ApplicationAttemptId) -> Iterator[Container]:
        """Its own containers, and those it took over, ended ones too."""
        keeps = self.applications[attempt_id.application_id].submission.keep_containers_across_attempts
        attempt_ids = [a.id for a in self.attempts_of(attempt_id.application_id)] if keeps else [attempt_id]
        return (container for owner_id in attempt_ids for container in self.containers_of(owner_id))

    def _publish_attempt(self, attempt: Attempt) -> None:
        old = self.attempts.get(attempt.id)
        if old is None or old.state is not attempt.state:
            self.change_counters.decision_input_changed(attempt.id.application_id)
        self.attempts[attempt.id] = attempt
        self._attempts_of.setdefault(attempt.id.application_id, {})[attempt.id] = None
        self.index.touch(attempt.id.application_id)
        self.masters.put(attempt, old)

    def _publish_node(self, node: Node) -> None:
        old = self.nodes.get(node.id)
        if old is None or _room(old) != _room(node):
            self.change_counters.decision_input_changed()
        self.nodes[node.id] = node
        self.node_index.put(node, old)
        names = {node.kubernetes_node_name, old.kubernetes_node_name if old is not None else ""}
        for other in {node.id, *(one for name in names for one in self.node_index.agents_of(name))}:
            self.pools.publish(self.nodes[other])
        self.change_counters.node_changed()
        if old is not None and old.http_address != node.http_address:
            self.change_counters.address_changed()

    def _publish_container(self, container: Container) -> None:
        old = self.containers.get(container.id)
        self.totals.count_container(container, old)
        self.container_index.put(container, old)
        if old is None or _burden(old) != _burden(container):
            if old is not None:
                self._account(old, -1)
            self._account(container, 1)
            self.change_counters.decision_input_changed(container.id.application_id)
        self.containers[container.id] = container
        self.index.touch(container.id.application_id)
        self._containers_of.setdefault(container.id.attempt_id, {})[container.id] = None
        if not container.is_live and (old is None or old.is_live):
            self.reasons.ended(container.id)
            self.notices.ended(container.id)
            self.usage.count_end(container)
        elif newly_preempted(container, old) is not NOTHING_PREEMPTED:
            self.usage.count_end(container, is_counted=True)

    def _account(self, container: Container, sign: int) -> None:
        if not container.is_live:
            return
        held = Usage.of(container)
        self.usage.hold(container, held, sign)
        self.pools.hold(container, held, sign)
        self.queue_use.charge(self.applications[container.id.application_id], held, sign)

    def _count_past(self, usage: PastUsage) -> None:
        """Count past usage as if its containers were still here."""
        self.totals.count_past(self.applications[usage.id.application_id].submission.queue, usage)
        self.usage.count_past(usage)
