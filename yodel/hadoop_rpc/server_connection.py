"""The server's end of a Hadoop RPC connection as a state machine without IO.

A connection begins with seven bytes (magic, version, service class, how to authenticate), proves who it is (SASL with a
token or a Kerberos ticket, or nothing), says for whom it speaks (the connection context), and then calls.
``server_states`` is that sentence as a table; ``server_policy`` is what a port asks of its callers.

The contract with the shell: ``receive_data`` what was read, pull ``next_event`` until it is None (pulling less often is
back pressure), then send ``data_to_send`` and, if ``closed``, close.  Answers are made by ``framing.success_frame`` and
``framing.fault_frame``; they need no state.  Follows ``org.apache.hadoop.ipc.Server.Connection``, version 9.

A ticket is not judged here, for that reads files and takes time: after ``TicketReceived`` the machine does nothing
until the shell calls ``ticket_accepted`` or ``refuse``.

Until a connection is OPEN it gets no answer to any call, its refusals carry the reserved call id -1, and it cannot make
us buffer more than ``frame_bytes_before_open_max`` and one read.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

from yodel.errors import AccessDenied, InvalidValue
from yodel.hadoop_pb.IpcConnectionContext_pb2 import IpcConnectionContextProto
from yodel.hadoop_pb.ProtobufRpcEngine2_pb2 import RequestHeaderProto
from yodel.hadoop_pb.RpcHeader_pb2 import RPC_PROTOCOL_BUFFER, RpcRequestHeaderProto, RpcSaslProto
from yodel.hadoop_rpc import faults, gssapi, sasl
from yodel.hadoop_rpc.faults import RemoteFault, RpcErrorCode, invalid_header, unauthorized
from yodel.hadoop_rpc.framing import (
    AUTH_SASL,
    AUTH_SIMPLE,
    CALL_ID_AUTHORIZATION_FAILED,
    CALL_ID_CONTEXT,
    CALL_ID_INVALID,
    CALL_ID_PING,
    CALL_ID_SASL,
    CLIENT_ID_BYTES_MAX,
    FINAL_PACKET,
    HEADER_BYTES_MAX,
    MAGIC,
    PREFACE_BYTES,
    RPC_VERSION,
    FrameBuffer,
    FrameTooLarge,
    MalformedFrame,
    fault_frame,
    parse,
    success_frame,
    take_delimited,
    text,
)
from yodel.hadoop_rpc.server_policy import AuthMethod, CallerIdentity, ConnectionPolicy
from yodel.hadoop_rpc.server_states import TRANSITIONS, ServerState, ServerStep

USER_NAME_CHARACTERS_MAX = 256
HTTP_GET = b"GET "
KEPT_HEADER_BYTES_MAX = 256
"""The most bytes of a call's header that is kept with its connection; Hadoop's have some 80."""
HTTP_REPLY = (
    b"HTTP/1.1 404 Not Found\r\n"
    b"Content-type: text/plain\r\n\r\n"
    b"It looks like you are making an HTTP request to a Hadoop IPC port. "
    b"This is not the correct port for the web interface on this daemon.\r\n"
)
"""``Server.RECEIVED_HTTP_REQ_RESPONSE``."""


@dataclass(frozen=True, slots=True)
class Opened:
    """The connection context was accepted."""

    identity: CallerIdentity
    protocol: str


class CallTarget(NamedTuple):
    """Names a method by its protocol, the protocol's version, and its own name."""

    protocol: str
    version: int
    method: str


@dataclass(slots=True)
class CallReceived:
    """A call to answer.  Not frozen only because one is built for every heartbeat; nobody changes it."""

    call_id: int
    client_id: bytes
    retry_count: int
    target: CallTarget
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class PeerRefused:
    """The peer was refused or broke the protocol; the connection is closed.  ``fault`` is None for plain nonsense.

    ``too_large`` is set when a frame's length was over the limit; ``was_open`` says which limit that was.
    """

    fault: RemoteFault | None
    too_large: FrameTooLarge | None = None
    was_open: bool = False


@dataclass(frozen=True, slots=True)
class Pinged:
    """The peer is there; it wants no answer.  An event, because the shell decides for how many of them it has time."""


PINGED = Pinged()


@dataclass(frozen=True, slots=True)
class TicketReceived:
    """Passes on the peer's Kerberos ticket, to be judged; no event follows before the verdict."""

    token: bytes = field(repr=False)


Event = Opened | CallReceived | Pinged | PeerRefused | TicketReceived


_WITHOUT_EVENTS = frozenset({ServerState.CLOSED, ServerState.JUDGED})
_PREFACE, _CALL = ServerState.PREFACE, ServerStep.CALL


class ServerConnection:
    """One connection, seen from the server.  ``nonce`` is this connection's own, never used before."""

    __slots__ = (
        "_frame_bytes_max",
        "_identity",
        "_last_header",
        "_last_target",
        "_nonce",
        "_out",
        "_policy",
        "_sasl",
        "_session",
        "_steps",
        "buffer",
        "closed",
        "frames",
        "state",
    )

    def __init__(self, *, policy: ConnectionPolicy, nonce: str) -> None:
        self.state = ServerState.PREFACE
        self.closed = False
        self._steps = TRANSITIONS[ServerState.PREFACE]
        self._policy = policy
        self._nonce = nonce
        self.buffer = FrameBuffer()
        """Received and not taken yet."""
        self._frame_bytes_max = policy.frame_bytes_before_open_max
        self._identity: CallerIdentity | None = None
        self._sasl = False
        self._last_header = b""
        """The header of the last call with its length, if it is short: the next one mostly has the same protocol and
        method."""
        self._last_target = CallTarget("", 0, "")
        self._session: gssapi.Session | None = None
        self._out: list[bytes] = []
        self.frames = 0
        """Taken whole since the connection was made."""

    @property
    def identity(self) -> CallerIdentity:
        """Return the caller; only an open connection has one."""
        assert self._identity is not None
        assert self.state is ServerState.OPEN
        return self._identity

    def receive_data(self, data: bytes) -> None:
        """Take received bytes; those after the end are dropped."""
        if not self.closed:
            self.buffer += data

    def receive_eof(self) -> None:
        """The peer closed."""
        if not self.closed:
            self._move(ServerStep.END_OF_FILE)

    def data_to_send(self) -> bytes:
        """Return the bytes that the machine itself has to send (SASL, refusals), once."""
        if not self._out:
            return b""
        data = b"".join(self._out)
        self._out.clear()
        return data

    def next_event(self) -> Event | None:
        """The next event, or None when more bytes are needed or the connection is closed."""
        while self.state not in _WITHOUT_EVENTS:
            try:
                if self.state is _PREFACE:
                    refused, taken = self._on_preface()
                    if not taken:
                        return refused
                    continue
                frame = self.buffer.take_frame(self._frame_bytes_max)
                if frame is None:
                    return None
                self.frames += 1
                event = self._on_frame(frame)
            except FrameTooLarge as error:
                return self._refuse_frame(error)
            except MalformedFrame as error:
                return self._refuse(_cannot_read(error), CALL_ID_INVALID)
            except RemoteFault as fault:
                return self._refuse(fault, CALL_ID_INVALID)
            if event is not None:
                return event
        return None

    def _move(self, step: ServerStep) -> None:
        self.state = self._steps[step]
        self._steps = TRANSITIONS[self.state]
        if self.state is ServerState.OPEN:
            self._frame_bytes_max = self._policy.frame_bytes_max
        elif self.state is ServerState.CLOSED:
            self.closed = True
            self.buffer.clear()

    def refuse(self, fault: RemoteFault) -> None:
        """End it for a reason that the shell has; ``data_to_send`` says it.  No event follows."""
        if not self.closed:
            self._refuse(fault, CALL_ID_INVALID)

    def ticket_accepted(self, found: gssapi.Negotiated) -> None:
        """Go on with the owner of the ticket that ``TicketReceived`` gave; nothing if the peer has left since."""
        if self.state is not ServerState.JUDGED:
            return
        self._session = found.session
        self._identity = CallerIdentity(user=found.user, auth_method=AuthMethod.KERBEROS, principal=found.principal)
        self._say_sasl(RpcSaslProto(state=RpcSaslProto.CHALLENGE, token=found.answer))
        self._move(ServerStep.TICKET_ANSWERED)

    def _refuse_frame(self, error: FrameTooLarge) -> PeerRefused:
        is_open = self.state is ServerState.OPEN
        setting = self._policy.frame_setting
        how = "before the connection is open" if not is_open else f"setting {setting}" if setting else ""
        message = f"{error} ({how})" if how and error.is_over_limit else str(error)
        refused = self._refuse(invalid_header(message), CALL_ID_INVALID)
        return PeerRefused(refused.fault, error if error.is_over_limit else None, is_open)

    def _refuse(self, fault: RemoteFault | None, call_id: int, reply: bytes | None = None) -> PeerRefused:
        """Send the reason, unless the peer would not understand it, and close."""
        if self.state is not ServerState.OPEN:
            call_id = CALL_ID_AUTHORIZATION_FAILED
        if reply is not None:
            self._out.append(reply)
        elif fault is not None:
            self._out.append(fault_frame(call_id, b"", -1, _as_fatal(fault)))
        self._move(ServerStep.REFUSED)
        return PeerRefused(fault)

    # The preface

    def _on_preface(self) -> tuple[PeerRefused | None, bool]:
        """Returns an event, and whether the seven bytes were taken."""
        magic = bytes(self.buffer[: len(MAGIC)])
        if magic == HTTP_GET:
            return self._refuse(None, CALL_ID_INVALID, HTTP_REPLY), False
        if not MAGIC.startswith(magic) and not HTTP_GET.startswith(magic):
            return self._refuse(None, CALL_ID_INVALID), False
        preface = self.buffer.take(PREFACE_BYTES)
        if preface is None:
            return None, False
        version, auth = preface[4], preface[6]
        if version != RPC_VERSION:
            raise RemoteFault(
                faults.VERSION_MISMATCH,
                f"Server IPC version {RPC_VERSION} cannot communicate with client version {version}",
                code=RpcErrorCode.FATAL_VERSION_MISMATCH,
                fatal=True,
            )
        if auth == AUTH_SASL:
            self._move(ServerStep.SASL_PREFACE)
        elif auth != AUTH_SIMPLE:
            raise unauthorized(faults.IPC, f"Unknown auth protocol:{auth}")
        elif not self._policy.allow_simple:
            raise self._not_enabled("SIMPLE")
        else:
            self._move(ServerStep.SIMPLE_PREFACE)
        return None, True

    # Frames

    def _on_frame(self, frame: bytes) -> Event | None:
        raw_header, position = take_delimited(frame, 0, HEADER_BYTES_MAX)
        header = parse(RpcRequestHeaderProto, raw_header)
        call_id = header.callId
        try:
            if header.rpcOp != FINAL_PACKET:
                raise invalid_header(f"IPC Server does not implement rpc header operation {header.rpcOp}")
            if header.rpcKind != RPC_PROTOCOL_BUFFER:
                raise invalid_header(f"Unknown rpc kind in rpc header {header.rpcKind}")
            if call_id >= 0:
                return self._on_call(header, frame, position)
            if call_id == CALL_ID_PING:
                self._move(ServerStep.PING)
                return PINGED
            if call_id == CALL_ID_SASL:
                return self._on_sasl(frame, position)
            if call_id == CALL_ID_CONTEXT:
                return self._on_context(frame, position)
            raise invalid_header(f"Unknown out of band call #{call_id}")
        except MalformedFrame as error:
            return self._refuse(_cannot_read(error), call_id)
        except RemoteFault as fault:
            return self._refuse(fault, call_id)

    def _on_call(self, header: RpcRequestHeaderProto, frame: bytes, position: int) -> CallReceived:
        if _CALL not in self._steps:
            raise invalid_header("Connection context not established")
        known = self._last_header
        if known and frame.startswith(known, position):
            position += len(known)
        else:
            begin = position
            raw, position = take_delimited(frame, begin, HEADER_BYTES_MAX)
            request = parse(RequestHeaderProto, raw)
            self._last_target = CallTarget(
                text(request.declaringClassProtocolName),
                request.clientProtocolVersion,
                text(request.methodName),
            )
            self._last_header = frame[begin:position] if len(raw) <= KEPT_HEADER_BYTES_MAX else b""
        body, _ = take_delimited(frame, position)
        client_id = header.clientId
        if len(client_id) > CLIENT_ID_BYTES_MAX:
            raise invalid_header("Client id too long")
        return CallReceived(header.callId, client_id, header.retryCount, self._last_target, body)

    def _on_context(self, frame: bytes, position: int) -> Opened:
        if ServerStep.CONTEXT_ACCEPTED not in self._steps:
            if self.state is ServerState.OPEN:
                raise invalid_header("Connection context already processed")
            raise invalid_header("Connection header sent during SASL negotiation")
        raw, _ = take_delimited(frame, position, HEADER_BYTES_MAX)
        context = parse(IpcConnectionContextProto, raw)
        protocol = text(context.protocol)
        identity = self._claimed(text(context.userInfo.effectiveUser), text(context.userInfo.realUser))
        if identity.auth_method is not AuthMethod.TOKEN:
            self._policy.authorize(identity)
            self._identity = identity
        self._move(ServerStep.CONTEXT_ACCEPTED)
        return Opened(identity, protocol)

    def _claimed(self, user: str, real_user: str) -> CallerIdentity:
        """Return whom the context names.  After TOKEN it may only name the token's user, or nobody; after KERBEROS the
        ticket's owner, nobody, or a user for whom the owner speaks."""
        proved = self._identity
        if proved is not None and proved.auth_method is AuthMethod.KERBEROS:
            return self._named_by_owner(proved, user)
        if proved is not None:
            if user and user != proved.user:
                raise unauthorized(
                    faults.ACCESS_CONTROL,
                    f"Authenticated user ({proved.user}) doesn't match what the client claims to be ({user})",
                )
            return proved
        for name in filter(None, (user, real_user)):
            _check_name(name)
        if not user:
            raise unauthorized(faults.AUTHORIZATION, "Connection context names no user")
        return CallerIdentity(user=user, real_user=real_user or None)

    def _named_by_owner(self, proved: CallerIdentity, user: str) -> CallerIdentity:
        offered = self._policy.kerberos
        assert offered is not None
        if not user or user == proved.principal:
            return proved
        _check_name(user)
        try:
            short = offered.short_name(user)
        except InvalidValue as error:
            raise illegal_principal(error) from error
        return replace(proved, user=short, real_user=proved.user)

    # SASL

    def _on_sasl(self, frame: bytes, position: int) -> TicketReceived | None:
        raw, _ = take_delimited(frame, position)
        message = parse(RpcSaslProto, raw)
        if ServerStep.MECHANISMS_OFFERED in self._steps:
            self._on_negotiate(message)
        elif self._session is not None and message.state == RpcSaslProto.RESPONSE:
            self._on_response_of_owner(message.token)
        elif ServerStep.TOKEN_PROVED not in self._steps:
            raise invalid_header("SASL protocol not requested by client")
        elif message.state == RpcSaslProto.INITIATE:
            return self._on_initiate(message)
        elif message.state == RpcSaslProto.RESPONSE and self._sasl:
            self._prove(message.token)
        elif message.state == RpcSaslProto.NEGOTIATE:
            raise unauthorized(faults.ACCESS_CONTROL, "Client already attempted negotiation")
        else:
            raise unauthorized(faults.SASL, f"Client sent unsupported state {message.state}")
        return None

    def _on_negotiate(self, message: RpcSaslProto) -> None:
        """Offer what the port takes.

        Without tokens and tickets SASL succeeds at once and the client goes on as a simple one, as on an insecure port.

        A client may skip this and initiate at once; Hadoop's never does, so it is refused.
        """
        if message.state != RpcSaslProto.NEGOTIATE:
            raise unauthorized(faults.SASL, f"Client sent unsupported state {message.state}")
        offered = self._policy.kerberos
        if self._policy.token_passwords is None and offered is None:
            self._say_sasl(RpcSaslProto(state=RpcSaslProto.SUCCESS))
            self._move(ServerStep.SIMPLE_GRANTED)
            return
        reply = RpcSaslProto(state=RpcSaslProto.NEGOTIATE)
        if self._policy.token_passwords is not None:
            token = self._token_auth()
            token.challenge = sasl.server_challenge(self._nonce)
            reply.auths.append(token)
        if offered is not None:
            reply.auths.add(
                method=gssapi.METHOD,
                mechanism=gssapi.MECHANISM,
                protocol=offered.protocol,
                serverId=offered.server_id,
            )
        if self._policy.allow_simple:
            reply.auths.append(RpcSaslProto.SaslAuth(method="SIMPLE", mechanism=""))
        self._say_sasl(reply)
        self._move(ServerStep.MECHANISMS_OFFERED)

    def _on_initiate(self, message: RpcSaslProto) -> TicketReceived | None:
        if len(message.auths) != 1:
            raise unauthorized(faults.SASL, "Client mechanism is malformed")
        chosen = message.auths[0]
        if chosen.method == "SIMPLE" and self._policy.allow_simple and not self._sasl:
            self._move(ServerStep.SIMPLE_CHOSEN)
        elif (
            (chosen.method, chosen.mechanism) == (gssapi.METHOD, gssapi.MECHANISM)
            and self._policy.kerberos is not None
            and not self._sasl
        ):
            self._move(ServerStep.TICKET_RECEIVED)
            return TicketReceived(message.token)
        elif (
            (chosen.method, chosen.mechanism) != (sasl.METHOD, sasl.MECHANISM)
            or self._policy.token_passwords is None
            or self._sasl
        ):
            raise self._not_enabled(text(chosen.method)[:32])
        elif message.token:
            self._prove(message.token)
        else:
            self._sasl = True
            self._say_sasl(
                RpcSaslProto(state=RpcSaslProto.CHALLENGE, token=sasl.server_challenge(self._nonce)),
            )
            self._move(ServerStep.CHALLENGED)
        return None

    def _on_response_of_owner(self, token: bytes) -> None:
        """Take what the owner of a good ticket says: nothing, then the choice of a security layer."""
        assert self._session is not None
        assert self._identity is not None
        try:
            if ServerStep.LAYERS_OFFERED in self._steps:
                if token:
                    raise sasl.SaslRefused("Handshake expecting no response data from server")
                self._say_sasl(RpcSaslProto(state=RpcSaslProto.CHALLENGE, token=self._session.wrap(gssapi.LAYERS)))
                self._move(ServerStep.LAYERS_OFFERED)
            elif ServerStep.LAYER_CHOSEN in self._steps:
                gssapi.check_choice(self._session.unwrap(token), self._identity.principal)
                self._session = None
                self._say_sasl(RpcSaslProto(state=RpcSaslProto.SUCCESS))
                self._move(ServerStep.LAYER_CHOSEN)
        except (sasl.SaslRefused, AccessDenied) as error:
            raise unauthorized(faults.SASL, str(error)) from None

    def _prove(self, token: bytes) -> None:
        """Check the DIGEST-MD5 response; the received identifier bytes are what is looked up."""
        passwords = self._policy.token_passwords
        assert passwords is not None
        try:
            response = sasl.read_response(token, nonce=self._nonce)
            grant = passwords(response.identifier)
            if grant is None:
                raise unauthorized(faults.INVALID_TOKEN, "Token is not known or has expired")
            final = sasl.verify_response(response, grant.password)
        except sasl.SaslRefused as error:
            raise unauthorized(faults.SASL, str(error)) from None
        identity = CallerIdentity(
            user=grant.user,
            real_user=grant.real_user,
            auth_method=AuthMethod.TOKEN,
            token_kind=grant.kind,
            token_identifier=response.identifier,
        )
        self._policy.authorize(identity)
        self._identity = identity
        self._say_sasl(RpcSaslProto(state=RpcSaslProto.SUCCESS, token=final))
        self._move(ServerStep.TOKEN_PROVED)

    def _say_sasl(self, message: RpcSaslProto) -> None:
        self._out.append(success_frame(CALL_ID_SASL, b"", -1, message.SerializeToString()))

    def _not_enabled(self, method: str) -> RemoteFault:
        return unauthorized(
            faults.ACCESS_CONTROL,
            f"{method} authentication is not enabled.  Available:{self._policy.methods}",
        )

    @staticmethod
    def _token_auth() -> RpcSaslProto.SaslAuth:
        return RpcSaslProto.SaslAuth(method=sasl.METHOD, mechanism=sasl.MECHANISM, protocol="", serverId=sasl.SERVER_ID)


def illegal_principal(error: InvalidValue) -> RemoteFault:
    """No rule of hadoop.security.auth_to_local applies; follows ``UserGroupInformation`` and ``KerberosName``."""
    return unauthorized(faults.ILLEGAL_ARGUMENT, f"Illegal principal name {error.value}: {error}")


def _check_name(name: str) -> None:
    if len(name) > USER_NAME_CHARACTERS_MAX or not name.isprintable():
        raise unauthorized(faults.AUTHORIZATION, "User name is too long or not printable")


def _cannot_read(error: MalformedFrame) -> RemoteFault:
    return RemoteFault(
        faults.RPC_SERVER,
        f"IPC server unable to read call parameters: {error}",
        code=RpcErrorCode.FATAL_DESERIALIZING_REQUEST,
        fatal=True,
    )


def _as_fatal(fault: RemoteFault) -> RemoteFault:
    """A refusal of the connection is fatal whatever its raiser said."""
    if fault.fatal:
        return fault
    return RemoteFault(fault.java_class, fault.message, code=RpcErrorCode.FATAL_UNAUTHORIZED, fatal=True)
