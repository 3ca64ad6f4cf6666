"""Snapshots in one order, whichever store they come from: by identifier, numerically; master keys oldest first."""

from __future__ import annotations

from collections.abc import Iterable

from yodel.domain.application import Application
from yodel.domain.attempt import Attempt
from yodel.domain.container import Container
from yodel.domain.delegation_token import DelegationToken
from yodel.domain.ids import ApplicationAttemptId, ApplicationId
from yodel.domain.node import Node
from yodel.domain.past import PastUsage
from yodel.domain.queues.queue import Queue
from yodel.domain.scheduler_conf import SchedulerConf
from yodel.domain.tokens import MasterKey
from yodel.ports.store import ClusterIdentity, Snapshot


def snapshot_of(
    identity: ClusterIdentity,
    *,
    queues: Iterable[Queue],
    nodes: Iterable[Node],
    applications: Iterable[Application],
    attempts: Iterable[Attempt],
    containers: Iterable[Container],
    master_keys: Iterable[tuple[str, MasterKey]],
    delegation_tokens: Iterable[DelegationToken] = (),
    scheduler_conf: SchedulerConf | None = None,
    past_usage: Iterable[PastUsage] = (),
) -> Snapshot:
    """Everything, sorted; ``master_keys`` have to come in the order in which they were first committed."""
    return Snapshot(
        identity=identity,
        queues=tuple(sorted(queues, key=lambda queue: queue.path)),
        nodes=tuple(sorted(nodes, key=lambda node: (node.id.host, node.id.port))),
        applications=tuple(sorted(applications, key=lambda application: _application_key(application.id))),
        attempts=tuple(sorted(attempts, key=lambda attempt: _attempt_key(attempt.id))),
        containers=tuple(sorted(containers, key=lambda c: (*_attempt_key(c.id.attempt_id), c.id.number))),
        master_keys=tuple(master_keys),
        delegation_tokens=tuple(sorted(delegation_tokens, key=lambda token: token.sequence)),
        scheduler_conf=scheduler_conf or SchedulerConf(),
        past_usage=tuple(sorted(past_usage, key=_past_key)),
    )


def _past_key(usage: PastUsage) -> tuple[int, int, str]:
    return (*_application_key(usage.id.application_id), str(usage.id.node_id or ""))


def _application_key(application_id: ApplicationId) -> tuple[int, int]:
    return application_id.cluster_timestamp_ms, application_id.sequence


def _attempt_key(attempt_id: ApplicationAttemptId) -> tuple[int, int, int]:
    return (*_application_key(attempt_id.application_id), attempt_id.attempt)
