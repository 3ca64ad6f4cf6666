"""Decides when a container that failed is started again on its node.  Pure.

Follows ``SlidingWindowRetryPolicy`` and ``ContainerImpl.shouldRetry``: the ApplicationMaster may say in the launch
context which failures are worth another try, how often and how long after.  With a validity interval only restarts
within it count.  An exit that somebody asked for (143, 137) is never retried.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from yodel.domain.states import ContainerExitStatus
from yodel.hadoop_pb import yarn_protos_pb2 as pb

RETRY_FOREVER = -1  # ContainerRetryContext.RETRY_FOREVER
INTERVAL_MIN_MS = 1000  # yarn.nodemanager.container-retry-minimum-interval-ms
RESTARTS_KEPT_MAX = 10_000
ERROR_CODES_MAX = 1000
_NOT_RETRIED = (0, int(ContainerExitStatus.FORCE_KILLED), int(ContainerExitStatus.TERMINATED))


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """The policy and what of it is used up.

    ``error_codes`` None means every error; ``validity_ms`` of 0 or less means that all restarts count.
    """

    error_codes: frozenset[int] | None
    max_retries: int
    interval_ms: int
    validity_ms: int
    remaining: int
    restarts_ms: tuple[int, ...] = ()

    def after_exit(self, exit_status: int, now_ms: int) -> Retry | None:
        """The state after one more restart, or None when this exit is the end."""
        if not_retried(exit_status):
            return None
        if self.error_codes is not None and exit_status not in self.error_codes:
            return None
        if self.validity_ms <= 0:
            return self._counted()
        recent = tuple(at for at in self.restarts_ms if now_ms - at <= self.validity_ms)
        if self.max_retries != RETRY_FOREVER and len(recent) >= self.max_retries:
            return None
        kept = (*recent, now_ms)[-RESTARTS_KEPT_MAX:]
        return replace(self, restarts_ms=kept, remaining=self.max_retries - len(kept))

    def _counted(self) -> Retry | None:
        if self.max_retries == RETRY_FOREVER:
            return self
        return replace(self, remaining=self.remaining - 1) if self.remaining > 0 else None


def not_retried(exit_status: int) -> bool:
    """True for success and for what somebody asked for."""
    return exit_status in _NOT_RETRIED


def retry_of(context: pb.ContainerLaunchContextProto) -> Retry | None:
    """Return the retry policy of the launch context; None for NEVER_RETRY, its default."""
    wanted = context.container_retry_context
    if wanted.retry_policy == pb.NEVER_RETRY:
        return None
    all_errors = wanted.retry_policy == pb.RETRY_ON_ALL_ERRORS
    return Retry(
        error_codes=None if all_errors else frozenset(wanted.error_codes[:ERROR_CODES_MAX]),
        max_retries=wanted.max_retries,
        interval_ms=max(wanted.retry_interval, INTERVAL_MIN_MS),
        validity_ms=wanted.failures_validity_interval,
        remaining=wanted.max_retries,
    )
