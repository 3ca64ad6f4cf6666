"""Single rows as they are committed, and what is known beside them, for whoever shows them.  Never a change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from yodel.domain.application import Application
from yodel.domain.ask_book import Ask
from yodel.domain.attempt import Attempt
from yodel.domain.container import Container
from yodel.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId
from yodel.domain.node import Node
from yodel.domain.queues.queue import Queue
from yodel.domain.resource import Resource
from yodel.domain.states import YarnApplicationState
from yodel.services.writer.application_index import IndexPage, Key, Trait, key_of
from yodel.services.writer.state import ClusterState
from yodel.services.writer.totals import ApplicationTotals, Totals

__all__ = ["ApplicationTotals", "IndexPage", "Key", "Rows", "Totals", "Trait", "key_of"]


class Rows:
    """One instance for the process."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state

    @property
    def versions(self) -> tuple[int, int]:
        """Whatever was shown at the same versions is shown the same, but for the time."""
        return self._state.change_counters.version, self._state.change_counters.heartbeats

    # --- applications ----------------------------------------------------------------------------------------------

    def application(self, application_id: ApplicationId) -> Application | None:
        return self._state.applications.get(application_id)

    def applications(self) -> Iterator[Application]:
        """All, those that came last first."""
        return reversed(self._state.applications.values())

    @property
    def application_count(self) -> int:
        return len(self._state.applications)

    def live_applications(self) -> list[Application]:
        return [self._state.applications[application_id] for application_id in self._state.index.live]

    def is_live(self, application_id: ApplicationId) -> bool:
        return application_id in self._state.index.live

    @property
    def has_live_applications(self) -> bool:
        return bool(self._state.index.live)

    @property
    def counts(self) -> Counter[YarnApplicationState]:
        """Return the number of applications in each state."""
        return self._state.index.counts

    @property
    def pages(self) -> Mapping[int, IndexPage]:
        """Applications on pages, by number, oldest first; none is empty."""
        return self._state.index.pages

    def pages_having(self, trait: Trait) -> Collection[int]:
        """Return the numbers of the pages on which an application has the trait."""
        return self._state.index.traits.get(trait, ())

    def page_of(self, application_id: ApplicationId) -> int | None:
        return self._state.index.page_of(application_id)

    # --- what ApplicationMasters have said -------------------------------------------------------------------------

    def asks_of(self, attempt_id: ApplicationAttemptId) -> Sequence[Ask]:
        """Its lines, as they are now."""
        runtime = self._state.masters.runtimes.get(attempt_id)
        return runtime.wishes.asks.lines() if runtime is not None else ()

    def is_running(self, application: Application) -> bool:
        """Return True if queues count it as running, whatever its state is."""
        return self._state.is_running(application)

    def is_pending(self, application: Application) -> bool:
        return self._state.is_pending(application)

    def blacklist_of(self, attempt_id: ApplicationAttemptId) -> Collection[str]:
        runtime = self._state.masters.runtimes.get(attempt_id)
        return runtime.wishes.blacklist if runtime is not None else ()

    # --- containers ------------------------------------------------------------------------------------------------

    def container(self, container_id: ContainerId) -> Container | None:
        """None also for one that was forgotten."""
        return self._state.containers.get(container_id)

    def master_of(self, attempt: Attempt) -> Container | None:
        return self._state.containers.get(attempt.am_container_id) if attempt.am_container_id is not None else None

    def containers_of(self, attempt_id: ApplicationAttemptId) -> list[Container]:
        """Live ones, and ended ones until they are forgotten."""
        return self._state.containers_of(attempt_id)

    def container_ids_of(self, attempt_id: ApplicationAttemptId) -> list[ContainerId]:
        """Return the ids of ``containers_of``."""
        return self._state.container_ids_of(attempt_id)

    def live_on(self, node_id: NodeId) -> Iterator[Container]:
        return (row for row in self._state.live_containers() if row.node_id == node_id)

    def wait_of(self, container_id: ContainerId) -> str:
        """Return why it does not run yet; empty: nothing is known to keep it."""
        return self._state.reasons.waits.get(container_id, "")

    # --- nodes and queues ------------------------------------------------------------------------------------------

    @property
    def nodes(self) -> Mapping[NodeId, Node]:
        return self._state.nodes

    def nodes_by_label(self) -> dict[str, list[Node]]:
        """The nodes of each label, in the labels' order; those without a label are left out."""
        found: dict[str, list[Node]] = {}
        for node in self._state.nodes.values():
            for label in node.labels:
                found.setdefault(label, []).append(node)
        return dict(sorted(found.items()))

    def node_of(self, container: Container) -> Node | None:
        return self._state.nodes.get(container.node_id) if container.node_id is not None else None

    @property
    def addresses_version(self) -> int:
        """Grows when a known node's web address changes."""
        return self._state.change_counters.addresses

    @property
    def usable_resource(self) -> Resource:
        """Return the capacity of the usable nodes."""
        return self._state.usable_resource

    def usable_of(self, queue_path: str) -> Resource:
        """Return their capacity in a queue's pool; for root in all pools."""
        pools = self._state.pools
        return pools.of_queue(queue_path).size if "." in queue_path else pools.size

    @property
    def queues(self) -> Mapping[str, Queue]:
        """Return the queues by path."""
        return self._state.queues

    def totals_of(self, path: str) -> Totals:
        """Return the totals of a queue and those below it."""
        return self._state.totals.of(path)
