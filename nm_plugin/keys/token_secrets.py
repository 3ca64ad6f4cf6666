"""The RM's master keys on this node, and what tokens signed with them prove.

Follows ``NMTokenSecretManagerInNM`` and ``NMContainerTokenSecretManager``: the current and the previous key are good,
and an application attempt that started something keeps the key it came with, however often keys roll meanwhile.  What
is verified is always the received identifier bytes.

The keys are kept on disk, so that a restarted agent knows the tokens of the applications that run here, also those
signed with keys that the RM has rolled away.

Refuses: everything, before the node has registered or recovered its keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from google.protobuf.message import DecodeError

from yodel.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId
from yodel.domain.resource import Resource
from yodel.domain.states import ExecutionType
from yodel.domain.tokens import CONTAINER_TOKEN_KIND, MasterKey, is_signed_by, password
from yodel.errors import InvalidToken, InvalidValue
from yodel.hadoop_pb import Security_pb2 as security_pb
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.hadoop_pb import yarn_security_token_pb2 as token_pb
from yodel.hadoop_pb import yarn_server_common_protos_pb2 as common_pb
from yodel.pb_convert import ids

ATTEMPT_KEYS_MAX = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class NmIdentity:
    """Identifies a caller, an application attempt, by its NM token."""

    attempt_id: ApplicationAttemptId
    node: str
    user: str
    key_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerGrant:
    """Holds the content of a verified container token (ContainerTokenIdentifierProto)."""

    container_id: ContainerId
    node: str
    user: str
    resource: Resource
    expiry_ms: int
    rm_identifier: int
    priority: int
    creation_ms: int
    version: int
    allocation_request_id: int
    execution_type: ExecutionType
    log_aggregation: bytes = b""
    is_master: bool = False
    shuffle: tuple[tuple[str, str], ...] = ()
    """The words of its queue on shuffle, by the names of ``nm_plugin.localization.shuffle_terms``."""
    pod_uid: str = ""
    """The uid of the pod that it runs in; empty where the ResourceManager did not know it yet, or is an older one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRing:
    """All keys at one moment: (current, previous) of both kinds, and those that attempts came with."""

    nm: tuple[MasterKey | None, MasterKey | None] = field(default=(None, None), repr=False)
    container: tuple[MasterKey | None, MasterKey | None] = field(default=(None, None), repr=False)
    attempts: Mapping[ApplicationAttemptId, MasterKey] = field(default_factory=dict, repr=False)
    rm_identifier: int | None = None


class _Keys:
    """Current and previous."""

    def __init__(self) -> None:
        self.current: MasterKey | None = None
        self.previous: MasterKey | None = None

    def take(self, message: common_pb.MasterKeyProto) -> None:
        if not message.bytes:
            return
        key = MasterKey(key_id=message.key_id, secret=message.bytes)
        if self.current is not None and self.current != key:
            self.previous = self.current
        self.current = key

    def by_id(self, key_id: int) -> MasterKey | None:
        for key in (self.current, self.previous):
            if key is not None and key.key_id == key_id:
                return key
        return None


class TokenSecrets:
    """Keys and the RM's identity, as the last registration and heartbeats brought them."""

    def __init__(self) -> None:
        self._nm, self._container = _Keys(), _Keys()
        self._attempt_keys: dict[ApplicationAttemptId, MasterKey] = {}
        self.node_id: NodeId | None = None
        self.rm_identifier: int | None = None

    @property
    def is_ready(self) -> bool:
        """True once the RM has given its keys."""
        return self.rm_identifier is not None and self._nm.current is not None and self._container.current is not None

    @property
    def nm_key_id(self) -> int | None:
        return self._nm.current.key_id if self._nm.current else None

    @property
    def container_key_id(self) -> int | None:
        return self._container.current.key_id if self._container.current else None

    def take_keys(self, nm: common_pb.MasterKeyProto, container: common_pb.MasterKeyProto) -> None:
        """Take over the keys of a registration or heartbeat response; empty messages change nothing."""
        self._nm.take(nm)
        self._container.take(container)

    def ring(self) -> KeyRing:
        """Return the keys that the agent needs after a restart."""
        return KeyRing(
            nm=(self._nm.current, self._nm.previous),
            container=(self._container.current, self._container.previous),
            attempts=dict(self._attempt_keys),
            rm_identifier=self.rm_identifier,
        )

    def restore(self, ring: KeyRing) -> None:
        """Before the registration.  New containers wait for that all the same: the RM may be another one by now."""
        self._nm.current, self._nm.previous = ring.nm
        self._container.current, self._container.previous = ring.container
        self._attempt_keys = dict(ring.attempts)

    def nm_password(self, identifier: bytes) -> tuple[NmIdentity, bytes]:
        """Whom an NM token names, and the password it must have been issued with.

        Raises:
            InvalidToken: for another node, or signed with a key that is not known here.
        """
        identity = nm_identity(identifier)
        if self.node_id is None or identity.node != str(self.node_id):
            raise InvalidToken(
                f"Given NMToken for application : {identity.attempt_id} is not valid for current node manager."
                f"expected : {self.node_id} found : {identity.node}"
            )
        key = self._nm.by_id(identity.key_id)
        if key is None:
            kept = self._attempt_keys.get(identity.attempt_id)
            key = kept if kept is not None and kept.key_id == identity.key_id else None
        if key is None:
            raise InvalidToken(
                f"Given NMToken for application : {identity.attempt_id} seems to have been generated illegally."
            )
        return identity, password(key, identifier)

    def keep_key_of(self, identity: NmIdentity) -> None:
        """The attempt started something: its NM token stays good while its application lives."""
        key = self._nm.by_id(identity.key_id)
        if key is not None and len(self._attempt_keys) < ATTEMPT_KEYS_MAX:
            self._attempt_keys[identity.attempt_id] = key

    def forget_application(self, application_id: ApplicationId) -> None:
        for attempt_id in [a for a in self._attempt_keys if a.application_id == application_id]:
            del self._attempt_keys[attempt_id]

    def container_grant(self, token: security_pb.TokenProto) -> ContainerGrant:
        """The content of a container token whose signature holds.

        Raises:
            InvalidToken: it does not hold.
            InvalidValue: what it says makes no sense.
        """
        refused = InvalidToken(f"Invalid container token used for starting container on : {self.node_id}")
        try:
            message = token_pb.ContainerTokenIdentifierProto.FromString(token.identifier)
        except DecodeError as error:
            raise refused from error
        key = self._container.by_id(message.masterKeyId)
        if token.kind != CONTAINER_TOKEN_KIND or key is None:
            raise refused
        if not is_signed_by(key, token.identifier, token.password):
            raise refused
        return _grant(message)


def nm_identity(identifier: bytes) -> NmIdentity:
    """Return the content of the identifier, unverified.  Raises InvalidToken."""
    try:
        message = token_pb.NMTokenIdentifierProto.FromString(identifier)
    except DecodeError as error:
        raise InvalidToken("The NMToken identifier cannot be read") from error
    return NmIdentity(
        attempt_id=ids.attempt_id(message.appAttemptId),
        node=f"{message.nodeId.host}:{message.nodeId.port}",
        user=message.appSubmitter,
        key_id=message.keyId,
    )


def _grant(message: token_pb.ContainerTokenIdentifierProto) -> ContainerGrant:
    if not message.appSubmitter:
        raise InvalidValue("ContainerToken.appSubmitter", "", "a user name")
    return ContainerGrant(
        container_id=ids.container_id(message.containerId),
        node=message.nmHostAddr,
        user=message.appSubmitter,
        resource=ids.resource(message.resource),
        expiry_ms=message.expiryTimeStamp,
        rm_identifier=message.rmIdentifier,
        priority=message.priority.priority,
        creation_ms=message.creationTime,
        version=message.version,
        allocation_request_id=message.allocation_request_id,
        execution_type=ExecutionType(message.executionType),
        log_aggregation=message.logAggregationContext.SerializeToString(),
        is_master=message.containerType == pb.APPLICATION_MASTER,
        shuffle=tuple((pair.key, pair.value) for pair in message.shuffle),
        pod_uid=message.pod_uid,
    )
