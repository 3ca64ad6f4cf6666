"""Keys that roll, and tokens of other nodes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nm_plugin.keys.token_secrets import TokenSecrets, nm_identity
from tests.support.node_agent import ATTEMPT
from yodel.domain.ids import ContainerId, NodeId
from yodel.domain.resource import Resource
from yodel.domain.states import ContainerType
from yodel.domain.tokens import NM_TOKEN_KIND, MasterKey, Token
from yodel.errors import InvalidToken
from yodel.hadoop_pb import yarn_server_common_protos_pb2 as common_pb
from yodel.pb_convert import tokens

NODE = NodeId("n", 8041)
KEYS = [MasterKey(key_id=n, secret=bytes([n]) * 32) for n in range(1, 4)]
NO_KEY = common_pb.MasterKeyProto()


def key_pb(key: MasterKey) -> common_pb.MasterKeyProto:
    return common_pb.MasterKeyProto(key_id=key.key_id, bytes=key.secret)


def nm_token(key: MasterKey, node: NodeId = NODE) -> Token:
    return tokens.nm_token(key, ATTEMPT, node, "alice")


@pytest.fixture
def secrets() -> TokenSecrets:
    made = TokenSecrets()
    made.node_id = NODE
    made.take_keys(key_pb(KEYS[0]), key_pb(KEYS[0]))
    return made


def test_password_is_the_one_it_was_issued_with(secrets: TokenSecrets) -> None:
    token = nm_token(KEYS[0])
    identity, password = secrets.nm_password(token.identifier)
    assert password == token.password
    assert (identity.attempt_id, identity.user, identity.key_id) == (ATTEMPT, "alice", 1)


def test_previous_key_is_good_and_the_one_before_is_not(secrets: TokenSecrets) -> None:
    old = nm_token(KEYS[0]).identifier
    secrets.take_keys(key_pb(KEYS[1]), NO_KEY)
    secrets.nm_password(old)
    secrets.take_keys(key_pb(KEYS[1]), NO_KEY)  # the same again does not roll
    secrets.nm_password(old)
    secrets.take_keys(key_pb(KEYS[2]), NO_KEY)
    with pytest.raises(InvalidToken, match="seems to have been generated illegally"):
        secrets.nm_password(old)
    assert (secrets.nm_key_id, secrets.container_key_id) == (3, 1)


def test_attempt_that_started_something_keeps_its_key(secrets: TokenSecrets) -> None:
    token = nm_token(KEYS[0])
    secrets.keep_key_of(nm_identity(token.identifier))
    for key in KEYS[1:]:
        secrets.take_keys(key_pb(key), NO_KEY)
    assert secrets.nm_password(token.identifier)[1] == token.password
    secrets.forget_application(ATTEMPT.application_id)
    with pytest.raises(InvalidToken):
        secrets.nm_password(token.identifier)


def test_token_for_another_node_has_hadoops_words(secrets: TokenSecrets) -> None:
    with pytest.raises(InvalidToken, match=r"is not valid for current node manager\.expected : n:8041 found : m:1"):
        secrets.nm_password(nm_token(KEYS[0], NodeId("m", 1)).identifier)


def test_garbage_is_refused(secrets: TokenSecrets) -> None:
    with pytest.raises(InvalidToken):
        secrets.nm_password(b"\xff\xff\xff")
    with pytest.raises(InvalidToken):
        secrets.container_grant(tokens.token_to_pb(nm_token(KEYS[0])))


def container_token(key: MasterKey) -> Token:
    content = tokens.ContainerTokenContent(
        container_id=ContainerId.of(ATTEMPT, 2),
        node_id=NODE,
        user="alice",
        resource=Resource(1024, 1),
        expiry_ms=1,
        rm_identifier=1,
        creation_ms=1,
        priority=1,
        container_type=ContainerType.TASK,
    )
    return tokens.container_token(key, content)


def test_container_token_is_one_by_its_kind_too(secrets: TokenSecrets) -> None:
    """NM tokens are signed in the same manner; what they identify must never be read as a container."""
    token = container_token(KEYS[0])
    assert secrets.container_grant(tokens.token_to_pb(token)).user == "alice"
    for kind in (NM_TOKEN_KIND, "", "containertoken"):
        with pytest.raises(InvalidToken, match="Invalid container token"):
            secrets.container_grant(tokens.token_to_pb(replace(token, kind=kind)))


def test_container_token_is_refused_with_another_key_or_password(secrets: TokenSecrets) -> None:
    token = container_token(KEYS[0])
    for wrong in (container_token(KEYS[1]), replace(token, password=bytes(20)), replace(token, identifier=b"\x08\x01")):
        with pytest.raises(InvalidToken, match="Invalid container token"):
            secrets.container_grant(tokens.token_to_pb(wrong))


def test_nothing_is_ready_before_registration(secrets: TokenSecrets) -> None:
    assert not secrets.is_ready
    secrets.rm_identifier = 5
    assert secrets.is_ready
