"""RM delegation tokens: identifier bytes (YARNDelegationTokenIdentifierProto) and what they say."""

from __future__ import annotations

from google.protobuf.message import DecodeError

from yodel.domain.delegation_token import DELEGATION_TOKEN_KIND, DelegationTokenContent
from yodel.domain.tokens import MasterKey, Token, password
from yodel.errors import InvalidToken
from yodel.hadoop_pb import yarn_security_token_pb2 as token_pb


def delegation_token(key: MasterKey, content: DelegationTokenContent) -> Token:
    """Signed with the key.  The service stays empty: clients fill in the address that they used.

    As Hadoop's builder does, a text that is empty is not written.
    """
    message = token_pb.YARNDelegationTokenIdentifierProto(
        owner=content.owner,
        issueDate=content.issued_ms,
        maxDate=content.max_ms,
        sequenceNumber=content.sequence,
        masterKeyId=content.master_key_id,
    )
    if content.renewer:
        message.renewer = content.renewer
    if content.real_user:
        message.realUser = content.real_user
    identifier = message.SerializeToString()
    return Token(identifier=identifier, password=password(key, identifier), kind=DELEGATION_TOKEN_KIND, service="")


def delegation_content(identifier: bytes) -> DelegationTokenContent:
    """Return the content of a (not yet verified) identifier.  Raises InvalidToken."""
    try:
        message = token_pb.YARNDelegationTokenIdentifierProto.FromString(identifier)
    except DecodeError as error:
        raise InvalidToken("the identifier is no YARNDelegationTokenIdentifierProto") from error
    return DelegationTokenContent(
        owner=message.owner,
        renewer=message.renewer,
        real_user=message.realUser,
        issued_ms=message.issueDate,
        max_ms=message.maxDate,
        sequence=message.sequenceNumber,
        master_key_id=message.masterKeyId,
    )
