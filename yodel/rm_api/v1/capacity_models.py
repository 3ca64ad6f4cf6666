"""Shapes of ``/api/v1`` for the lent capacity of nodes."""

from __future__ import annotations

from pydantic import Field

from yodel.domain.colocation.node import CapacityState
from yodel.domain.colocation.policy import AMOUNT_MAX
from yodel.rm_api.v1.models import DEPRECATED, Amount, EpochMs, Model, Page
from yodel.services.nodes.written_limits import LimitsState


class CapacityFigure(Model):
    """A measured figure, in the unit of its resource."""

    name: str
    amount: int


class CapacityTerm(Model):
    """A term of the formula, negative if it is subtracted."""

    name: str
    amount: int
    why: str


class CapacityStep(Model):
    """A step of the computation; its input is the result of the step before."""

    name: str
    before: int
    after: int
    unit: str = Field(description="Unit of `after`: that of the name, or `m` and `Mi` in earlier steps.")
    why: str


class ResourceCapacity(Model):
    """One resource name in the node's status.  The terms add up to the input of the first step; the result of the last
    step is to be published."""

    name: str = Field(description="Kubernetes' resource name.", examples=["kubernetes.io/batch-cpu"])
    unit: str = Field(
        description="Unit of `wanted`, `published` and `requested`: `m` (thousandths of a core), `cores`, `bytes` or "
        "`Mi`; empty for a name of a dialect that was removed."
    )
    resource: str | None = Field(description="`cpu_milli` or `memory_mib`; null for a name of an earlier policy.")
    measured: list[CapacityFigure] = Field(description="By the node agent.")
    terms: list[CapacityTerm] = Field(description="By the node agent.")
    steps: list[CapacityStep] = Field(description="By the node agent, then by the ResourceManager.")
    wanted: int | None = Field(description="To be published; null: the name is removed, or does not exist.")
    published: int | None = Field(description="Published now; null: the name does not exist.")
    requested: int = Field(description="Requested by all pods on the node, Yodel's and others.")
    held: int = Field(description="Deprecated: use `requested`.", json_schema_extra=DEPRECATED)


class CapacityBound(Model):
    """One cgroup file of a batch pod, or of all best-effort pods; -1 is no limit."""

    container: str = Field(description="Empty: all best-effort pods of the node, Yodel's and others.")
    file: str = Field(examples=["memory.limit_in_bytes"])
    decided: int = Field(description="The intended value.")
    written: int | None = Field(description="The last value that the kernel accepted; null: none yet.")
    read: int | None = Field(description="The value read after that; null: not a number.")
    overwrites: int = Field(description="How often another program changed it, and it was restored.")
    put_back: int = Field(description="Deprecated: use `overwrites`.", json_schema_extra=DEPRECATED)
    why: str = Field(description="Why it differs from `decided`; empty if it does not.")


class Emergency(Model):
    """Low memory, now or recently: the node agent stops batch containers, and no new ones start."""

    reason: str = Field(description="What was measured.")
    cool_down_s: int = Field(description="Seconds in which no new containers start, unless the agent reports again.")
    containers: list[str] = Field(description="The last containers that were stopped because of it (PREEMPTED).")


class CapacityPressure(Model):
    """CPU pressure of online pods: the kernel's `some avg10` of `cpu.pressure`."""

    source: str = Field(description="The cgroup with the highest pressure.")
    some_percent: float = Field(description="Of the last ten seconds.")


class NodeCapacity(Model):
    """A node's lent capacity and how it was computed."""

    kubernetes_node: str
    state: CapacityState
    why: str
    policy_version: str | None = Field(description="Version of the policy that the agent applied.")
    source: str | None = Field(description="Source of the agent's figures.")
    age_ms: int | None = Field(description="Time since the figures were read; null: no valid report.")
    problems: list[str] = Field(description="What the agent could not read.")
    emergency: Emergency | None = Field(description="Null: memory is not low.")
    resources: list[ResourceCapacity]
    bounds: list[CapacityBound] = Field(description="Limits of its batch pods, if limits or a quota are on.")
    pressure: CapacityPressure | None = Field(description="Null: the node's kernel does not report it.")
    counts: list[CapacityFigure] = Field(description="Counts of the agent, if limits or a quota are on.")


class WaitingNode(Model):
    """A node that needs attention."""

    kubernetes_node: str
    state: CapacityState
    why: str
    published: dict[str, int] = Field(description="Published amounts by resource name.")
    requested: dict[str, int] = Field(description="Amounts requested by its pods, by resource name.")
    held: dict[str, int] = Field(description="Deprecated: use `requested`.", json_schema_extra=DEPRECATED)


FORMER_LIMITS = {LimitsState.ENFORCED: "HELD"}
"""Names that deprecated fields have for states that are called otherwise now."""


class NodeLimits(Model):
    """A node whose batch pods have limits, had them, or may have them."""

    kubernetes_node: str
    limits_state: LimitsState
    state: str = Field(
        description="Deprecated: use `limits_state`; ENFORCED is HELD here.",
        json_schema_extra={**DEPRECATED, "enum": [FORMER_LIMITS.get(one, one.value) for one in LimitsState]},
    )
    why: str
    groups: int | None = Field(
        description="Number of cgroups with values of its agent, in its last report; null: unknown."
    )
    confirmed_ms: int | None = Field(description="When its agent confirmed the cleanup; null: not confirmed.")
    undo_lines: list[str] = Field(
        description="Commands for a root shell on the node, if its agent does not confirm; otherwise empty."
    )


class Limits(Model):
    """Limits of batch pods that agents have written and not removed."""

    nodes_by_limits_state: dict[str, int] = Field(description="Number of nodes by `limits_state`.")
    node_counts: dict[str, int] = Field(
        description="Deprecated: use `nodes_by_limits_state`; ENFORCED is HELD here.", json_schema_extra=DEPRECATED
    )
    node_list: list[NodeLimits] = Field(description="Unconfirmed nodes first; at most 200.")
    others_pods: int = Field(description="Best-effort pods that are not Yodel's and share the quota of batch pods.")
    others_nodes: int = Field(description="Number of nodes with such pods; 0 without a quota.")


class RefusedAgent(Model):
    """A node agent whose reports are ignored."""

    id: str
    why: str


class Colocation(Model):
    """Describes colocation: whether it is enabled, its policy and the lent capacity."""

    enabled: bool
    preset: str | None
    policy_version: str | None
    dialect: str | None = Field(description="As configured; null: the only one that queues use.")
    names: list[str] = Field(description="Published resource names for cores and memory.")
    lent: dict[str, int] = Field(description="Lent capacity of all nodes, by `cpu_milli` and `memory_mib`.")
    published: dict[str, int] = Field(description="Published amounts of all nodes, by name.")
    requested: dict[str, int] = Field(description="Amounts requested by pods of all nodes, by name.")
    units: dict[str, str] = Field(description="Units by name: `m`, `cores`, `bytes` or `Mi`.")
    node_counts: dict[str, int] = Field(description="Number of nodes by state.")
    node_list: list[WaitingNode] = Field(description="Nodes in any other state than LENDING; at most 200, by name.")
    refused_agents: list[RefusedAgent] = Field(description="At most 1000.")
    patches: int = Field(description="Patches of node statuses since the start.")
    overwrites: int = Field(description="Values of other programs that were replaced, since the start.")
    put_backs: int = Field(description="Deprecated: use `overwrites`.", json_schema_extra=DEPRECATED)
    preemption_notices: int = Field(
        description="Containers that got a preemption notice because services needed their node, since the start."
    )
    preempted_containers: int = Field(description="Containers that were stopped for that reason, since the start.")
    emergency_containers: int = Field(
        description="Containers that node agents stopped because memory was low, since the start."
    )
    since_ms: EpochMs = Field(description="The start of the ResourceManager, from which these are counted.")
    limits: Limits


class NodeCapacityPage(Page[NodeCapacity]):
    """Holds a part of the list of nodes with lent capacity."""


class EvictRequest(Model):
    """Sets the amount that batch may keep on the node, until usage fits."""

    cpu_milli: int = Field(default=0, ge=0, le=AMOUNT_MAX)
    memory_mib: int = Field(default=0, ge=0, le=AMOUNT_MAX)


class Victim(Model):
    """A container that will be preempted."""

    container: str
    queue: str
    capability: Amount
    is_am: bool
    why: str = Field(description="Why it has this position in the order.")


class Eviction(Model):
    """Containers that will be preempted so that usage fits."""

    kubernetes_node: str
    requested: dict[str, int] = Field(
        description="Requested by containers and by other pods, by `cpu_milli` and `memory_mib`."
    )
    held: dict[str, int] = Field(description="Deprecated: use `requested`.", json_schema_extra=DEPRECATED)
    victims: list[Victim] = Field(
        description="In the order of preemption. For cores alone three are preempted in a minute."
    )
    notice_s: int = Field(description="Seconds from the notice to the stop.")
    fits: bool = Field(description="Usage fits without them; other pods are not stopped.")


class EvictionWithdrawn(Model):
    """The node lends again what its agent reports."""

    kubernetes_node: str


class PublishedAgain(Model):
    """The node's lent capacity is published again."""

    kubernetes_node: str


class ContainersEnded(Model):
    """Result of `end-containers`."""

    containers: int
