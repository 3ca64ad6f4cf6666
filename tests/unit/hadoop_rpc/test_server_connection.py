"""The server's machine as dialogues: what a client sends, what happens, what the server says."""

from dataclasses import replace

import pytest

from tests.support.server_machine import (
    BOTH,
    CLIENT_ID,
    NEGOTIATE,
    NONCE,
    PASSWORD,
    PROTOCOL,
    SASL_PREFACE,
    SIMPLE_ONLY,
    SIMPLE_PREFACE,
    TOKEN_ONLY,
    anyone,
    assert_refused,
    call,
    connection,
    context,
    feed,
    initiate,
    proof,
    said,
    said_sasl,
    sasl_frame,
)
from yodel.hadoop_pb.RpcHeader_pb2 import RpcResponseHeaderProto, RpcSaslProto
from yodel.hadoop_rpc import faults, sasl
from yodel.hadoop_rpc.faults import RemoteFault, RpcErrorCode
from yodel.hadoop_rpc.framing import (
    CALL_ID_PING,
    call_frame,
    frame,
    out_of_band_frame,
    request_header,
)
from yodel.hadoop_rpc.server_connection import (
    HTTP_REPLY,
    CallReceived,
    CallTarget,
    Opened,
    PeerRefused,
    Pinged,
)
from yodel.hadoop_rpc.server_policy import AuthMethod, CallerIdentity, ConnectionPolicy, TokenGrant
from yodel.hadoop_rpc.server_states import TRANSITIONS, ServerState, ServerStep


def test_simple_client_says_everything_at_once_and_is_served() -> None:
    machine = connection(SIMPLE_ONLY)
    events = feed(machine, SIMPLE_PREFACE, context(), call(5, "getNewApplication", b"xy"))
    assert events == [
        Opened(CallerIdentity(user="bob"), PROTOCOL),
        CallReceived(5, CLIENT_ID, 0, CallTarget(PROTOCOL, 1, "getNewApplication"), b"xy"),
    ]
    assert machine.data_to_send() == b""
    assert machine.identity.auth_method is AuthMethod.SIMPLE


def test_real_user_is_kept_and_authorized() -> None:
    seen: list[CallerIdentity] = []
    policy = ConnectionPolicy(allow_simple=True, token_passwords=None, authorize=seen.append)
    feed(connection(policy), SIMPLE_PREFACE, context("bob", "oozie"))
    assert seen == [CallerIdentity(user="bob", real_user="oozie")]


def test_unauthorized_identity_is_refused() -> None:
    def refuse(_identity: CallerIdentity) -> None:
        raise RemoteFault(faults.AUTHORIZATION, "no")

    machine = connection(ConnectionPolicy(allow_simple=True, token_passwords=None, authorize=refuse))
    events = feed(machine, SIMPLE_PREFACE, context(), call())
    assert assert_refused(machine, events, faults.AUTHORIZATION, RpcErrorCode.FATAL_UNAUTHORIZED) == "no"
    assert len(events) == 1


@pytest.mark.parametrize("user", ["", "a" * 257, "a\nb", "a\x00"])
def test_context_without_a_proper_user_is_refused(user: str) -> None:
    machine = connection(SIMPLE_ONLY)
    events = feed(machine, SIMPLE_PREFACE, context(user))
    assert_refused(machine, events, faults.AUTHORIZATION, RpcErrorCode.FATAL_UNAUTHORIZED)


def test_simple_is_refused_where_only_tokens_are_taken() -> None:
    machine = connection(TOKEN_ONLY)
    events = feed(machine, SIMPLE_PREFACE, context(), call())
    message = assert_refused(machine, events, faults.ACCESS_CONTROL, RpcErrorCode.FATAL_UNAUTHORIZED)
    assert message == "SIMPLE authentication is not enabled.  Available:[TOKEN]"


def test_sasl_on_a_simple_port_succeeds_at_once() -> None:
    machine = connection(SIMPLE_ONLY)
    assert feed(machine, SASL_PREFACE, NEGOTIATE) == []
    assert said_sasl(machine).state == RpcSaslProto.SUCCESS
    assert len(feed(machine, context(), call())) == 2


@pytest.mark.parametrize(("policy", "methods"), [(TOKEN_ONLY, ["TOKEN"]), (BOTH, ["TOKEN", "SIMPLE"])])
def test_token_exchange(policy: ConnectionPolicy, methods: list[str]) -> None:
    machine = connection(policy)
    assert feed(machine, SASL_PREFACE, NEGOTIATE) == []
    offer = said_sasl(machine)
    assert offer.state == RpcSaslProto.NEGOTIATE
    assert [auth.method for auth in offer.auths] == methods
    assert offer.auths[0].challenge == sasl.server_challenge(NONCE)
    assert feed(machine, initiate(token=proof())) == []
    final = said_sasl(machine)
    assert (final.state, final.token[:8]) == (RpcSaslProto.SUCCESS, b"rspauth=")
    events = feed(machine, context(""), call())
    assert events[0] == Opened(
        CallerIdentity(
            user="appattempt_1_0001_000001",
            auth_method=AuthMethod.TOKEN,
            token_kind="YARN_AM_RM_TOKEN",
            token_identifier=b"known",
        ),
        PROTOCOL,
    )
    assert isinstance(events[1], CallReceived)


def test_token_of_a_proxy_names_both() -> None:
    def granted(_identifier: bytes) -> TokenGrant:
        return TokenGrant(password=PASSWORD, user="bob", real_user="oozie", kind="RM_DELEGATION_TOKEN")

    machine = connection(ConnectionPolicy(allow_simple=False, token_passwords=granted, authorize=anyone))
    feed(machine, SASL_PREFACE, NEGOTIATE, initiate(token=proof()))
    (opened,) = feed(machine, context("bob"))
    assert isinstance(opened, Opened)
    assert (opened.identity.user, opened.identity.real_user) == ("bob", "oozie")
    assert opened.identity.auth_method is AuthMethod.TOKEN


def test_offer_is_byte_for_byte_the_real_one() -> None:
    """Recorded from a real Hadoop 3.5.0: 145 bytes of RpcSaslProto."""
    machine = connection(TOKEN_ONLY)
    feed(machine, SASL_PREFACE, NEGOTIATE)
    data = machine.data_to_send()
    assert data.startswith(bytes.fromhex("000000a20e08dfffffff0f100018093a0040019101"))
    assert b"\n\x05TOKEN\x12\nDIGEST-MD5\x1a\x00\x22\x07default*lrealm=" in data


def test_token_exchange_with_a_separate_challenge() -> None:
    machine = connection(TOKEN_ONLY)
    feed(machine, SASL_PREFACE, NEGOTIATE)
    machine.data_to_send()
    feed(machine, initiate())
    challenge = said_sasl(machine)
    assert (challenge.state, challenge.token) == (RpcSaslProto.CHALLENGE, sasl.server_challenge(NONCE))
    feed(machine, sasl_frame(RpcSaslProto(state=RpcSaslProto.RESPONSE, token=proof())))
    assert said_sasl(machine).state == RpcSaslProto.SUCCESS
    assert machine.state is ServerState.CONTEXT


def test_client_may_choose_simple_where_both_are_offered() -> None:
    machine = connection(BOTH)
    feed(machine, SASL_PREFACE, NEGOTIATE)
    machine.data_to_send()
    events = feed(machine, initiate("SIMPLE", ""), context(), call())
    assert machine.data_to_send() == b""
    assert events[0] == Opened(CallerIdentity(user="bob"), PROTOCOL)


@pytest.mark.parametrize(
    ("token", "java_class"),
    [
        (proof(password=b"wrong"), faults.SASL),
        (proof(identifier=b"unknown"), faults.INVALID_TOKEN),
        (proof(identifier=b"expired"), faults.INVALID_TOKEN),
        (proof(nonce="another+nonce/of/another+connection"), faults.SASL),
        (b"rubbish", faults.SASL),
    ],
)
def test_wrong_proof_is_refused(token: bytes, java_class: str) -> None:
    machine = connection(TOKEN_ONLY)
    feed(machine, SASL_PREFACE, NEGOTIATE)
    machine.data_to_send()
    events = feed(machine, initiate(token=token), context(), call())
    assert_refused(machine, events, java_class, RpcErrorCode.FATAL_UNAUTHORIZED)


@pytest.mark.parametrize(
    "message",
    [
        initiate("SIMPLE", ""),
        initiate("KERBEROS", "GSSAPI"),
        initiate("TOKEN", "SCRAM-SHA-256"),
        sasl_frame(RpcSaslProto(state=RpcSaslProto.INITIATE)),
        sasl_frame(RpcSaslProto(state=RpcSaslProto.RESPONSE, token=proof())),
        sasl_frame(RpcSaslProto(state=RpcSaslProto.WRAP)),
        NEGOTIATE,
    ],
)
def test_sasl_out_of_turn_is_refused(message: bytes) -> None:
    machine = connection(TOKEN_ONLY)
    feed(machine, SASL_PREFACE, NEGOTIATE)
    machine.data_to_send()
    feed(machine, message)
    assert said(machine)[0].errorDetail == RpcErrorCode.FATAL_UNAUTHORIZED
    assert machine.closed


def test_context_of_another_user_after_token_is_refused() -> None:
    machine = connection(TOKEN_ONLY)
    feed(machine, SASL_PREFACE, NEGOTIATE, initiate(token=proof()))
    machine.data_to_send()
    events = feed(machine, context("bob"))
    assert_refused(machine, events, faults.ACCESS_CONTROL, RpcErrorCode.FATAL_UNAUTHORIZED)


@pytest.mark.parametrize(
    "before", [(SASL_PREFACE, call()), (SASL_PREFACE, NEGOTIATE, call()), (SIMPLE_PREFACE, call())]
)
def test_call_before_the_context_is_never_answered(before: tuple[bytes, ...]) -> None:
    machine = connection(TOKEN_ONLY if before[0] == SASL_PREFACE else SIMPLE_ONLY)
    machine.receive_data(b"".join(before))
    event = machine.next_event()
    assert isinstance(event, PeerRefused)
    assert event.fault is not None
    assert event.fault.code is RpcErrorCode.FATAL_INVALID_RPC_HEADER
    assert machine.closed


def test_context_during_sasl_is_refused() -> None:
    machine = connection(TOKEN_ONLY)
    events = feed(machine, SASL_PREFACE, context())
    assert_refused(machine, events, faults.RPC_SERVER, RpcErrorCode.FATAL_INVALID_RPC_HEADER)


@pytest.mark.parametrize(
    "wrong",
    [
        context(),
        NEGOTIATE,
        out_of_band_frame(-7, CLIENT_ID),
        call_frame(
            call_id=0, client_id=b"c" * 65, retry_count=0, protocol=PROTOCOL, version=1, method="allocate", body=b""
        ),
        frame(request_header(3, CLIENT_ID, 0).replace(b"\x08\x02", b"\x08\x01")),
        frame(request_header(3, CLIENT_ID, 0).replace(b"\x10\x00", b"\x10\x02")),
    ],
)
def test_open_connection_that_breaks_the_protocol_is_refused(wrong: bytes) -> None:
    machine = connection(SIMPLE_ONLY)
    events = feed(machine, SIMPLE_PREFACE, context(), wrong, call())
    assert_refused(machine, events, faults.RPC_SERVER, RpcErrorCode.FATAL_INVALID_RPC_HEADER)
    assert len(events) == 2


@pytest.mark.parametrize(
    "wrong",
    [
        frame(),
        frame(b"\xff\xff"),
        frame(request_header(3, CLIENT_ID, 0), b"\xff"),
        call().replace(b"allocate", b"alloc\xffte"),
        context().replace(b"bob", b"b\xffb"),
    ],
)
def test_unreadable_header_is_refused(wrong: bytes) -> None:
    machine = connection(SIMPLE_ONLY)
    events = feed(machine, SIMPLE_PREFACE, *((context(),) if b"b\xffb" not in wrong else ()), wrong)
    assert_refused(machine, events, faults.RPC_SERVER, RpcErrorCode.FATAL_DESERIALIZING_REQUEST)


def test_ping_is_not_answered() -> None:
    machine = connection(SIMPLE_ONLY)
    ping = out_of_band_frame(CALL_ID_PING, CLIENT_ID)
    events = feed(machine, SIMPLE_PREFACE, ping, context(), ping, call(), ping)
    assert [type(event) for event in events] == [Pinged, Opened, Pinged, CallReceived, Pinged]
    assert machine.data_to_send() == b""


def test_http_on_the_rpc_port_gets_hadoops_text() -> None:
    machine = connection(SIMPLE_ONLY)
    assert feed(machine, b"GET / HTTP/1.1\r\n\r\n") == [PeerRefused(None)]
    assert machine.data_to_send() == HTTP_REPLY
    assert machine.closed


@pytest.mark.parametrize("magic", [b"x", b"hrpd", b"GETX", b"\x16\x03\x01"])
def test_other_magic_closes_silently(magic: bytes) -> None:
    machine = connection(SIMPLE_ONLY)
    assert feed(machine, magic) == [PeerRefused(None)]
    assert machine.data_to_send() == b""
    assert machine.closed


def test_other_version_is_a_mismatch() -> None:
    machine = connection(SIMPLE_ONLY)
    events = feed(machine, b"hrpc\x08\x00\x00")
    message = assert_refused(machine, events, faults.VERSION_MISMATCH, RpcErrorCode.FATAL_VERSION_MISMATCH)
    assert message == "Server IPC version 9 cannot communicate with client version 8"


def test_unknown_auth_protocol_is_refused() -> None:
    machine = connection(SIMPLE_ONLY)
    events = feed(machine, b"hrpc\x09\x00\x50")
    assert_refused(machine, events, faults.IPC, RpcErrorCode.FATAL_UNAUTHORIZED)


def test_large_frames_are_for_open_connections_only() -> None:
    policy = ConnectionPolicy(allow_simple=True, token_passwords=None, authorize=anyone, frame_bytes_max=200_000)
    big = call(body=bytes(100_000))
    machine = connection(policy)
    events = feed(machine, SIMPLE_PREFACE, big)
    assert_refused(machine, events, faults.RPC_SERVER, RpcErrorCode.FATAL_INVALID_RPC_HEADER)
    assert not machine.buffer
    assert len(feed(connection(policy), SIMPLE_PREFACE, context(), big)) == 2
    machine = connection(policy)
    events = feed(machine, SIMPLE_PREFACE, context(), call(body=bytes(300_000))[:4])
    assert_refused(machine, events, faults.RPC_SERVER, RpcErrorCode.FATAL_INVALID_RPC_HEADER)


def test_end_of_file_closes() -> None:
    machine = connection(SIMPLE_ONLY)
    feed(machine, SIMPLE_PREFACE, context())
    machine.receive_eof()
    machine.receive_eof()
    assert machine.closed
    assert feed(machine, call()) == []


def test_policy_that_admits_nobody_is_refused() -> None:
    with pytest.raises(ValueError, match="nobody"):
        ConnectionPolicy(allow_simple=False, token_passwords=None, authorize=anyone)


def test_every_state_can_end_and_closed_is_the_end() -> None:
    assert set(TRANSITIONS) == set(ServerState)
    for state, steps in TRANSITIONS.items():
        if state is not ServerState.CLOSED:
            assert steps[ServerStep.REFUSED] is steps[ServerStep.END_OF_FILE] is ServerState.CLOSED
    assert not TRANSITIONS[ServerState.CLOSED]
    assert [state for state, steps in TRANSITIONS.items() if ServerStep.CALL in steps] == [ServerState.OPEN]


def test_reprs_hold_no_secrets_and_no_payload() -> None:
    assert "password" not in repr(TokenGrant(password=b"password", user="u", kind="k"))
    assert "payload" not in repr(CallReceived(0, b"", 0, CallTarget("p", 1, "m"), b"payload"))


@pytest.mark.parametrize("preface", [SIMPLE_PREFACE, SASL_PREFACE])
@pytest.mark.parametrize(("length", "is_refused"), [(1000, False), (1001, True), (5000, True), (-1, True)])
def test_frame_before_a_connection_is_open_has_the_smaller_limit(preface: bytes, length: int, is_refused: bool) -> None:
    policy = replace(BOTH, frame_bytes_before_open_max=1000, frame_bytes_max=5000, frame_setting="rpc.x_mib_max")
    machine = connection(policy)
    events = feed(machine, preface, length.to_bytes(4, "big", signed=True))
    assert bool(events) is machine.closed is is_refused
    if is_refused:
        message = assert_refused(machine, events, faults.RPC_SERVER, RpcErrorCode.FATAL_INVALID_RPC_HEADER)
        (refused,) = events
        assert isinstance(refused, PeerRefused)
        assert (refused.too_large is not None, refused.was_open) == (length > 0, False)
        assert ("(before the connection is open)" in message) is (length > 0)


@pytest.mark.parametrize(("length", "is_refused"), [(1001, False), (5000, False), (5001, True)])
def test_open_connection_has_the_ports_limit_and_its_refusal_names_the_setting(length: int, is_refused: bool) -> None:
    policy = replace(BOTH, frame_bytes_before_open_max=1000, frame_bytes_max=5000, frame_setting="rpc.x_mib_max")
    machine = connection(policy)
    events = feed(machine, SIMPLE_PREFACE, context(), length.to_bytes(4, "big"))
    assert machine.closed is is_refused
    if is_refused:
        message = assert_refused(machine, events, faults.RPC_SERVER, RpcErrorCode.FATAL_INVALID_RPC_HEADER)
        assert message == (
            "Requested data length 5001 is longer than maximum configured RPC length 5000 (setting rpc.x_mib_max)"
        )
        refused = events[-1]
        assert isinstance(refused, PeerRefused)
        assert refused.was_open


@pytest.mark.parametrize("who", ["user", "real_user"])
@pytest.mark.parametrize(
    ("name", "is_taken"), [("h" * 256, True), ("h" * 257, False), ("h\ne", False), ("h\x00", False), ("h\u202e", False)]
)
def test_names_of_both_users_are_short_and_printable(who: str, name: str, is_taken: bool) -> None:
    machine = connection(BOTH)
    events = feed(machine, SIMPLE_PREFACE, context(**{"user": "bob", "real_user": "hue"} | {who: name}))
    if is_taken:
        assert events == [Opened(CallerIdentity(**{"user": "bob", "real_user": "hue"} | {who: name}), PROTOCOL)]
    else:
        message = assert_refused(machine, events, faults.AUTHORIZATION, RpcErrorCode.FATAL_UNAUTHORIZED)
        assert message == "User name is too long or not printable"


def test_shell_may_refuse_for_a_reason_of_its_own() -> None:
    machine = connection(BOTH)
    feed(machine, SIMPLE_PREFACE, context())
    machine.refuse(RemoteFault(faults.RETRIABLE, "too much"))
    header, _ = said(machine)
    assert (header.status, header.exceptionClassName) == (RpcResponseHeaderProto.FATAL, faults.RETRIABLE)
    machine.refuse(RemoteFault(faults.RETRIABLE, "again"))
    assert (machine.closed, machine.data_to_send(), machine.next_event()) == (True, b"", None)


def test_bytes_after_the_end_are_not_kept() -> None:
    ended = connection(SIMPLE_ONLY)
    ended.receive_eof()
    ended.receive_data(b"x" * 1_000)
    assert not ended.buffer


def test_each_call_has_the_method_that_it_names_itself() -> None:
    methods = ["a", "a", "b", "x" * 300, "x" * 300, "a"]
    events = feed(connection(SIMPLE_ONLY), SIMPLE_PREFACE, context(), *(call(method=method) for method in methods))
    assert [event.target.method for event in events if isinstance(event, CallReceived)] == methods


@pytest.mark.parametrize("before", [(), (call(),)])
def test_call_without_a_method_is_refused_whatever_came_before(before: tuple[bytes, ...]) -> None:
    machine = connection(SIMPLE_ONLY)
    events = feed(machine, SIMPLE_PREFACE, context(), *before, frame(request_header(1, CLIENT_ID, 0), b"", b""))
    assert_refused(machine, events, faults.RPC_SERVER, RpcErrorCode.FATAL_DESERIALIZING_REQUEST)
    assert len(events) == 2 + len(before)
