"""Counts changes: whoever made an answer at the same numbers need not make it again."""

from __future__ import annotations

from collections.abc import Collection

from yodel.domain.ids import ApplicationId


class ChangeCounters:
    """Counts what changed since the start.  Its own methods alone change it."""

    def __init__(self) -> None:
        self.version = 0
        """Grows with every commit, and with what is shown beside the rows: rendered bodies are kept by it."""
        self.heartbeats = 0
        """Grows with what agents and ApplicationMasters report: requests, progress, how loaded nodes are."""
        self.decision_inputs = 0
        """Grows with every row, new or changed or gone, in a way that a decision of the scheduler reads."""
        self.changed_applications: set[ApplicationId] = set()
        """Applications of which a decision may read something else than the last time it looked."""
        self.queues = 0
        """Grows with every row of a queue."""
        self.nodes = 0
        """Grows with every row of a node."""
        self.addresses = 0
        """Grows when a known node's web address changes."""

    def changed(self) -> None:
        self.version += 1

    def heartbeat_received(self) -> None:
        self.heartbeats += 1

    def decision_input_changed(self, application_id: ApplicationId | None = None) -> None:
        """Count a row that a decision reads, and note its application if it has one."""
        self.decision_inputs += 1
        if application_id is not None:
            self.changed_applications.add(application_id)

    def requests_changed(self, application_id: ApplicationId) -> None:
        """Note an application whose ApplicationMaster asks for something else, or has something else in progress."""
        self.changed_applications.add(application_id)

    def take_changed_applications(self, at_most: int | None = None) -> Collection[ApplicationId]:
        """Return applications that were noted since the last call, or some of them.  Only the scheduler calls this."""
        if at_most is None or len(self.changed_applications) <= at_most:
            found, self.changed_applications = self.changed_applications, set()
            return found
        return [self.changed_applications.pop() for _ in range(at_most)]

    def queue_changed(self) -> None:
        self.queues += 1
        self.decision_inputs += 1

    def node_changed(self) -> None:
        self.nodes += 1

    def address_changed(self) -> None:
        self.addresses += 1
