"""Facts that happened, one class each.  ``at_ms`` is epoch milliseconds, given by whoever saw the fact."""

from __future__ import annotations

from dataclasses import dataclass

from yodel.domain.ids import ApplicationAttemptId, NodeId
from yodel.domain.lent_limit import LentLimit
from yodel.domain.resource import Resource
from yodel.domain.shuffle.decision import ShuffleDecision
from yodel.domain.shuffle.report import Report
from yodel.domain.states import AttemptState, FinalApplicationStatus

# --- container ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PodBound:
    """A scheduler bound the container's pod to this node."""

    node_id: NodeId


@dataclass(frozen=True, slots=True)
class NodeManagerChosen:
    """The ResourceManager chose this node, whose NodeManager launches the container itself, without a pod."""

    node_id: NodeId


@dataclass(frozen=True, slots=True)
class PodTurnedAway:
    """The kubelet of its node did not admit the container's pod: it gets another pod, on another node."""


@dataclass(frozen=True, slots=True)
class ContainerAcquired:
    """The container is about to go out in an allocate response."""


@dataclass(frozen=True, slots=True)
class ContainerStarted:
    """The node agent reported it as running."""


@dataclass(frozen=True, slots=True)
class ContainerEnded:
    """The process is over.  ``awaits_agent``: its pod says so, and its node agent has yet to tell more."""

    exit_status: int
    diagnostics: str
    at_ms: int
    awaits_agent: bool = False


@dataclass(frozen=True, slots=True)
class StopRequested:
    """The container has to go; the exit status says why."""

    exit_status: int
    diagnostics: str
    at_ms: int


@dataclass(frozen=True, slots=True)
class ContainerCompletionAcknowledged:
    """The ApplicationMaster's next heartbeat proved that it got the completion."""


@dataclass(frozen=True, slots=True)
class IncreaseDecided:
    """There is room for the larger size: it is reserved, and the pod has to become so."""

    capability: Resource


@dataclass(frozen=True, slots=True)
class DecreaseRequested:
    """The ApplicationMaster wants less."""

    capability: Resource


@dataclass(frozen=True, slots=True)
class PodResized:
    """The pod has this size now."""

    capability: Resource


@dataclass(frozen=True, slots=True)
class PodResizeRefused:
    """The pod cannot have this size, with Kubernetes' words."""

    capability: Resource
    reason: str


@dataclass(frozen=True, slots=True)
class ContainerUpdateAcknowledged:
    """The ApplicationMaster's next heartbeat proved that it got the update of this version."""

    version: int


@dataclass(frozen=True, slots=True)
class SizeReported:
    """The node agent works with this size."""

    capability: Resource


@dataclass(frozen=True, slots=True)
class IncreaseExpired:
    """The ApplicationMaster did not pass an increase on to the node agent in time."""


# --- attempt -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AmContainerBound:
    """The AM's pod has a node: the AM can be launched there, with what its queue says of shuffle at this moment."""

    shuffle: ShuffleDecision | None = None


@dataclass(frozen=True, slots=True)
class ShuffleReported:
    """Reports what the AM's node agent did with the shuffle decision."""

    report: Report


@dataclass(frozen=True, slots=True)
class AmContainerStarted:
    """The node agent runs the AM."""


@dataclass(frozen=True, slots=True)
class AmLaunched:
    """The node agent accepted the AM's launch context."""

    at_ms: int


@dataclass(frozen=True, slots=True)
class AmLaunchFailed:
    """The node agent refused the launch, or was away for too long."""

    diagnostics: str
    at_ms: int


@dataclass(frozen=True, slots=True)
class AmContainerCompleted:
    """The AM's container is over.  ``awaits_agent``: its node agent has yet to tell more; ``is_last`` then says that
    no other attempt would follow."""

    exit_status: int
    diagnostics: str
    at_ms: int
    awaits_agent: bool = False
    is_last: bool = False


@dataclass(frozen=True, slots=True)
class AmRegistered:
    """registerApplicationMaster."""

    host: str
    rpc_port: int
    tracking_url: str


@dataclass(frozen=True, slots=True)
class TrackingUrlChanged:
    """An allocate call brought a new tracking URL."""

    tracking_url: str


@dataclass(frozen=True, slots=True)
class AmUnregistered:
    """finishApplicationMaster."""

    final_status: FinalApplicationStatus
    diagnostics: str
    tracking_url: str
    at_ms: int


@dataclass(frozen=True, slots=True)
class AmExpired:
    """No heartbeat for the AM expiry interval."""

    at_ms: int


@dataclass(frozen=True, slots=True)
class AttemptKillRequested:
    """The application is being killed, or an operator failed the attempt (``is_failure``)."""

    diagnostics: str
    at_ms: int
    is_failure: bool = False


# --- application -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AttemptLaunched:
    """The current attempt's AM was launched."""

    at_ms: int


@dataclass(frozen=True, slots=True)
class AttemptRegistered:
    """The current attempt's AM registered."""


@dataclass(frozen=True, slots=True)
class AttemptUnregistered:
    """The current attempt's AM said how the application ended."""

    final_status: FinalApplicationStatus
    diagnostics: str
    at_ms: int


@dataclass(frozen=True, slots=True)
class AttemptEnded:
    """The current attempt is over.  ``counts_as_failure`` is False when the application is not to blame;
    ``is_last``: another attempt would end the same way."""

    attempt_id: ApplicationAttemptId
    state: AttemptState
    counts_as_failure: bool
    diagnostics: str
    at_ms: int
    is_last: bool = False


@dataclass(frozen=True, slots=True)
class FailureExcused:
    """The attempt that failed at this time did not fail by the application's own fault, as its node agent told late."""

    failed_ms: int


@dataclass(frozen=True, slots=True)
class KillRequested:
    """A user or a limit wants the application gone."""

    diagnostics: str
    at_ms: int


# --- node --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NodeRegistered:
    """registerNodeManager."""

    http_port: int
    capability: Resource
    kubernetes_node_name: str
    version: str
    at_ms: int
    shuffle_clients: tuple[str, ...] | None = None
    is_node_manager: bool = False


@dataclass(frozen=True, slots=True)
class NodeHealthReported:
    """A heartbeat's health said something else than before."""

    is_healthy: bool
    report: str
    at_ms: int


@dataclass(frozen=True, slots=True)
class NodeExpired:
    """No heartbeat for the node expiry interval."""

    at_ms: int


@dataclass(frozen=True, slots=True)
class NodeUnregistered:
    """unRegisterNodeManager: an orderly shutdown."""

    at_ms: int


@dataclass(frozen=True, slots=True)
class NodeDecommissionStarted:
    """An administrator wants the node empty: nothing new goes there, what runs may end.  A negative ``timeout_s`` is
    for ever."""

    timeout_s: int
    at_ms: int


@dataclass(frozen=True, slots=True)
class NodeDecommissioned:
    """The node is out: by order, or because it is empty or out of time.  ``report`` says which."""

    report: str
    at_ms: int


@dataclass(frozen=True, slots=True)
class NodeRecommissioned:
    """The order to leave was taken back."""

    at_ms: int


@dataclass(frozen=True, slots=True)
class NodeCapabilityOrdered:
    """An administrator said what the node has, whatever its agent says (updateNodeResource)."""

    capability: Resource


@dataclass(frozen=True, slots=True)
class NodeLendingLimited:
    """Reports that an administrator limited how much capacity the node lends, whatever its agent reports; None: no
    more."""

    limit: LentLimit | None


@dataclass(frozen=True, slots=True)
class NodePlaced:
    """Reports the node's rack and partitions (node labels) as seen in Kubernetes."""

    rack: str
    labels: tuple[str, ...]
