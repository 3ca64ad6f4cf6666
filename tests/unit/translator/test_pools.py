"""Resources are grouped into pools, and an allocatable comes to vcores and MiB."""

from __future__ import annotations

import pytest

from yodel.domain.resource import NONE, Resource
from yodel.errors import InvalidValue
from yodel.settings.queues import CustomDialect
from yodel.translator.dialects import Dialect, dialect
from yodel.translator.pools import PoolRules, rules_of

GIB = 1024**3
CPU, MEMORY = "kubernetes.io/batch-cpu", "kubernetes.io/batch-memory"


def house(**changes: str) -> Dialect:
    named = {"cpu_resource": "example.com/cpu", "memory_resource": "example.com/memory", **changes}
    return dialect("house", {"house": CustomDialect.model_validate(named)})


def of(one: Dialect, milli_per_vcore: int = 1000) -> PoolRules:
    return rules_of(one, {}, milli_per_vcore)


def lent(one: Dialect, allocatable: dict[str, str], milli_per_vcore: int = 1000) -> Resource | None:
    rules = of(one, milli_per_vcore)
    return rules.lent(rules.pools.default, allocatable)


def test_milli_and_bytes_are_rounded_down_to_vcores_and_mib() -> None:
    batch = {"cpu": "64", "memory": "1Ti", CPU: "8999", MEMORY: str(4 * GIB - 1)}
    assert lent(dialect("koordinator"), batch) == Resource(4095, 8)
    assert lent(dialect("koordinator"), {CPU: "8k", MEMORY: "4Gi"}) == Resource(4096, 8)
    assert lent(dialect("native"), {"cpu": "3920m", "memory": "15Gi"}) == Resource(15360, 3)
    assert lent(dialect("native"), {"cpu": "3920m", "memory": "15Gi"}, 500) == Resource(15360, 7)


def test_units_of_a_dialect_of_the_house_count() -> None:
    units = {"cpu_unit": "core", "memory_unit": "mib"}
    assert lent(house(**units), {"example.com/cpu": "8", "example.com/memory": "4096"}) == Resource(4096, 8)
    assert lent(house(), {"example.com/cpu": "8000", "example.com/memory": str(GIB)}) == Resource(1024, 8)


@pytest.mark.parametrize(
    ("allocatable", "found"),
    [
        ({}, None),
        ({"cpu": "8", "memory": "8Gi"}, None),
        ({CPU: "0", MEMORY: "0"}, NONE),
        ({CPU: "8000"}, Resource(0, 8)),
        ({CPU: "many", MEMORY: "1Gi"}, Resource(1024, 0)),
        ({CPU: "-8000", MEMORY: "-1"}, NONE),
    ],
)
def test_nothing_is_legal_and_who_publishes_nothing_is_in_no_pool(
    allocatable: dict[str, str], found: Resource | None
) -> None:
    assert lent(dialect("volcano"), allocatable) == found


def test_dialects_with_the_same_names_are_one_pool() -> None:
    rules = rules_of(dialect("native"), {"root.a": dialect("volcano"), "root.b": dialect("koordinator")}, 1000)
    assert set(rules.kinds) == {"native", "koordinator+volcano"}
    assert rules.kinds[rules.pools.of("root.a")].dialects == ("koordinator", "volcano")
    twin = house(cpu_resource=CPU, memory_resource=MEMORY)
    assert set(rules_of(twin, {"root.a": dialect("volcano")}, 1000).kinds) == {"house+volcano"}


@pytest.mark.parametrize("changes", [{"memory_resource": "example.com/other"}, {"cpu_unit": "core"}])
def test_a_resource_in_two_pools_is_refused(changes: dict[str, str]) -> None:
    other = house(**{"cpu_resource": CPU, "memory_resource": MEMORY, **changes})
    with pytest.raises(InvalidValue, match=f"{CPU}.*as house has them, or two others"):
        rules_of(other, {"root.a": dialect("koordinator")}, 1000)
    rules_of(other, {"root.a": dialect("native")}, 1000)
