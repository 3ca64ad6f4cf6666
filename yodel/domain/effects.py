"""Lists the actions that the core requests.  Services perform them after the rows that caused them are committed.

All are idempotent.  ``Reconcile`` says only *which* container's pod may differ from its row: the reconciler looks at
both and does what is missing, so a lost effect is found again at the next pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from yodel.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId
from yodel.domain.resource import Resource


@dataclass(frozen=True, slots=True)
class Tell:
    """Deliver an event to another entity in the same transaction."""

    target: ApplicationId | ApplicationAttemptId | ContainerId | NodeId
    event: Any


@dataclass(frozen=True, slots=True)
class StartAttempt:
    """Make the application's next attempt and plan its AM container."""

    application_id: ApplicationId


@dataclass(frozen=True, slots=True)
class StopContainers:
    """Stop every live container of an attempt with this exit status.

    With ``are_running_kept`` its tasks that run live on (keepContainersAcrossApplicationAttempts); as in Hadoop's
    AbstractYarnScheduler, those that were only handed out do not.
    """

    attempt_id: ApplicationAttemptId
    exit_status: int
    diagnostics: str
    are_running_kept: bool = False


@dataclass(frozen=True, slots=True)
class StopContainersOnNode:
    """Stop every live container that is bound to this node.

    With ``is_agent_gone`` what pods told counts of those whose ends the agent had yet to tell more of.
    """

    node_id: NodeId
    exit_status: int
    diagnostics: str
    is_agent_gone: bool = True


@dataclass(frozen=True, slots=True)
class Reconcile:
    """The pod of this container may differ from what its row wants."""

    container_id: ContainerId


@dataclass(frozen=True, slots=True)
class Planned:
    """The container is in flight for the request of its ApplicationMaster that it was planned for."""

    container_id: ContainerId


@dataclass(frozen=True, slots=True)
class Forgettable:
    """The end of this container is known to whoever had to hear of it: it may leave memory once its pod is gone."""

    container_id: ContainerId
    node_id: NodeId | None


@dataclass(frozen=True, slots=True)
class LaunchAm:
    """Ask the node agent to start the attempt's AM in its bound pod."""

    attempt_id: ApplicationAttemptId


@dataclass(frozen=True, slots=True)
class Grant:
    """Put the container into the attempt's next allocate response."""

    container_id: ContainerId


@dataclass(frozen=True, slots=True)
class Withdraw:
    """Take the container out of the attempt's next allocate response again: it has lost its node."""

    container_id: ContainerId


@dataclass(frozen=True, slots=True)
class ReportCompleted:
    """Put the container's completion into the attempt's next allocate response."""

    container_id: ContainerId


@dataclass(frozen=True, slots=True)
class ReportUpdated:
    """Put the container's new size and token into the attempt's next allocate response."""

    container_id: ContainerId


@dataclass(frozen=True, slots=True)
class ReportUpdateRefused:
    """Tell the attempt in its next allocate response that the container cannot have this size."""

    container_id: ContainerId
    capability: Resource
    reason: str


@dataclass(frozen=True, slots=True)
class UpdateOnNode:
    """Tell the container's node agent its new size."""

    container_id: ContainerId
    node_id: NodeId


@dataclass(frozen=True, slots=True)
class CleanUpContainer:
    """Tell the container's node agent to kill it and forget it."""

    container_id: ContainerId
    node_id: NodeId


@dataclass(frozen=True, slots=True)
class CleanUpApplication:
    """The application has ended: stop what of it still lives, and tell every node agent."""

    application_id: ApplicationId


@dataclass(frozen=True, slots=True)
class ExpectAttempt:
    """An attempt was made: it may ask for things from now on."""

    attempt_id: ApplicationAttemptId


@dataclass(frozen=True, slots=True)
class ForgetAttempt:
    """Drop what the attempt asked for; its ApplicationMaster is gone."""

    attempt_id: ApplicationAttemptId


@dataclass(frozen=True, slots=True)
class NodeChanged:
    """Tell every ApplicationMaster about the node (updated_nodes) and look again at what can be placed."""

    node_id: NodeId


@dataclass(frozen=True, slots=True)
class NodeRelabelled:
    """The node stands elsewhere or has another label: look again at what can be placed."""

    node_id: NodeId


TransactionEffect = Tell | StartAttempt | StopContainers | StopContainersOnNode
"""Effects that make further rows and are worked off before the commit."""

OutsideEffect = (
    Reconcile
    | Planned
    | Forgettable
    | LaunchAm
    | Grant
    | Withdraw
    | ReportCompleted
    | ReportUpdated
    | ReportUpdateRefused
    | UpdateOnNode
    | CleanUpContainer
    | CleanUpApplication
    | ExpectAttempt
    | ForgetAttempt
    | NodeChanged
    | NodeRelabelled
)
"""Effects that are performed after the commit."""

Effect = TransactionEffect | OutsideEffect
