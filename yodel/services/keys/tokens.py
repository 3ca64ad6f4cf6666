"""Master keys and the tokens made with them (AMRMTokenSecretManager, NMTokenSecretManagerInRM, …).

Keys are rows: a restarted RM signs and verifies with the same ones, so running ApplicationMasters and node agents
notice nothing.  Rolling keeps the previous key for verification.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from yodel.domain.attempt import Attempt
from yodel.domain.container import Container
from yodel.domain.ids import ApplicationAttemptId, ContainerId, NodeId
from yodel.domain.tokens import MASTER_KEY_BYTES, MasterKey, Token, password
from yodel.pb_convert import tokens as pb_tokens

AMRM = "amrm"
PURPOSES = ("amrm", "nm", "container")
CONTAINER_TOKEN_LIFETIME_MS = 600_000  # yarn.resourcemanager.rm.container-allocation.expiry-interval-ms


def missing_keys(
    present: Sequence[tuple[str, MasterKey]], random_bytes: Callable[[int], bytes]
) -> list[tuple[str, MasterKey]]:
    """The keys a new store lacks."""
    have = {purpose for purpose, _ in present}
    first_id = max((key.key_id for _, key in present), default=0) + 1
    return [
        (purpose, MasterKey(key_id=first_id + n, secret=random_bytes(MASTER_KEY_BYTES)))
        for n, purpose in enumerate(PURPOSES)
        if purpose not in have
    ]


def told_of(attempt: Attempt | None) -> tuple[tuple[str, str], ...]:
    """Return the shuffle settings for the tokens of an attempt's containers."""
    return attempt.shuffle.told if attempt is not None and attempt.shuffle is not None else ()


class TokenIssuer:
    """Signs and checks with the current keys.  ``pod_uid_of`` names a container's pod; empty while nobody knows it."""

    def __init__(
        self,
        keys: Sequence[tuple[str, MasterKey]],
        cluster_timestamp_ms: int,
        pod_uid_of: Callable[[ContainerId], str] = lambda _: "",
    ) -> None:
        self._keys: dict[str, list[MasterKey]] = {purpose: [] for purpose in PURPOSES}
        for purpose, key in keys:
            if purpose in self._keys:  # delegation tokens have keys of their own
                self._keys[purpose].append(key)
        self.rm_identifier = cluster_timestamp_ms
        self._pod_uid_of = pod_uid_of

    def current(self, purpose: str) -> MasterKey:
        return self._keys[purpose][-1]

    def activate(self, purpose: str, key: MasterKey) -> None:
        """Sign with this key from now on.  What others were signed with is for those who verify to know."""
        self._keys[purpose] = [key]

    def roll(self, purpose: str, key: MasterKey) -> None:
        """Sign with this key from now on; what the one before signed stays good."""
        self._keys[purpose] = [self._keys[purpose][-1], key]

    def outdated_by(self, purpose: str) -> list[MasterKey]:
        """Keys that a roll drops."""
        return self._keys[purpose][:-1]

    def amrm_token(self, attempt_id: ApplicationAttemptId, service: str = "") -> Token:
        return pb_tokens.amrm_token(self.current("amrm"), attempt_id, service)

    def amrm_password(self, identifier: bytes) -> tuple[ApplicationAttemptId, bytes] | None:
        """The attempt and the password a received identifier must come with; None for an unknown key.

        Raises:
            InvalidValue: the bytes are not an AMRM identifier.
        """
        attempt_id, key_id = pb_tokens.amrm_identity(identifier)
        for key in self._keys["amrm"]:
            if key.key_id == key_id:
                return attempt_id, password(key, identifier)
        return None

    def nm_token(self, attempt_id: ApplicationAttemptId, node_id: NodeId, user: str) -> Token:
        return pb_tokens.nm_token(self.current("nm"), attempt_id, node_id, user)

    def container_token(
        self,
        container: Container,
        now_ms: int,
        log_aggregation_context: bytes = b"",
        shuffle: tuple[tuple[str, str], ...] = (),
    ) -> Token:
        assert container.node_id is not None, "a token names the node it is for"
        content = pb_tokens.ContainerTokenContent(
            container_id=container.id,
            node_id=container.node_id,
            user=container.user,
            resource=container.capability,
            expiry_ms=now_ms + CONTAINER_TOKEN_LIFETIME_MS,
            rm_identifier=self.rm_identifier,
            priority=container.priority,
            creation_ms=container.created_ms,
            container_type=container.type,
            execution_type=container.execution_type,
            allocation_request_id=container.allocation_request_id,
            version=container.version,
            log_aggregation_context=log_aggregation_context,
            node_label=container.placement.node_label,
            shuffle=shuffle,
            pod_uid=self._pod_uid_of(container.id),
        )
        return pb_tokens.container_token(self.current("container"), content)
