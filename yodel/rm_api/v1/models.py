"""The shapes of ``/api/v1``, field by field.  Everything is always there: what is not known, or not yet, is null.

Times are epoch milliseconds, memory is in MiB, shares are percents.  What YARN has goes by YARN's words, the rest by
Kubernetes'.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from yodel.domain.notices import NoticeReason
from yodel.domain.states import ApplicationState, AttemptState, ContainerState

DIAGNOSTICS_LENGTH_MAX = 4096
EpochMs = Annotated[int, Field(ge=0, description="Milliseconds since 1970-01-01 UTC.")]


class FinalStatus(StrEnum):
    """What the application said, or was said to be, in the end."""

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
    """How far the logs are on their way to where they stay."""

    DISABLED = "DISABLED"
    NOT_START = "NOT_START"
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    TIME_OUT = "TIME_OUT"
    RUNNING_WITH_FAILURE = "RUNNING_WITH_FAILURE"


class EventKind(StrEnum):
    """What an event is about."""

    APPLICATION = "application"
    CONTAINER = "container"
    NODE = "node"


class DecidedBy(StrEnum):
    """Whose figure a node's capacity is."""

    NODE_AGENT = "node agent"
    KUBERNETES_NODE = "kubernetes node"
    ADMINISTRATOR = "administrator"


class Model(BaseModel):
    """Of all shapes: nothing unnamed goes in or out."""

    model_config = ConfigDict(frozen=True, extra="forbid")


ItemT = TypeVar("ItemT", bound=Model)


class Page(Model, Generic[ItemT]):
    """A part of a list."""

    items: list[ItemT]
    next_cursor: str | None = Field(description="Give it as `cursor`, with the same filters, for what follows.")


class Amount(Model):
    """A quantity of resources; `others` are further resource types by their YARN names."""

    memory_mib: int
    vcores: int
    others: dict[str, int]


class ShuffleLine(Model):
    """A setting of remote shuffle."""

    key: str
    value: str
    why: str = Field(description="What it is for.")
    source: str = Field(description="Which word of which queue says so.")


class Shuffle(Model):
    """What the queue's words on remote shuffle came to, decided when the ApplicationMaster was about to be launched."""

    service: str
    queue: str = Field(description="The queue of the application at that moment.")
    added: list[ShuffleLine] = Field(description="What was added to the ApplicationMaster's own settings as defaults.")
    left_alone_because: str | None = Field(description="Why nothing was added.")


class Attempt(Model):
    """One run of an ApplicationMaster."""

    id: str
    number: int
    state: AttemptState
    final_status: FinalStatus
    am_container_id: str | None = Field(description="Null for an unmanaged ApplicationMaster.")
    am_host: str | None = Field(description="Where the ApplicationMaster serves clients; null until it registers.")
    am_rpc_port: int | None
    tracking_url: str | None = Field(description="As the ApplicationMaster gave it.")
    started_ms: EpochMs
    finished_ms: EpochMs | None
    diagnostics: str
    shuffle: Shuffle | None = Field(description="Null: its queue said nothing of remote shuffle.")


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
    attempts: int = Field(description="How many there have been.")
    used: Amount
    running_containers: int = Field(description="Containers with a node.")
    starting_containers: int = Field(description="Containers whose pods have no node yet.")
    pending_containers: int = Field(description="Containers asked for, and not planned.")
    tracking_url: str | None = Field(description="The application's own pages, through the web proxy.")


class Application(ApplicationSummary):
    """An application with what only it itself is asked for."""

    diagnostics: str = Field(description="Why it ended, or what it waits for.")
    pending: Amount
    starting: Amount
    reserved: Amount = Field(description="Free on nodes that are held for it.")
    memory_mib_seconds: int
    vcore_seconds: int
    preempted_containers: int = Field(description="Containers that were taken back from it, ApplicationMasters too.")
    preempted: Amount = Field(description="Their sizes together.")
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
    reason: str | None = Field(description="Kubernetes' word for why it is as it is: Evicted, ErrImagePull, …")
    message: str | None


class Logs(Model):
    """Where a container's log lines are: with its node agent, and when they are aggregated with any."""

    page_url: str = Field(description="For a browser.")
    files_url: str = Field(description="YARN's NodeManager REST: the files; one of them at `files_url/NAME`.")
    aggregated_url: str | None = Field(
        description="As a history server's REST, from a node agent that is up: the files once they are aggregated; one "
        "of them at the same URL with `/NAME` before the `?`.  Null while no node is up."
    )


class Notice(Model):
    """Containers that are to go."""

    reason: NoticeReason
    text: str = Field(description="How many, why, and when they are ended.")
    containers: int
    left_s: float | None = Field(description="Until the last of them is ended; null: nobody ends them.")


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
    exit_status: int | None = Field(description="YARN's exit status; null while it lives.")
    diagnostics: str
    waits_for: str | None = Field(description="Why it does not run yet, in Kubernetes' words.")
    notice: Notice | None = Field(description="That it is to go; null: it stays.")
    pod: Pod
    logs: Logs | None = Field(description="Null while it has no node.")


class ContainerLogs(Model):
    """Where the log lines of one container are."""

    container_id: str
    is_am: bool
    is_live: bool
    user: str
    node_id: str
    logs: Logs


class KillRequest(Model):
    """Why; it becomes a part of the application's diagnostics."""

    diagnostics: str = Field(default="", max_length=DIAGNOSTICS_LENGTH_MAX)


class Killed(Model):
    """What became of it so far."""

    id: str
    state: ApplicationState
    has_ended: bool = Field(description="False while its containers are being stopped.")
    had_ended: bool = Field(description="It had ended before, and nothing was changed.")


class Enforcement(StrEnum):
    """Whether limits of queues count."""

    OBSERVE = "observe"
    LIMIT = "limit"


class ShuffleWord(Model):
    """A word of a queue on remote shuffle."""

    property: str = Field(description="By its name after the queue's path.")
    value: str
    queue: str = Field(description="Which queue says it: this or one above.")


class Removal(Model):
    """The version of the queues that does not name one any more, and whose it was."""

    version: int
    author: str


class EndpointState(StrEnum):
    """Whether an endpoint accepts connections of the ResourceManager; `unknown`: it was not looked at often enough."""

    UNKNOWN = "unknown"
    UP = "up"
    DOWN = "down"


class ShuffleEndpoint(Model):
    """An endpoint of a queue's shuffle service."""

    address: str = Field(description="host:port")
    state: EndpointState


class Queue(Model):
    """A queue and what its applications hold."""

    path: str
    name: str
    parent: str | None
    is_leaf: bool
    state: QueueStatus
    to_be_removed: Removal | None = Field(description="It goes when the last application has left; null: it stays.")
    capacity: str = Field(description="As it was said: `30`, `3w` or `[memory=10240,vcores=12]`.")
    maximum_capacity: str = Field(description="Likewise.")
    capacity_percent: float = Field(description="Of the parent; of a share that is said by resource, its largest part.")
    maximum_capacity_percent: float = Field(description="Of the parent's maximum, likewise.")
    weight: float | None = Field(description="Among its siblings; null: the capacity was given in percent.")
    guaranteed: Amount = Field(
        description="What it gets back when it wants it: as containers of others end, or by preemption."
    )
    maximum: Amount = Field(description="No container starts that would bring it above this.")
    enforcement: Enforcement = Field(description="Whether limits count; `observe`: they are shown only.")
    is_preemptable: bool = Field(description="What it holds above its guarantee may be asked back by preemption.")
    is_intra_queue_preemptable: bool = Field(description="Its applications of a lower priority give to others.")
    is_over_maximum: bool = Field(description="It holds more: limits were lowered, nodes went, or nothing limits.")
    user_limit_factor: float | None = Field(description="Of the guarantee, what one user may hold; -1: no limit.")
    minimum_user_limit_percent: float | None = Field(description="Of the queue, what each active user may have.")
    maximum_applications: int | None = Field(description="Applications that may be under way; of leaves.")
    priority: int = Field(description="The higher is served first, where the parent serves by `priority-utilization`.")
    ordering_policy: str = Field(
        description="Of a leaf `fifo` or `fair`, of a parent `utilization` or `priority-utilization`."
    )
    maximum_parallel_applications: int | None = Field(
        description="Applications that may run at once in it and below; null: no limit."
    )
    used: Amount
    used_percent: float = Field(
        description="Of what the queue is guaranteed, the largest part of all types; of containers with a node."
    )
    starting: Amount = Field(description="Containers whose pods have no node yet: they count for limits.")
    pending: Amount
    reserved: Amount = Field(description="Free on nodes that are held for its applications.")
    running_applications: int
    pending_applications: int
    containers: int
    starting_containers: int
    pending_containers: int
    users: list[str] = Field(description="Of applications that have not ended.")
    maximum_lifetime_seconds: int | None
    default_lifetime_seconds: int | None
    shuffle: list[ShuffleWord] = Field(description="What it says of remote shuffle, and what queues above it say.")
    shuffle_endpoints: list[ShuffleEndpoint] = Field(
        description="Of its shuffle service, as looked at every ten seconds: down after two failures, up after one "
        "success."
    )


class Load(Model):
    """What is really used, as measured."""

    memory_mib: int
    cpu_cores: float


class Measured(Model):
    """By the node agent, at its last heartbeat."""

    containers: Load
    node: Load


class Pool(Model):
    """What the pods of some queues draw on: a pair of resources that nodes lend."""

    name: str = Field(description="Of its dialects.")
    dialects: list[str]
    resources: list[str] = Field(description="Kubernetes' names of what it is of: of cores, and of memory.")
    size: Amount = Field(description="What its nodes lend at the moment.")
    used: Amount
    free: Amount = Field(description="Counted node by node: one that lends less than is held there has nothing.")
    nodes: int = Field(description="That can be used and publish these resources, be it nothing of them.")
    queues: list[str] = Field(description="Children of root; those below them draw on the same.")


class PoolPage(Page[Pool]):
    """Pools by name."""


class Lending(Model):
    """What the node lends to YARN at the moment, how much of it is taken, and why it is that much."""

    lent: Amount
    used: Amount
    free: Amount
    decided_by: DecidedBy
    why: str


class Node(Model):
    """A node agent and the machine it stands for."""

    id: str
    host: str
    state: NodeStatus
    rack: str
    labels: list[str]
    kubernetes_node: str | None
    http_address: str | None
    version: str
    health_report: str
    last_health_ms: EpochMs | None = Field(description="When it registered, or its health last changed.")
    last_heartbeat_ms: EpochMs | None = Field(description="Of a node that is in contact.")
    containers: int
    capacity: Amount = Field(description="What counts as the node's size, whether it is lent at the moment or not.")
    lending: Lending
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
    pod_name: str


class NodeDetails(Node):
    """A node with what runs there, as far as the caller may see it."""

    container_list: list[NodeContainer] = Field(description="At most 1000.")


class Event(Model):
    """A transition.  `id` can be given as Last-Event-ID to the stream."""

    id: str
    at_ms: EpochMs
    kind: EventKind
    subject: str = Field(description="The id of the application, container or node.")
    before: str | None = Field(description="The state that was left; null for what is new.")
    after: str | None = Field(description="The state that was entered; null for what the ResourceManager forgot.")
    application_id: str | None
    user: str | None
    queue: str | None
    node_id: str | None
    exit_status: int | None
    reason: str


class FieldError(Model):
    """What is wrong with one parameter or field."""

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
    """A part of the list of where an application's logs are."""


class QueuePage(Page[Queue]):
    """A part of the list of queues."""


class NodePage(Page[Node]):
    """A part of the list of nodes."""


class EventPage(Page[Event]):
    """A part of the list of events."""


JsonObject = dict[str, Any]
