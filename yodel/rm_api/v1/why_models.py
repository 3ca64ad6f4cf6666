"""These are the shapes of ``/applications/{id}/why`` and ``/queues/{path}/why``, field by field."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from yodel.domain.states import ApplicationState
from yodel.domain.waiting_words import Cause
from yodel.rm_api.v1.models import DEPRECATED, Amount, EpochMs, Model, Notice

FORMER_CAUSES = {
    Cause.FRAGMENTED: "IN_PIECES",
    Cause.NODE_RESERVED: "HELD",
    Cause.UNSCHEDULED_PODS_LIMIT: "PODS_UNDER_WAY",
    Cause.AFFINITY: "NEIGHBOURS",
    Cause.NEXT_CYCLE: "TURN",
    Cause.SCHEDULING: "STARTING",
}
"""Former names of causes, for the deprecated field `what`."""


class ResourceUserKind(StrEnum):
    """Names the kind of a resource user."""

    USER = "user"
    QUEUE = "queue"
    APPLICATION = "application"


class ResourceUser(Model):
    """A user, queue or application that uses a part of the full resource."""

    kind: ResourceUserKind
    name: str = Field(description="A user, the path of a queue, or an application's id.")
    queue: str
    used: Amount
    held: Amount = Field(description="Deprecated: use `used`.", json_schema_extra=DEPRECATED)


class Reason(Model):
    """Explains why something is pending."""

    cause: Cause
    text: str = Field(description="With figures, in the terms of the CapacityScheduler or of Kubernetes.")
    queue: str | None = Field(description="The queue whose limit it is; null: not a queue's.")
    user: str | None = Field(description="The user whose limit in the queue it is.")
    limit: Amount | None
    used: Amount | None = Field(description="Used of the limit, when the scheduler last checked.")
    used_by: list[ResourceUser] = Field(description="The largest users of the resource, at most five.")
    more_users: int = Field(description="Number of further users, which are not shown.")
    until: str = Field(description="What would unblock it: one of these has to happen.")


class Link(Reason):
    """Gives one reason why it is pending."""

    what: str = Field(
        description="Deprecated: use `cause`. Six causes have their former names here.",
        json_schema_extra={**DEPRECATED, "enum": [FORMER_CAUSES.get(one, one.value) for one in Cause]},
    )
    held_by: list[ResourceUser] = Field(description="Deprecated: use `used_by`.", json_schema_extra=DEPRECATED)
    more_holders: int = Field(description="Deprecated: use `more_users`.", json_schema_extra=DEPRECATED)


class WaitingAsk(Model):
    """Pending containers of one size."""

    name: str = Field(description="The ApplicationMaster, the priority of the ask, or the container to enlarge.")
    priority: int | None
    allocation_request_id: int | None = Field(description="-1: the ask has none.")
    containers: int
    size: Amount = Field(description="Of one container, rounded as it will be allocated.")
    is_scheduling: bool = Field(description="Their pods are created and not scheduled to a node yet.")
    is_under_way: bool = Field(description="Deprecated: use `is_scheduling`.", json_schema_extra=DEPRECATED)
    chain: list[Link] = Field(description="The reasons, nearest first; never empty.")


class Why(Model):
    """Explains why an application is waiting, if it is."""

    id: str
    queue: str
    user: str
    state: ApplicationState
    is_waiting: bool
    summary: str = Field(description="In one sentence.")
    looked_at_ms: EpochMs = Field(description="When the scheduler last checked; 0: it has not yet.")
    asks: list[WaitingAsk]
    more_asks: int = Field(description="Number of further pending requests, which are not shown.")
    notices: list[Notice] = Field(description="Preemption notices for its own containers; at most five.")


class QueueCause(Reason):
    """Gives one cause, with the requests for which it is the nearest.  Text and figures are those of the first."""

    containers: int = Field(description="Requested containers for which this is the first reason.")
    size: Amount = Field(description="Their total size.")
    applications: list[str] = Field(description="The first applications that wait for it; at most five.")
    more_applications: int


class QueueWhy(Model):
    """Explains why applications of a queue are waiting, by cause."""

    path: str
    is_waiting: bool = Field(description="There is a cause: an application that you may view is waiting.")
    summary: str = Field(description="In one sentence.")
    looked_at_ms: EpochMs = Field(description="When the scheduler last checked; 0: it has not yet.")
    applications: int = Field(description="Waiting applications that count in a cause.")
    hidden_applications: int = Field(description="Waiting applications that you may not view; they count in no cause.")
    more_applications: int = Field(description="Waiting applications beyond the first 1000, which count in no cause.")
    causes: list[QueueCause] = Field(description="The cause with most containers first.")
