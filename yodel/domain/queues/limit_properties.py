"""CapacityScheduler properties that limit a queue's users, ApplicationMasters and applications, both ways.  Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from yodel.domain.numerals import plain
from yodel.domain.queues.queue import APPLICATIONS_MAX as USUAL_APPLICATIONS_MAX
from yodel.domain.queues.queue import BY_PRIORITY, BY_USE, Ordering, Queue
from yodel.domain.queues.user_weights import NO_WEIGHTS, UserWeights, below, weights_of
from yodel.domain.scheduler_conf import PREFIX
from yodel.errors import Refused

FACTOR_MAX = 1_000_000.0
WEIGHT_MAX = 1_000_000.0
APPLICATIONS_MAX = 2**31 - 1
PRIORITY_MAX = 2**31 - 1
PARALLEL = "max-parallel-apps"
"""Of a queue, and of the whole scheduler for every queue that says nothing itself: not of the queue above it."""
APPLICATIONS = "maximum-applications"
"""Of a leaf, and of the whole scheduler for what all may have under way."""
LARGEST = {
    "maximum-allocation-mb": "maximum_allocation_mib",
    "maximum-allocation-vcores": "maximum_allocation_vcores",
}
"""Fields of a queue by property."""
LARGEST_OF_ALL = "maximum-allocation"
_KINDS = {
    "memory-mb": "maximum_allocation_mib",
    "memory": "maximum_allocation_mib",
    "vcores": "maximum_allocation_vcores",
}
USERS_MAX = 1000
"""Users with a weight of their own in one queue."""
USER_LENGTH_MAX = 256
"""Of a user's name, as the RPC ports take it (``hadoop_rpc.server_connection``)."""
PREEMPTION_PROPERTIES = {
    "disable_preemption": "is_preemption_disabled",
    "intra-queue-preemption.disable_preemption": "is_intra_queue_preemption_disabled",
}
"""Fields of a queue by property: as of the queue above it where nothing is said (CSQueuePreemptionSettings)."""
_USER = ("user-settings.", ".weight")


def user_of(name: str) -> str:
    """Whose weight a property is: ``user-settings.NAME.weight``; empty: it is another one."""
    before, after = _USER
    if not name.startswith(before) or not name.endswith(after):
        return ""
    return name[len(before) : -len(after)]


def last_user_of(name: str) -> str:
    """Likewise of a full name, whatever queue it is of: what is behind the last ``user-settings`` in it."""
    marker = f".{_USER[0]}"
    at = name.rfind(marker)
    return user_of(name[at + 1 :]) if at >= 0 else ""


def limits(
    properties: Mapping[str, str],
    own: str,
    path: str,
    parent: Queue | None,
    words: Mapping[str, str],
    *,
    is_leaf: bool,
) -> dict[str, Any]:
    """Fields of a ``Queue``.  ``own`` is the prefix of its properties, ``words`` what is said of it by its own names.

    Raises:
        Refused: a malformed value, or a limit of users on a queue that has none.
    """
    percent = _number(properties, own, "minimum-user-limit-percent", 100.0, 0.0, 100.0)
    inherited = weights_of(parent.user_weights) if parent is not None else NO_WEIGHTS
    weights = below(inherited, _weights(properties, own, path, words).items())
    if is_leaf:
        _require_weights(path, weights, percent)
    found: dict[str, Any] = {
        "user_limit_factor": _factor(properties, own),
        "minimum_user_limit_percent": percent,
        "user_weights": weights,
        "ordering": _ordering(properties, own, is_leaf=is_leaf),
        "is_by_priority": not is_leaf and _is_by_priority(properties, own, parent),
        "priority": int(_number(properties, own, "priority", 0.0, -PRIORITY_MAX - 1, PRIORITY_MAX)),
        "maximum_parallel_applications": _parallel(properties, own),
        "maximum_applications": int(_number(properties, own, APPLICATIONS, -1.0, -1.0, APPLICATIONS_MAX)),
        "applications_of_all": int(
            _number(properties, PREFIX, APPLICATIONS, USUAL_APPLICATIONS_MAX, 1.0, APPLICATIONS_MAX)
        ),
    }
    found |= _largest(properties, own, parent)
    for name, attribute in PREEMPTION_PROPERTIES.items():
        above = parent is not None and getattr(parent, attribute)
        found[attribute] = _is(own + name, words.get(name, ""), default=above)
    if own + "maximum-am-resource-percent" in properties:
        found["am_share"] = _number(properties, own, "maximum-am-resource-percent", 0.0, 0.0, 1.0)
    for name, is_plain in (
        ("user-limit-factor", found["user_limit_factor"] == 1.0),
        ("minimum-user-limit-percent", percent == 100.0),
        ("maximum-am-resource-percent", "am_share" not in found),
        (APPLICATIONS, own + APPLICATIONS not in properties),
    ):
        if not is_leaf and not is_plain:
            raise Refused(f"Property {own}{name} is not supported: it has no effect, {path} is not a leaf queue")
    return found


def _largest(properties: Mapping[str, str], own: str, parent: Queue | None) -> dict[str, int]:
    """Of a queue's containers (CapacitySchedulerConfiguration.getMaximumAllocationPerQueue); ``maximum-allocation``
    counts where both are said."""
    found = {
        field: int(_number(properties, own, name, 0.0, 1.0, APPLICATIONS_MAX))
        or (getattr(parent, field) if parent is not None else 0)
        for name, field in LARGEST.items()
    }
    text = properties.get(own + LARGEST_OF_ALL, "").strip().strip("[]")
    for part in text.split(",") if text else ():
        kind, _, amount = (piece.strip() for piece in part.partition("="))
        field = _KINDS.get(kind)
        if field is None or not plain(amount).isdecimal() or not 0 < int(amount) <= APPLICATIONS_MAX:
            raise _refused(own + LARGEST_OF_ALL, text, "memory-mb=MIB,vcores=NUMBER")
        found[field] = int(amount)
    return found


def largest_of(queue: Queue, parent: Queue | None) -> dict[str, str]:
    """What is said of the largest container, where it is not as above."""
    return {
        name: str(own)
        for name, field in LARGEST.items()
        if (own := getattr(queue, field)) and own != (getattr(parent, field) if parent is not None else 0)
    }


def limits_of(queue: Queue) -> dict[str, str]:
    """The properties that say what a leaf has, by their own names."""
    found = {"user-limit-factor": _text(queue.user_limit_factor)}
    if queue.minimum_user_limit_percent != 100.0:
        found["minimum-user-limit-percent"] = _text(queue.minimum_user_limit_percent)
    if queue.am_share is not None:
        found["maximum-am-resource-percent"] = _text(queue.am_share)
    if queue.maximum_applications >= 0:
        found["maximum-applications"] = str(queue.maximum_applications)
    if queue.ordering is not Ordering.FIFO:
        found["ordering-policy"] = queue.ordering.value
    before, after = _USER
    return found | {f"{before}{user}{after}": _text(weight) for user, weight in queue.user_weights}


def parallel_of(queue: Queue) -> dict[str, str]:
    """What is said of applications that run at once, of a leaf or a parent."""
    most = queue.maximum_parallel_applications
    return {} if most is None else {PARALLEL: str(most)}


def order_of(queue: Queue, parent: Queue | None) -> dict[str, str]:
    """What is said of its priority, and of the order of the queues below it where that is not as above."""
    found = {"priority": str(queue.priority)} if queue.priority else {}
    if not queue.is_leaf and queue.is_by_priority != (parent is not None and parent.is_by_priority):
        found["ordering-policy"] = queue.ordering_policy
    return found


def preemption_of(queue: Queue, parent: Queue | None) -> dict[str, str]:
    """What is said of giving back, where it is not as above."""
    return {
        name: str(own).lower()
        for name, attribute in PREEMPTION_PROPERTIES.items()
        if (own := getattr(queue, attribute)) != (parent is not None and getattr(parent, attribute))
    }


def _is(name: str, text: str, *, default: bool) -> bool:
    """As Configuration.getBoolean, but what is neither is refused."""
    value = text.strip().lower()
    if value not in ("", "true", "false"):
        raise _refused(name, text, "true or false")
    return value == "true" if value else default


def _factor(properties: Mapping[str, str], own: str) -> float:
    value = _number(properties, own, "user-limit-factor", 1.0, -1.0, FACTOR_MAX)
    if -1.0 < value < 0.0:
        raise _refused(f"{own}user-limit-factor", str(value), "a factor of at least 0, or -1 for no limit")
    return value


def _parallel(properties: Mapping[str, str], own: str) -> int | None:
    """CSMaxRunningAppsEnforcer: Integer.MAX_VALUE is no limit."""
    common = _number(properties, PREFIX, PARALLEL, APPLICATIONS_MAX, 0.0, APPLICATIONS_MAX)
    most = int(_number(properties, own, PARALLEL, common, 0.0, APPLICATIONS_MAX))
    return None if most == APPLICATIONS_MAX else most


def _ordering(properties: Mapping[str, str], own: str, *, is_leaf: bool) -> Ordering:
    name = own + "ordering-policy"
    text = properties.get(name, "").strip().lower()
    known = {ordering.value for ordering in Ordering} if is_leaf else {BY_USE, BY_PRIORITY}
    if text and text not in known:
        raise _refused(name, properties[name], " or ".join(sorted(known)))
    return Ordering(text) if text and is_leaf else Ordering.FIFO


def _is_by_priority(properties: Mapping[str, str], own: str, parent: Queue | None) -> bool:
    """A queue passes it down to those below that have queues below them (AbstractParentQueue)."""
    text = properties.get(own + "ordering-policy", "").strip().lower()
    return text == BY_PRIORITY if text else parent is not None and parent.is_by_priority


def _weights(properties: Mapping[str, str], own: str, path: str, words: Mapping[str, str]) -> dict[str, float]:
    names = {user: name for name in words if (user := user_of(name))}
    if len(names) > USERS_MAX:
        raise Refused(f"Too many users with a weight in {path}: at most {USERS_MAX}")
    for user, name in names.items():
        if len(user) > USER_LENGTH_MAX:
            text = f"the name of a user of at most {USER_LENGTH_MAX} characters"
            raise Refused(f"Invalid property: {(own + name)[:80]!r}; expected {text}")
    return {user: _number(properties, own, name, 1.0, -math.inf, math.inf) for user, name in names.items()}


def _require_weights(path: str, weights: UserWeights, percent: float) -> None:
    """UserWeights.validateForLeafQueue: of those that it has from above too."""
    most = min(WEIGHT_MAX, 100.0 / percent) if percent else WEIGHT_MAX
    if not weights or 0.0 <= weights.least <= weights.most <= most:
        return
    for user, weight in weights:
        if not 0.0 <= weight <= most:
            raise Refused(
                f'Weight ({weight}) for user "{user}" must be between 0 and 100 / {percent} (= {most}, the number of '
                f"concurrent active users in {path})"
            )


def _number(properties: Mapping[str, str], own: str, name: str, default: float, least: float, most: float) -> float:
    text = properties.get(own + name)
    if text is None or not text.strip():
        return default
    try:
        value = float(plain(text))
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or not least <= value <= most:
        raise _refused(own + name, text, f"a number from {least:g} to {most:g}" if math.isfinite(least) else "a number")
    if name in ("maximum-applications", "priority", PARALLEL, *LARGEST) and value != int(value):
        raise _refused(own + name, text, "a whole number")
    return value


def _refused(name: str, value: str, expected: str) -> Refused:
    return Refused(f"Invalid {name}: {value[:80]!r}; expected {expected}")


def _text(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
