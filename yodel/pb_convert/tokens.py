"""Token identifiers and TokenProto (yarn_security_token.proto, Security.proto).

Identifier bytes are the bare message.  They are made once, when a token is issued; what comes back from a client is
verified as received and only then parsed.
"""

from __future__ import annotations

from dataclasses import dataclass

from google.protobuf.message import DecodeError

from yodel.domain.ids import ApplicationAttemptId, ContainerId, NodeId
from yodel.domain.resource import Resource
from yodel.domain.states import ContainerType, ExecutionType
from yodel.domain.tokens import (
    AMRM_TOKEN_KIND,
    CLIENT_TOKEN_KIND,
    CONTAINER_TOKEN_KIND,
    NM_TOKEN_KIND,
    MasterKey,
    Token,
    password,
)
from yodel.errors import InvalidValue
from yodel.hadoop_pb import Security_pb2 as security_pb
from yodel.hadoop_pb import yarn_security_token_pb2 as token_pb
from yodel.pb_convert import ids


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerTokenContent:
    """Holds the content of a container token (ContainerTokenIdentifierProto)."""

    container_id: ContainerId
    node_id: NodeId
    user: str
    resource: Resource
    expiry_ms: int
    rm_identifier: int
    priority: int
    creation_ms: int
    container_type: ContainerType
    execution_type: ExecutionType = ExecutionType.GUARANTEED
    version: int = 0
    allocation_request_id: int = -1
    log_aggregation_context: bytes = b""
    node_label: str = ""
    shuffle: tuple[tuple[str, str], ...] = ()
    """The words on the application's remote shuffle that the node agent has to know."""
    pod_uid: str = ""
    """The Kubernetes uid of the container's pod; empty while it is not known."""


def token_to_pb(token: Token) -> security_pb.TokenProto:
    return security_pb.TokenProto(
        identifier=token.identifier, password=token.password, kind=token.kind, service=token.service
    )


def amrm_token(key: MasterKey, attempt: ApplicationAttemptId, service: str = "") -> Token:
    """The ApplicationMaster's own identity towards the RM.  The real RM leaves the service empty."""
    message = token_pb.AMRMTokenIdentifierProto(appAttemptId=ids.attempt_id_pb(attempt), keyId=key.key_id)
    return _signed(key, message.SerializeToString(), AMRM_TOKEN_KIND, service)


def amrm_identity(identifier: bytes) -> tuple[ApplicationAttemptId, int]:
    """The attempt and the master key id of a (not yet verified) AMRM token.  Raises InvalidValue."""
    try:
        message = token_pb.AMRMTokenIdentifierProto.FromString(identifier)
    except DecodeError as error:
        raise InvalidValue("AMRMToken identifier", identifier[:16].hex(), "AMRMTokenIdentifierProto") from error
    return ids.attempt_id(message.appAttemptId), message.keyId


def nm_token(key: MasterKey, attempt: ApplicationAttemptId, node: NodeId, user: str) -> Token:
    """Return the token that an ApplicationMaster shows to a node agent; valid for all containers of the attempt on that
    node."""
    message = token_pb.NMTokenIdentifierProto(
        appAttemptId=ids.attempt_id_pb(attempt), nodeId=ids.node_id_pb(node), appSubmitter=user, keyId=key.key_id
    )
    return _signed(key, message.SerializeToString(), NM_TOKEN_KIND, str(node))


def client_token(secret: bytes, attempt: ApplicationAttemptId, client: str) -> Token:
    """Return the token that a client shows to an ApplicationMaster, which checks it with ``secret``
    (ClientToAMToken)."""
    message = token_pb.ClientToAMTokenIdentifierProto(appAttemptId=ids.attempt_id_pb(attempt), clientName=client)
    return _signed(MasterKey(key_id=0, secret=secret), message.SerializeToString(), CLIENT_TOKEN_KIND, "")


def container_token(key: MasterKey, content: ContainerTokenContent) -> Token:
    """The right to start one container of one size on one node."""
    message = token_pb.ContainerTokenIdentifierProto(
        containerId=ids.container_id_pb(content.container_id),
        nmHostAddr=str(content.node_id),
        appSubmitter=content.user,
        resource=ids.resource_pb(content.resource),
        expiryTimeStamp=content.expiry_ms,
        masterKeyId=key.key_id,
        rmIdentifier=content.rm_identifier,
        creationTime=content.creation_ms,
        containerType=content.container_type.name,
        executionType=content.execution_type.name,
        version=content.version,
        allocation_request_id=content.allocation_request_id,
        nodeLabelExpression=content.node_label,
    )
    message.priority.priority = content.priority
    for name, text in content.shuffle:
        message.shuffle.add(key=name, value=text)
    if content.pod_uid:
        message.pod_uid = content.pod_uid
    if content.log_aggregation_context:
        message.logAggregationContext.ParseFromString(content.log_aggregation_context)
    return _signed(key, message.SerializeToString(), CONTAINER_TOKEN_KIND, str(content.node_id))


def _signed(key: MasterKey, identifier: bytes, kind: str, service: str) -> Token:
    return Token(identifier=identifier, password=password(key, identifier), kind=kind, service=service)
