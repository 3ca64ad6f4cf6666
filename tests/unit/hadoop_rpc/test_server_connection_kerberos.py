"""Kerberos tickets are taken on the server's machine: a client sends them, they are judged, the server answers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.server_machine import (
    BOTH,
    CHOICE,
    NEGOTIATE,
    OFFER,
    SASL_PREFACE,
    SIMPLE_PREFACE,
    TOKEN_ONLY,
    Sealed,
    assert_refused,
    call,
    connection,
    context,
    feed,
    initiate,
    proof,
    response,
    said_sasl,
)
from yodel.hadoop_pb.RpcHeader_pb2 import RpcSaslProto
from yodel.hadoop_rpc import faults, gssapi
from yodel.hadoop_rpc.faults import RemoteFault, RpcErrorCode, unauthorized
from yodel.hadoop_rpc.gssapi import Negotiated
from yodel.hadoop_rpc.server_connection import CallReceived, Opened, ServerConnection, TicketReceived
from yodel.hadoop_rpc.server_policy import AuthMethod, CallerIdentity
from yodel.hadoop_rpc.server_states import ServerState

KERBEROS = replace(TOKEN_ONLY, kerberos=OFFER)
PROVED = CallerIdentity(user="alice", auth_method=AuthMethod.KERBEROS, principal="alice@EXAMPLE.COM")
ALICE = Negotiated(user="alice", principal="alice@EXAMPLE.COM", answer=b"answer", session=Sealed())


def judged(found: Negotiated = ALICE) -> ServerConnection:
    """Return a machine that has been told the verdict and has said so."""
    machine = connection(KERBEROS)
    feed(machine, SASL_PREFACE, NEGOTIATE)
    machine.data_to_send()
    assert feed(machine, initiate("KERBEROS", "GSSAPI", b"ticket")) == [TicketReceived(b"ticket")]
    machine.ticket_accepted(found)
    challenge = said_sasl(machine)
    assert (challenge.state, challenge.token) == (RpcSaslProto.CHALLENGE, b"answer")
    return machine


def layered() -> ServerConnection:
    machine = judged()
    assert feed(machine, response(b"")) == []
    offer = said_sasl(machine)
    assert (offer.state, offer.token) == (RpcSaslProto.CHALLENGE, b"w\x01\x01\x00\x00")
    return machine


def opened(machine: ServerConnection, *frames: bytes) -> CallerIdentity:
    assert feed(machine, response(b"w" + CHOICE)) == []
    final = said_sasl(machine)
    assert (final.state, final.token) == (RpcSaslProto.SUCCESS, b"")
    event, received = feed(machine, *frames, call())
    assert isinstance(event, Opened)
    assert isinstance(received, CallReceived)
    return event.identity


def test_offer_names_the_service_after_tokens() -> None:
    machine = connection(KERBEROS)
    feed(machine, SASL_PREFACE, NEGOTIATE)
    token, kerberos = said_sasl(machine).auths
    assert token.method == "TOKEN"
    assert (kerberos.method, kerberos.mechanism, kerberos.protocol, kerberos.serverId) == (
        "KERBEROS",
        "GSSAPI",
        "rm",
        "host",
    )


@pytest.mark.parametrize("claimed", ["", "alice@EXAMPLE.COM"])
def test_owner_of_a_good_ticket_calls(claimed: str) -> None:
    identity = opened(layered(), context(claimed))
    assert identity == PROVED


def test_nothing_is_read_until_the_verdict() -> None:
    machine = connection(KERBEROS)
    feed(machine, SASL_PREFACE, NEGOTIATE)
    machine.data_to_send()
    feed(machine, initiate("KERBEROS", "GSSAPI", b"ticket"))
    assert feed(machine, context("root"), call()) == []
    assert machine.state is ServerState.JUDGED
    machine.ticket_accepted(ALICE)
    machine.data_to_send()
    events = feed(machine)
    message = assert_refused(machine, events, faults.RPC_SERVER, RpcErrorCode.FATAL_INVALID_RPC_HEADER)
    assert message == "Connection header sent during SASL negotiation"


def test_owner_may_speak_for_a_user_who_is_authorized() -> None:
    seen: list[CallerIdentity] = []
    machine = ServerConnection(policy=replace(KERBEROS, authorize=seen.append), nonce="n" * 20)
    feed(machine, SASL_PREFACE, NEGOTIATE, initiate("KERBEROS", "GSSAPI", b"ticket"))
    machine.ticket_accepted(ALICE)
    feed(machine, response(b""), response(b"w" + CHOICE))
    (event,) = feed(machine, context("bob"))
    assert isinstance(event, Opened)
    assert event.identity == replace(PROVED, user="bob", real_user="alice")
    assert seen == [event.identity]


def test_every_owner_is_authorized() -> None:
    def refuse(_identity: CallerIdentity) -> None:
        raise RemoteFault(faults.AUTHORIZATION, "no")

    machine = ServerConnection(policy=replace(KERBEROS, authorize=refuse), nonce="n" * 20)
    feed(machine, SASL_PREFACE, NEGOTIATE, initiate("KERBEROS", "GSSAPI", b"ticket"))
    machine.ticket_accepted(ALICE)
    feed(machine, response(b""), response(b"w" + CHOICE))
    machine.data_to_send()
    assert_refused(machine, feed(machine, context("")), faults.AUTHORIZATION, RpcErrorCode.FATAL_UNAUTHORIZED)


@pytest.mark.parametrize(
    ("user", "java_class", "words"),
    [
        ("bob@ELSEWHERE", faults.ILLEGAL_ARGUMENT, "Illegal principal name bob@ELSEWHERE"),
        ("b\nob", faults.AUTHORIZATION, "not printable"),
    ],
)
def test_user_that_is_none_is_refused(user: str, java_class: str, words: str) -> None:
    machine = layered()
    feed(machine, response(b"w" + CHOICE))
    machine.data_to_send()
    message = assert_refused(machine, feed(machine, context(user)), java_class, RpcErrorCode.FATAL_UNAUTHORIZED)
    assert words in message


@pytest.mark.parametrize(
    ("token", "words"),
    [
        (b"w\x02\x00\x00\x00", "Client selected unsupported protection: 2"),
        (b"w\x04\x00\x00\x00", "Client selected unsupported protection: 4"),
        (b"w\x01\x00\x00\x00root@EXAMPLE.COM", "alice@EXAMPLE.COM is not authorized to connect as root@EXAMPLE.COM"),
        (b"w\x01", "too short"),
        (b"\x01\x00\x00\x00", "not sealed"),
    ],
)
def test_choice_that_is_not_offered_is_refused(token: bytes, words: str) -> None:
    machine = layered()
    events = feed(machine, response(token))
    assert words in assert_refused(machine, events, faults.SASL, RpcErrorCode.FATAL_UNAUTHORIZED)


def test_choice_may_claim_the_owner() -> None:
    machine = layered()
    feed(machine, response(b"w" + CHOICE + b"alice@EXAMPLE.COM"))
    assert said_sasl(machine).state == RpcSaslProto.SUCCESS


def test_word_before_the_layers_is_refused() -> None:
    machine = judged()
    message = assert_refused(machine, feed(machine, response(b"x")), faults.SASL, RpcErrorCode.FATAL_UNAUTHORIZED)
    assert message == "Handshake expecting no response data from server"


@pytest.mark.parametrize("frame", [initiate(token=proof()), initiate("KERBEROS", "GSSAPI", b"again"), NEGOTIATE])
def test_nobody_begins_again_after_a_ticket(frame: bytes) -> None:
    machine = judged()
    assert_refused(machine, feed(machine, frame), faults.RPC_SERVER, RpcErrorCode.FATAL_INVALID_RPC_HEADER)


def test_ticket_is_refused_with_the_shells_reason() -> None:
    machine = connection(KERBEROS)
    feed(machine, SASL_PREFACE, NEGOTIATE, initiate("KERBEROS", "GSSAPI", b"ticket"))
    machine.data_to_send()
    machine.refuse(unauthorized(faults.SASL, "GSS initiate failed"))
    assert machine.closed
    machine.data_to_send()
    machine.ticket_accepted(ALICE)
    assert (machine.closed, machine.data_to_send()) == (True, b"")


def test_simple_is_refused_where_tickets_are_taken() -> None:
    machine = connection(KERBEROS)
    events = feed(machine, SIMPLE_PREFACE, context())
    message = assert_refused(machine, events, faults.ACCESS_CONTROL, RpcErrorCode.FATAL_UNAUTHORIZED)
    assert message == "SIMPLE authentication is not enabled.  Available:[TOKEN, KERBEROS]"


@pytest.mark.parametrize("method", ["KERBEROS", "SIMPLE"])
def test_ticket_is_refused_where_only_tokens_are_taken(method: str) -> None:
    machine = connection(TOKEN_ONLY)
    feed(machine, SASL_PREFACE, NEGOTIATE)
    machine.data_to_send()
    events = feed(machine, initiate(method, "GSSAPI", b"ticket"))
    message = assert_refused(machine, events, faults.ACCESS_CONTROL, RpcErrorCode.FATAL_UNAUTHORIZED)
    assert message == f"{method} authentication is not enabled.  Available:[TOKEN]"


def test_port_may_take_tickets_alone_and_then_refuses_tokens() -> None:
    machine = connection(replace(KERBEROS, token_passwords=None))
    feed(machine, SASL_PREFACE, NEGOTIATE)
    assert [auth.method for auth in said_sasl(machine).auths] == ["KERBEROS"]
    events = feed(machine, initiate(token=proof()))
    message = assert_refused(machine, events, faults.ACCESS_CONTROL, RpcErrorCode.FATAL_UNAUTHORIZED)
    assert message == "TOKEN authentication is not enabled.  Available:[KERBEROS]"


def test_tokens_and_names_go_on_as_before_where_tickets_are_taken_too() -> None:
    machine = connection(replace(BOTH, kerberos=OFFER))
    feed(machine, SASL_PREFACE, NEGOTIATE)
    assert [auth.method for auth in said_sasl(machine).auths] == ["TOKEN", "KERBEROS", "SIMPLE"]
    feed(machine, initiate(token=proof()))
    assert said_sasl(machine).state == RpcSaslProto.SUCCESS


def test_layers_are_authentication_alone() -> None:
    assert bytes.fromhex("01010000") == gssapi.LAYERS
