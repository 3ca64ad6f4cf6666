"""YARN's identifiers and their text forms, and the pod name that belongs to a container.

Text forms follow ApplicationId, ApplicationAttemptId, ContainerId and NodeId of hadoop-yarn-api.  They are printed with
zeros before small numbers, and read with any number of zeros: who compares texts compares printed ones.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from yodel.errors import InvalidValue

CONTAINER_SEQUENCE_BITS = 40  # ContainerId.CONTAINER_ID_BITMASK: bits 0-39 sequence, 40-63 epoch
CONTAINER_SEQUENCE_MASK = (1 << CONTAINER_SEQUENCE_BITS) - 1
TEXT_LENGTH_MAX = 128

_TIMESTAMP = r"0*([0-9]{1,19})"
_NUMBER = r"0*([0-9]{1,10})"
_LONG_NUMBER = r"0*([0-9]{1,13})"
_EPOCH = r"0*([0-9]{1,8})"
_APPLICATION = re.compile(rf"application_{_TIMESTAMP}_{_NUMBER}")
_ATTEMPT = re.compile(rf"appattempt_{_TIMESTAMP}_{_NUMBER}_{_LONG_NUMBER}")
_CONTAINER = re.compile(rf"container_(?:e{_EPOCH}_)?{_TIMESTAMP}_{_NUMBER}_{_NUMBER}_{_LONG_NUMBER}")
_NODE = re.compile(r"([A-Za-z0-9._-]{1,253}):0*([0-9]{1,5})")


@dataclass(frozen=True, slots=True, order=True)
class ApplicationId:
    """``application_<cluster timestamp, ms>_<sequence, at least four digits>``."""

    cluster_timestamp_ms: int
    sequence: int

    def __str__(self) -> str:
        return f"application_{self.cluster_timestamp_ms}_{self.sequence:04d}"

    @classmethod
    def parse(cls, text: str) -> ApplicationId:
        """Raises InvalidValue."""
        match = _APPLICATION.fullmatch(text)
        if match is None:
            raise InvalidValue("ApplicationId", text[:TEXT_LENGTH_MAX], "application_<cluster timestamp>_<number>")
        return cls(int(match[1]), int(match[2]))


@dataclass(frozen=True, slots=True, order=True)
class ApplicationAttemptId:
    """``appattempt_<cluster timestamp>_<application>_<attempt, six digits>``; attempts count from 1."""

    application_id: ApplicationId
    attempt: int

    def __hash__(self) -> int:
        """Hash the numbers directly, which saves a call in each heartbeat's lookups."""
        return hash((self.attempt, self.application_id.sequence))

    def __str__(self) -> str:
        application = self.application_id
        return f"appattempt_{application.cluster_timestamp_ms}_{application.sequence:04d}_{self.attempt:06d}"

    @classmethod
    def parse(cls, text: str) -> ApplicationAttemptId:
        """Raises InvalidValue."""
        match = _ATTEMPT.fullmatch(text)
        if match is None:
            raise InvalidValue("ApplicationAttemptId", text[:TEXT_LENGTH_MAX], "appattempt_<timestamp>_<app>_<attempt>")
        return cls(ApplicationId(int(match[1]), int(match[2])), int(match[3]))


@dataclass(frozen=True, slots=True, order=True)
class ContainerId:
    """``container_[e<epoch>_]<timestamp>_<application>_<attempt>_<sequence>``; the AM's own is sequence 1.

    ``number`` is the 64-bit wire value: the RM's epoch in bits 40-63, the sequence within the attempt below.
    """

    attempt_id: ApplicationAttemptId
    number: int

    def __hash__(self) -> int:
        """Hash the numbers, not the parts' hashes: every index is keyed by it and read for every change."""
        attempt_id = self.attempt_id
        return hash((self.number, attempt_id.attempt, attempt_id.application_id.sequence))

    @property
    def application_id(self) -> ApplicationId:
        return self.attempt_id.application_id

    @property
    def epoch(self) -> int:
        return self.number >> CONTAINER_SEQUENCE_BITS

    @property
    def sequence(self) -> int:
        return self.number & CONTAINER_SEQUENCE_MASK

    def __str__(self) -> str:
        application = self.attempt_id.application_id
        epoch = f"e{self.epoch:02d}_" if self.epoch > 0 else ""
        return (
            f"container_{epoch}{application.cluster_timestamp_ms}_{application.sequence:04d}"
            f"_{self.attempt_id.attempt:02d}_{self.sequence:06d}"
        )

    @classmethod
    def of(cls, attempt_id: ApplicationAttemptId, sequence: int, epoch: int = 0) -> ContainerId:
        return cls(attempt_id, (epoch << CONTAINER_SEQUENCE_BITS) | sequence)

    @classmethod
    def parse(cls, text: str) -> ContainerId:
        """Raises InvalidValue."""
        match = _CONTAINER.fullmatch(text)
        if match is None:
            raise InvalidValue("ContainerId", text[:TEXT_LENGTH_MAX], "container_<timestamp>_<app>_<attempt>_<number>")
        attempt_id = ApplicationAttemptId(ApplicationId(int(match[2]), int(match[3])), int(match[4]))
        return cls.of(attempt_id, int(match[5]), int(match[1] or 0))


@dataclass(frozen=True, slots=True, order=True)
class NodeId:
    """``host:port`` of a node agent's ContainerManagement server, textually as it goes into tokens and containers."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"

    @classmethod
    def parse(cls, text: str) -> NodeId:
        """Raises InvalidValue.  IPv6 literals are refused: Hadoop's own host:port parsing breaks on them."""
        match = _NODE.fullmatch(text)
        if match is None or int(match[2]) > 65535:
            raise InvalidValue("NodeId", text[:TEXT_LENGTH_MAX], "host:port")
        return cls(match[1], int(match[2]))


def dns_name(container_id: ContainerId) -> str:
    """``<app>-<attempt>-<container>`` in DNS-1123 letters: what a pod is called that is made for this container, and
    the directory in which its node agent and its shell meet.  Which pod a container has is in its row.

    ``container_e03_1700000000000_0007_01_000002`` becomes ``application-1700000000000-0007-01-e03-000002``.
    """
    application = container_id.application_id
    epoch = f"e{container_id.epoch:02d}-" if container_id.epoch > 0 else ""
    return (
        f"application-{application.cluster_timestamp_ms}-{application.sequence:04d}"
        f"-{container_id.attempt_id.attempt:02d}-{epoch}{container_id.sequence:06d}"
    )
