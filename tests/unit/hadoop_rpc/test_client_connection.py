"""The client's machine against the server's, and against a server that lies."""

from dataclasses import replace

import pytest

from tests.support.server_machine import OFFER, TOKEN_ONLY, Sealed, connection
from yodel.errors import AccessDenied
from yodel.hadoop_pb.RpcHeader_pb2 import RpcSaslProto
from yodel.hadoop_rpc import faults
from yodel.hadoop_rpc.client_connection import (
    Answered,
    ClientConnection,
    ClientIdentity,
    ConnectionReady,
    Event,
    Failed,
)
from yodel.hadoop_rpc.faults import RemoteFault, RpcErrorCode
from yodel.hadoop_rpc.framing import CALL_ID_PING, CALL_ID_SASL, fault_frame, out_of_band_frame, success_frame
from yodel.hadoop_rpc.gssapi import Negotiated, choice_of
from yodel.hadoop_rpc.sasl import SaslRefused
from yodel.hadoop_rpc.server_connection import CallReceived, CallTarget, Pinged, ServerConnection, TicketReceived
from yodel.hadoop_rpc.server_policy import CallerIdentity, ConnectionPolicy, TokenGrant
from yodel.hadoop_rpc.writable import WireToken

NONCE = "n" * 40
CLIENT_ID = bytes(range(16))
PROTOCOL = "org.apache.hadoop.yarn.api.ContainerManagementProtocolPB"
TOKEN = WireToken(identifier=b"id", password=b"pw", kind="NMToken", service="")


def anyone(_identity: CallerIdentity) -> None:
    return


def server(*, tokens: bool, simple: bool, password: bytes = b"pw") -> ServerConnection:
    grant = TokenGrant(password=password, user="att", kind="NMToken")
    policy = ConnectionPolicy(
        allow_simple=simple, token_passwords=(lambda _identifier: grant) if tokens else None, authorize=anyone
    )
    return ServerConnection(policy=policy, nonce=NONCE)


def client(token: WireToken | None, real_user: str | None = None) -> ClientConnection:
    identity = ClientIdentity(client_id=CLIENT_ID, protocol=PROTOCOL, user="bob", real_user=real_user, token=token)
    return ClientConnection(identity=identity, cnonce="c" * 40)


def pull(machine: ClientConnection, data: bytes) -> list[Event]:
    machine.receive_data(data)
    events = []
    while (event := machine.next_event()) is not None:
        events.append(event)
    return events


def converse(near: ClientConnection, far: ServerConnection) -> list[Event]:
    """Carry bytes to and fro until both are silent; what the client saw."""
    events: list[Event] = []
    words = near.connect()
    while words:
        far.receive_data(words)
        while far.next_event() is not None:
            pass
        events += pull(near, far.data_to_send())
        words = near.data_to_send()
    return events


def test_simple_client_is_open_at_once() -> None:
    near, far = client(None, "proxy"), server(tokens=True, simple=True)
    assert converse(near, far) == []
    assert near.open
    assert far.identity == CallerIdentity(user="bob", real_user="proxy")


def test_token_client_proves_and_checks_the_servers_proof() -> None:
    near, far = client(TOKEN), server(tokens=True, simple=True)
    assert converse(near, far) == [ConnectionReady()]
    assert far.identity.token_identifier == b"id"


def test_call_and_answer() -> None:
    near, far = client(None), server(tokens=False, simple=True)
    converse(near, far)
    far.receive_data(
        out_of_band_frame(CALL_ID_PING, CLIENT_ID)
        + near.call(call_id=9, method="startContainers", body=b"body", retry_count=1)
    )
    assert far.next_event() == Pinged()
    assert far.next_event() == CallReceived(9, CLIENT_ID, 1, CallTarget(PROTOCOL, 1, "startContainers"), b"body")
    fault = RemoteFault(faults.YARN_EXCEPTION, "no")
    events = pull(near, success_frame(9, CLIENT_ID, 1, b"answer") + fault_frame(8, CLIENT_ID, 0, fault))
    assert events[0] == Answered(9, b"answer", None)
    assert isinstance(events[1], Answered)
    assert events[1].fault is not None
    assert (events[1].fault.java_class, events[1].fault.message) == (faults.YARN_EXCEPTION, "no")


def test_wrong_password_fails_the_connection() -> None:
    (event,) = converse(client(TOKEN), server(tokens=True, simple=False, password=b"other"))
    assert isinstance(event, Failed)
    assert event.fault.code is RpcErrorCode.FATAL_UNAUTHORIZED


def test_simple_client_on_a_token_port_learns_why() -> None:
    (event,) = converse(client(None), server(tokens=True, simple=False))
    assert isinstance(event, Failed)
    assert event.fault.message == "SIMPLE authentication is not enabled.  Available:[TOKEN]"


def test_token_client_never_falls_back_to_simple() -> None:
    (event,) = converse(client(TOKEN), server(tokens=False, simple=True))
    assert isinstance(event, Failed)
    assert event.fault.java_class == faults.ACCESS_CONTROL


def sasl(message: RpcSaslProto) -> bytes:
    return success_frame(CALL_ID_SASL, b"", -1, message.SerializeToString())


TOKEN_AUTH = RpcSaslProto.SaslAuth(method="TOKEN", mechanism="DIGEST-MD5", protocol="", serverId="default")
CHALLENGE = b'realm="default",nonce="nnnnnnnnnnnnnnnn",qop="auth",charset=utf-8,algorithm=md5-sess'


def test_challenge_may_come_later() -> None:
    near = client(TOKEN)
    near.connect()
    assert pull(near, sasl(RpcSaslProto(state=RpcSaslProto.NEGOTIATE, auths=[TOKEN_AUTH]))) == []
    assert near.data_to_send()
    assert pull(near, sasl(RpcSaslProto(state=RpcSaslProto.CHALLENGE, token=CHALLENGE))) == []
    assert b"response=" in near.data_to_send()


def test_server_without_the_right_proof_is_refused() -> None:
    near = client(TOKEN)
    near.connect()
    offer = RpcSaslProto.SaslAuth(method="TOKEN", mechanism="DIGEST-MD5", challenge=CHALLENGE)
    pull(near, sasl(RpcSaslProto(state=RpcSaslProto.NEGOTIATE, auths=[offer])))
    (event,) = pull(near, sasl(RpcSaslProto(state=RpcSaslProto.SUCCESS, token=b"rspauth=" + b"0" * 32)))
    # A success with the wrong proof is not a success.
    assert isinstance(event, Failed)
    assert near.closed


def test_offer_without_a_usable_method_is_refused() -> None:
    near = client(TOKEN)
    near.connect()
    offer = RpcSaslProto.SaslAuth(method="KERBEROS", mechanism="GSSAPI")
    (event,) = pull(near, sasl(RpcSaslProto(state=RpcSaslProto.NEGOTIATE, auths=[offer])))
    assert isinstance(event, Failed)
    assert event.fault.message == "Client cannot authenticate via:[KERBEROS]"


@pytest.mark.parametrize(
    "answer",
    [
        success_frame(1, b"another client's", 0, b""),
        success_frame(1, CLIENT_ID, 0, b"")[:3] + b"\x20" + success_frame(1, CLIENT_ID, 0, b"")[4:] + b"trailing",
        b"\x7f\xff\xff\xff",
        b"\x00\x00\x00\x01\xff",
    ],
)
def test_answer_that_breaks_the_protocol_fails_the_connection(answer: bytes) -> None:
    near = client(None)
    near.connect()
    (event,) = pull(near, answer + bytes(64))
    assert isinstance(event, Failed)
    assert pull(near, success_frame(1, CLIENT_ID, 0, b"")) == []


def test_answer_before_sasl_has_ended_fails_the_connection() -> None:
    near = client(TOKEN)
    near.connect()
    (event,) = pull(near, success_frame(0, CLIENT_ID, 0, b""))
    assert isinstance(event, Failed)


class Answer:
    """A ticket whose service answers ``answer``."""

    token = b"ticket"

    def answered(self, token: bytes) -> Sealed:
        if token != b"answer":
            raise AccessDenied("GSSException: not the service")
        return Sealed()


def ticketed(answer: bytes = b"answer") -> tuple[ClientConnection, ServerConnection, list[Event]]:
    """A client with a ticket after all that both sides say."""
    identity = ClientIdentity(client_id=CLIENT_ID, protocol=PROTOCOL, user="", ticket=Answer())
    near, far = ClientConnection(identity=identity, cnonce="c" * 40), connection(replace(TOKEN_ONLY, kerberos=OFFER))
    words, events = near.connect(), list[Event]()
    while words:
        far.receive_data(words)
        while (event := far.next_event()) is not None:
            if isinstance(event, TicketReceived):
                assert event.token == b"ticket"
                owner = Negotiated(user="alice", principal="alice@EXAMPLE.COM", answer=answer, session=Sealed())
                far.ticket_accepted(owner)
        events += pull(near, far.data_to_send())
        words = near.data_to_send()
    return near, far, events


def test_client_with_a_ticket_checks_the_service_and_chooses_no_layer() -> None:
    near, far, events = ticketed()
    assert events == [ConnectionReady()]
    assert near.open
    assert far.identity.principal == "alice@EXAMPLE.COM"


def test_service_that_does_not_prove_itself_gets_no_call() -> None:
    near, _, (failed,) = ticketed(answer=b"another's")
    assert isinstance(failed, Failed)
    assert (near.closed, failed.fault.message) == (True, "GSSException: not the service")


@pytest.mark.parametrize("offered", [b"", bytes([2, 0, 0, 0]), bytes([4, 1, 0, 0])])
def test_layers_without_authentication_alone_are_refused(offered: bytes) -> None:
    with pytest.raises(SaslRefused, match="No common protection layer between client and server"):
        choice_of(offered)


def test_ticket_on_a_port_of_tokens_is_not_sent() -> None:
    identity = ClientIdentity(client_id=CLIENT_ID, protocol=PROTOCOL, user="", ticket=Answer())
    near = ClientConnection(identity=identity, cnonce="c" * 40)
    (failed,) = converse(near, server(tokens=True, simple=False))
    assert isinstance(failed, Failed)
    assert failed.fault.message == "Client cannot authenticate via:[TOKEN]"
