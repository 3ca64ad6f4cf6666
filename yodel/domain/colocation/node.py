"""Decides the state of a node that may lend capacity, by one table whose first matching line applies.  Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, StrEnum, auto

from yodel.domain.colocation.emergency import MemoryEmergency
from yodel.domain.colocation.report import LoanReport
from yodel.domain.ids import NodeId


class CapacityState(StrEnum):
    """Lists the states of a node."""

    OFF = "OFF"
    LENDING = "LENDING"
    FULL = "FULL"
    CLOSED = "CLOSED"
    STALE = "STALE"
    GOING = "GOING"
    WAITING = "WAITING"
    OTHER = "OTHER"
    YIELDED = "YIELDED"
    FAILED = "FAILED"


class Intake(Enum):
    """Lists whether a node takes new containers of a pool."""

    OPEN = auto()
    CLOSED = auto()
    """It lends less than is used there, or nothing new, or its memory runs short."""
    AWAITED = auto()
    """Not known: since the start its agent has not reported, or its pods were not listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LastReport:
    """A report that counts, who made it, and when its figures were read (monotonic seconds)."""

    node_id: NodeId
    report: LoanReport
    read_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """Holds an emergency that counts, its reporter, and the end of its cool-down if it is not reported again (monotonic
    seconds)."""

    node_id: NodeId
    emergency: MemoryEmergency
    until_s: float


class Offer(Enum):
    """Lists how much a node offers to new containers by its last report."""

    UNDECIDED = auto()
    """Nothing is to be published there, or it is not known what."""
    NOTHING = auto()
    SOME = auto()
    """One of the two resources has nothing to lend."""
    ALL = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """Holds all that the state of a node depends on.

    ``problem``: why the last write failed; ``other``: who else publishes there; ``is_remaining``: something of what was
    published is left.
    """

    offer: Offer
    other: str = ""
    problem: str = ""
    has_yielded: bool = False
    is_on: bool = True
    is_awaited: bool = False
    is_remaining: bool = False
    is_closed: bool = False
    is_stale: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """Holds one line of the table; ``why`` may name ``{other}`` and ``{problem}``."""

    state: CapacityState
    applies: Callable[[Situation], bool]
    why: str


_S = CapacityState
STATES = (
    Line(
        _S.YIELDED,
        lambda at: at.has_yielded,
        "{other} overwrote the published values repeatedly: they are no longer restored on this node",
    ),
    Line(_S.FAILED, lambda at: bool(at.problem), "the node status cannot be written: {problem}"),
    Line(
        _S.OTHER,
        lambda at: at.is_on and bool(at.other),
        "{other} publishes these resource names on the node: they are read, never written",
    ),
    Line(
        _S.WAITING,
        lambda at: at.is_awaited,
        "no containers start before the node agent has reported and the node's pods are listed",
    ),
    Line(
        _S.GOING,
        lambda at: at.offer is Offer.NOTHING and at.is_remaining,
        "closed to new pods: the published value follows what its pods request, and is removed with the last",
    ),
    Line(
        _S.OFF,
        lambda at: at.offer in (Offer.UNDECIDED, Offer.NOTHING),
        "colocation is off, and nothing of it remains on the node",
    ),
    Line(
        _S.CLOSED,
        lambda at: at.is_closed,
        "overcommitted: published value kept at what running pods request; closed to new pods",
    ),
    Line(_S.STALE, lambda at: at.is_stale, "no recent report from the node agent: lent capacity does not grow"),
    Line(
        _S.FULL, lambda at: at.offer is Offer.SOME, "the node agent is reporting, and no CPU or no memory can be lent"
    ),
    Line(_S.LENDING, lambda _: True, "the node agent is reporting, and its lent capacity is published"),
)
"""The first that applies."""


def state_of(at: Situation) -> tuple[CapacityState, str]:
    """Return the state, and why it is that one."""
    line = next(line for line in STATES if line.applies(at))
    return line.state, line.why.format(other=at.other, problem=at.problem)
