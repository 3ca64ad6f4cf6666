"""CapacitySchedulerInfo: the queue tree as exporters and consoles walk it.

A leaf is known by its ``type``, the root by ``scheduler.schedulerInfo.type``.  Limits that do not exist here are shown
as the values that limit nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from yodel.domain.allocation.demands import AllocationLimits
from yodel.domain.queues.access import administer_acl, submit_acl
from yodel.domain.queues.amounts import Amounts, absolute
from yodel.domain.queues.ledger import UsageLedger
from yodel.domain.queues.queue import (
    Queue,
    applications_max,
    applications_max_of_user,
    shown_state,
)
from yodel.domain.resource import Resource
from yodel.hadoop_http.java_numbers import java_float
from yodel.hadoop_http.many import Many
from yodel.pb_convert.widths import int32
from yodel.rm_api.hadoop.wire.resources import (
    DEFAULT_PARTITION,
    INT_MAX,
    NOTHING,
    PartitionUsage,
    ResourceInfo,
    resource,
    usage_by_partition,
)
from yodel.services.views.queue_views import Load, QueueLoad

_EVERYBODY = "*"
USERS_TOGETHER = 10
"""Users of a queue who are written in one go: half a millisecond."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueTree:
    """Queues, loads by path (a parent's holds its children's), what there is of a queue's pool, and limits."""

    queues: tuple[Queue, ...]
    loads: Mapping[str, QueueLoad]
    size_of: Callable[[str], Resource]
    limits: AllocationLimits
    largest_of: Callable[[str], Resource]
    """Returns, for a queue, the most that a container may have there."""
    ledger: UsageLedger
    started_ms: int
    gives_back: Callable[[Queue], bool]
    gives_back_within: Callable[[Queue], bool]

    def children(self, path: str) -> Iterable[Queue]:
        shares = self.ledger.tree
        return (shares.shares[below].queue for below in shares.below.get(path, ()))

    def load(self, queue: Queue) -> QueueLoad:
        return self.loads.get(queue.path) or QueueLoad()


def scheduler(tree: QueueTree) -> dict[str, Any]:
    """The whole answer; the tree has a queue ``root``."""
    root = next(queue for queue in tree.queues if queue.parent_path is None)
    figures = _figures(tree, root)
    return {
        "scheduler": {
            "schedulerInfo": {
                "type": "capacityScheduler",
                "capacity": figures.capacity,
                "usedCapacity": figures.absolute_used,
                "maxCapacity": figures.maximum,
                **_weight(root),
                "queueCapacityVectorInfo": _vector(root),
                "queueName": root.name,
                "queuePath": root.path,
                "maxParallelApps": _parallel(root),
                "isAbsoluteResource": bool(root.capacity_amounts),
                "queues": {"queue": _queues(tree, root)},
                "capacities": _capacities(tree, root, figures),
                "health": _health(tree.started_ms),
                "maximumAllocation": resource(tree.largest_of(root.path)),
                "queueAcls": _acls(root),
                "queuePriority": root.priority,
                "orderingPolicyInfo": root.ordering_policy,
                **_modes(root),
            }
        }
    }


class _Figures(NamedTuple):
    """Figures that are shown of a queue and of its one partition; the floats are percents."""

    capacity: float
    used: float
    maximum: float
    absolute_capacity: float
    absolute_used: float
    absolute_maximum: float
    am_limit: float
    effective_minimum: ResourceInfo
    effective_maximum: ResourceInfo


def _figures(tree: QueueTree, queue: Queue) -> _Figures:
    """Return the figures of a queue, as decisions count."""
    share, used_mib = tree.ledger.tree.shares[queue.path], tree.load(queue).total.used.memory_mib
    total_mib, own_mib = tree.size_of(queue.path).memory_mib, share.guaranteed.memory_mib
    return _Figures(
        capacity=java_float(queue.capacity_percent),
        used=java_float(100.0 * used_mib / own_mib if own_mib else 0.0),
        maximum=java_float(queue.maximum_capacity_percent),
        absolute_capacity=java_float(100.0 * share.capacity),
        absolute_used=java_float(100.0 * used_mib / total_mib if total_mib else 0.0),
        absolute_maximum=java_float(100.0 * share.maximum_capacity),
        am_limit=java_float(100.0 * tree.ledger.am_part(share)) if queue.is_leaf else 0.0,
        effective_minimum=resource(share.guaranteed),
        effective_maximum=resource(share.maximum),
    )


def _queue(tree: QueueTree, queue: Queue) -> dict[str, Any]:
    """CapacitySchedulerQueueInfo, and what a leaf adds to it."""
    load, figures = tree.load(queue).total, _figures(tree, queue)
    am_limit = tree.ledger.am_limit(tree.ledger.share(queue.path))
    limit_info = resource(am_limit)
    usage = _usage(load, limit_info, user_am_limit=limit_info)
    shown: dict[str, Any] = {"type": "capacitySchedulerLeafQueueInfo"} if queue.is_leaf else {}
    shown |= {
        "queuePath": queue.path,
        "capacity": figures.capacity,
        "usedCapacity": figures.used,
        "maxCapacity": figures.maximum,
        "absoluteCapacity": figures.absolute_capacity,
        "absoluteMaxCapacity": figures.absolute_maximum,
        "absoluteUsedCapacity": figures.absolute_used,
        **_weight(queue),
        "numApplications": load.applications,
        "maxParallelApps": _parallel(queue),
        "queueName": queue.name,
        "isAbsoluteResource": bool(queue.capacity_amounts),
        "state": shown_state(queue, is_used=bool(load.applications)).name,
        "resourcesUsed": usage.used,
        "hideReservationQueues": False,
        "nodeLabels": [_EVERYBODY],
        "allocatedContainers": int32(load.containers),
        "reservedContainers": int32(load.holds),
        "pendingContainers": int32(load.waited_for[0]),
        "capacities": _capacities(tree, queue, figures),
        "resources": usage_by_partition(usage),
        "minEffectiveCapacity": figures.effective_minimum,
        "maxEffectiveCapacity": figures.effective_maximum,
        "maximumAllocation": resource(tree.largest_of(queue.path)),
        "queueAcls": _acls(queue),
        "queuePriority": queue.priority,
        "orderingPolicyInfo": queue.ordering_policy,
        "autoCreateChildQueueEnabled": False,
        "leafQueueTemplate": {},
        **_modes(queue),
    }
    if queue.is_leaf:
        return shown | _leaf(tree, queue, am_limit, usage)
    return shown | {"queues": {"queue": _queues(tree, queue)}}


def _queues(tree: QueueTree, parent: Queue) -> Many:
    return Many(list(tree.children(parent.path)), lambda child: _queue(tree, child))


def _leaf(tree: QueueTree, queue: Queue, am_limit: Resource, usage: PartitionUsage) -> dict[str, Any]:
    found = tree.load(queue)
    load = found.total
    share = tree.ledger.share(queue.path)
    shown = sorted(found.users.items())
    users = Many(shown, lambda named: _user(tree, queue, usage.am_limit, *named), USERS_TOGETHER)
    return {
        "numActiveApplications": load.active,
        "numPendingApplications": load.applications - load.active,
        "numContainers": int32(load.containers),
        "maxApplications": applications_max(queue, share.capacity),
        "maxApplicationsPerUser": applications_max_of_user(queue, share.capacity),
        "userLimit": java_float(queue.minimum_user_limit_percent),
        "users": {"user": users} if found.users else {},
        "userLimitFactor": java_float(queue.user_limit_factor),
        "configuredMaxAMResourceLimit": java_float(tree.ledger.am_part(share)),
        "AMResourceLimit": usage.am_limit,
        "usedAMResource": usage.am_used,
        "userAMResourceLimit": resource(tree.ledger.user_am_limit(share, "", am_limit)),
        "preemptionDisabled": not tree.gives_back(queue),
        "intraQueuePreemptionDisabled": not tree.gives_back_within(queue),
        "defaultPriority": 0,
        "isAutoCreatedLeafQueue": False,
        "maxApplicationLifetime": queue.maximum_lifetime_s,
        "defaultApplicationLifetime": queue.usual_lifetime_s,
    }


def _user(tree: QueueTree, queue: Queue, am_limit: ResourceInfo, name: str, load: Load) -> dict[str, Any]:
    usage = _usage(load, am_limit, user_am_limit=NOTHING)
    return {
        "username": name,
        "resourcesUsed": usage.used,
        "numPendingApplications": load.applications - load.active,
        "numActiveApplications": load.active,
        "AMResourceUsed": usage.am_used,
        "userResourceLimit": resource(_user_limit(tree, queue, name)),
        "resources": usage_by_partition(usage),
        "userWeight": java_float(queue.weight_of(name)),
        "isActive": load.is_waiting,
    }


def _capacities(tree: QueueTree, queue: Queue, figures: _Figures) -> dict[str, Any]:
    """QueueCapacitiesInfo of the one partition there is."""
    return {
        "queueCapacitiesByPartition": [
            {
                "partitionName": DEFAULT_PARTITION,
                "queueCapacityVectorInfo": _vector(tree.ledger.tree.said.get(queue.path, queue)),
                "capacity": figures.capacity,
                "usedCapacity": figures.used,
                "maxCapacity": figures.maximum,
                "absoluteCapacity": figures.absolute_capacity,
                "absoluteUsedCapacity": figures.absolute_used,
                "absoluteMaxCapacity": figures.absolute_maximum,
                "maxAMLimitPercentage": figures.am_limit,
                **_weight(queue),
                "configuredMinResource": _configured(tree, queue.capacity_amounts),
                "configuredMaxResource": _configured(tree, queue.maximum_amounts),
                "effectiveMinResource": figures.effective_minimum,
                "effectiveMaxResource": figures.effective_maximum,
            }
        ]
    }


def _usage(load: Load, am_limit: ResourceInfo, *, user_am_limit: ResourceInfo) -> PartitionUsage:
    return PartitionUsage(
        used=resource(load.used),
        reserved=resource(load.reserved) if load.holds else NOTHING,
        pending=resource(load.waited_for[1]),
        am_used=resource(load.am_used),
        am_limit=am_limit,
        user_am_limit=user_am_limit,
    )


def _user_limit(tree: QueueTree, queue: Queue, user: str) -> Resource:
    """Return the limit of a user; where users have no limit, the queue's."""
    share = tree.ledger.share(queue.path)
    return share.maximum if queue.user_limit_factor < 0 else tree.ledger.user_limit(share, user)


def _parallel(queue: Queue) -> int:
    most = queue.maximum_parallel_applications
    return INT_MAX if most is None else most


def _weight(queue: Queue) -> dict[str, float]:
    """-1 and 0: the capacity is no weight."""
    if queue.weight is None:
        return {"weight": -1.0, "normalizedWeight": 0.0}
    return {"weight": java_float(queue.weight), "normalizedWeight": java_float(queue.capacity_percent / 100.0)}


def _configured(tree: QueueTree, amounts: Amounts) -> ResourceInfo:
    return resource(absolute(amounts), tree.limits.minimum, tree.limits.maximum)


def _vector(queue: Queue) -> dict[str, Any]:
    """The capacity as it was written."""
    if queue.capacity_amounts:
        entries = [(part.name, f"{java_float(part.value)}{part.unit}") for part in queue.capacity_amounts]
    else:
        value = f"{java_float(queue.capacity_percent)}%" if queue.weight is None else f"{java_float(queue.weight)}w"
        entries = [("memory-mb", value), ("vcores", value)]
    return {
        "configuredCapacityVector": f"[{','.join(f'{name}={value}' for name, value in entries)}]",
        "capacityVectorEntries": [{"resourceName": name, "resourceValue": value} for name, value in entries],
    }


def _mode(queue: Queue) -> str:
    if queue.capacity_amounts:
        return "absolute"
    return "percentage" if queue.weight is None else "weight"


def _modes(queue: Queue) -> dict[str, Any]:
    return {
        "mode": _mode(queue),
        "queueType": "leaf" if queue.is_leaf else "parent",
        "creationMethod": "static",
        "autoCreationEligibility": "off",
        "autoQueueTemplateProperties": {},
        "autoQueueParentTemplateProperties": {},
        "autoQueueLeafTemplateProperties": {},
    }


def _acls(queue: Queue) -> dict[str, Any]:
    """The queue's own: rights pass down the tree."""
    texts = {
        "ADMINISTER_QUEUE": administer_acl(queue),
        "APPLICATION_MAX_PRIORITY": _EVERYBODY,
        "SUBMIT_APP": submit_acl(queue),
    }
    return {"queueAcl": [{"accessType": kind, "accessControlList": text} for kind, text in texts.items()]}


def _health(started_ms: int) -> dict[str, Any]:
    """CapacitySchedulerHealthInfo: Kubernetes places, so nothing is known of single placements."""
    operations = ("last-allocation", "last-release", "last-preemption", "last-reservation")
    counted = ("releases", "allocations", "reservations")
    return {
        "lastrun": started_ms,
        "operationsInfo": [{"operation": o, "nodeId": "N/A", "containerId": "N/A", "queue": "N/A"} for o in operations],
        "lastRunDetails": [{"operation": o, "count": 0, "resources": NOTHING} for o in counted],
    }
