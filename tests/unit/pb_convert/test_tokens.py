"""Identifier bytes as Hadoop 3.5.0 makes them."""

from __future__ import annotations

import pytest

from yodel.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId
from yodel.domain.resource import Resource
from yodel.domain.states import ContainerType
from yodel.domain.tokens import MasterKey, is_signed_by
from yodel.errors import InvalidValue
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.hadoop_pb import yarn_security_token_pb2 as token_pb
from yodel.pb_convert import tokens

ATTEMPT = ApplicationAttemptId(ApplicationId(1_700_000_000_000, 7), 1)


def a_key(key_id: int) -> MasterKey:
    return MasterKey(key_id=key_id, secret=b"s" * 32)


def test_amrm_identifier_is_hadoops_byte_for_byte() -> None:
    token = tokens.amrm_token(a_key(5), ATTEMPT)
    assert token.identifier.hex() == "0a0d0a0908071080d095ffbc3110011005"
    assert (token.kind, token.service) == ("YARN_AM_RM_TOKEN", "")
    assert is_signed_by(a_key(5), token.identifier, token.password)
    assert len(token.password) == 20


def test_nm_identifier_is_hadoops_byte_for_byte() -> None:
    token = tokens.nm_token(a_key(3), ATTEMPT, NodeId("h1", 8041), "bob")
    assert token.identifier.hex() == "0a0d0a0908071080d095ffbc31100112070a02683110e93e1a03626f622003"
    assert (token.kind, token.service) == ("NMToken", "h1:8041")


def test_amrm_identity_is_read_back() -> None:
    assert tokens.amrm_identity(tokens.amrm_token(a_key(5), ATTEMPT).identifier) == (ATTEMPT, 5)


@pytest.mark.parametrize("garbage", [b"\xff", b"\x0a\x7f", b"not a message"])
def test_garbage_is_no_identity(garbage: bytes) -> None:
    with pytest.raises(InvalidValue):
        tokens.amrm_identity(garbage)


def test_container_token_says_what_may_be_started_where_and_until_when() -> None:
    context = pb.LogAggregationContextProto(include_pattern=".*")
    content = tokens.ContainerTokenContent(
        container_id=ContainerId.of(ATTEMPT, 2, epoch=3),
        node_id=NodeId("h1", 8041),
        user="bob",
        resource=Resource(1024, 1),
        expiry_ms=99,
        rm_identifier=1_700_000_000_000,
        priority=0,
        creation_ms=11,
        container_type=ContainerType.APPLICATION_MASTER,
        log_aggregation_context=context.SerializeToString(),
    )
    token = tokens.container_token(a_key(4), content)
    message = token_pb.ContainerTokenIdentifierProto.FromString(token.identifier)

    assert (token.kind, token.service) == ("ContainerToken", "h1:8041")
    assert is_signed_by(a_key(4), token.identifier, token.password)
    assert message.containerId.id == 3298534883330
    assert (message.nmHostAddr, message.appSubmitter, message.masterKeyId) == ("h1:8041", "bob", 4)
    assert (message.expiryTimeStamp, message.creationTime, message.rmIdentifier) == (99, 11, 1_700_000_000_000)
    assert message.HasField("priority")
    assert message.priority.HasField("priority")
    assert message.containerType == pb.APPLICATION_MASTER
    assert message.executionType == pb.GUARANTEED
    assert message.logAggregationContext == context


def test_token_goes_over_the_wire_whole() -> None:
    token = tokens.nm_token(a_key(3), ATTEMPT, NodeId("h1", 8041), "bob")
    message = tokens.token_to_pb(token)
    assert (message.identifier, message.password) == (token.identifier, token.password)
    assert (message.kind, message.service) == (token.kind, token.service)
