"""Rows of queues and of the configuration that they come from: pure, field by field, without loss."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, cast

from yodel.domain.queues.amounts import Amounts, Part, Unit
from yodel.domain.queues.queue import LimitEnforcement, Ordering, Queue, QueueState
from yodel.domain.queues.user_weights import NO_WEIGHTS, NOT_LINKED, Pairs, UserWeights, below, weights_of
from yodel.domain.queues.window import Window
from yodel.domain.scheduler_conf import SchedulerConf, SchedulerProperty
from yodel.domain.shuffle.word import ShuffleProperty
from yodel.store import tables

_PLAIN = (
    *("weight", "user_limit_factor", "minimum_user_limit_percent", "am_share", "maximum_applications", "priority"),
    *("applications_of_all", "maximum_allocation_mib", "maximum_allocation_vcores"),
    "is_by_priority",
    *("maximum_parallel_applications", "is_free_mix", "is_preemption_disabled", "is_intra_queue_preemption_disabled"),
)
"""Fields of a queue that are kept among its limits as they are."""
_AMOUNTS = ("capacity_amounts", "maximum_amounts")


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
        "limits": _limits(queue),
        "said": [list(pair) for pair in queue.said] or None,
    }


def _limits(queue: Queue) -> dict[str, Any] | None:
    """Return the values that differ from those of a row without limits; None: none does."""
    plain = Queue(path=queue.path)
    found: dict[str, Any] = {
        name: getattr(queue, name) for name in _PLAIN if getattr(queue, name) != getattr(plain, name)
    }
    for name in _AMOUNTS:
        if amounts := getattr(queue, name):
            found[name] = [[part.name, part.value, part.unit.value] for part in amounts]
    weights = cast("UserWeights | Pairs", queue.user_weights)
    if own := weights.own if isinstance(weights, UserWeights) else weights:
        found["user_weights"] = [list(pair) for pair in own]
    if isinstance(weights, UserWeights) and weights.above is not None:
        found["inherits_user_weights"] = True
    if queue.ordering is not plain.ordering:
        found["ordering"] = queue.ordering.value
    if queue.enforcement is not plain.enforcement:
        found["enforcement"] = queue.enforcement.value
    if queue.shuffle:
        found["shuffle"] = [[word.name, word.text, word.path] for word in queue.shuffle]
    if queue.windows:
        found["windows"] = [asdict(window) for window in queue.windows]
    return found or None


def queue_from(row: Mapping[Any, Any]) -> Queue:
    limits: Mapping[str, Any] = row["limits"] or {}
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
        user_weights=_weights(limits),
        ordering=Ordering(limits.get("ordering", Ordering.FIFO.value)),
        enforcement=LimitEnforcement(limits.get("enforcement", LimitEnforcement.LIMIT.value)),
        windows=tuple(Window(**window) for window in limits.get("windows", ())),
        shuffle=tuple(ShuffleProperty(*word) for word in limits.get("shuffle", ())),
        said=tuple((name, text) for name, text in row["said"] or ()),
        **{name: limits[name] for name in _PLAIN if name in limits},
        capacity_amounts=_amounts(limits.get("capacity_amounts", ())),
        maximum_amounts=_amounts(limits.get("maximum_amounts", ())),
    )


def _weights(limits: Mapping[str, Any]) -> Any:
    own = tuple((name, weight) for name, weight in limits.get("user_weights", ()))
    return UserWeights(own, NOT_LINKED) if limits.get("inherits_user_weights") else own


def linked(queues: Iterable[Queue]) -> list[Queue]:
    """All rows of the tree, in their order, with the weights from above: only a queue's own are in its row."""
    rows = list(queues)
    tables = dict[str, UserWeights]()
    found: dict[str, Queue] = {}
    for queue in sorted(rows, key=lambda queue: queue.path.count(".")):
        weights = weights_of(queue.user_weights)
        if weights.above is NOT_LINKED:
            weights = below(tables.get(queue.parent_path or "", NO_WEIGHTS), weights.own)
        if queue.user_weights or weights.above is not None:
            queue = replace(queue, user_weights=cast("Any", weights))
        tables[queue.path] = weights
        found[queue.path] = queue
    return [found[queue.path] for queue in rows]


def _amounts(kept: Sequence[tuple[str, float, str]]) -> Amounts:
    return tuple(Part(kind, value, Unit(unit)) for kind, value, unit in kept)


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
