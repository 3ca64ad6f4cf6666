"""Converts properties to queues, and queues to properties.  Pure.

The possible properties and their values are the table's (``yodel.domain.queues.property_table``); here they form a tree
whose shares add up.  Properties without effect are refused by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from yodel.domain.colocation import properties as colocation
from yodel.domain.colocation.switch import OFF, ColocationSwitch
from yodel.domain.property_row import PropertyEffect, number_text
from yodel.domain.queues.access import submit_acl
from yodel.domain.queues.bounds import require_properties
from yodel.domain.queues.limit_properties import common_fields, fields_of, said_of, said_of_all, text_of
from yodel.domain.queues.mapping import NO_RULES, MappingRules
from yodel.domain.queues.mapping_properties import mapping_of
from yodel.domain.queues.pools import Pools
from yodel.domain.queues.property_table import (
    AM_SHARE,
    BY_QUEUE,
    BY_SCHEDULER,
    CAPACITY,
    DOMINANT,
    MAXIMUM_CAPACITY,
    NAMES,
)
from yodel.domain.queues.queue import ROOT, Queue, QueueState
from yodel.domain.queues.removal import MARK, require_marks
from yodel.domain.queues.siblings import TOLERANCE, require_amounts, require_one_kind, require_together
from yodel.domain.queues.window_properties import windows_said, with_windows
from yodel.domain.queues.words import owner, tree_of, words_of
from yodel.domain.scheduler_conf import DEPTH_MAX, PREFIX, QUEUES_MAX
from yodel.domain.shuffle.words import with_shuffle, words_said
from yodel.errors import Refused, did_you_mean

ONE_POOL = Pools()
MAXIMUM_AM_SHARE = f"{PREFIX}{AM_SHARE.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """Holds the parsed configuration."""

    queues: tuple[Queue, ...]
    am_share: float | None
    """maximum-am-resource-percent; None: as in the settings."""
    mapping: MappingRules = NO_RULES
    colocation: ColocationSwitch = OFF


def properties_of(queues: Iterable[Queue], am_share: float) -> dict[str, str]:
    """The configuration that describes these queues."""
    tree = list(queues)
    by_path = {queue.path: queue for queue in tree}
    names: dict[str | None, list[str]] = {}
    for queue in tree:
        names.setdefault(queue.parent_path, []).append(queue.name)
    of_all = {AM_SHARE.name: number_text(am_share), "resource-calculator": DOMINANT}
    if ROOT in by_path:
        of_all |= said_of_all(by_path[ROOT])
    found = {PREFIX + name: text for name, text in of_all.items()}
    for queue in tree:
        said = said_of(queue, by_path.get(queue.parent_path or "")) | windows_said(queue) | words_said(queue)
        if below := names.get(queue.path):
            said["queues"] = ",".join(below)
        if queue.path == ROOT:
            said["acl_submit_applications"] = submit_acl(queue)
        found |= {f"{PREFIX}{queue.path}.{name}": text for name, text in said.items()}
    return found


def capacity_text(queue: Queue) -> str:
    """Return the capacity as the property's text: ``30``, ``3w``, ``[memory=10240,vcores=12]``."""
    return text_of(CAPACITY, queue)


def maximum_text(queue: Queue) -> str:
    return text_of(MAXIMUM_CAPACITY, queue)


class Present(NamedTuple):
    """Holds properties and the queues that ``described`` made of them, by path."""

    properties: Mapping[str, str]
    queues: Mapping[str, Queue]


NONE_PRESENT = Present({}, {})


def described(
    properties: Mapping[str, str], pools: Pools | None = ONE_POOL, present: Present = NONE_PRESENT
) -> Described:
    """The queues, each after its parent.  ``pools`` None: what they draw on is not known here, and judged elsewhere.

    A queue of ``present`` is used again, the same object, if neither its own properties nor what it inherits changed.

    Raises:
        Refused: a property that would have no effect, a malformed value, capacities that do not add up.
    """
    changed = {name: text for name, text in properties.items() if present.properties.get(name) != text}
    require_properties(changed.items())
    queues: list[Queue] = []
    below = tree_of(properties)
    words = words_of(below.keys(), properties)
    unchanged = _unchanged(below.keys(), words, present.queues)
    _walk(ROOT, None, queues, _Said(below, words, common_fields(properties), unchanged), pools)
    _require_known(changed if below.keys() == present.queues.keys() else properties, below.keys())
    require_marks(queues, words)
    share = properties.get(MAXIMUM_AM_SHARE)
    am_share = None if share is None else AM_SHARE.kind.parse(MAXIMUM_AM_SHARE, share)
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
    """Holds by path the names of the queues below one and its own properties; the fields that the whole scheduler sets
    for each; and the queues that are used again."""

    below: Mapping[str, Sequence[str]]
    words: Mapping[str, Mapping[str, str]]
    common: Mapping[str, Any]
    unchanged: Mapping[str, Queue]


def _unchanged(
    paths: Iterable[str], words: Mapping[str, Mapping[str, str]], present: Mapping[str, Queue]
) -> dict[str, Queue]:
    """Return the queues that are described as before.  ``paths`` has parents first.

    What a queue inherits are properties of those above it, and no queue inherits the names of others.
    """
    found: dict[str, Queue] = {}
    alike = {""}
    for path in paths:
        queue = present.get(path)
        if queue is None or path.rpartition(".")[0] not in alike:
            continue
        own = dict(queue.said)
        if own == words[path]:
            found[path] = queue
        if {**own, "queues": ""} == {**words[path], "queues": ""}:
            alike.add(path)
    return found


def _walk(path: str, parent: Queue | None, found: list[Queue], said: _Said, pools: Pools | None) -> None:
    names = said.below[path]
    queue = said.unchanged.get(path) or _queue(path, parent, said, is_leaf=not names)
    found.append(queue)
    is_legacy = not found[0].is_free_mix
    if path not in said.unchanged:
        require_amounts(queue, is_legacy=is_legacy)
        NAMES.kind.parse(f"{PREFIX}{path}.queues", ",".join(names))
    if len(found) > QUEUES_MAX or path.count(".") >= DEPTH_MAX:
        raise Refused(f"Too many queues: at most {QUEUES_MAX}, in at most {DEPTH_MAX} levels")
    if not names:
        return
    places: list[int] = []
    for name in names:
        places.append(len(found))
        _walk(f"{path}.{name}", queue, found, said, pools)
    # Those of the root share by pools, which may be others than before.
    if path != ROOT and said.unchanged.keys() >= {path, *(found[place].path for place in places)}:
        return
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


def _queue(path: str, parent: Queue | None, said: _Said, *, is_leaf: bool) -> Queue:
    words = said.words[path]
    fields: dict[str, Any] = {**said.common, **fields_of(path, words, parent, is_leaf=is_leaf)}
    fields["said"] = tuple(words.items())
    if parent is None:
        return _checked(Queue(path=path, is_leaf=is_leaf, **fields))
    queue = Queue(path=path, is_leaf=is_leaf, **{"capacity_percent": 0.0, **fields, "is_free_mix": False})
    if parent.state is QueueState.STOPPED and queue.state is QueueState.RUNNING:
        raise Refused(
            f"The parent queue:{parent.path} cannot be STOPPED as the child queue:{path} is in RUNNING state."
        )
    longest_s, usual_s = queue.maximum_lifetime_s, queue.default_lifetime_s
    if longest_s < 0:
        longest_s = parent.maximum_lifetime_s
    # AbstractCSQueue.getInheritedDefaultAppLifetime: one from above that is too long here does not count.
    if usual_s < 0 and not 0 < longest_s < parent.default_lifetime_s:
        usual_s = parent.default_lifetime_s
    if (longest_s, usual_s) != (queue.maximum_lifetime_s, queue.default_lifetime_s):
        queue = replace(queue, maximum_lifetime_s=longest_s, default_lifetime_s=usual_s)
    return _checked(queue)


def _checked(queue: Queue) -> Queue:
    if queue.path == ROOT and queue.capacity_percent != 100.0 and not queue.capacity_amounts:
        raise Refused(f"Illegal capacity of {queue.capacity_percent / 100.0} for queue {ROOT}. Must be 100.0")
    if queue.capacity_percent > queue.maximum_capacity_percent:
        raise _over_maximum(queue.path, queue.capacity_percent, queue.maximum_capacity_percent)
    if 0 < queue.maximum_lifetime_s < queue.default_lifetime_s:
        usual_s, longest_s = queue.default_lifetime_s, queue.maximum_lifetime_s
        raise Refused(f"Default lifetime {usual_s} can't exceed maximum lifetime {longest_s}")
    return queue


def _over_maximum(path: str, capacity: float, maximum: float) -> Refused:
    """Return the refusal in Hadoop's words, which do not name the queue; a note does."""
    shares = f"(abs-capacity={capacity / 100.0}) > (abs-maximum-capacity={maximum / 100.0})"
    error = Refused(f"Illegal queue capacity setting, {shares}. When label=[]")
    error.add_note(f"in queue {path}")
    return error


def _weighed(below: Sequence[Queue]) -> list[Queue]:
    """Weights as percents of their sum, where all siblings have one (AbstractParentQueue.setChildQueues)."""
    weights = [child.weight for child in below if child.weight is not None]
    total = sum(weights) if len(weights) == len(below) else 0.0
    found: list[Queue] = []
    for child in below:
        part = child.capacity_percent
        if child.weight is not None:
            part = 100.0 * child.weight / total if total else 0.0
        if part > child.maximum_capacity_percent:
            raise _over_maximum(child.path, part, child.maximum_capacity_percent)
        found.append(child if part == child.capacity_percent else replace(child, capacity_percent=part))
    return found


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
        if name.startswith(colocation.PREFIX):  # which of them there are is said there
            continue
        if not name.startswith(PREFIX):
            raise Refused(f"Property {name} is not supported: it has no effect")
        short = name.removeprefix(PREFIX)
        path, own = owner(short, paths)
        row = BY_QUEUE.find(own) if path else BY_SCHEDULER.find(short)
        if row is None or not row.may_be_set:
            hint = _hint(path, own, paths) if path else BY_SCHEDULER.nearest(short)
            raise Refused(f"Property {name} is not supported: {hint or 'it has no effect'}")
        if row.effect is PropertyEffect.FIXED and not row.is_accepted(value):
            raise Refused(f"Property {name} cannot be {value}: it has no effect, expected {row.accepts}")


def _hint(path: str, own: str, paths: Set[str]) -> str:
    """Return a suggestion for an unknown property of the queue at ``path``."""
    hint = BY_QUEUE.nearest(own)
    queue, _, rest = own.partition(".")
    if not hint and rest:  # a queue that is not there
        return did_you_mean(queue, [one.rpartition(".")[2] for one in paths if one.rpartition(".")[0] == path])
    return hint


def require_passable(
    present: Mapping[str, Queue], wanted: Mapping[str, Queue], used: Set[str], *, may_empty_go: bool = False
) -> None:
    """Check that the tree may become the other (CapacitySchedulerQueueManager.validateQueueHierarchy).

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
