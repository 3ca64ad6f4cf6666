"""Pools in Kubernetes' words: which resource names each stands for, and what a node lends by its allocatable.

Dialects with the same two resource names draw on one pool, which bears their names: an amount that is lent once is not
counted twice.  Two that share one name, or mean different amounts by it, are refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from yodel.domain.queues.pools import NATIVE, YARN, PoolName, Pools
from yodel.domain.resource import Resource
from yodel.errors import InvalidValue
from yodel.translator.dialects import DIALECTS, MIB, Dialect, Measures
from yodel.translator.node_fit import milli

_ORDINARY = DIALECTS["native"].measures


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolKind:
    """One pool: its dialects' names, and how its amounts are written."""

    name: PoolName
    dialects: tuple[str, ...]
    measures: Measures


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolRules:
    """Defines the pools of the queues.  ``milli_per_vcore``: thousandths of a core in a vcore.  ``node_managers``: the
    pool that NodeManagers are nodes of."""

    pools: Pools = field(default_factory=Pools)
    kinds: Mapping[PoolName, PoolKind] = field(default_factory=dict)
    milli_per_vcore: int = 1000
    node_managers: PoolName = YARN

    def lent(self, name: PoolName, allocatable: Mapping[str, str]) -> Resource | None:
        """Return a node's capacity in a pool by its allocatable; None: it publishes neither of the two resources."""
        measures = self.kinds[name].measures
        if measures.cpu not in allocatable and measures.memory not in allocatable:
            return None
        return amount(measures, allocatable, self.milli_per_vcore)

    def ordinary(self, allocatable: Mapping[str, str]) -> Resource:
        """The node's cores and memory, whoever uses them."""
        return amount(_ORDINARY, allocatable, self.milli_per_vcore)

    def taken(self, held: Mapping[str, int]) -> Resource:
        """Ordinary cores and memory that pods hold, thousandths by resource name: vcores and MiB, rounded up."""
        cpu, memory = max(0, held.get(_ORDINARY.cpu, 0)), max(0, held.get(_ORDINARY.memory, 0))
        return Resource(-(-memory // (1000 * MIB)), -(-cpu // self.milli_per_vcore))


def amount(measures: Measures, allocatable: Mapping[str, str], milli_per_vcore: int) -> Resource:
    """Whole vcores and MiB, rounded down; what is missing or cannot be read is nothing, and so is less than that."""
    cpu, memory = (
        max(0, milli(allocatable.get(measures.cpu, "0"))),
        max(0, milli(allocatable.get(measures.memory, "0"))),
    )
    cpu_milli = cpu // 1000 if measures.cpu_unit == "milli" else cpu
    mib = memory // 1000 if measures.memory_unit == "mib" else memory // 1000 // MIB
    return Resource(mib, cpu_milli // milli_per_vcore)


def rules_of(
    default: Dialect, by_child: Mapping[str, Dialect], milli_per_vcore: int, node_managers_pool: str = YARN
) -> PoolRules:
    """Return the pools for the dialect of root, and for children of root by path that have another.

    Raises:
        InvalidValue: two dialects share a resource and are not one pool; ``node_managers_pool`` is none that a queue
            draws on, or a queue has the pool of NodeManagers that are nodes of another.
    """
    dialects = {one.name: one for one in (default, *by_child.values())}
    named: dict[Measures, list[str]] = {}
    for name in sorted(dialects):
        if dialects[name].has_pods:
            named.setdefault(dialects[name].measures, []).append(name)
    _check_apart(named)
    kinds = {
        measures: PoolKind(name=_name(measures, names), dialects=tuple(names), measures=measures)
        for measures, names in named.items()
    }

    def pool_of(one: Dialect) -> PoolName:
        return kinds[one.measures].name if one.has_pods else YARN

    own = {path: pool_of(one) for path, one in by_child.items() if one.measures != default.measures}
    known = {kind.name: kind for kind in kinds.values()}
    _check_node_managers(node_managers_pool, known, has_own=any(not one.has_pods for one in dialects.values()))
    return PoolRules(
        pools=Pools(default=pool_of(default), by_child=own),
        kinds=known,
        milli_per_vcore=milli_per_vcore,
        node_managers=PoolName(node_managers_pool),
    )


def _check_node_managers(pool: str, kinds: Mapping[PoolName, PoolKind], *, has_own: bool) -> None:
    if pool == YARN:
        return
    if pool not in kinds:
        expected = "the name of a pool that queues draw on: " + ", ".join(sorted((*kinds, YARN)))
        raise InvalidValue("node_managers_pool", pool, expected)
    if has_own:
        raise InvalidValue(
            "node_managers_pool", pool, "yarn while a queue has the dialect yarn: its pool would be empty"
        )


def _name(measures: Measures, names: Iterable[str]) -> PoolName:
    return NATIVE if measures == _ORDINARY else PoolName("+".join(names))


def _check_apart(named: Mapping[Measures, list[str]]) -> None:
    """One resource in two pools would be lent twice."""
    seen: dict[str, tuple[Measures, str]] = {}
    for measures, names in named.items():
        for resource in (measures.cpu, measures.memory):
            other, whose = seen.setdefault(resource, (measures, names[0]))
            if other != measures:
                expected = f"resources and units as {whose} has them, or two others: they are one pool or none"
                raise InvalidValue(f"dialects.{names[0]}", resource, expected)
