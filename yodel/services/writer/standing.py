"""Numbers that grow when something changes: who made an answer at the same numbers need not make it again."""

from __future__ import annotations

from collections.abc import Collection

from yodel.domain.ids import ApplicationId


class Standing:
    """Changed by its own methods only."""

    def __init__(self) -> None:
        self.version = 0
        """Grows with every commit, and with what is shown beside the rows: rendered bodies are kept by it."""
        self.pulse = 0
        """Grows with what agents and ApplicationMasters say: wishes, progress, how loaded nodes are."""
        self.stirs = 0
        """Grows with every row, new or changed or gone, in a way that a decision of the scheduler reads."""
        self.restless: set[ApplicationId] = set()
        """Applications of which a decision may read something else than the last time it looked."""
        self.queues = 0
        """Grows with every row of a queue."""
        self.nodes = 0
        """Grows with every row of a node."""
        self.addresses = 0
        """Grows when a known node's web address changes."""

    def changed(self) -> None:
        self.version += 1

    def heard(self) -> None:
        self.pulse += 1

    def stirred(self, application_id: ApplicationId | None = None) -> None:
        """A row; of which application, if of one."""
        self.stirs += 1
        if application_id is not None:
            self.restless.add(application_id)

    def wished(self, application_id: ApplicationId) -> None:
        """Its ApplicationMaster wants something else, or has something else under way."""
        self.restless.add(application_id)

    def take_restless(self, at_most: int | None = None) -> Collection[ApplicationId]:
        """Applications that were named since the last time, or some of them; for the scheduler alone."""
        if at_most is None or len(self.restless) <= at_most:
            found, self.restless = self.restless, set()
            return found
        return [self.restless.pop() for _ in range(at_most)]

    def queue_changed(self) -> None:
        self.queues += 1
        self.stirs += 1

    def node_changed(self) -> None:
        self.nodes += 1

    def address_changed(self) -> None:
        self.addresses += 1
