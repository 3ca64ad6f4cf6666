"""The shapes of ``/api/v1``, field by field.  Everything is always there: what is not known, or not yet, is null.

Times are epoch milliseconds, memory is in MiB, shares are percents.  What YARN has goes by YARN's words, the rest by
Kubernetes'.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from yodel.domain.notices import NoticeReason
from yodel.domain.shuffle.decision import Status as ShuffleStatus
from yodel.domain.shuffle.report import Reason as ShuffleReason
from yodel.domain.states import ApplicationState, AttemptState, ContainerState

DIAGNOSTICS_LENGTH_MAX = 4096
DEPRECATED: dict[str, Any] = {"deprecated": True}
FORMER_REASONS = {NoticeReason.LENT_CAPACITY: "loan"}
"""A field by its old name, served for one release along with the right one."""
EpochMs = Annotated[int, Field(ge=0, description="Milliseconds since 1970-01-01 UTC.")]


class FinalStatus(StrEnum):
    """The final status that the application reported, or that was recorded for it."""

    UNDEFINED = "UNDEFINED"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    KILLED = "KILLED"
    ENDED = "ENDED"


class NodeStatus(StrEnum):
    """YARN's states of a node."""

    NEW = "NEW"
    RUNNING = "RUNNING"
    UNHEALTHY = "UNHEALTHY"
    DECOMMISSIONED = "DECOMMISSIONED"
    LOST = "LOST"
    REBOOTED = "REBOOTED"
    DECOMMISSIONING = "DECOMMISSIONING"
    SHUTDOWN = "SHUTDOWN"


class QueueStatus(StrEnum):
    """YARN's states of a queue."""

    STOPPED = "STOPPED"
    RUNNING = "RUNNING"
    DRAINING = "DRAINING"


class LogAggregation(StrEnum):
    """The state of log aggregation."""

    DISABLED = "DISABLED"
    NOT_START = "NOT_START"
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    TIME_OUT = "TIME_OUT"
    RUNNING_WITH_FAILURE = "RUNNING_WITH_FAILURE"


class EventKind(StrEnum):
    """Names the kind of object of an event."""

    APPLICATION = "application"
    CONTAINER = "container"
    NODE = "node"


class DecidedBy(StrEnum):
    """Names the source of a node's capacity."""

    NODE_AGENT = "node agent"
    NODE_MANAGER = "NodeManager"
    KUBERNETES_NODE = "kubernetes node"
    ADMINISTRATOR = "administrator"


class Model(BaseModel):
    """Base of all shapes: unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


ItemT = TypeVar("ItemT", bound=Model)


class Page(Model, Generic[ItemT]):
    """A part of a list."""

    items: list[ItemT]
    next_cursor: str | None = Field(description="Send it as `cursor`, with the same filters, for the next page.")


class Amount(Model):
    """A quantity of resources; `others` are further resource types by their YARN names."""

    memory_mib: int
    vcores: int
    others: dict[str, int]


class ShuffleLine(Model):
    """A setting of remote shuffle."""

    key: str
    value: str
    why: str = Field(description="Its purpose.")
    source: str = Field(description="The queue property that sets it.")


class ShuffleLeftOut(Model):
    """A setting of remote shuffle that was decided and does not count."""

    key: str
    reason: ShuffleReason
    why: str = Field(description="The reason as text, with the setting, version or error that it is about.")


class Shuffle(Model):
    """The result of the queue's shuffle properties, decided when the ApplicationMaster was launched."""

    service: str
    queue: str = Field(description="The queue of the application at that time.")
    status: ShuffleStatus = Field(
        description="DECIDED: the node agent has not reported what it did, as those of earlier releases never do. "
        "OWN_SETTINGS: the submission's own settings use the service."
    )
    added: list[ShuffleLine] = Field(description="Settings that were added to the ApplicationMaster's own as defaults.")
    left_out: list[ShuffleLeftOut] = Field(
        description="Settings that the node agent reports as left out or overridden."
    )
    left_alone_because: str | None = Field(description="Why nothing was added.")


class Attempt(Model):
    """One run of an ApplicationMaster."""

    id: str
    number: int
    state: AttemptState
    final_status: FinalStatus
    am_container_id: str | None = Field(description="Null for an unmanaged ApplicationMaster.")
    am_host: str | None = Field(
        description="Host that the ApplicationMaster serves clients on; null until it registers."
    )
    am_rpc_port: int | None
    tracking_url: str | None = Field(description="As registered by the ApplicationMaster.")
    started_ms: EpochMs
    finished_ms: EpochMs | None
    diagnostics: str
    shuffle: Shuffle | None = Field(description="Null: its queue has no shuffle properties.")


class ApplicationSummary(Model):
    """An application in a list."""

    id: str
    name: str
    user: str
    queue: str
    type: str
    tags: list[str]
    priority: int
    state: ApplicationState
    final_status: FinalStatus
    progress_percent: float
    submitted_ms: EpochMs
    launched_ms: EpochMs | None
    finished_ms: EpochMs | None
    elapsed_ms: int
    attempts: int = Field(description="Number of attempts so far.")
    used: Amount
    running_containers: int = Field(description="Containers with a node.")
    starting_containers: int = Field(description="Containers whose pods are created and not scheduled to a node yet.")
    pending_containers: int = Field(description="Requested containers that have not been allocated.")
    tracking_url: str | None = Field(description="The application's own pages, through the web proxy.")


class Application(ApplicationSummary):
    """An application with all its details."""

    diagnostics: str = Field(description="Why it ended, or why it is waiting.")
    pending: Amount
    starting: Amount
    reserved: Amount = Field(description="Free capacity on nodes that are reserved for it.")
    memory_mib_seconds: int
    vcore_seconds: int
    preempted_containers: int = Field(
        description="Number of its containers that were preempted, ApplicationMasters included."
    )
    preempted: Amount = Field(description="Their total size.")
    is_unmanaged: bool
    max_attempts: int
    node_label: str
    am_node_label: str
    expires_ms: EpochMs | None = Field(description="When its lifetime ends; null for never.")
    log_aggregation: LogAggregation
    attempt_list: list[Attempt] = Field(description="Oldest first.")


class Pod(Model):
    """The pod of a container."""

    name: str
    namespace: str
    phase: str | None = Field(description="Pending, Running, Succeeded, Failed or Unknown; null when there is no pod.")
    kubernetes_node: str | None
    is_ready: bool | None
    reason: str | None = Field(description="Kubernetes' reason: Evicted, ErrImagePull, …")
    message: str | None


class Logs(Model):
    """Locations of a container's logs: its node agent, and once they are aggregated any node agent."""

    page_url: str = Field(description="For a browser.")
    files_url: str = Field(description="YARN's NodeManager REST: the files; one of them at `files_url/NAME`.")
    aggregated_url: str | None = Field(
        description="History server REST of a running node agent: the files once they are aggregated; one of them at "
        "the same URL with `/NAME` before the `?`.  Null while no node is running."
    )


class Notice(Model):
    """A preemption notice for containers."""

    cause: NoticeReason
    reason: str = Field(
        description="Deprecated: use `cause`.",
        json_schema_extra={**DEPRECATED, "enum": [FORMER_REASONS.get(one, one.value) for one in NoticeReason]},
    )
    text: str = Field(description="How many, why, and when they will be stopped.")
    containers: int
    left_s: float | None = Field(description="Seconds until the last of them is stopped; null: no deadline.")


class Container(Model):
    """A container and its pod."""

    id: str
    application_id: str
    attempt: int
    is_am: bool
    state: ContainerState
    capability: Amount
    priority: int
    allocation_tags: list[str]
    node_id: str | None
    created_ms: EpochMs
    finished_ms: EpochMs | None
    exit_status: int | None = Field(description="YARN's exit status; null until it completes.")
    diagnostics: str
    waits_for: str | None = Field(description="Why it is not running yet, as reported by Kubernetes.")
    notice: Notice | None = Field(description="Its preemption notice; null: none.")
    pod: Pod | None = Field(description="Null: a NodeManager runs it, without a pod.")
    logs: Logs | None = Field(description="Null while it has no node.")


class ContainerLogs(Model):
    """Locations of one container's logs."""

    container_id: str
    is_am: bool
    is_live: bool
    user: str
    node_id: str
    logs: Logs


class KillRequest(Model):
    """The reason, added to the application's diagnostics."""

    diagnostics: str = Field(default="", max_length=DIAGNOSTICS_LENGTH_MAX)


class Killed(Model):
    """The state of the kill."""

    id: str
    state: ApplicationState
    has_ended: bool = Field(description="False while its containers are being stopped.")
    had_ended: bool = Field(description="It had already ended; nothing was changed.")


class Enforcement(StrEnum):
    """Configures the enforcement of queues' limits."""

    OBSERVE = "observe"
    LIMIT = "limit"


class ShuffleWord(Model):
    """A shuffle property of a queue."""

    property: str = Field(description="Its name after the queue's path.")
    value: str
    queue: str = Field(description="The queue that sets it: this one or a parent.")


class Removal(Model):
    """The version of the queues that removes a queue, and its author."""

    version: int
    author: str


class EndpointState(StrEnum):
    """Names the state of an endpoint, as connections of the ResourceManager find it; `unknown`: not probed often enough
    yet."""

    UNKNOWN = "unknown"
    UP = "up"
    DOWN = "down"


class ShuffleEndpoint(Model):
    """An endpoint of a queue's shuffle service."""

    address: str = Field(description="host:port")
    state: EndpointState


class Queue(Model):
    """A queue and the usage of its applications."""

    path: str
    name: str
    parent: str | None
    is_leaf: bool
    children: int = Field(description="Number of queues directly below it.")
    state: QueueStatus
    to_be_removed: Removal | None = Field(
        description="It is removed when its last application has finished; null: it stays."
    )
    capacity: str = Field(description="As configured: `30`, `3w` or `[memory=10240,vcores=12]`.")
    maximum_capacity: str = Field(description="Likewise.")
    capacity_percent: float = Field(description="Of the parent; if configured by resource, the largest percentage.")
    maximum_capacity_percent: float = Field(description="Of the parent's maximum, likewise.")
    weight: float | None = Field(description="Among its siblings; null: the capacity was given in percent.")
    guaranteed: Amount = Field(
        description="What it gets when it needs it, as containers of others end or by preemption."
    )
    maximum: Amount = Field(description="No container starts that would exceed this.")
    enforcement: Enforcement = Field(description="Whether limits are enforced; `observe`: they are only shown.")
    is_preemptable: bool = Field(description="Its usage above the guarantee can be preempted.")
    is_intra_queue_preemptable: bool = Field(
        description="Its lower-priority applications can be preempted for others in it."
    )
    is_over_maximum: bool = Field(
        description="Usage exceeds it: it was lowered, nodes left, or limits are not enforced."
    )
    user_limit_factor: float | None = Field(
        description="Multiple of the guarantee that one user may use; -1: no limit."
    )
    minimum_user_limit_percent: float | None = Field(description="Minimum share of the queue for each active user.")
    maximum_applications: int | None = Field(description="Maximum number of unfinished applications, of leaf queues.")
    priority: int = Field(description="Higher is served first, if the parent's policy is `priority-utilization`.")
    ordering_policy: str = Field(
        description="`fifo` or `fair` for a leaf, `utilization` or `priority-utilization` for a parent."
    )
    maximum_parallel_applications: int | None = Field(
        description="Maximum number of running applications in it and below; null: no limit."
    )
    used: Amount
    used_percent: float = Field(
        description="Usage of containers with a node in percent of the guarantee; the largest of all resource types."
    )
    starting: Amount = Field(
        description="Containers whose pods are not scheduled to a node yet; they count for limits."
    )
    pending: Amount
    reserved: Amount = Field(description="Free capacity on nodes that are reserved for its applications.")
    running_applications: int
    pending_applications: int
    containers: int
    starting_containers: int
    pending_containers: int
    users: list[str] = Field(description="Users with unfinished applications.")
    maximum_lifetime_seconds: int | None
    default_lifetime_seconds: int | None
    shuffle: list[ShuffleWord] = Field(description="Its shuffle properties, inherited ones included.")
    shuffle_endpoints: list[ShuffleEndpoint] = Field(
        description="Of its shuffle service, probed every 10 s: down after two failures, up after one success."
    )


class QueueUser(Model):
    """Describes a user with unfinished applications in a queue or below it, and what they use."""

    user: str
    used: Amount
    starting: Amount = Field(
        description="Containers whose pods are not scheduled to a node yet; they count for limits."
    )
    pending: Amount
    reserved: Amount = Field(description="Free capacity on nodes that are reserved for the user's applications.")
    limit: Amount | None = Field(description="What the user may use in this leaf queue now; null for a parent queue.")
    am_used: Amount = Field(description="Used by ApplicationMasters, part of `used` and `starting`.")
    am_limit: Amount | None = Field(description="What ApplicationMasters of the user may use; null for a parent queue.")
    containers: int
    starting_containers: int
    pending_containers: int
    running_applications: int
    pending_applications: int


class Load(Model):
    """Measured usage."""

    memory_mib: int
    cpu_cores: float


class Measured(Model):
    """Measured by the node agent, as of its last heartbeat."""

    containers: Load
    node: Load


class Pool(Model):
    """The capacity of all nodes under one pair of resource names, shared by the queues that use them."""

    name: str = Field(description="The names of its dialects.")
    dialects: list[str]
    resources: list[str] = Field(description="Kubernetes' resource names for cores and memory.")
    size: Amount = Field(description="Current capacity of its nodes.")
    used: Amount
    free: Amount = Field(description="Sum over nodes; a node with more used than its capacity counts as 0.")
    nodes: int = Field(description="Usable nodes that publish these resources, possibly with an amount of 0.")
    queues: list[str] = Field(description="Children of root; queues below them use the same pool.")


class PoolPage(Page[Pool]):
    """Pools by name."""


class Allocation(Model):
    """The node's capacity for containers, how much of it is used and free, and where the figure comes from."""

    allocatable: Amount
    used: Amount
    free: Amount
    decided_by: DecidedBy
    source: str


class Lending(Model):
    """Deprecated: use Allocation."""

    lent: Amount
    used: Amount
    free: Amount
    decided_by: DecidedBy
    why: str


class NodeKind(StrEnum):
    """Names who runs a node's containers: Yodel's agent in pods, or a NodeManager itself."""

    AGENT = "agent"
    NODE_MANAGER = "NodeManager"


class Node(Model):
    """Describes a node agent or a NodeManager, and its machine."""

    id: str
    host: str
    kind: NodeKind
    state: NodeStatus
    rack: str
    labels: list[str]
    kubernetes_node: str | None = Field(description="Null: a NodeManager.")
    http_address: str | None
    version: str
    health_report: str
    last_health_ms: EpochMs | None = Field(description="Time of its registration, or of the last change of its health.")
    last_heartbeat_ms: EpochMs | None = Field(description="Null: the node is not connected.")
    containers: int
    capacity: Amount = Field(description="The node's total capacity, whether it is allocatable now or not.")
    allocation: Allocation
    lending: Lending = Field(description="Deprecated: use `allocation`.", json_schema_extra=DEPRECATED)
    measured: Measured | None


class NodeContainer(Model):
    """A live container on a node."""

    id: str
    application_id: str
    user: str
    queue: str
    is_am: bool
    state: ContainerState
    capability: Amount
    pod_name: str | None = Field(description="Null: a NodeManager runs it, without a pod.")


class NodeDetails(Node):
    """A node with the containers on it that the caller may view."""

    container_list: list[NodeContainer] = Field(description="At most 1000.")


class Event(Model):
    """A transition.  `id` can be given as Last-Event-ID to the stream."""

    id: str
    at_ms: EpochMs
    kind: EventKind
    subject: str = Field(description="The id of the application, container or node.")
    before: str | None = Field(description="The state before; null for a new one.")
    after: str | None = Field(description="The state after; null for one that the ResourceManager has removed.")
    application_id: str | None
    user: str | None
    queue: str | None
    node_id: str | None
    exit_status: int | None
    reason: str


class FieldError(Model):
    """An error in one parameter or field."""

    where: str
    message: str


class Problem(Model):
    """Problem details (RFC 9457)."""

    type: str = Field(description="A page that explains the kind of problem.")
    title: str
    status: int
    detail: str
    hint: str | None = Field(description="What to do next.")
    errors: list[FieldError]


class ApplicationPage(Page[ApplicationSummary]):
    """A part of the list of applications."""


class ContainerPage(Page[Container]):
    """A part of the list of an application's containers."""


class LogsPage(Page[ContainerLogs]):
    """A part of the list of an application's log locations."""


class QueuePage(Page[Queue]):
    """A part of the list of queues."""


class QueueUserPage(Page[QueueUser]):
    """Holds a part of the list of a queue's users."""

    hidden_users: int = Field(description="Users of whose applications there you may view none.")


class NodePage(Page[Node]):
    """A part of the list of nodes."""


class EventPage(Page[Event]):
    """A part of the list of events."""


JsonObject = dict[str, Any]
