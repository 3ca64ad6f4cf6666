"""The shapes of ``/applications/{id}/why``, field by field."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from yodel.domain.states import ApplicationState
from yodel.domain.waiting_words import What
from yodel.rm_api.v1.models import Amount, EpochMs, Model, Notice


class HolderKind(StrEnum):
    """What holds a part of what is full."""

    USER = "user"
    QUEUE = "queue"
    APPLICATION = "application"


class Holder(Model):
    """Who holds a part of what is full."""

    kind: HolderKind
    name: str = Field(description="A user, the path of a queue, or an application's id.")
    queue: str
    held: Amount


class Link(Model):
    """One thing in the way."""

    what: What
    text: str = Field(description="With its figures, in the words of the CapacityScheduler or of Kubernetes.")
    queue: str | None = Field(description="Whose limit it is; null: of no queue.")
    user: str | None = Field(description="Whose limit in the queue it is.")
    limit: Amount | None
    used: Amount | None = Field(description="Of the limit, when the scheduler looked.")
    held_by: list[Holder] = Field(description="Those who hold most of it.")
    more_holders: int
    until: str = Field(description="What would change it: one of these has to happen.")


class WaitingAsk(Model):
    """Containers of one size that are waited for."""

    name: str = Field(description="The ApplicationMaster, the priority of the ask, or the container to enlarge.")
    priority: int | None
    allocation_request_id: int | None = Field(description="-1: the ask has none.")
    containers: int
    size: Amount = Field(description="Of one, rounded as it will be taken.")
    is_under_way: bool = Field(description="Their pods are made, and have no node yet.")
    chain: list[Link] = Field(description="What is in the way, nearest first; never empty.")


class Why(Model):
    """Why an application waits, or that it does not."""

    id: str
    queue: str
    user: str
    state: ApplicationState
    is_waiting: bool
    summary: str = Field(description="In one sentence.")
    looked_at_ms: EpochMs = Field(description="When the scheduler looked; 0: it has not looked yet.")
    asks: list[WaitingAsk]
    more_asks: int = Field(description="That wait and are not shown.")
    notices: list[Notice] = Field(description="Its own containers that are to go; at most five.")
