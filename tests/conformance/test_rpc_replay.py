"""The client side of recorded sessions, fed to our server's machine, yields the calls that were made.

The tokens' proofs are verified for real: with the recorded nonce and password our final token is the recorded one.
"""

from __future__ import annotations

from itertools import groupby

from tests.conformance.recorded_rpc import RecordedConnection, Recording, recording
from yodel.hadoop_rpc.server_connection import (
    CallReceived,
    ConnectionPolicy,
    Event,
    Identity,
    Opened,
    ServerConnection,
    TokenGrant,
)


def replay(recorded: Recording, connection: RecordedConnection) -> tuple[list[Event], bytes]:
    """The events of a connection, and what our server said on its own."""

    def grant(identifier: bytes) -> TokenGrant | None:
        password = recorded.passwords.get(identifier)
        return None if password is None else TokenGrant(password=password, user="appattempt", kind="recorded")

    def anyone(_identity: Identity) -> None:
        return

    policy = ConnectionPolicy(
        allow_simple=connection.port in ("client", "admin"), token_passwords=grant, authorize=anyone
    )
    machine, events = ServerConnection(policy=policy, nonce=connection.nonce), []
    for read in connection.reads:
        machine.receive_data(read)
        while (event := machine.next_event()) is not None:
            events.append(event)
    return events, machine.data_to_send()


def methods(events: list[Event]) -> list[tuple[str, int]]:
    """Method names in order, with how often each came in a row."""
    assert isinstance(events[0], Opened)
    calls = [event.method for event in events[1:] if isinstance(event, CallReceived)]
    assert len(calls) == len(events) - 1
    return [(method, len(list(run))) for method, run in groupby(calls)]


def test_cli_list() -> None:
    recorded = recording("cli-list")
    (connection,) = recorded.connections
    events, said = replay(recorded, connection)
    assert methods(events) == [("getApplications", 1)]
    assert said == b""


def test_spark_job() -> None:
    recorded = recording("spark-4-pi-cluster")
    heard = [(connection.port, *replay(recorded, connection)) for connection in recorded.connections]
    assert [(port, methods(events)) for port, events, _ in heard] == [
        ("client", [("getNewApplication", 1), ("submitApplication", 1), ("getApplicationReport", 83)]),
        ("nm", [("startContainers", 1)]),
        ("am", [("registerApplicationMaster", 1), ("allocate", 20), ("finishApplicationMaster", 2)]),
        ("nm", [("startContainers", 1)]),
        ("nm", [("startContainers", 1)]),
        ("nm", [("stopContainers", 1)]),
    ]


def test_recorded_proofs_are_answered_as_hadoop_answered_them() -> None:
    recorded = recording("spark-4-pi-cluster")
    proved = [connection for connection in recorded.connections if connection.port != "client"]
    assert len(proved) == 5
    for connection in proved:
        _, said = replay(recorded, connection)
        assert said.endswith(connection.final_token)
        assert connection.final_token.startswith(b"rspauth=")
