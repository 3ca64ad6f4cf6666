from __future__ import annotations

import pytest

from tests.support.records import a_container, an_attempt_id
from yodel.domain.ids import NodeId
from yodel.domain.tokens import MasterKey, is_signed_by
from yodel.errors import InvalidValue
from yodel.hadoop_pb import yarn_security_token_pb2 as token_pb
from yodel.services.keys.tokens import PURPOSES, TokenIssuer, missing_keys

OLD, NEW = MasterKey(key_id=1, secret=b"a" * 32), MasterKey(key_id=2, secret=b"b" * 32)
NODE_ID = NodeId("node-1", 8041)


def issuer(*amrm: MasterKey) -> TokenIssuer:
    keys = [("amrm", key) for key in amrm] + [("nm", NEW), ("container", NEW)]
    return TokenIssuer(keys, 1_700_000_000_000)


def test_new_store_gets_a_key_for_every_purpose_with_ids_of_their_own() -> None:
    keys = missing_keys([], bytes)
    assert [purpose for purpose, _ in keys] == list(PURPOSES)
    assert len({key.key_id for _, key in keys}) == len(PURPOSES)
    assert {len(key.secret) for _, key in keys} == {32}


def test_only_what_is_missing_is_made_and_no_id_is_taken_twice() -> None:
    present = [("amrm", MasterKey(key_id=7, secret=b"")), ("nm", NEW)]
    ((purpose, key),) = missing_keys(present, bytes)
    assert purpose == "container"
    assert key.key_id > 7
    assert missing_keys([(p, NEW) for p in PURPOSES], bytes) == []


def test_newest_key_signs_and_the_older_one_is_still_good() -> None:
    attempt_id = an_attempt_id()
    before = issuer(OLD).amrm_token(attempt_id)
    rolled = issuer(OLD, NEW)
    assert is_signed_by(NEW, rolled.amrm_token(attempt_id).identifier, rolled.amrm_token(attempt_id).password)
    assert rolled.amrm_password(before.identifier) == (attempt_id, before.password)


def test_token_of_a_forgotten_key_has_no_password() -> None:
    assert issuer(NEW).amrm_password(issuer(OLD).amrm_token(an_attempt_id()).identifier) is None
    with pytest.raises(InvalidValue):
        issuer(NEW).amrm_password(b"\xff")


def test_container_token_is_good_for_ten_minutes_at_one_node() -> None:
    container = a_container(node_id=NODE_ID)
    token = issuer(NEW).container_token(container, now_ms=1000)
    message = token_pb.ContainerTokenIdentifierProto.FromString(token.identifier)
    assert message.expiryTimeStamp == 601_000
    assert message.nmHostAddr == token.service == "node-1:8041"
    assert message.rmIdentifier == 1_700_000_000_000


def test_nm_token_names_attempt_node_and_user() -> None:
    token = issuer(NEW).nm_token(an_attempt_id(), NODE_ID, "bob")
    message = token_pb.NMTokenIdentifierProto.FromString(token.identifier)
    assert (message.appSubmitter, message.keyId, token.service) == ("bob", 2, "node-1:8041")
