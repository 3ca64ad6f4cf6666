"""Rows of queues and of the configuration that they come from: pure, field by field, without loss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from yodel.domain.queues.queue import Queue, QueueState
from yodel.domain.scheduler_conf import SchedulerConf, SchedulerProperty
from yodel.store import tables


def queue_values(queue: Queue) -> dict[str, Any]:
    return {
        "path": queue.path,
        "state": queue.state.name,
        "capacity_percent": queue.capacity_percent,
        "maximum_capacity_percent": queue.maximum_capacity_percent,
        "is_leaf": queue.is_leaf,
        "maximum_lifetime_s": queue.maximum_lifetime_s,
        "default_lifetime_s": queue.default_lifetime_s,
        "submit_acl": queue.submit_acl,
        "administer_acl": queue.administer_acl,
    }


def queue_from(row: Mapping[Any, Any]) -> Queue:
    return Queue(
        path=row["path"],
        state=QueueState[row["state"]],
        capacity_percent=row["capacity_percent"],
        maximum_capacity_percent=row["maximum_capacity_percent"],
        is_leaf=row["is_leaf"],
        maximum_lifetime_s=row["maximum_lifetime_s"],
        default_lifetime_s=row["default_lifetime_s"],
        submit_acl=row["submit_acl"],
        administer_acl=row["administer_acl"],
    )


def scheduler_conf_values(conf: SchedulerConf) -> dict[str, Any]:
    return {
        "id": tables.IDENTITY_ROW,
        "version": conf.version,
        "properties": [[kept.name, kept.value] for kept in conf.properties],
    }


def scheduler_conf_from(row: Mapping[Any, Any]) -> SchedulerConf:
    properties: Sequence[tuple[str, str]] = row["properties"]
    return SchedulerConf(
        version=row["version"], properties=tuple(SchedulerProperty(name, value) for name, value in properties)
    )
