"""The server's end of a connection without a network: what a client says to it, and what it says back."""

from __future__ import annotations

from yodel.errors import AccessDenied, InvalidValue
from yodel.hadoop_pb.IpcConnectionContext_pb2 import IpcConnectionContextProto, UserInformationProto
from yodel.hadoop_pb.RpcHeader_pb2 import RpcResponseHeaderProto, RpcSaslProto
from yodel.hadoop_rpc import faults, sasl
from yodel.hadoop_rpc.faults import RpcErrorCode, unauthorized
from yodel.hadoop_rpc.framing import (
    CALL_ID_CONTEXT,
    CALL_ID_SASL,
    call_frame,
    out_of_band_frame,
    take_delimited,
)
from yodel.hadoop_rpc.server_connection import (
    Event,
    PeerRefused,
    ServerConnection,
)
from yodel.hadoop_rpc.server_policy import CallerIdentity, ConnectionPolicy, KerberosOffer, TokenGrant

CLIENT_ID = bytes(range(16))
NONCE = "5pbkz7H6b2/hsjYHPaUVWecwPA7FdgYSicWP007G"
SIMPLE_PREFACE = bytes.fromhex("68727063090000")
SASL_PREFACE = bytes.fromhex("687270630900df")
PROTOCOL = "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB"
PASSWORD = b"password"


def grant_of(identifier: bytes) -> TokenGrant | None:
    if identifier == b"expired":
        raise unauthorized(faults.INVALID_TOKEN, "expired on Monday")
    if identifier != b"known":
        return None
    return TokenGrant(password=PASSWORD, user="appattempt_1_0001_000001", kind="YARN_AM_RM_TOKEN")


def anyone(_identity: CallerIdentity) -> None:
    return


SIMPLE_ONLY = ConnectionPolicy(allow_simple=True, token_passwords=None, authorize=anyone)
TOKEN_ONLY = ConnectionPolicy(allow_simple=False, token_passwords=grant_of, authorize=anyone)
BOTH = ConnectionPolicy(allow_simple=True, token_passwords=grant_of, authorize=anyone)


CHOICE = bytes([1, 0, 0, 0])


class Sealed:
    """Protects by a letter in front."""

    def wrap(self, data: bytes) -> bytes:
        return b"w" + data

    def unwrap(self, data: bytes) -> bytes:
        if data[:1] != b"w":
            raise AccessDenied("not sealed")
        return data[1:]


def short_name(principal: str) -> str:
    if principal.endswith("@ELSEWHERE"):
        raise InvalidValue("principal", principal, "one of our realm")
    return principal.partition("@")[0]


OFFER = KerberosOffer(protocol="rm", server_id="host", short_name=short_name)


def connection(policy: ConnectionPolicy) -> ServerConnection:
    return ServerConnection(policy=policy, nonce=NONCE)


def feed(machine: ServerConnection, *data: bytes) -> list[Event]:
    machine.receive_data(b"".join(data))
    events = []
    while (event := machine.next_event()) is not None:
        events.append(event)
    return events


def context(user: str = "bob", real_user: str | None = None) -> bytes:
    info = UserInformationProto(effectiveUser=user or None, realUser=real_user)
    return out_of_band_frame(CALL_ID_CONTEXT, CLIENT_ID, IpcConnectionContextProto(userInfo=info, protocol=PROTOCOL))


def call(call_id: int = 0, method: str = "allocate", body: bytes = b"") -> bytes:
    return call_frame(
        call_id=call_id, client_id=CLIENT_ID, retry_count=0, protocol=PROTOCOL, version=1, method=method, body=body
    )


def sasl_frame(message: RpcSaslProto) -> bytes:
    return out_of_band_frame(CALL_ID_SASL, b"", message)


def response(token: bytes) -> bytes:
    return sasl_frame(RpcSaslProto(state=RpcSaslProto.RESPONSE, token=token))


NEGOTIATE = sasl_frame(RpcSaslProto(state=RpcSaslProto.NEGOTIATE))


def initiate(method: str = "TOKEN", mechanism: str = "DIGEST-MD5", token: bytes | None = None) -> bytes:
    auth = RpcSaslProto.SaslAuth(method=method, mechanism=mechanism, protocol="", serverId="default")
    return sasl_frame(RpcSaslProto(state=RpcSaslProto.INITIATE, token=token, auths=[auth]))


def proof(identifier: bytes = b"known", password: bytes = PASSWORD, nonce: str = NONCE) -> bytes:
    challenge = sasl.server_challenge(nonce)
    return sasl.client_response(challenge, identifier=identifier, password=password, cnonce="c" * 20)[0]


def said(machine: ServerConnection) -> tuple[RpcResponseHeaderProto, bytes]:
    """The one frame the server says."""
    data = machine.data_to_send()
    assert len(data) == int.from_bytes(data[:4], "big") + 4
    raw, position = take_delimited(data, 4)
    header = RpcResponseHeaderProto.FromString(raw)
    return header, take_delimited(data, position)[0] if position < len(data) else b""


def said_sasl(machine: ServerConnection) -> RpcSaslProto:
    header, body = said(machine)
    assert (header.callId, header.status) == (4294967263, RpcResponseHeaderProto.SUCCESS)
    return RpcSaslProto.FromString(body)


def assert_refused(machine: ServerConnection, events: list[Event], java_class: str, code: RpcErrorCode) -> str:
    assert machine.closed
    assert isinstance(events[-1], PeerRefused)
    header, body = said(machine)
    assert body == b""
    assert header.status == RpcResponseHeaderProto.FATAL
    assert (header.exceptionClassName, header.errorDetail) == (java_class, code)
    return header.errorMsg
