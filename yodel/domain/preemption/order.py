"""The order in which applications give containers back (FifoCandidatesSelector).  Pure."""

from __future__ import annotations

from yodel.domain.ids import ContainerId


def order_of(
    container_id: ContainerId, *, priority: int, submitted_ms: int, request_priority: int
) -> tuple[int, int, int, int, int, int]:
    """Least goes first: of the application with the lowest priority, among equals of the one that was submitted last.

    ``request_priority`` is the container's own, where the lower number is served first; applications choose it freely,
    so it orders the containers of one application only.  Of those the newest goes first.  No two containers are equal.
    """
    application_id, attempt = container_id.application_id, container_id.attempt_id.attempt
    return priority, -submitted_ms, -application_id.sequence, -request_priority, -attempt, -container_id.number
