"""The client's end of a Hadoop RPC connection as a state machine without IO.

Without a token or a ticket it says everything at once (preface, context) and is open; with one it opens SASL, takes the
server's offer of TOKEN or KERBEROS, proves, verifies the server's proof, and only then sends the context.  A client
with either never falls back to SIMPLE: it is the identity.  Follows ``org.apache.hadoop.ipc.Client`` and
``SaslRpcClient``.
Contract with the shell: as in ``server_connection``; ``connect`` gives the first bytes, ``call`` gives a request's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from types import MappingProxyType
from typing import Final

from yodel.errors import AccessDenied
from yodel.hadoop_pb.IpcConnectionContext_pb2 import IpcConnectionContextProto, UserInformationProto
from yodel.hadoop_pb.RpcHeader_pb2 import RpcResponseHeaderProto, RpcSaslProto
from yodel.hadoop_rpc import faults, gssapi, sasl
from yodel.hadoop_rpc.faults import RemoteFault, RpcErrorCode, unauthorized
from yodel.hadoop_rpc.framing import (
    AUTH_SASL,
    AUTH_SIMPLE,
    CALL_ID_CONTEXT,
    CALL_ID_SASL,
    FRAME_BYTES_MAX,
    MAGIC,
    RPC_VERSION,
    FrameBuffer,
    FrameTooLarge,
    MalformedFrame,
    call_frame,
    out_of_band_frame,
    parse,
    take_delimited,
    text,
)
from yodel.hadoop_rpc.writable import WireToken


class ClientState(Enum):
    """Lists the states of a connection."""

    START = auto()
    NEGOTIATE = auto()  # SASL opened; the server's offer is awaited
    CHALLENGE = auto()  # the offer had no challenge; it is awaited
    PROOF = auto()  # we proved; the server's proof is awaited
    TICKET = auto()  # our ticket is sent; the service's answer is awaited
    LAYERS = auto()  # the server's security layers are awaited
    OPEN = auto()
    CLOSED = auto()


class ClientStep(Enum):
    """Lists the steps of a connection from one state to another."""

    SIMPLE_SENT = auto()
    SASL_SENT = auto()
    CHALLENGE_ASKED = auto()
    PROOF_SENT = auto()
    TICKET_SENT = auto()
    ANSWER_TAKEN = auto()
    SERVER_PROVED = auto()
    FAILED = auto()


_ENDS = {ClientStep.FAILED: ClientState.CLOSED}

TRANSITIONS: Final[Mapping[ClientState, Mapping[ClientStep, ClientState]]] = MappingProxyType(
    {
        ClientState.START: {
            ClientStep.SIMPLE_SENT: ClientState.OPEN,
            ClientStep.SASL_SENT: ClientState.NEGOTIATE,
            **_ENDS,
        },
        ClientState.NEGOTIATE: {
            ClientStep.CHALLENGE_ASKED: ClientState.CHALLENGE,
            ClientStep.PROOF_SENT: ClientState.PROOF,
            ClientStep.TICKET_SENT: ClientState.TICKET,
            **_ENDS,
        },
        ClientState.TICKET: {ClientStep.ANSWER_TAKEN: ClientState.LAYERS, **_ENDS},
        ClientState.LAYERS: {ClientStep.PROOF_SENT: ClientState.PROOF, **_ENDS},
        ClientState.CHALLENGE: {ClientStep.PROOF_SENT: ClientState.PROOF, **_ENDS},
        ClientState.PROOF: {ClientStep.SERVER_PROVED: ClientState.OPEN, **_ENDS},
        ClientState.OPEN: {**_ENDS},
        ClientState.CLOSED: {},
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientIdentity:
    """Names the user of a connection; ``client_id`` is 16 bytes drawn once a client.  A ``ticket`` names its owner, and
    is good for one connection."""

    client_id: bytes
    protocol: str
    user: str
    real_user: str | None = None
    token: WireToken | None = None
    ticket: gssapi.Ticket | None = None

    @property
    def is_proved(self) -> bool:
        """Return True if there is something to prove the name with."""
        return self.token is not None or self.ticket is not None


@dataclass(frozen=True, slots=True)
class ConnectionReady:
    """Calls may be sent."""


@dataclass(frozen=True, slots=True)
class Answered:
    """A call's answer: the response message's bytes, or the fault."""

    call_id: int
    body: bytes = field(repr=False)
    fault: RemoteFault | None


@dataclass(frozen=True, slots=True)
class Failed:
    """The server refused the connection, or broke the protocol; the connection is closed and all its calls failed."""

    fault: RemoteFault


Event = ConnectionReady | Answered | Failed


class ClientConnection:
    """One connection, seen from the client.  ``cnonce`` is its own, never used before."""

    __slots__ = ("_buffer", "_cnonce", "_expected_proof", "_identity", "_out", "_session", "state")

    def __init__(self, *, identity: ClientIdentity, cnonce: str) -> None:
        self.state = ClientState.START
        self._identity = identity
        self._cnonce = cnonce
        self._buffer = FrameBuffer()
        self._expected_proof = b""
        self._session: gssapi.Session | None = None
        self._out: list[bytes] = []

    @property
    def closed(self) -> bool:
        return self.state is ClientState.CLOSED

    @property
    def open(self) -> bool:
        return self.state is ClientState.OPEN

    def connect(self) -> bytes:
        """The first bytes to send."""
        if not self._identity.is_proved:
            self._move(ClientStep.SIMPLE_SENT)
            return MAGIC + bytes((RPC_VERSION, 0, AUTH_SIMPLE)) + self._context()
        self._move(ClientStep.SASL_SENT)
        negotiate = out_of_band_frame(CALL_ID_SASL, b"", RpcSaslProto(state=RpcSaslProto.NEGOTIATE))
        return MAGIC + bytes((RPC_VERSION, 0, AUTH_SASL)) + negotiate

    def call(self, *, call_id: int, method: str, body: bytes, version: int = 1, retry_count: int = 0) -> bytes:
        """A request's bytes; only while open."""
        assert self.state is ClientState.OPEN
        identity = self._identity
        return call_frame(
            call_id=call_id,
            client_id=identity.client_id,
            retry_count=retry_count,
            protocol=identity.protocol,
            version=version,
            method=method,
            body=body,
        )

    def receive_data(self, data: bytes) -> None:
        if self.state is not ClientState.CLOSED:
            self._buffer += data

    def data_to_send(self) -> bytes:
        data = b"".join(self._out)
        self._out.clear()
        return data

    def next_event(self) -> Event | None:
        """The next event, or None when more bytes are needed or the connection is closed."""
        while self.state is not ClientState.CLOSED:
            try:
                frame = self._buffer.take_frame(FRAME_BYTES_MAX)
                if frame is None:
                    return None
                event = self._on_frame(frame)
            except (FrameTooLarge, MalformedFrame, sasl.SaslRefused, AccessDenied) as error:
                return self._fail(RemoteFault(faults.IO_EXCEPTION, str(error), code=RpcErrorCode.FATAL_UNKNOWN))
            except RemoteFault as fault:
                return self._fail(fault)
            if event is not None:
                return event
        return None

    def _move(self, step: ClientStep) -> None:
        self.state = TRANSITIONS[self.state][step]

    def _fail(self, fault: RemoteFault) -> Failed:
        self._move(ClientStep.FAILED)
        self._buffer.clear()
        return Failed(fault)

    def _context(self) -> bytes:
        identity = self._identity
        user = UserInformationProto()
        if not identity.is_proved:
            user.effectiveUser = identity.user
            if identity.real_user is not None:
                user.realUser = identity.real_user
        context = IpcConnectionContextProto(userInfo=user, protocol=identity.protocol)
        return out_of_band_frame(CALL_ID_CONTEXT, identity.client_id, context)

    def _on_frame(self, frame: bytes) -> Event | None:
        raw, position = take_delimited(frame, 0)
        header = parse(RpcResponseHeaderProto, raw)
        fault = _fault_of(header)
        if fault is not None and fault.fatal:
            raise fault
        call_id = header.callId - 0x1_0000_0000 if header.callId & 0x8000_0000 else header.callId
        if self.state is not ClientState.OPEN:
            if call_id != CALL_ID_SASL or fault is not None:
                raise MalformedFrame("an answer before SASL has ended")
            body, _ = take_delimited(frame, position)
            return self._on_sasl(parse(RpcSaslProto, body))
        if header.clientId and header.clientId != self._identity.client_id:
            raise MalformedFrame("Client IDs not matched")
        if fault is not None:
            return Answered(call_id, b"", fault)
        body, position = take_delimited(frame, position)
        if position != len(frame):
            raise MalformedFrame("RPC response length mismatch")
        return Answered(call_id, body, None)

    def _on_sasl(self, message: RpcSaslProto) -> Event | None:
        if message.state == RpcSaslProto.NEGOTIATE and self.state is ClientState.NEGOTIATE:
            self._choose(message)
            return None
        if message.state == RpcSaslProto.CHALLENGE and self.state is ClientState.CHALLENGE:
            self._say(RpcSaslProto(state=RpcSaslProto.RESPONSE, token=self._prove(message.token)))
            self._move(ClientStep.PROOF_SENT)
            return None
        if message.state == RpcSaslProto.CHALLENGE and self.state in (ClientState.TICKET, ClientState.LAYERS):
            self._on_word_of_service(message.token)
            return None
        if message.state == RpcSaslProto.SUCCESS and self.state is ClientState.PROOF:
            is_proved = self._session is not None or sasl.is_expected_final_token(self._expected_proof, message.token)
            if not is_proved:
                raise sasl.SaslRefused("DIGEST-MD5: the server's rspauth is wrong")
            self._move(ClientStep.SERVER_PROVED)
            self._out.append(self._context())
            return ConnectionReady()
        if message.state == RpcSaslProto.SUCCESS:
            raise unauthorized(
                faults.ACCESS_CONTROL, "Server asks us to fall back to SIMPLE auth, but we have a token or a ticket"
            )
        raise MalformedFrame("a SASL message out of turn")

    def _on_word_of_service(self, token: bytes) -> None:
        """Check the service's answer to the ticket, say nothing, and choose among its layers (RFC 4752)."""
        ticket = self._identity.ticket
        assert ticket is not None
        if self._session is None:
            self._session = ticket.answered(token)
            self._say(RpcSaslProto(state=RpcSaslProto.RESPONSE, token=b""))
            self._move(ClientStep.ANSWER_TAKEN)
            return
        choice = self._session.wrap(gssapi.choice_of(self._session.unwrap(token)))
        self._say(RpcSaslProto(state=RpcSaslProto.RESPONSE, token=choice))
        self._move(ClientStep.PROOF_SENT)

    def _choose(self, offer: RpcSaslProto) -> None:
        ticket = self._identity.ticket
        wanted = (sasl.METHOD, sasl.MECHANISM) if ticket is None else (gssapi.METHOD, gssapi.MECHANISM)
        for auth in offer.auths:
            if (auth.method, auth.mechanism) != wanted:
                continue
            chosen = RpcSaslProto.SaslAuth()
            chosen.CopyFrom(auth)
            chosen.ClearField("challenge")
            initiate = RpcSaslProto(state=RpcSaslProto.INITIATE, auths=[chosen])
            if ticket is not None:
                initiate.token = ticket.token
                self._move(ClientStep.TICKET_SENT)
            elif auth.HasField("challenge"):
                initiate.token = self._prove(auth.challenge)
                self._move(ClientStep.PROOF_SENT)
            else:
                self._move(ClientStep.CHALLENGE_ASKED)
            self._say(initiate)
            return
        offered = ", ".join(text(auth.method) for auth in offer.auths)
        raise unauthorized(faults.ACCESS_CONTROL, f"Client cannot authenticate via:[{offered}]")

    def _prove(self, challenge: bytes) -> bytes:
        token = self._identity.token
        assert token is not None
        response, self._expected_proof = sasl.client_response(
            challenge, identifier=token.identifier, password=token.password, cnonce=self._cnonce
        )
        return response

    def _say(self, message: RpcSaslProto) -> None:
        self._out.append(out_of_band_frame(CALL_ID_SASL, b"", message))


def _fault_of(header: RpcResponseHeaderProto) -> RemoteFault | None:
    if header.status == RpcResponseHeaderProto.SUCCESS:
        return None
    fatal = header.status == RpcResponseHeaderProto.FATAL
    detail = header.errorDetail if header.HasField("errorDetail") else 0
    fallback = RpcErrorCode.FATAL_UNKNOWN if fatal else RpcErrorCode.ERROR_RPC_SERVER
    return RemoteFault(
        text(header.exceptionClassName) or faults.IO_EXCEPTION,
        text(header.errorMsg),
        code=RpcErrorCode(detail) if detail else fallback,
        fatal=fatal,
    )
