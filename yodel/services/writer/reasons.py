"""These reasons tell people why something waits: of the moment, not on disk, and read by no decision."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from yodel.domain.allocation.demands import Decision, Misfit
from yodel.domain.ask_book import AskKey
from yodel.domain.container import Container
from yodel.domain.ids import ApplicationAttemptId, ContainerId
from yodel.services.writer.waiting_book import WaitingBook

WishKey = tuple[ApplicationAttemptId, AskKey | None]
"""The key None is the attempt's ApplicationMaster."""


class Reasons:
    """``containers`` are the rows there are; ``changed`` is called when something else is to be shown."""

    def __init__(self, containers: Mapping[ContainerId, Container], changed: Callable[[], None]) -> None:
        self._containers, self._changed = containers, changed
        self.waits: dict[ContainerId, str] = {}
        """Why live containers do not run yet, in Kubernetes' words."""
        self.misfits: dict[WishKey, Misfit] = {}
        """The wishes that no node can serve as things are."""
        self.waiting = WaitingBook()
        """The wishes that were not planned, as the last decision left them."""

    @property
    def has_any(self) -> bool:
        return bool(self.waits or self.waiting)

    def explain_wait(self, container_id: ContainerId, reason: str) -> None:
        """Note why a container does not run yet; empty: it does, or nothing keeps it."""
        container = self._containers.get(container_id)
        if container is None or not container.is_live or not reason:
            if self.waits.pop(container_id, None) is not None:
                self._changed()
        elif self.waits.get(container_id) != reason:
            self.waits[container_id] = reason
            self._changed()

    def explain_misfit(self, key: WishKey, misfit: Misfit | None) -> None:
        """Note why a wish is not served; None: it is, or nobody wants it any more."""
        if misfit is None:
            if self.misfits.pop(key, None) is not None:
                self._changed()
        elif self.misfits.get(key) != misfit:
            self.misfits[key] = misfit
            self._changed()

    def explain_decision(self, decision: Decision, now_ms: int) -> None:
        """The last one, before anything of it is acted upon."""
        if self.waiting.take(decision, now_ms):
            self._changed()

    def ended(self, container_id: ContainerId) -> None:
        """Forget a container's wait after a commit ended it, which is shown anyway."""
        self.waits.pop(container_id, None)
