"""Holds a node agent's report of what it did with a queue's shuffle settings, typed so that all readers show the same
text.

The ResourceManager adds the settings, and the agent, which sees the submitter's settings and the node, removes those
that cannot work.  Until it has reported, only the ResourceManager's decision is known.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any


class ShuffleOutcome(Enum):
    """Lists the outcomes of the service for one ApplicationMaster."""

    ADDED = "ADDED"
    """The settings of its queue, but for those that are left out."""
    OWN_SETTINGS = "OWN_SETTINGS"
    """The submission's own settings use the service, where its queue added none."""
    LEFT_OUT = "LEFT_OUT"
    """It runs without the service."""
    REFUSED = "REFUSED"
    """It was not started."""


class Reason(Enum):
    """Lists the reasons why settings are left out, or the ApplicationMaster is not started."""

    OWN_MANAGER = "OWN_MANAGER"
    OWN_SERIALIZER = "OWN_SERIALIZER"
    OVERRIDDEN = "OVERRIDDEN"
    SPARK_UNKNOWN = "SPARK_UNKNOWN"
    SPARK_UNSUPPORTED = "SPARK_UNSUPPORTED"
    SPARK_CONTRADICTED = "SPARK_CONTRADICTED"
    SCALA_DIFFERENT = "SCALA_DIFFERENT"
    SPARK_TOO_OLD = "SPARK_TOO_OLD"
    NO_AUXILIARY_SERVICE = "NO_AUXILIARY_SERVICE"
    NO_JAR = "NO_JAR"
    NODE_UNABLE = "NODE_UNABLE"
    NO_FALLBACK_STORAGE = "NO_FALLBACK_STORAGE"
    CONFLICT = "CONFLICT"
    PLUGIN_UNKNOWN = "PLUGIN_UNKNOWN"
    ALLOCATION_STATIC = "ALLOCATION_STATIC"
    CAN_FALL_BACK = "CAN_FALL_BACK"
    OTHER = "OTHER"
    """One of a later release."""


_TEXTS = {
    Reason.OWN_MANAGER: "the application sets {}",
    Reason.OWN_SERIALIZER: "the application sets {}, whose records cannot be put elsewhere one by one",
    Reason.OVERRIDDEN: "the application sets it itself",
    Reason.SPARK_UNKNOWN: "its Spark version is unknown: set yodel.remote-shuffle.spark-version of the queue",
    Reason.SPARK_UNSUPPORTED: "it has Spark {} (yodel.remote-shuffle.spark-version of the queue is used if its jars do "
    "not name a version)",
    Reason.SPARK_CONTRADICTED: "yodel.remote-shuffle.spark-version of the queue is {}",
    Reason.SCALA_DIFFERENT: "it has Spark {}",
    Reason.SPARK_TOO_OLD: "{}",
    Reason.NO_AUXILIARY_SERVICE: "{}",
    Reason.NO_JAR: "yodel.remote-shuffle.jar of the queue is not available: {}",
    Reason.NODE_UNABLE: "its node runs no node agent that can prepare the client of {}",
    Reason.NO_FALLBACK_STORAGE: "the fallback storage of the queue is not available: {}",
    Reason.CONFLICT: "{}",
    Reason.PLUGIN_UNKNOWN: "Spark {} does not have it",
    Reason.ALLOCATION_STATIC: "dynamic allocation is off",
    Reason.CAN_FALL_BACK: "a shuffle of the application can fall back to Spark's own",
    Reason.OTHER: "{}",
}
_EXPECTED = frozenset({Reason.OVERRIDDEN, Reason.PLUGIN_UNKNOWN, Reason.ALLOCATION_STATIC, Reason.CAN_FALL_BACK})
"""Reasons that concern single settings; nobody has to act on them."""
DETAIL_LENGTH_MAX = 500


@dataclass(frozen=True, slots=True)
class Cause:
    """Holds a reason, and its detail in this case: a setting with its value, a release, an error."""

    reason: Reason
    detail: str = ""

    def __str__(self) -> str:
        return _TEXTS[self.reason].format(self.detail)

    @property
    def is_expected(self) -> bool:
        """Return True for the table's own condition, or the submitter's choice, which no line of diagnostics
        mentions."""
        return self.reason in _EXPECTED


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Names settings by their keys, and the cause why they have no effect."""

    keys: tuple[str, ...]
    cause: Cause


@dataclass(frozen=True, slots=True)
class Report:
    """Reports the outcome for one ApplicationMaster."""

    outcome: ShuffleOutcome
    left_out: tuple[LeftOut, ...] = ()

    @property
    def cause(self) -> Cause | None:
        """Return the first cause that somebody may have to act on."""
        return next((one.cause for one in self.left_out if not one.cause.is_expected), None)

    def of_keys(self, keys: Collection[str]) -> Report:
        """Return the report without keys other than these."""
        kept = (LeftOut(tuple(key for key in one.keys if key in keys), one.cause) for one in self.left_out)
        return Report(self.outcome, tuple(kept))


def grouped(causes: Mapping[str, Cause]) -> tuple[LeftOut, ...]:
    """Group keys by their cause, in their order."""
    found: dict[Cause, list[str]] = {}
    for key, cause in causes.items():
        found.setdefault(cause, []).append(key)
    return tuple(LeftOut(tuple(keys), cause) for cause, keys in found.items())


def reason_of(name: str) -> Reason:
    """Return the reason of a name; OTHER for one of a later release."""
    return Reason.__members__.get(name, Reason.OTHER)


def to_plain(report: Report | None) -> list[Any] | None:
    """Return the report as plain values for records and rows."""
    if report is None:
        return None
    left_out = [[list(one.keys), one.cause.reason.name, one.cause.detail] for one in report.left_out]
    return [report.outcome.name, left_out]


def from_plain(content: Sequence[Any] | None) -> Report | None:
    """Return the report of plain values; None: there is none, or one that only a later release understands."""
    outcome = ShuffleOutcome.__members__.get(content[0]) if content else None
    if content is None or outcome is None:
        return None
    left_out = (LeftOut(tuple(keys), Cause(reason_of(name), detail)) for keys, name, detail in content[1])
    return Report(outcome, tuple(left_out))
