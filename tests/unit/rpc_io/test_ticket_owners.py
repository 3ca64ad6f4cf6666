from __future__ import annotations

import pytest

from yodel.hadoop_rpc import faults
from yodel.hadoop_rpc.faults import RemoteFault
from yodel.rpc_io.ticket_owners import TicketOwners

TRACKER = "org.apache.hadoop.yarn.server.api.ResourceTrackerPB"


@pytest.mark.parametrize(
    ("pattern", "principal"),
    [
        ("nm/_HOST@EXAMPLE.COM", "nm/node-1@EXAMPLE.COM"),
        ("nm/node-1@EXAMPLE.COM", "nm/node-1@EXAMPLE.COM"),
    ],
)
def test_named_principal_is_admitted(pattern: str, principal: str) -> None:
    TicketOwners(protocol=TRACKER, principal=pattern).authorize(principal)


@pytest.mark.parametrize(
    ("pattern", "principal", "reason"),
    [
        ("nm/_HOST@EXAMPLE.COM", "alice@EXAMPLE.COM", "this service is only accessible by nm/_HOST@EXAMPLE.COM"),
        ("nm/_HOST@EXAMPLE.COM", "nm@EXAMPLE.COM", "this service is only accessible by nm/_HOST@EXAMPLE.COM"),
        ("nm/_HOST@EXAMPLE.COM", "nm/a@OTHER.COM", "this service is only accessible by nm/_HOST@EXAMPLE.COM"),
        ("nm/_HOST@EXAMPLE.COM", "rm/a@EXAMPLE.COM", "this service is only accessible by nm/_HOST@EXAMPLE.COM"),
        ("nm/node-1@EXAMPLE.COM", "nm/node-2@EXAMPLE.COM", "this service is only accessible by nm/node-1@EXAMPLE.COM"),
        ("", "alice@EXAMPLE.COM", "denied by configured ACL"),
        ("", "", "denied by configured ACL"),
    ],
)
def test_others_are_refused_as_by_hadoop(pattern: str, principal: str, reason: str) -> None:
    with pytest.raises(RemoteFault) as refused:
        TicketOwners(protocol=TRACKER, principal=pattern).authorize(principal)
    assert (refused.value.java_class, refused.value.fatal) == (faults.AUTHORIZATION, True)
    assert refused.value.message == (
        f"User {principal} (auth:KERBEROS) is not authorized for protocol interface {TRACKER}: {reason}"
    )
