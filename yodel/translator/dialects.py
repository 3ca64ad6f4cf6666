"""Resource dialects: the resource names, labels and priorities that a colocation engine expects.

A closed list in one registry.  ``native`` asks for ordinary cpu and memory; ``koordinator`` for the batch resources
that Koordinator publishes from what online services reserved and do not use (``kubernetes.io/batch-cpu`` in milli
cores, ``kubernetes.io/batch-memory`` in bytes, both as plain integers), with its QoS class and priority.  Extended
resources have equal requests and limits: Kubernetes demands it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from yodel.domain.resource import Resource
from yodel.errors import InvalidValue

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """``amounts`` maps a capability and the milli cores of a vcore to Kubernetes quantities."""

    name: str
    amounts: Callable[[Resource, int], Mapping[str, str]]
    labels: Mapping[str, str] = field(default_factory=dict)
    priority_class_name: str = ""


def _native(capability: Resource, milli_per_vcore: int) -> Mapping[str, str]:
    return {"cpu": f"{capability.vcores * milli_per_vcore}m", "memory": f"{capability.memory_mib}Mi"}


def _koordinator(capability: Resource, milli_per_vcore: int) -> Mapping[str, str]:
    return {
        "kubernetes.io/batch-cpu": str(capability.vcores * milli_per_vcore),
        "kubernetes.io/batch-memory": str(capability.memory_mib * MIB),
    }


DIALECTS: Mapping[str, Dialect] = {
    "native": Dialect(name="native", amounts=_native),
    "koordinator": Dialect(
        name="koordinator",
        amounts=_koordinator,
        labels={"koordinator.sh/qosClass": "BE"},
        priority_class_name="koord-batch",
    ),
}


def dialect(name: str) -> Dialect:
    """Raises InvalidValue naming the ones there are."""
    found = DIALECTS.get(name)
    if found is None:
        raise InvalidValue("dialect", name, "one of " + ", ".join(sorted(DIALECTS)))
    return found


def quantities(engine: Dialect, capability: Resource, milli_per_vcore: int) -> dict[str, str]:
    """Requests (and limits) of a pod: the dialect's own, and further countable types by their names.

    A further type that bears one of the dialect's names counts for nothing: it would stand in for what was granted.
    """
    own = engine.amounts(capability, milli_per_vcore)
    return {**own, **{name: str(value) for name, value in capability.extras if value > 0 and name not in own}}
