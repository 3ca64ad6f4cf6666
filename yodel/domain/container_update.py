"""Judges an ApplicationMaster's requests to update its containers.  Pure.

Follows RMServerUtils.validateAndSplitUpdateResourceRequests and AbstractYarnScheduler.handleContainerUpdates with the
words they answer.  Opportunistic containers do not exist here: a promotion finds nothing to promote, as it would in
Hadoop, and a demotion is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from yodel.domain.container import Container
from yodel.domain.ids import ContainerId
from yodel.domain.resource import EXTRA_AMOUNT_MAX, NONE, Resource, rounded_up
from yodel.domain.states import ContainerState, ContainerUpdateType

INVALID_CONTAINER_ID = "INVALID_CONTAINER_ID"
INCORRECT_VERSION = "INCORRECT_CONTAINER_VERSION_ERROR"
OUTSTANDING = "UPDATE_OUTSTANDING_ERROR"
OUT_OF_RANGE = "RESOURCE_OUTSIDE_ALLOWED_RANGE"
NOT_OPPORTUNISTIC = "OPPORTUNISTIC_CONTAINERS_NOT_ENABLED"
UNKNOWN_VERSION = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateRequest:
    """One UpdateContainerRequest.  ``capability`` counts for increases and decreases only."""

    container_id: ContainerId
    version: int
    type: ContainerUpdateType
    capability: Resource = NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateError:
    """An answer to a request; ``current_version`` is -1 for a container that is not there."""

    request: UpdateRequest
    reason: str
    current_version: int


@dataclass(slots=True)
class Updates:
    """The requests of one beat, judged.  ``withdrawn``: increases asked for earlier that are not wanted any more."""

    increases: dict[ContainerId, Resource] = field(default_factory=dict)
    decreases: dict[ContainerId, Resource] = field(default_factory=dict)
    withdrawn: set[ContainerId] = field(default_factory=set)
    errors: list[UpdateError] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeLimits:
    minimum: Resource
    maximum: Resource


def judge(
    requests: Sequence[UpdateRequest], container_of: Callable[[ContainerId], Container | None], limits: SizeLimits
) -> Updates:
    """``container_of`` gives the application's own containers and None for all others."""
    found = Updates()
    seen: set[ContainerId] = set()
    for request in requests:
        container = container_of(request.container_id)
        reason = _refusal(request, container, seen, limits)
        if reason is not None or container is None:
            version = UNKNOWN_VERSION if container is None else container.version
            found.errors.append(
                UpdateError(request=request, reason=reason or INVALID_CONTAINER_ID, current_version=version)
            )
            continue
        seen.add(request.container_id)
        _sort_in(found, request, container, rounded_up(request.capability, limits.minimum, limits.maximum))
    return found


def is_repeated(request: UpdateRequest, container: Container, target: Resource) -> bool:
    """Return True for what was decided already: an ApplicationMaster that registered again asks for everything
    again."""
    if request.type is not ContainerUpdateType.INCREASE_RESOURCE:
        return False
    is_under_way = request.version == container.version and container.resize_to == target
    is_undelivered = container.update_type is not None and request.version == container.version - 1
    return is_under_way or (is_undelivered and container.capability == target)


def _refusal(
    request: UpdateRequest, container: Container | None, seen: set[ContainerId], limits: SizeLimits
) -> str | None:
    if container is None or container.state not in (ContainerState.ACQUIRED, ContainerState.RUNNING):
        return INVALID_CONTAINER_ID
    is_resize = request.type in (ContainerUpdateType.INCREASE_RESOURCE, ContainerUpdateType.DECREASE_RESOURCE)
    if is_resize and not _is_allowed(request.capability, limits.maximum):
        return OUT_OF_RANGE if request.version == container.version else INCORRECT_VERSION
    target = rounded_up(request.capability, limits.minimum, limits.maximum)
    if is_resize and is_repeated(request, container, target):
        return None
    if request.version != container.version:
        return INCORRECT_VERSION
    if request.container_id in seen or container.resize_to != NONE:
        return OUTSTANDING
    if request.type is ContainerUpdateType.DEMOTE_EXECUTION_TYPE:
        return NOT_OPPORTUNISTIC
    if request.type is ContainerUpdateType.INCREASE_RESOURCE and not container.capability.fits_in(target):
        return OUT_OF_RANGE
    if request.type is ContainerUpdateType.DECREASE_RESOURCE and not target.fits_in(container.capability):
        return OUT_OF_RANGE
    return None


def _sort_in(found: Updates, request: UpdateRequest, container: Container, target: Resource) -> None:
    if is_repeated(request, container, target):
        return
    if request.type is ContainerUpdateType.INCREASE_RESOURCE:
        found.withdrawn.add(container.id)
        if target != container.capability:
            found.increases[container.id] = target
    elif request.type is ContainerUpdateType.DECREASE_RESOURCE:
        found.withdrawn.add(container.id)
        if target != container.capability:
            found.decreases[container.id] = target


def _is_allowed(capability: Resource, maximum: Resource) -> bool:
    is_allowed = 0 <= capability.memory_mib <= maximum.memory_mib and 0 <= capability.vcores <= maximum.vcores
    most = dict(maximum.extras)
    return is_allowed and all(0 <= amount <= most.get(name, EXTRA_AMOUNT_MAX) for name, amount in capability.extras)
