"""Decides which containers' logs are kept: the NodeManager's ContainerLogAggregationPolicy classes.  Pure.

An application names a class and parameters in its LogAggregationContext.  A class that is not one of Hadoop's counts as
the default, AllContainerLogAggregationPolicy: keeping too much is better than losing what somebody looks for.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass

from yodel.domain.ids import ContainerId
from yodel.domain.states import ContainerExitStatus

PACKAGE = "org.apache.hadoop.yarn.server.nodemanager.containermanager.logaggregation."
SAMPLE_RATE, SAMPLE_MIN = 0.2, 20  # SampleContainerLogAggregationPolicy
_KILLED = (137, 143)  # ContainerExecutor.ExitCode FORCE_KILLED, TERMINATED


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedContainer:
    """Describes a container to a policy (ContainerLogContext)."""

    container_id: ContainerId
    is_master: bool
    exit_status: int


def keeps_logs(policy_class: str, parameters: str, container: EndedContainer) -> bool:
    """``ContainerLogAggregationPolicy.shouldDoLogAggregation``."""
    failed = container.exit_status != 0
    failed_by_itself = failed and container.exit_status not in _KILLED
    match policy_class.removeprefix(PACKAGE):
        case "NoneContainerLogAggregationPolicy":
            return False
        case "AMOnlyLogAggregationPolicy":
            return container.is_master
        case "AMOrFailedContainerLogAggregationPolicy":
            return container.is_master or failed_by_itself
        case "FailedContainerLogAggregationPolicy":
            return failed_by_itself
        case "FailedOrKilledContainerLogAggregationPolicy":
            return failed
        case "SampleContainerLogAggregationPolicy":
            return container.is_master or failed or _is_in_sample(parameters, container.container_id)
        case _:
            return True


def running(container_id: ContainerId, is_master: bool) -> EndedContainer:
    """A container that has not ended counts as successful (AppLogAggregatorImpl)."""
    return EndedContainer(container_id=container_id, is_master=is_master, exit_status=ContainerExitStatus.SUCCESS)


def _is_in_sample(parameters: str, container_id: ContainerId) -> bool:
    rate, minimum = _sample_parameters(parameters)
    if container_id.sequence < minimum:
        return True
    return rate != 0 and math.fmod(_float32(java_hash(container_id)), _float32(1 / _float32(rate))) == 0


def _sample_parameters(text: str) -> tuple[float, int]:
    """``SR:0.5,MIN:10``; what cannot be read leaves the default."""
    rate, minimum = SAMPLE_RATE, SAMPLE_MIN
    for part in text.split(","):
        name, _, value = part.strip().partition(":")
        try:
            if name == "SR" and 0 <= float(value) <= 1:
                rate = float(value)
            elif name == "MIN" and int(value) >= 0:
                minimum = int(value)
        except ValueError:
            continue
    return rate, minimum


def java_hash(container_id: ContainerId) -> int:
    """``ContainerId.hashCode``: which containers are in a sample follows from it."""
    application = container_id.application_id
    code = _int32(371237 * 6521 + _folded(application.cluster_timestamp_ms))
    code = _int32(371237 * code + application.sequence)
    code = _int32(347671 * 5501 + code)
    code = _int32(347671 * code + container_id.attempt_id.attempt)
    return _int32(31 * _folded(container_id.number) + code)


def _folded(number: int) -> int:
    return _int32(number ^ (number >> 32))


def _int32(number: int) -> int:
    return (number + 2**31) % 2**32 - 2**31


def _float32(number: float) -> float:
    result: float = struct.unpack(">f", struct.pack(">f", number))[0]
    return result
