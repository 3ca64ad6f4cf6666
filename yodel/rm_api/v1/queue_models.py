"""Shapes of ``/api/v1`` for those who change queues.  How many changes a call may hold is bounded by its body."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from yodel.domain.queues.history import REASON_LENGTH_MAX
from yodel.rm_api.v1.models import Amount, EpochMs, Model, Page

NAME_LENGTH_MAX = 2_000
Text = Annotated[str, StringConstraints(max_length=NAME_LENGTH_MAX)]
Properties = Annotated[
    dict[str, str | None],
    Field(description="By their names after the queue's path, as `maximum-capacity`; null takes one away."),
]
Reason = Annotated[str, Field(max_length=REASON_LENGTH_MAX, description="Why; it is kept with the change.")]


class QueueEdit(Model):
    """A queue and properties of it."""

    path: Text = Field(description="Its whole path.", examples=["root.etl"])
    properties: Properties = Field(default_factory=dict)


class QueueCreation(QueueEdit):
    """A queue to make, and what has to change beside it so that shares add up."""

    change: list[QueueEdit] = Field(default_factory=list)
    reason: Reason = ""


class QueueSetting(Model):
    """Properties of one queue."""

    properties: Properties
    reason: Reason = ""


class QueueMove(Model):
    """Where a queue goes, with all below it, and what has to change beside it so that shares add up."""

    to: Text = Field(description="The whole new path.")
    change: list[QueueEdit] = Field(default_factory=list)
    reason: Reason = ""


class QueuesEdit(Model):
    """Changes of several queues that are made together or not at all."""

    create: list[QueueEdit] = Field(default_factory=list)
    change: list[QueueEdit] = Field(default_factory=list)
    delete: list[Text] = Field(default_factory=list)
    scheduler: dict[str, str | None] = Field(
        default_factory=dict, description="Of the whole scheduler, by full names; null takes one away."
    )
    reason: Reason = ""


class Revert(Model):
    """Why a version comes back."""

    reason: Reason = ""


class PropertyChange(Model):
    """One property; null: it was not there, or is not any more."""

    property: str = Field(description="By its full name.")
    before: str | None
    after: str | None


class QueueChange(Model):
    """A change of the queues."""

    version: int = Field(description="Of the queues after it.")
    author: str
    time_ms: EpochMs
    reason: str
    change_count: int = Field(description="Properties that changed.")
    changes: list[PropertyChange] = Field(description="The first of them, by name.")


class QueueChangePage(Page[QueueChange]):
    """A part of the history."""


class Loser(Model):
    """An application that containers are asked back of."""

    application: str
    containers: int


class OverMaximum(Model):
    """A queue that holds more than it may have after the change: nothing starts until it fits.  Where queues give back,
    ``losers`` lose containers for it; otherwise nothing is ended."""

    path: str
    used: Amount
    maximum: Amount
    losers: list[Loser] = Field(
        description="The first applications that lose containers; those that the caller may see."
    )
    more_losers: int = Field(description="Applications that lose containers and are not named.")
    ends_after_seconds: float | None = Field(description="When the first containers end; null: nothing is ended.")


class QueuesChanged(QueueChange):
    """What was changed, or what would be."""

    is_dry_run: bool = Field(description="Nothing was changed.")
    is_needed: bool = Field(description="Something is different; otherwise there is no new version.")
    warnings: list[str] = Field(description="What could not be found out, and might stand in the way.")
    over_maximum: list[OverMaximum] = Field(description="The first of the queues that hold too much, by path.")
    left_out: list[str] = Field(
        default_factory=list, description="Properties of a whole configuration that Hadoop ignores, each with why."
    )


class QueueConfiguration(Model):
    """All that is said of the queues and of the scheduler."""

    version: int
    properties: dict[str, str] = Field(description="By full names, as in capacity-scheduler.xml.")
