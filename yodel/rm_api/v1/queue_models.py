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
    Field(description="By their names after the queue's path, e.g. `maximum-capacity`; null removes one."),
]
Reason = Annotated[str, Field(max_length=REASON_LENGTH_MAX, description="Reason, recorded with the change.")]


class QueueEdit(Model):
    """A queue and some of its properties."""

    path: Text = Field(description="Its full path.", examples=["root.etl"])
    properties: Properties = Field(default_factory=dict)


class QueueCreation(QueueEdit):
    """A queue to create, and other queues to change with it so that capacities add up."""

    change: list[QueueEdit] = Field(default_factory=list)
    reason: Reason = ""


class QueueSetting(Model):
    """Properties of one queue."""

    properties: Properties
    reason: Reason = ""


class QueueMove(Model):
    """The new path of a queue, and other queues to change with it so that capacities add up."""

    to: Text = Field(description="The full new path.")
    change: list[QueueEdit] = Field(default_factory=list)
    reason: Reason = ""


class QueuesEdit(Model):
    """Changes of several queues, made atomically."""

    create: list[QueueEdit] = Field(default_factory=list)
    change: list[QueueEdit] = Field(default_factory=list)
    delete: list[Text] = Field(default_factory=list)
    scheduler: dict[str, str | None] = Field(
        default_factory=dict, description="Properties of the whole scheduler, by full names; null removes one."
    )
    reason: Reason = ""


class Revert(Model):
    """Says why a version is restored."""

    reason: Reason = ""


class PropertyChange(Model):
    """A changed property; null: not set."""

    property: str = Field(description="Its full name.")
    before: str | None
    after: str | None


class QueueChange(Model):
    """A change of the queues."""

    version: int = Field(description="Version of the queues after the change.")
    author: str
    time_ms: EpochMs
    reason: str
    change_count: int = Field(description="Number of changed properties.")
    changes: list[PropertyChange] = Field(description="The first changed properties, by name.")


class QueueChangePage(Page[QueueChange]):
    """A part of the history."""


class Loser(Model):
    """An application that loses containers by preemption."""

    application: str
    containers: int


class OverMaximum(Model):
    """A queue whose usage exceeds its new maximum: no new containers start until usage drops.  With preemption,
    ``losers`` lose containers; otherwise nothing is stopped."""

    path: str
    used: Amount
    maximum: Amount
    losers: list[Loser] = Field(
        description="The first applications that lose containers, of those that the caller may view."
    )
    more_losers: int = Field(description="Number of further applications that lose containers.")
    ends_after_seconds: float | None = Field(description="When the first containers are stopped; null: none are.")


class QueuesChanged(QueueChange):
    """Describes a change that was made, or would be."""

    is_dry_run: bool = Field(description="Nothing was changed.")
    is_needed: bool = Field(description="False: no change, and no new version.")
    warnings: list[str] = Field(description="What could not be checked, and may cause problems.")
    over_maximum: list[OverMaximum] = Field(
        description="The first queues whose usage exceeds their new maximum, by path."
    )
    left_out: list[str] = Field(
        default_factory=list,
        description="Properties of a whole configuration that Hadoop ignores, each with the reason.",
    )


class QueueConfiguration(Model):
    """The whole configuration of the queues and the scheduler."""

    version: int
    properties: dict[str, str] = Field(description="By full names, as in capacity-scheduler.xml.")
