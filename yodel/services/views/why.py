"""Why applications wait, for all who show it: of the last decision, and of what Kubernetes says of pods without a node.

Reads committed state and the book of what waits; never waits itself.
"""

from __future__ import annotations

from yodel.domain.application import Application
from yodel.domain.states import ApplicationState
from yodel.services.writer.state import ClusterState

LINES_MAX = 5
"""In the diagnostics of an application whose asks wait."""


class Why:
    """Reads; one instance for the process."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state

    def diagnostics(self, app: Application) -> str:
        """Why the ApplicationMaster does not run yet, or why some of what it asked for does not; empty when nothing is
        known to keep it."""
        attempt_id, reasons = app.current_attempt_id, self._state.reasons
        if not reasons.has_any or app.state not in (ApplicationState.ACCEPTED, ApplicationState.RUNNING):
            return ""
        if attempt_id not in self._state.attempts:
            return ""
        waits, told = reasons.waits, reasons.waiting.told(attempt_id)
        own = [c for c in self._state.containers_of(attempt_id) if c.id in waits] if waits else []
        if app.state is ApplicationState.ACCEPTED:
            return next((waits[c.id] for c in own if c.is_am), told[0].reason if told else "")
        lines = [one.reason for one in told if one.is_placeless]
        # A limit of the queue or of the user is one line, however many wishes it keeps waiting.
        lines += dict.fromkeys(one.reason for one in told if not one.is_placeless)
        lines += [waits[c.id] for c in own]
        more = f"\n… and {len(lines) - LINES_MAX} more" if len(lines) > LINES_MAX else ""
        return "\n".join(lines[:LINES_MAX]) + more
