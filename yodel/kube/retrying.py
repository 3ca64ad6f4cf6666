"""The one place where single calls to the API server are repeated: bounded, jittered, ``Retry-After`` respected.

Every request that comes here must be idempotent.  Creation is: pod names are deterministic, so a repeat of a request
whose answer was lost finds the pod of the first.  The watch loop has its own, endless back-off and does not come here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import stamina

from yodel.errors import InvalidValue, Unavailable
from yodel.kube.api import ApiStatus, as_project_error

_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryLimits:
    """``attempts`` in all, none begun later than ``total_s`` after the first; waits grow up to ``wait_max_s``."""

    attempts: int = 5
    total_s: float = 30.0
    wait_initial_s: float = 0.2
    wait_max_s: float = 5.0

    def __post_init__(self) -> None:
        if self.attempts < 1 or self.total_s <= 0:
            raise InvalidValue("retry limits", (self.attempts, self.total_s), "at least one attempt, a positive time")


async def retried(attempt: Callable[[], Awaitable[_Answer]], what: str, limits: RetryLimits) -> _Answer:
    """Run ``attempt`` until it succeeds, is refused for good, or the limits are reached.

    Raises:
        Refused: the API server refused the request for good; with its message.
        Unavailable: it did not answer, or kept asking to come back later.
    """
    try:
        return await _repeated(attempt, limits)
    except ApiStatus as status:
        raise as_project_error(status, what) from status
    except Unavailable as silence:
        raise Unavailable(f"{what}: {silence}") from silence


async def _repeated(attempt: Callable[[], Awaitable[_Answer]], limits: RetryLimits) -> _Answer:
    """The first attempt is made without the machinery of repeating: most need no other, and it costs a tenth of all
    that creating a pod does."""
    try:
        return await attempt()
    except (ApiStatus, Unavailable) as error:
        if _wait_or_give_up(error) is False:
            raise
        return await _repeated_after(error, attempt, limits)


async def _repeated_after(
    first: ApiStatus | Unavailable, attempt: Callable[[], Awaitable[_Answer]], limits: RetryLimits
) -> _Answer:
    """``first`` counts as the first attempt's failure, with the wait that follows it."""
    failed = [first]
    context = stamina.retry_context(
        on=_wait_or_give_up,
        attempts=limits.attempts,
        timeout=limits.total_s,
        wait_initial=limits.wait_initial_s,
        wait_max=limits.wait_max_s,
        wait_jitter=limits.wait_initial_s,
    )
    async for trial in context:
        with trial:
            if failed:
                raise failed.pop()
            return await attempt()
    raise AssertionError("stamina ends with an answer or an exception")


def _wait_or_give_up(error: Exception) -> bool | float:
    """False: do not repeat.  True: after the usual wait.  A number: after so many seconds, as the server asked."""
    if not isinstance(error, ApiStatus):
        return isinstance(error, Unavailable)
    if error.is_retryable and error.retry_after_s:
        return error.retry_after_s
    return error.is_retryable
