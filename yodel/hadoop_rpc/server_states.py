"""Where a connection of a client is and what moves it, as a table: the only place where a state follows another.

Documentation draws it from here; ``server_connection`` runs on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from types import MappingProxyType
from typing import Final


class State(Enum):
    """Where a connection is."""

    __hash__ = object.__hash__  # Enum's own hash runs Python code on every call's table look-up

    PREFACE = auto()  # the seven bytes are awaited
    NEGOTIATE = auto()  # the client opens SASL
    SASL = auto()  # mechanisms are offered; the client chooses and proves
    CONTEXT = auto()  # authenticated, or simple: the connection context is awaited
    OPEN = auto()  # calls
    CLOSED = auto()


class Step(Enum):
    """What moves a connection."""

    __hash__ = object.__hash__

    SIMPLE_PREFACE = auto()
    SASL_PREFACE = auto()
    SIMPLE_GRANTED = auto()  # the port has no tokens: SASL is over before it begins
    MECHANISMS_OFFERED = auto()
    SIMPLE_CHOSEN = auto()
    CHALLENGED = auto()
    TOKEN_PROVED = auto()
    CONTEXT_ACCEPTED = auto()
    CALL = auto()
    PING = auto()
    REFUSED = auto()
    END_OF_FILE = auto()


_ENDS = {Step.REFUSED: State.CLOSED, Step.END_OF_FILE: State.CLOSED}

TRANSITIONS: Final[Mapping[State, Mapping[Step, State]]] = MappingProxyType(
    {
        State.PREFACE: {Step.SIMPLE_PREFACE: State.CONTEXT, Step.SASL_PREFACE: State.NEGOTIATE, **_ENDS},
        State.NEGOTIATE: {
            Step.SIMPLE_GRANTED: State.CONTEXT,
            Step.MECHANISMS_OFFERED: State.SASL,
            Step.PING: State.NEGOTIATE,
            **_ENDS,
        },
        State.SASL: {
            Step.SIMPLE_CHOSEN: State.CONTEXT,
            Step.CHALLENGED: State.SASL,
            Step.TOKEN_PROVED: State.CONTEXT,
            Step.PING: State.SASL,
            **_ENDS,
        },
        State.CONTEXT: {Step.CONTEXT_ACCEPTED: State.OPEN, Step.PING: State.CONTEXT, **_ENDS},
        State.OPEN: {Step.CALL: State.OPEN, Step.PING: State.OPEN, **_ENDS},
        State.CLOSED: {},
    }
)
