"""Resource dialects: the resource names, labels, priorities and groups that a colocation engine expects.

A closed list in one registry, and dialects that the operator spells out in settings, for engines that are one house's
own.  ``native`` asks for ordinary cpu and memory; the others for what the engine publishes from what online services
reserved and do not use.  Extended resources are plain integers with equal requests and limits: Kubernetes demands it.

A pod carries only its dialect's resources: one that asked for ordinary cpu beside them would be charged twice, and
would leave Kubernetes' BestEffort class, in which the engines look for it.

- ``koordinator``: ``kubernetes.io/batch-cpu`` (milli cores) and ``-memory`` (bytes), label ``koordinator.sh/qosClass``
  BE, priority class ``koord-batch``; groups are the coscheduling plugin's ``PodGroup``, named by a label.
- ``katalyst``: ``reclaimed_millicpu`` and ``reclaimed_memory``, annotation ``qos_level`` reclaimed_cores.  It has no
  groups of its own.
- ``yarn``: no pods at all.  Its queues draw on NodeManagers, which launch containers themselves.
- ``volcano``: the same resource names as Koordinator (never both in one cluster), annotation ``volcano.sh/qos-level``
  BE; groups are Volcano's ``PodGroup``, named by an annotation.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from yodel.domain.ids import ApplicationId
from yodel.domain.resource import MEMORY, VCORES, Resource
from yodel.errors import InvalidValue
from yodel.settings.queues import CustomDialect
from yodel.translator import names

MIB = 1024 * 1024
CpuUnit = Literal["quantity", "milli", "core"]
MemoryUnit = Literal["quantity", "byte", "mib"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    """Describes how a capability is written: two resource names and their units.  ``quantity`` is Kubernetes' own
    notation."""

    cpu: str
    memory: str
    cpu_unit: CpuUnit = "milli"
    memory_unit: MemoryUnit = "byte"

    @property
    def units(self) -> dict[str, str]:
        """Return the unit of a whole number of each resource, as a node's status notes it."""
        cpu = "m" if self.cpu_unit == "milli" else "cores"
        return {self.cpu: cpu, self.memory: "Mi" if self.memory_unit == "mib" else "bytes"}

    def amounts(self, capability: Resource, milli_per_vcore: int) -> dict[str, str]:
        milli, mib = capability.vcores * milli_per_vcore, capability.memory_mib
        cpu = {"quantity": f"{milli}m", "milli": str(milli), "core": str(-(-milli // 1000))}
        memory = {"quantity": f"{mib}Mi", "byte": str(mib * MIB), "mib": str(mib)}
        return {self.cpu: cpu[self.cpu_unit], self.memory: memory[self.memory_unit]}


@dataclass(frozen=True, slots=True, kw_only=True)
class GangKind:
    """The engine's object for pods that are placed together, and how a pod names its group: by a label or by an
    annotation."""

    api_version: str
    kind: str
    plural: str
    pod_label: str = ""
    pod_annotation: str = ""

    @property
    def crd_name(self) -> str:
        """The CustomResourceDefinition that has to be installed."""
        return f"{self.plural}.{self.api_version.partition('/')[0]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """Describes the form of pods for one engine.  ``gang`` None: it has no groups; ``has_pods`` False: no pods."""

    name: str
    measures: Measures
    labels: Mapping[str, str] = dataclasses.field(default_factory=dict)
    annotations: Mapping[str, str] = dataclasses.field(default_factory=dict)
    priority_class_name: str = ""
    gang: GangKind | None = None
    has_pods: bool = True


_BATCH = Measures(cpu="kubernetes.io/batch-cpu", memory="kubernetes.io/batch-memory")

DIALECTS: Mapping[str, Dialect] = {
    "native": Dialect(
        name="native",
        measures=Measures(cpu="cpu", memory="memory", cpu_unit="quantity", memory_unit="quantity"),
    ),
    "koordinator": Dialect(
        name="koordinator",
        measures=_BATCH,
        labels={"koordinator.sh/qosClass": "BE"},
        priority_class_name="koord-batch",
        gang=GangKind(
            api_version="scheduling.sigs.k8s.io/v1alpha1",
            kind="PodGroup",
            plural="podgroups",
            pod_label="pod-group.scheduling.sigs.k8s.io",
        ),
    ),
    "katalyst": Dialect(
        name="katalyst",
        measures=Measures(
            cpu="resource.katalyst.kubewharf.io/reclaimed_millicpu",
            memory="resource.katalyst.kubewharf.io/reclaimed_memory",
        ),
        annotations={"katalyst.kubewharf.io/qos_level": "reclaimed_cores"},
    ),
    "volcano": Dialect(
        name="volcano",
        measures=_BATCH,
        annotations={"volcano.sh/qos-level": "BE"},
        gang=GangKind(
            api_version="scheduling.volcano.sh/v1beta1",
            kind="PodGroup",
            plural="podgroups",
            pod_annotation="scheduling.k8s.io/group-name",
        ),
    ),
    "yarn": Dialect(
        name="yarn",
        measures=Measures(cpu=VCORES, memory=MEMORY, cpu_unit="core", memory_unit="mib"),
        has_pods=False,
    ),
}

_TAKEN = frozenset(name for one in DIALECTS.values() for name in (one.measures.cpu, one.measures.memory))
"""Names that a further countable type may not have, whatever the dialect: they stand for what was granted."""


def dialect(name: str, custom: Mapping[str, CustomDialect] | None = None, field: str = "dialect") -> Dialect:
    """Raises InvalidValue naming ``field`` and the ones there are, or that a custom one has a known one's name."""
    spelled_out = custom or {}
    shadowed = sorted(spelled_out.keys() & DIALECTS.keys())
    if shadowed:
        raise InvalidValue(f"dialects.{shadowed[0]}", shadowed[0], "a name other than " + ", ".join(sorted(DIALECTS)))
    if name in spelled_out:
        return _spelled_out(name, spelled_out[name])
    found = DIALECTS.get(name)
    if found is None:
        raise InvalidValue(field, name, "one of " + ", ".join(sorted({*DIALECTS, *spelled_out})))
    return found


def gang_kinds(custom: Mapping[str, CustomDialect]) -> tuple[GangKind, ...]:
    """The groups of all dialects, each kind once: whatever a queue may have wanted before."""
    known = (*DIALECTS.values(), *(_spelled_out(name, given) for name, given in custom.items()))
    return tuple(dict.fromkeys(one.gang for one in known if one.gang is not None))


def quantities(engine: Dialect, capability: Resource, milli_per_vcore: int) -> dict[str, str]:
    """Requests (and limits) of a pod: the dialect's own, and further countable types by their names.

    A further type that bears a name of this or another dialect counts for nothing: it would stand in for what was
    granted, or bring ordinary cores and memory into a pod of another dialect.
    """
    own = engine.measures.amounts(capability, milli_per_vcore)
    further = {name: str(value) for name, value in capability.extras if value > 0 and not _is_taken(name)}
    return {**further, **own}


def gang_name(application_id: ApplicationId) -> str:
    """The name of an application's group: its id in the letters of an object's name."""
    return str(application_id).replace("_", "-")


def gang_object(
    kind: GangKind,
    application_id: ApplicationId,
    *,
    cluster: str,
    namespace: str,
    min_member: int,
    spec: Mapping[str, Any],
) -> dict[str, Any]:
    """The group to create before the first pod that names it.  ``spec`` is the operator's; the size is ours."""
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {
            "name": gang_name(application_id),
            "namespace": namespace,
            "labels": {
                names.MANAGED_BY: names.MANAGED_BY_YODEL,
                names.CLUSTER: names.label_value(cluster),
                names.APPLICATION: str(application_id),
            },
        },
        "spec": {**spec, "minMember": min_member},
    }


def _is_taken(name: str) -> bool:
    return name in _TAKEN or name == "ephemeral-storage" or name.startswith("hugepages-")


def _spelled_out(name: str, given: CustomDialect) -> Dialect:
    measures = Measures(
        cpu=given.cpu_resource,
        memory=given.memory_resource,
        cpu_unit=given.cpu_unit,
        memory_unit=given.memory_unit,
    )
    gang = None
    if given.gang is not None:
        gang = GangKind(
            api_version=given.gang.api_version,
            kind=given.gang.kind,
            plural=given.gang.plural,
            pod_label=given.gang.pod_label,
            pod_annotation=given.gang.pod_annotation,
        )
    return Dialect(
        name=name,
        measures=measures,
        labels=given.labels,
        annotations=given.annotations,
        priority_class_name=given.priority_class_name,
        gang=gang,
    )
