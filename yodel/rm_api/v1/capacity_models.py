"""Shapes of ``/api/v1`` for what nodes lend of their measured capacity."""

from __future__ import annotations

from pydantic import Field

from yodel.domain.colocation.policy import AMOUNT_MAX
from yodel.rm_api.v1.models import Amount, Model
from yodel.services.nodes.published_node import CapacityState
from yodel.services.nodes.written_limits import LimitsState


class CapacityFigure(Model):
    """Something that was measured, in the unit of its resource."""

    name: str
    amount: int


class CapacityTerm(Model):
    """A summand of the formula, negative where it takes away."""

    name: str
    amount: int
    why: str


class CapacityStep(Model):
    """A step begins with what the one before it left."""

    name: str
    before: int
    after: int
    unit: str = Field(description="Of `after`: as that of the name, or `m` and `Mi` before that.")
    why: str


class ResourceCapacity(Model):
    """One name that is published in the node's status.  The terms add up to what the first step begins with; the last
    step leaves what is to be published."""

    name: str = Field(description="As Kubernetes knows it.", examples=["kubernetes.io/batch-cpu"])
    unit: str = Field(
        description="Of `wanted`, `published` and `held`: `m` (thousandths of a core), `cores`, `bytes` or `Mi`; empty "
        "for a name of a dialect that is gone."
    )
    resource: str | None = Field(description="`cpu_milli` or `memory_mib`; null for a name of an earlier policy.")
    measured: list[CapacityFigure] = Field(description="By the node agent.")
    terms: list[CapacityTerm] = Field(description="By the node agent.")
    steps: list[CapacityStep] = Field(description="By the node agent, then by the ResourceManager.")
    wanted: int | None = Field(description="What is to be published; null: the name goes, or is not there.")
    published: int | None = Field(description="What is published now; null: the name is not there.")
    held: int = Field(description="What the pods of the node ask for, whoever's they are.")


class CapacityBound(Model):
    """One file of the control group of a batch pod, or of all best-effort pods; -1 is no limit."""

    container: str = Field(description="Empty: of all best-effort pods of the node, whoever's they are.")
    file: str = Field(examples=["memory.limit_in_bytes"])
    decided: int = Field(description="What is to stand there.")
    written: int | None = Field(description="What the kernel last took; null: nothing yet.")
    read: int | None = Field(description="What was read after that; null: no number.")
    put_back: int = Field(description="How often somebody else had changed it.")
    why: str = Field(description="Why it is not as decided; empty where it is.")


class Emergency(Model):
    """Memory runs short, or did so lately: its agent ends batch containers, and nothing new starts."""

    reason: str = Field(description="What was measured.")
    cool_down_s: int = Field(description="For how long nothing new starts, unless the agent says more.")
    containers: list[str] = Field(description="The last that were ended for it (PREEMPTED).")


class CapacityPressure(Model):
    """How long online pods wait for a processor: the kernel's `some avg10` of `cpu.pressure`."""

    source: str = Field(description="The control group that waits longest.")
    some_percent: float = Field(description="Of the last ten seconds.")


class NodeCapacity(Model):
    """What a node lends of its measured capacity, and why it is that much."""

    kubernetes_node: str
    state: CapacityState
    why: str
    policy_version: str | None = Field(description="Of the policy that the agent computed by.")
    source: str | None = Field(description="Where the agent's figures come from.")
    age_ms: int | None = Field(description="Since the figures were read; null: no report counts.")
    problems: list[str] = Field(description="What the agent could not read.")
    emergency: Emergency | None = Field(description="null: its memory does not run short.")
    resources: list[ResourceCapacity]
    bounds: list[CapacityBound] = Field(description="What its batch pods are held to, where limits or a quota are on.")
    pressure: CapacityPressure | None = Field(description="Null: the node's kernel does not tell it.")
    counts: list[CapacityFigure] = Field(description="What the agent counts where limits or a quota are on.")


class WaitingNode(Model):
    """A node about which there is something to say."""

    kubernetes_node: str
    state: CapacityState
    why: str
    published: dict[str, int] = Field(description="By name, what is published.")
    held: dict[str, int] = Field(description="By name, what its pods ask for.")


class NodeLimits(Model):
    """A node where batch pods are bounded, were, or may be."""

    kubernetes_node: str
    state: LimitsState
    why: str
    groups: int | None = Field(
        description="How many groups had what its agent wrote, when that spoke last; null: not known."
    )
    confirmed_ms: int | None = Field(description="When its agent confirmed that none is left; null: it has not.")
    undo_lines: list[str] = Field(
        description="For a shell on the node, as root, where its agent does not confirm; else empty."
    )


class Limits(Model):
    """What agents have written to bound batch pods, and have not undone."""

    node_counts: dict[str, int] = Field(description="By state, of all nodes.")
    node_list: list[NodeLimits] = Field(description="Those that have not confirmed first; at most 200.")
    others_pods: int = Field(description="Best-effort pods of others, which share the quota of batch pods.")
    others_nodes: int = Field(description="On how many nodes they are; none where there is no quota.")


class RefusedAgent(Model):
    """A node agent whose reports do not count."""

    id: str
    why: str


class Colocation(Model):
    """Whether measured capacity is lent, by what policy, and what comes of it."""

    enabled: bool
    preset: str | None
    policy_version: str | None
    dialect: str | None = Field(description="As it was said; null: the only one that queues draw on.")
    names: list[str] = Field(description="What is published: of cores, of memory.")
    lent: dict[str, int] = Field(description="By `cpu_milli` and `memory_mib`, of all nodes.")
    published: dict[str, int] = Field(description="By name, of all nodes.")
    units: dict[str, str] = Field(description="By name, what is counted: `m`, `cores`, `bytes` or `Mi`.")
    node_counts: dict[str, int] = Field(description="By state.")
    node_list: list[WaitingNode] = Field(description="Those that do not just lend; at most 200, by name.")
    refused_agents: list[RefusedAgent] = Field(description="At most 1000.")
    patches: int = Field(description="Of node statuses, since the start.")
    put_backs: int = Field(description="Foreign values that ours took the place of, since the start.")
    limits: Limits


class EvictRequest(Model):
    """What is left to batch on the node, until it fits."""

    cpu_milli: int = Field(default=0, ge=0, le=AMOUNT_MAX)
    memory_mib: int = Field(default=0, ge=0, le=AMOUNT_MAX)


class Victim(Model):
    """A container that is to go."""

    container: str
    queue: str
    capability: Amount
    is_am: bool
    why: str = Field(description="What put it where it is in the order.")


class Eviction(Model):
    """Who is to go so that what is held fits."""

    kubernetes_node: str
    held: dict[str, int] = Field(description="By `cpu_milli` and `memory_mib`, by containers and pods of others.")
    victims: list[Victim] = Field(description="First to go first. For cores alone three go in a minute.")
    notice_s: int = Field(description="From the notice to the end.")
    fits: bool = Field(description="Without them it fits; pods of others are not touched.")


class ContainersEnded(Model):
    """What `end-containers` has done."""

    containers: int
