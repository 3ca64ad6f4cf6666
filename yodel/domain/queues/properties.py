"""CapacityScheduler properties and the queues they describe, both ways.  Pure.

Three kinds.  What has an effect here is read and kept.  What this scheduler does in one way only may be said with the
value that says so, because managing tools write these properties with every queue.  Everything else is refused by its
name: a configuration that is accepted and does nothing would be a lie.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import NamedTuple

from yodel.domain.colocation import properties as colocation
from yodel.domain.colocation.switch import OFF, Colocation
from yodel.domain.numerals import plain
from yodel.domain.queues.access import submit_acl
from yodel.domain.queues.amounts import WEIGHT_MAX, is_by_resource, said_in, text_of
from yodel.domain.queues.bounds import require_properties
from yodel.domain.queues.limit_properties import (
    APPLICATIONS,
    LARGEST,
    LARGEST_OF_ALL,
    PARALLEL,
    PREEMPTION_PROPERTIES,
    largest_of,
    limits,
    limits_of,
    order_of,
    parallel_of,
    preemption_of,
    user_of,
)
from yodel.domain.queues.mapping import NO_RULES, MappingRules
from yodel.domain.queues.mapping_properties import MAPPING_PROPERTIES, mapping_of
from yodel.domain.queues.pools import Pools
from yodel.domain.queues.queue import APPLICATIONS_MAX, LIFETIME_S_MAX, ROOT, Queue, QueueState, is_name
from yodel.domain.queues.removal import MARK, require_marks
from yodel.domain.queues.siblings import TOLERANCE, require_amounts, require_one_kind, require_together
from yodel.domain.queues.window_properties import window_of, windows_said, with_windows
from yodel.domain.queues.words import owner, tree_of, words_of
from yodel.domain.scheduler_conf import DEPTH_MAX, PREFIX, QUEUES_MAX
from yodel.domain.shuffle.words import is_shuffle_word, with_shuffle, words_said
from yodel.errors import Refused, did_you_mean

ONE_POOL = Pools()
LEGACY_MODE = f"{PREFIX}legacy-queue-mode.enabled"
MAXIMUM_AM_SHARE = f"{PREFIX}maximum-am-resource-percent"

QUEUE_PROPERTIES = frozenset(
    {
        *("queues", "capacity", "maximum-capacity", "state", "acl_submit_applications", "acl_administer_queue"),
        *("maximum-application-lifetime", "default-application-lifetime"),
        *("user-limit-factor", "minimum-user-limit-percent", "maximum-am-resource-percent", "maximum-applications"),
        *("priority", "ordering-policy", PARALLEL, *PREEMPTION_PROPERTIES, *LARGEST, LARGEST_OF_ALL, MARK),
    }
)
"""Of one queue, with an effect."""

AS_IT_IS: Mapping[str, frozenset[str]] = {
    "default-application-priority": frozenset({"0"}),
    "accessible-node-labels": frozenset({"*"}),
    "auto-create-child-queue.enabled": frozenset({"false"}),
    "auto-queue-creation-v2.enabled": frozenset({"false"}),
    "reservable": frozenset({"false"}),
}
"""Of one queue: done in one way, which these values say."""

ALL_AS_IT_IS: Mapping[str, frozenset[str]] = {
    "resource-calculator": frozenset({"org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"}),
    "schedule-asynchronously.enable": frozenset({"true"}),
    "multi-node-placement-enabled": frozenset({"true"}),
}
"""Of the whole scheduler, likewise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """What a configuration says."""

    queues: tuple[Queue, ...]
    am_share: float | None
    """maximum-am-resource-percent; None: as in the settings."""
    mapping: MappingRules = NO_RULES
    colocation: Colocation = OFF


def properties_of(queues: Iterable[Queue], am_share: float) -> dict[str, str]:
    """The configuration that describes these queues."""
    found = {
        MAXIMUM_AM_SHARE: _number(am_share),
        **{PREFIX + name: next(iter(values)) for name, values in ALL_AS_IT_IS.items() if name == "resource-calculator"},
    }
    tree = list(queues)
    names: dict[str | None, list[str]] = {}
    if any(queue.is_free_mix for queue in tree):
        found[LEGACY_MODE] = "false"
    by_path = {queue.path: queue for queue in tree}
    for queue in tree:
        names.setdefault(queue.parent_path, []).append(queue.name)
    for queue in tree:
        own = f"{PREFIX}{queue.path}."
        if below := names.get(queue.path):
            found[f"{own}queues"] = ",".join(below)
        if queue.path != ROOT:
            found[f"{own}capacity"] = capacity_text(queue)
            found[f"{own}maximum-capacity"] = maximum_text(queue)
            found[f"{own}state"] = (
                QueueState.RUNNING if queue.state is QueueState.RUNNING else QueueState.STOPPED
            ).name
        if queue.submit_acl is not None or queue.path == ROOT:
            found[f"{own}acl_submit_applications"] = submit_acl(queue)
        if queue.administer_acl is not None:
            found[f"{own}acl_administer_queue"] = queue.administer_acl
        parent = by_path.get(queue.parent_path) if queue.parent_path is not None else None
        found |= {own + name: text for name, text in preemption_of(queue, parent).items()}
        found |= {own + name: text for name, text in {**parallel_of(queue), **order_of(queue, parent)}.items()}
        found |= {own + name: text for name, text in {**windows_said(queue), **words_said(queue)}.items()}
        found |= {own + name: text for name, text in largest_of(queue, parent).items()}
        if queue.path == ROOT and queue.applications_of_all != APPLICATIONS_MAX:
            found[PREFIX + APPLICATIONS] = str(queue.applications_of_all)
        if queue.is_leaf:
            found |= {own + name: text for name, text in limits_of(queue).items()}
            found[f"{own}maximum-application-lifetime"] = str(queue.maximum_lifetime_s)
            found[f"{own}default-application-lifetime"] = str(queue.default_lifetime_s)
    return found


def capacity_text(queue: Queue) -> str:
    """As it is said: ``30``, ``3w``, ``[memory=10240,vcores=12]``."""
    if queue.capacity_amounts:
        return text_of(queue.capacity_amounts)
    return _number(queue.capacity_percent) if queue.weight is None else f"{_number(queue.weight)}w"


def maximum_text(queue: Queue) -> str:
    return text_of(queue.maximum_amounts) if queue.maximum_amounts else _number(queue.maximum_capacity_percent)


def described(properties: Mapping[str, str], pools: Pools | None = ONE_POOL) -> Described:
    """The queues, each after its parent.  ``pools`` None: what they draw on is not known here, and judged elsewhere.

    Raises:
        Refused: a property that would have no effect, a malformed value, capacities that do not add up.
    """
    require_properties(properties.items())
    queues: list[Queue] = []
    below = tree_of(properties)
    words = words_of(below.keys(), properties)
    _walk(properties, ROOT, None, queues, _Said(below, words), pools)
    _require_known(properties, below.keys())
    require_marks(queues, words)
    share = properties.get(MAXIMUM_AM_SHARE)
    am_share = None if share is None else _float(MAXIMUM_AM_SHARE, share)
    if am_share is not None and not 0 < am_share <= 1:
        raise _refused(MAXIMUM_AM_SHARE, str(share), "a part of the cluster, over 0 and at most 1")
    staying = [queue for queue in queues if MARK not in words[queue.path]]  # a rule would keep a queue that is to go
    leaves = [queue.path for queue in staying if queue.is_leaf]
    mapping = mapping_of(properties, leaves, [queue.path for queue in staying if not queue.is_leaf])
    return Described(
        queues=tuple(with_shuffle(with_windows(queues, words), words)),
        am_share=am_share,
        mapping=mapping,
        colocation=colocation.colocation_of(properties),
    )


class _Said(NamedTuple):
    """By path: the names of the queues below one, and what is said of it by its own names."""

    below: Mapping[str, Sequence[str]]
    words: Mapping[str, Mapping[str, str]]


def _walk(
    properties: Mapping[str, str],
    path: str,
    parent: Queue | None,
    found: list[Queue],
    said: _Said,
    pools: Pools | None,
) -> None:
    names = said.below[path]
    queue = _queue(properties, path, parent, said.words[path], is_leaf=not names)
    found.append(queue)
    require_amounts(queue, is_legacy=not found[0].is_free_mix)
    if len(found) > QUEUES_MAX or path.count(".") >= DEPTH_MAX:
        raise Refused(f"Too many queues: at most {QUEUES_MAX}, in at most {DEPTH_MAX} levels")
    if len({*names}) != len(names) or not all(map(is_name, names)):
        text = "names of letters, digits, _ and -, none twice"
        raise _refused(f"{PREFIX}{path}.queues", ",".join(names), text)
    if not names:
        return
    below = len(found)
    for name in names:
        _walk(properties, f"{path}.{name}", queue, found, said, pools)
    places = [place for place in range(below, len(found)) if found[place].parent_path == path]
    is_legacy = not found[0].is_free_mix
    families = _families(queue, [found[place] for place in places], pools)
    is_any_pool = pools is None and path == ROOT
    if is_legacy:
        require_one_kind(queue, [found[place] for place in places])
    for family in families:
        require_together(queue, family, are_percents_judged=not is_legacy and not is_any_pool)
    now = {child.path: child for family in families for child in _weighed(family)}
    for place in places:
        found[place] = now[found[place].path]
    if is_legacy:
        sums = [[now[child.path] for child in family] for family in families]
        # What is marked to go has no share, and may be all that is left on a pool.
        sums = [family for family in sums if any(MARK not in said.words[child.path] for child in family)] or sums
        _require_sums(queue, sums, is_any_pool=is_any_pool)


def _queue(
    properties: Mapping[str, str],
    path: str,
    parent: Queue | None,
    words: Mapping[str, str],
    *,
    is_leaf: bool,
) -> Queue:
    own = f"{PREFIX}{path}."

    def text(name: str, default: str) -> str:
        return properties.get(own + name, default).strip()

    written = text("capacity", "100" if parent is None else "0")
    amounts = said_in(own + "capacity", written) if is_by_resource(written) else ()
    weight = _weight(own + "capacity", written, path) if parent is not None else None
    capacity = _percent(own, "capacity", written, path) if weight is None and not amounts else 0.0
    if parent is None and capacity != 100.0 and not amounts:
        raise Refused(f"Illegal capacity of {capacity / 100.0} for queue {path}. Must be 100.0")
    most = text("maximum-capacity", "100")
    maximum_amounts = said_in(own + "maximum-capacity", most) if is_by_resource(most) else ()
    maximum = _percent(own, "maximum-capacity", most, path) if not maximum_amounts else 100.0
    if capacity > maximum:
        raise _over_maximum(path, capacity, maximum)
    longest_s = _lifetime_s(own + "maximum-application-lifetime", text("maximum-application-lifetime", "-1"))
    usual_s = _lifetime_s(own + "default-application-lifetime", text("default-application-lifetime", "-1"))
    if longest_s < 0 and parent is not None:
        longest_s = parent.maximum_lifetime_s
    if 0 < longest_s < usual_s:
        raise Refused(f"Default lifetime {usual_s} can't exceed maximum lifetime {longest_s}")
    # AbstractCSQueue.getInheritedDefaultAppLifetime: one from above that is too long here does not count.
    if usual_s < 0 and parent is not None and not 0 < longest_s < parent.default_lifetime_s:
        usual_s = parent.default_lifetime_s
    return Queue(
        path=path,
        state=_state(own + "state", text("state", ""), path, parent),
        capacity_percent=capacity,
        maximum_capacity_percent=maximum,
        is_leaf=is_leaf,
        maximum_lifetime_s=longest_s,
        default_lifetime_s=usual_s,
        submit_acl=properties.get(own + "acl_submit_applications"),
        administer_acl=properties.get(own + "acl_administer_queue"),
        weight=weight,
        capacity_amounts=amounts,
        maximum_amounts=maximum_amounts,
        is_free_mix=parent is None and not _is_legacy(properties),
        **limits(properties, own, path, parent, words, is_leaf=is_leaf),
    )


def _over_maximum(path: str, capacity: float, maximum: float) -> Refused:
    """In Hadoop's words, which do not say whose; a note does."""
    shares = f"(abs-capacity={capacity / 100.0}) > (abs-maximum-capacity={maximum / 100.0})"
    error = Refused(f"Illegal queue capacity setting, {shares}. When label=[]")
    error.add_note(f"in queue {path}")
    return error


def _state(name: str, text: str, path: str, parent: Queue | None) -> QueueState:
    """A queue that says nothing is as its parent (QueueStateHelper)."""
    if not text:
        return QueueState.RUNNING if parent is None else parent.state
    if text not in (QueueState.RUNNING.name, QueueState.STOPPED.name):
        raise _refused(name, text, "RUNNING or STOPPED")
    state = QueueState[text]
    if parent is not None and parent.state is QueueState.STOPPED and state is QueueState.RUNNING:
        raise Refused(
            f"The parent queue:{parent.path} cannot be STOPPED as the child queue:{path} is in RUNNING state."
        )
    return state


def _weight(name: str, text: str, path: str) -> float | None:
    """``3w``; None: it is not a weight."""
    if not text.endswith("w"):
        return None
    value = _float(name, text.removesuffix("w"))
    if not 0.0 <= value <= WEIGHT_MAX:
        raise Refused(
            f"Illegal weight={value} for queue={path}label=. Acceptable values: [0, 10000], -1 is same as not set"
        )
    return value


def _is_legacy(properties: Mapping[str, str]) -> bool:
    text = properties.get(LEGACY_MODE, "").strip().lower()
    if text not in ("", "true", "false"):
        raise _refused(LEGACY_MODE, text, "true or false")
    return text != "false"


def _weighed(below: Sequence[Queue]) -> list[Queue]:
    """Weights as percents of their sum, where all siblings have one (AbstractParentQueue.setChildQueues)."""
    weights = [child.weight for child in below if child.weight is not None]
    if len(weights) < len(below):
        return list(below)
    total = sum(weights)
    parts = [100.0 * weight / total if total else 0.0 for weight in weights]
    for child, part in zip(below, parts, strict=True):
        if part > child.maximum_capacity_percent:
            raise _over_maximum(child.path, part, child.maximum_capacity_percent)
    return [replace(child, capacity_percent=part) for child, part in zip(below, parts, strict=True)]


def _families(parent: Queue, below: Sequence[Queue], pools: Pools | None) -> list[list[Queue]]:
    """Siblings that share out one thing: root's children by what they draw on, all others together."""
    if parent.path != ROOT or pools is None:
        return [list(below)]
    found: dict[str, list[Queue]] = {}
    for child in below:
        found.setdefault(pools.of(child.path), []).append(child)
    return list(found.values())


def _require_sums(parent: Queue, families: Sequence[Sequence[Queue]], *, is_any_pool: bool) -> None:
    """Percents are of what a family shares out.  All of root's children together may be 100 too, as before pools.
    ``is_any_pool``: what they draw on is not known here, so as many pools as fit."""
    everybody = [child for family in families for child in family]
    if any(child.weight is not None or child.capacity_amounts for child in everybody):
        return
    together = _sum(everybody)
    if _is_whole(together) and len(families) > 1:
        return
    if is_any_pool and round(together) in range(1, len(everybody) + 1) and _is_whole(together - round(together) + 1):
        return
    for family in families:
        error = _wrong_sum(parent, _sum(family))
        if error is not None:
            if len(families) > 1:
                error.add_note(f"of {', '.join(child.path for child in family)}, which share one pool")
            raise error


def _sum(family: Sequence[Queue]) -> float:
    return sum(child.capacity_percent for child in family) / 100.0


def _is_whole(total: float) -> bool:
    return abs(total - 1.0) <= TOLERANCE


def _wrong_sum(parent: Queue, total: float) -> Refused | None:
    """AbstractParentQueue.setChildQueues."""
    if _is_whole(total) or (total == 0.0 and parent.capacity_percent == 0.0):
        return None
    text = f"Illegal capacity sum of {float(f'{total:.7g}')} for children of queue {parent.path} for label=. "
    if total == 0.0:
        text += "It is set to 0, but parent percent != 0, and doesn't allow children capacity to set to 0"
    else:
        text += "It should be either 0 or 1.0"
    return Refused(text)


def _require_known(properties: Mapping[str, str], paths: Set[str]) -> None:
    for name, value in properties.items():
        short = name.removeprefix(PREFIX)
        if name in (MAXIMUM_AM_SHARE, LEGACY_MODE, PREFIX + PARALLEL, PREFIX + APPLICATIONS, *MAPPING_PROPERTIES):
            continue
        if name.startswith(colocation.PREFIX):  # which of them there are is said there
            continue
        path, own = owner(short, paths)
        is_known = own in QUEUE_PROPERTIES or user_of(own) or any(window_of(own)) or is_shuffle_word(own)
        if name.startswith(PREFIX) and path and is_known:
            continue
        allowed = AS_IT_IS.get(own) if path else ALL_AS_IT_IS.get(short)
        if allowed is None or not name.startswith(PREFIX):
            hint = _hint(short, path, own, paths) if name.startswith(PREFIX) else ""
            raise Refused(f"Property {name} is not supported: {hint or 'it has no effect'}")
        if value.strip().lower() not in {one.lower() for one in allowed}:
            raise Refused(
                f"Property {name} cannot be {value}: it has no effect, expected {' or '.join(sorted(allowed))}"
            )


def _hint(short: str, path: str, own: str, paths: Set[str]) -> str:
    """What somebody may have meant who wrote this of the queue at ``path``, or of all queues."""
    if not path:
        overall = (MAXIMUM_AM_SHARE, LEGACY_MODE, PREFIX + PARALLEL, PREFIX + APPLICATIONS, *MAPPING_PROPERTIES)
        return did_you_mean(short, [name.removeprefix(PREFIX) for name in overall])
    hint = did_you_mean(own, (*QUEUE_PROPERTIES, *AS_IT_IS))
    queue, _, rest = own.partition(".")
    if not hint and rest:  # a queue that is not there
        return did_you_mean(queue, [one.rpartition(".")[2] for one in paths if one.rpartition(".")[0] == path])
    return hint


def _percent(own: str, name: str, text: str, path: str) -> float:
    value = _float(own + name, text.removesuffix("%"))
    if name == "maximum-capacity" and value == -1.0:
        return 100.0
    if not 0.0 <= value <= 100.0:
        raise Refused(f"Illegal {'capacity' if name == 'capacity' else name} of {value} for queue {path}")
    return value


def _float(name: str, text: str) -> float:
    try:
        value = float(plain(text))
    except ValueError as error:
        raise _refused(name, text, "a number, or by resource such as [memory=10240,vcores=12]") from error
    if not math.isfinite(value):
        raise _refused(name, text, "a number")
    return value


def _lifetime_s(name: str, text: str) -> int:
    try:
        value = int(plain(text))
    except ValueError as error:
        raise _refused(name, text, "whole seconds") from error
    if not -1 <= value <= LIFETIME_S_MAX:
        raise _refused(name, text, f"seconds, at most {LIFETIME_S_MAX}, or -1")
    return value


def _refused(name: str, value: str, expected: str) -> Refused:
    return Refused(f"Invalid {name}: {value!r}; expected {expected}")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)


def require_passable(
    present: Mapping[str, Queue], wanted: Mapping[str, Queue], used: Set[str], *, may_empty_go: bool = False
) -> None:
    """Whether the tree may become the other (CapacitySchedulerQueueManager.validateQueueHierarchy).

    ``used`` are the queues that have an application under way, in them or below them.  ``may_empty_go``: one that has
    none goes also where it was not stopped before.

    Raises:
        Refused: a queue goes, or gets queues below it, that is not stopped and empty.
    """
    for path, queue in present.items():
        now = wanted.get(path)
        if now is not None and (now.is_leaf or not queue.is_leaf):
            continue
        if path not in used and (queue.state is not QueueState.RUNNING or (now is None and may_empty_go)):
            continue
        state = queue.state if queue.state is QueueState.RUNNING else QueueState.DRAINING
        if now is None:
            raise Refused(
                f"{path} cannot be deleted from the capacity scheduler configuration, as the queue is not yet in "
                f"stopped state. Current State : {state.name}"
            )
        raise Refused(
            f"Can not convert the leaf queue: {path} to parent queue since it is not yet in stopped state. "
            f"Current State : {state.name}"
        )
