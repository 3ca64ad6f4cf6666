"""Defines the states of a client's connection and its steps, as a table: the only place where a state follows another.

Documentation draws it from here; ``server_connection`` runs on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from types import MappingProxyType
from typing import Final


class ServerState(Enum):
    """Lists the states of a connection."""

    __hash__ = object.__hash__  # Enum's own hash runs Python code on every call's table look-up

    PREFACE = auto()  # the seven bytes are awaited
    NEGOTIATE = auto()  # the client opens SASL
    SASL = auto()  # mechanisms are offered; the client chooses and proves
    JUDGED = auto()  # the shell has the client's ticket judged; nothing is read until it tells the verdict
    ANSWERED = auto()  # the ticket is good and answered; an empty word is awaited
    LAYERS = auto()  # security layers are offered; the client chooses
    CONTEXT = auto()  # authenticated, or simple: the connection context is awaited
    OPEN = auto()  # calls
    CLOSED = auto()


class ServerStep(Enum):
    """Lists the steps of a connection from one state to another."""

    __hash__ = object.__hash__

    SIMPLE_PREFACE = auto()
    SASL_PREFACE = auto()
    SIMPLE_GRANTED = auto()  # the port has no tokens: SASL is over before it begins
    MECHANISMS_OFFERED = auto()
    SIMPLE_CHOSEN = auto()
    CHALLENGED = auto()
    TOKEN_PROVED = auto()
    TICKET_RECEIVED = auto()
    TICKET_ANSWERED = auto()
    LAYERS_OFFERED = auto()
    LAYER_CHOSEN = auto()
    CONTEXT_ACCEPTED = auto()
    CALL = auto()
    PING = auto()
    REFUSED = auto()
    END_OF_FILE = auto()


_ENDS = {ServerStep.REFUSED: ServerState.CLOSED, ServerStep.END_OF_FILE: ServerState.CLOSED}

TRANSITIONS: Final[Mapping[ServerState, Mapping[ServerStep, ServerState]]] = MappingProxyType(
    {
        ServerState.PREFACE: {
            ServerStep.SIMPLE_PREFACE: ServerState.CONTEXT,
            ServerStep.SASL_PREFACE: ServerState.NEGOTIATE,
            **_ENDS,
        },
        ServerState.NEGOTIATE: {
            ServerStep.SIMPLE_GRANTED: ServerState.CONTEXT,
            ServerStep.MECHANISMS_OFFERED: ServerState.SASL,
            ServerStep.PING: ServerState.NEGOTIATE,
            **_ENDS,
        },
        ServerState.SASL: {
            ServerStep.SIMPLE_CHOSEN: ServerState.CONTEXT,
            ServerStep.CHALLENGED: ServerState.SASL,
            ServerStep.TOKEN_PROVED: ServerState.CONTEXT,
            ServerStep.TICKET_RECEIVED: ServerState.JUDGED,
            ServerStep.PING: ServerState.SASL,
            **_ENDS,
        },
        ServerState.JUDGED: {
            ServerStep.TICKET_ANSWERED: ServerState.ANSWERED,
            **_ENDS,
        },
        ServerState.ANSWERED: {
            ServerStep.LAYERS_OFFERED: ServerState.LAYERS,
            ServerStep.PING: ServerState.ANSWERED,
            **_ENDS,
        },
        ServerState.LAYERS: {
            ServerStep.LAYER_CHOSEN: ServerState.CONTEXT,
            ServerStep.PING: ServerState.LAYERS,
            **_ENDS,
        },
        ServerState.CONTEXT: {
            ServerStep.CONTEXT_ACCEPTED: ServerState.OPEN,
            ServerStep.PING: ServerState.CONTEXT,
            **_ENDS,
        },
        ServerState.OPEN: {ServerStep.CALL: ServerState.OPEN, ServerStep.PING: ServerState.OPEN, **_ENDS},
        ServerState.CLOSED: {},
    }
)
