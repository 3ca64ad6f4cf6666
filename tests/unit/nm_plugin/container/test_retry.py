"""Retry policies: which exits are worth another try."""

from __future__ import annotations

from dataclasses import replace

from nm_plugin.container.retry import RETRY_FOREVER, Retry, retry_of
from yodel.hadoop_pb import yarn_protos_pb2 as pb

ALWAYS = Retry(error_codes=None, max_retries=2, interval_ms=1000, validity_ms=0, remaining=2)


def tried(retry: Retry | None, *exits: tuple[int, int]) -> list[bool]:
    """Return, for each exit (status, time), whether it was retried."""
    result = []
    for exit_status, at_ms in exits:
        after = retry.after_exit(exit_status, at_ms) if retry is not None else None
        result.append(after is not None)
        retry = after or retry
    return result


def test_retries_are_used_up() -> None:
    assert tried(ALWAYS, (1, 0), (2, 0), (3, 0)) == [True, True, False]


def test_success_and_exits_on_request_are_ends() -> None:
    assert tried(ALWAYS, (0, 0), (137, 0), (143, 0)) == [False, False, False]


def test_only_named_codes() -> None:
    assert tried(replace(ALWAYS, error_codes=frozenset({3})), (1, 0), (3, 0)) == [False, True]


def test_forever() -> None:
    forever = replace(ALWAYS, max_retries=RETRY_FOREVER, remaining=RETRY_FOREVER)
    assert all(tried(forever, *[(1, at) for at in range(100)]))
    assert all(tried(replace(forever, validity_ms=10), *[(1, at) for at in range(100)]))


def test_only_restarts_of_the_window_count() -> None:
    window = replace(ALWAYS, validity_ms=1000)
    assert tried(window, (1, 0), (1, 500), (1, 900), (1, 1100)) == [True, True, False, True]


def test_no_context_is_never() -> None:
    assert retry_of(pb.ContainerLaunchContextProto()) is None


def test_context_is_read_and_the_interval_has_a_minimum() -> None:
    context = pb.ContainerLaunchContextProto()
    context.container_retry_context.retry_policy = pb.RETRY_ON_SPECIFIC_ERROR_CODES
    context.container_retry_context.error_codes.extend([3, 4])
    context.container_retry_context.max_retries = 5
    context.container_retry_context.retry_interval = 10
    context.container_retry_context.failures_validity_interval = 60_000
    assert retry_of(context) == Retry(
        error_codes=frozenset({3, 4}), max_retries=5, interval_ms=1000, validity_ms=60_000, remaining=5
    )
