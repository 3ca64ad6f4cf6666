"""Converts counters into use: one sample for each two readings, kept for the policy's window.  Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from nm_plugin.cgroups.counters import ResourceCounters
from nm_plugin.cgroups.files import LostReading
from yodel.domain.colocation.measured import InstantUse
from yodel.domain.colocation.report import CPU_MILLI, MEMORY_MIB

CPU_ABSURD_PERCENT = 150
"""The most of the machine's processors that is believed: counters of groups are updated a little apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Counters and when they were read.

    ``allocatable`` is what the kubelet leaves to pods as the API server has it, by resource; empty where the
    ResourceManager has not said it.
    """

    at_ms: int
    counters: ResourceCounters
    allocatable: Mapping[str, int] = field(default_factory=dict)

    def kubelet_reserved(self, resource: str) -> int | None:
        """Return the amount that the kubelet reserves from pods; None: unknown.

        It is derived from the limit of all pods together if there is one, and otherwise from the allocatable amount.
        """
        counters = self.counters
        size, limit = {
            CPU_MILLI: (counters.cpu_milli_size, counters.cpu_milli_pods),
            MEMORY_MIB: (counters.memory_mib_size, counters.memory_mib_pods),
        }[resource]
        left = self.allocatable.get(resource) if limit is None else limit
        return None if left is None else max(0, size - left)

    @property
    def memory_mib_for_pods(self) -> int | None:
        """Return the memory beyond which the kubelet evicts pods; None: all pods together have no limit.

        It is less than their limit by what the kubelet keeps free (``evictionHard``), and so allocatable.
        """
        limit = self.counters.memory_mib_pods
        return None if limit is None else min(limit, self.allocatable.get(MEMORY_MIB, limit))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Holds the use up to ``at_ms`` of a node of this size, and the amounts that the kubelet reserves from pods."""

    at_ms: int
    cpu_milli_size: int
    memory_mib_size: int
    cpu_milli: InstantUse
    memory_mib: InstantUse
    cpu_milli_reserved: int | None = None
    memory_mib_reserved: int | None = None


def sample_of(before: Reading, now: Reading) -> Sample:
    """Return the use between two readings.

    Raises:\n  LostReading: a counter went back, as it does when its group was recreated, or ran faster than the machine
    can.
    """
    elapsed_ms = now.at_ms - before.at_ms
    if elapsed_ms <= 0:
        raise LostReading(f"two readings in {elapsed_ms} ms")
    counters, earlier = now.counters, before.counters
    return Sample(
        at_ms=now.at_ms,
        cpu_milli_size=counters.cpu_milli_size,
        memory_mib_size=counters.memory_mib_size,
        cpu_milli=InstantUse(
            node=_rate("the node", earlier.cpu_us.node, counters.cpu_us.node, elapsed_ms, counters),
            pods=_rate("pods", earlier.cpu_us.pods, counters.cpu_us.pods, elapsed_ms, counters),
            best_effort=_rate(
                "best-effort pods", earlier.cpu_us.best_effort, counters.cpu_us.best_effort, elapsed_ms, counters
            ),
        ),
        memory_mib=counters.memory_mib,
        cpu_milli_reserved=now.kubelet_reserved(CPU_MILLI),
        memory_mib_reserved=now.kubelet_reserved(MEMORY_MIB),
    )


def kept(samples: tuple[Sample, ...], since_ms: int) -> tuple[Sample, ...]:
    """Return the samples after ``since_ms``."""
    return tuple(sample for sample in samples if sample.at_ms > since_ms)


def _rate(whose: str, before_us: int, now_us: int, elapsed_ms: int, counters: ResourceCounters) -> int:
    """Microseconds of CPU in a millisecond are thousandths of a core."""
    rate = (now_us - before_us) // elapsed_ms
    if not 0 <= rate <= counters.machine_milli * CPU_ABSURD_PERCENT // 100:
        raise LostReading(f"CPU of {whose} went from {before_us} to {now_us} us in {elapsed_ms} ms")
    return rate
