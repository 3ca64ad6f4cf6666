"""Computes the node status to publish from what its agent lends and what the pods there request.  Pure.

It is never less than the requests of the node's pods: a kubelet that restarts judges its pods by what is published, and
rejects those that do not fit any more.  If the lent amount is below that, nothing new may start there until it fits.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import IntEnum

from yodel.domain.colocation.report import CPU_MILLI, MEMORY_MIB, ShapingStep
from yodel.translator.dialects import MIB, Measures
from yodel.translator.names import PUBLISHED
from yodel.translator.node_fit import milli

KUBELET = "kubelet"


@dataclass(frozen=True, slots=True, kw_only=True)
class LentAmounts:
    """Holds the lent amounts of a node."""

    cpu_milli: int
    memory_mib: int

    @property
    def by_type(self) -> dict[str, int]:
        return {CPU_MILLI: self.cpu_milli, MEMORY_MIB: self.memory_mib}


@dataclass(frozen=True, slots=True, kw_only=True)
class LentCapacity:
    """Holds the amounts of a report that count, None if nothing new is lent; by resource, the steps from the agent's
    amount to it."""

    lent: LentAmounts | None
    steps: Mapping[str, tuple[ShapingStep, ...]]


class Silence(IntEnum):
    """Lists how long a node's agent has reported nothing."""

    NONE = 0
    STALE = 1
    """Its loan does not grow."""
    SILENT = 2
    """It lends nothing new."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """Holds by resource name what is to be published (None: the name goes), what queues may count on, and what the pods
    there ask for."""

    amounts: Mapping[str, int | None]
    counted: Mapping[str, int]
    held: Mapping[str, int]

    @property
    def is_closed(self) -> bool:
        """Nothing new may start there: some resource is asked for beyond what is lent, or nothing is lent."""
        return any(self.held[name] > counted or self.amounts[name] is None for name, counted in self.counted.items())


def lend(
    said: LentAmounts,
    machine: LentAmounts | None,
    before: LentAmounts | None,
    silence: Silence,
    ordered: LentAmounts | None = None,
    allocatable: LentAmounts | None = None,
) -> LentCapacity:
    """``machine`` is the node's size as the API server has it, ``allocatable`` what the kubelet leaves of it to pods;
    ``before`` what counted last; ``ordered`` the most that an administrator leaves it."""
    before = before or LentAmounts(cpu_milli=0, memory_mib=0)
    found, steps = dict[str, int](), dict[str, tuple[ShapingStep, ...]]()
    for resource, of in ((CPU_MILLI, _cpu), (MEMORY_MIB, _memory)):
        last, first = of(before), of(said)
        there, has = first, "the API server does not report the node's size"
        if machine is not None:
            there, has = min(first, of(machine)), f"the node has {of(machine)}"
        if allocatable is not None and (machine is None or of(allocatable) < of(machine)):
            there, has = min(there, of(allocatable)), f"{has}, of which {of(allocatable)} is allocatable"
        now, why = {
            Silence.NONE: (there, "node agent is reporting"),
            Silence.STALE: (min(there, last), f"no report from the node agent: not above the last value {last}"),
            Silence.SILENT: (0, "no report from the node agent for long: closed to new pods"),
        }[silence]
        found[resource] = now
        steps[resource] = (
            ShapingStep(name="api-server", before=first, after=there, why=has),
            ShapingStep(name="silence", before=there, after=now, why=why),
        )
        if ordered is not None:
            most = of(ordered)
            found[resource] = min(now, most)
            why = f"limited to {most} by an administrator"
            steps[resource] += (ShapingStep(name="ordered", before=now, after=min(now, most), why=why),)
    lent = (
        LentAmounts(cpu_milli=found[CPU_MILLI], memory_mib=found[MEMORY_MIB]) if silence is not Silence.SILENT else None
    )
    return LentCapacity(lent=lent, steps=steps)


def _cpu(lent: LentAmounts) -> int:
    return lent.cpu_milli


def _memory(lent: LentAmounts) -> int:
    return lent.memory_mib


def last_steps(name: str, lent: int, publication: Publication) -> tuple[ShapingStep, ShapingStep]:
    """Return the steps from the lent amount, in the resource's own unit, to the one published under a name."""
    units_lent, amount = publication.counted[name], publication.amounts[name]
    why = "not below what the node's pods request" if amount is not None else "no pod requests it: the name is removed"
    return (
        ShapingStep(name="unit", before=lent, after=units_lent, why=f"in the unit of {name}"),
        ShapingStep(name="pods", before=units_lent, after=amount or 0, why=why),
    )


def publication(
    lent: LentAmounts | None, held_milli: Mapping[str, int], measures: Measures | None, ours: Collection[str]
) -> Publication:
    """``lent`` None, or ``measures`` None: nothing new is lent.  ``held_milli`` is what the pods of the node ask for,
    thousandths by resource name; ``ours`` are names that were published there before, by whatever policy."""
    now = units(lent, measures) if lent is not None and measures is not None else {}
    names = sorted({*now, *ours})
    held = {name: -(-max(0, held_milli.get(name, 0)) // 1000) for name in names}
    amounts = {name: max(now.get(name, 0), held[name]) if name in now or held[name] else None for name in names}
    return Publication(amounts=amounts, counted={name: now.get(name, 0) for name in names}, held=held)


def units(lent: LentAmounts, measures: Measures) -> dict[str, int]:
    """Return the amounts in the units of two resources.  Kubernetes allows fractions only for its own ``cpu``, so
    others get whole cores."""
    cpu = lent.cpu_milli if measures.cpu_unit == "milli" else lent.cpu_milli // 1000
    memory = lent.memory_mib if measures.memory_unit == "mib" else lent.memory_mib * MIB
    return {measures.cpu: cpu, measures.memory: memory}


def size_of(quantities: Mapping[str, str]) -> LentAmounts | None:
    """The cores and memory of a node's capacity, or of its allocatable; None where it does not say both."""
    if "cpu" not in quantities or "memory" not in quantities:
        return None
    return LentAmounts(cpu_milli=milli(quantities["cpu"]), memory_mib=milli(quantities["memory"]) // 1000 // MIB)


def amounts_of(held_milli: Mapping[str, int], measures: Measures) -> LentAmounts:
    """Return the requests of pods under two names, given in thousandths, in the units of lent amounts, rounded up."""
    cpu, memory = (max(0, held_milli.get(name, 0)) for name in (measures.cpu, measures.memory))
    return LentAmounts(
        cpu_milli=-(-cpu // 1000) if measures.cpu_unit == "milli" else cpu,
        memory_mib=-(-memory // 1000) if measures.memory_unit == "mib" else -(-memory // (1000 * MIB)),
    )


def patch_of(amounts: Mapping[str, int | None]) -> dict[str, object]:
    """Plain integers as text: a fraction of an extended resource is refused by the API server."""
    texts = {name: None if amount is None else str(amount) for name, amount in amounts.items()}
    left = ",".join(sorted(name for name, amount in amounts.items() if amount is not None))
    return {
        "metadata": {"annotations": {PUBLISHED: left or None}},
        "status": {"capacity": texts, "allocatable": texts},
    }


def capped(allocatable: Mapping[str, str], counted: Mapping[str, int]) -> Mapping[str, str]:
    """A node's allocatable as queues may count on it: of a published name no more than is lent."""
    found = dict(allocatable)
    for name, most in counted.items():
        if name in found and whole(found[name]) > most:
            found[name] = str(most)
    return found


def whole(quantity: str) -> int:
    """A published amount as a number; 0 for what is none."""
    return milli(quantity) // 1000


def publisher_of(name: str, managers: Mapping[str, str], quantity: str, ours: Collection[str], publisher: str) -> str:
    """Return the publisher of a name on a node; empty: this ResourceManager, or an earlier process of it.

    The manager of ``status.capacity`` says it; where there is none, whether our annotation names it.  A kubelet whose
    machine was started again sets such names to 0: what it zeroed was ours where the annotation says so.
    """
    manager = managers.get(name)
    if manager is None:
        return "" if name in ours else "somebody"
    is_zeroed = manager == KUBELET and name in ours and whole(quantity) == 0
    return "" if manager == publisher or is_zeroed else manager
