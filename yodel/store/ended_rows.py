"""Rows of containers that ended and were forgotten, of what they used, and which of them go."""

from __future__ import annotations

from dataclasses import asdict

from sqlalchemy import ColumnElement, Executable, Select, delete, func, select, tuple_

from yodel.domain.container import Container
from yodel.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId
from yodel.domain.past import PastUsage, PastUsageId, Preempted
from yodel.domain.states import ContainerState, ContainerType
from yodel.store import tables
from yodel.store.values import Columns, Values, node_id_from, pod_from, resource_from, resource_values

_ENDED = tables.ended_containers.c
_KEY = (_ENDED.application_id, _ENDED.attempt, _ENDED.number)


def ended_values(container: Container) -> Values:
    return {
        "application_id": str(container.id.application_id),
        "attempt": container.id.attempt_id.attempt,
        "number": container.id.number,
        "pod": container.pod,
        "type": container.type.name,
        "user": container.user,
        "queue": container.queue,
        **resource_values("capability", container.capability),
        "priority": container.priority,
        "allocation_request_id": container.allocation_request_id,
        "allocation_tags": list(container.allocation_tags),
        "node_id": None if container.node_id is None else str(container.node_id),
        "created_ms": container.created_ms,
        "finished_ms": container.finished_ms,
        "exit_status": int(container.exit_status),
        "diagnostics": container.diagnostics,
    }


def ended_from(row: Columns) -> Container:
    node_id, capability = row["node_id"], resource_from("capability", row)
    attempt_id = ApplicationAttemptId(ApplicationId.parse(row["application_id"]), row["attempt"])
    container_id = ContainerId(attempt_id, row["number"])
    return Container(
        id=container_id,
        pod=pod_from(row["pod"], container_id),
        type=ContainerType[row["type"]],
        user=row["user"],
        queue=row["queue"],
        capability=capability,
        asked_capability=capability,
        priority=row["priority"],
        allocation_request_id=row["allocation_request_id"],
        allocation_tags=tuple(row["allocation_tags"]),
        state=ContainerState.COMPLETED,
        node_id=None if node_id is None else node_id_from(node_id),
        created_ms=row["created_ms"],
        finished_ms=row["finished_ms"],
        exit_status=row["exit_status"],
        diagnostics=row["diagnostics"],
        is_acknowledged=True,
    )


def past_usage_values(usage: PastUsage) -> Values:
    node_id = usage.id.node_id
    return {
        "application_id": str(usage.id.application_id),
        "node_id": "" if node_id is None else str(node_id),
        "containers": usage.containers,
        "memory_mib_s": usage.memory_mib_s,
        "vcore_s": usage.vcore_s,
        **{f"preempted_{name}": amount for name, amount in asdict(usage.preempted).items()},
    }


def past_usage_from(row: Columns) -> PastUsage:
    node = row["node_id"]
    return PastUsage(
        id=PastUsageId(ApplicationId.parse(row["application_id"]), node_id_from(node) if node else None),
        containers=row["containers"],
        memory_mib_s=row["memory_mib_s"],
        vcore_s=row["vcore_s"],
        preempted=Preempted(
            masters=row["preempted_masters"],
            others=row["preempted_others"],
            memory_mib=row["preempted_memory_mib"],
            vcores=row["preempted_vcores"],
            memory_mib_s=row["preempted_memory_mib_s"],
            vcore_s=row["preempted_vcore_s"],
        ),
    )


def page(application_id: ApplicationId, after: ContainerId | None, limit: int) -> Select[*tuple[object, ...]]:
    """Select ended containers of one application, in the order of their ids."""
    statement = select(tables.ended_containers).where(_ENDED.application_id == str(application_id))
    if after is not None:
        statement = statement.where(tuple_(_ENDED.attempt, _ENDED.number) > (after.attempt_id.attempt, after.number))
    return statement.order_by(_ENDED.attempt, _ENDED.number).limit(limit)


def older_than(cutoff_ms: int, batch: int) -> Executable:
    return _removal(_oldest(batch, _ENDED.finished_ms < cutoff_ms))


def oldest(batch: int) -> Executable:
    return _removal(_oldest(batch))


def oldest_of(application_id: str, batch: int) -> Executable:
    return _removal(_oldest(batch, _ENDED.application_id == application_id))


def counted() -> Select[*tuple[int]]:
    return select(func.count()).select_from(tables.ended_containers)


def crowded(most: int, applications: int) -> Select[*tuple[str, int]]:
    """Applications with more than ``most``, and how many they have."""
    count = func.count()
    return select(_ENDED.application_id, count).group_by(_ENDED.application_id).having(count > most).limit(applications)


def _oldest(batch: int, *where: ColumnElement[bool]) -> Select[*tuple[object, ...]]:
    return select(*_KEY).where(*where).order_by(_ENDED.finished_ms, *_KEY).limit(batch)


def _removal(keys: Select[*tuple[object, ...]]) -> Executable:
    return delete(tables.ended_containers).where(tuple_(*_KEY).in_(keys))
