"""A policy says which containers' logs are kept."""

from __future__ import annotations

import pytest

from nm_plugin.logs.uploading.policies import PACKAGE, EndedContainer, java_hash, keeps_logs, running
from tests.support.node_agent import container_id
from yodel.domain.ids import ContainerId


def ended(exit_status: int, *, sequence: int = 2, is_master: bool = False) -> EndedContainer:
    return EndedContainer(container_id=container_id(sequence), is_master=is_master, exit_status=exit_status)


@pytest.mark.parametrize(
    ("policy", "master", "success", "failure", "killed"),
    [
        ("AllContainerLogAggregationPolicy", True, True, True, True),
        ("NoneContainerLogAggregationPolicy", False, False, False, False),
        ("AMOnlyLogAggregationPolicy", True, False, False, False),
        ("AMOrFailedContainerLogAggregationPolicy", True, False, True, False),
        ("FailedContainerLogAggregationPolicy", False, False, True, False),
        ("FailedOrKilledContainerLogAggregationPolicy", False, False, True, True),
        ("some.other.Policy", True, True, True, True),
        ("", True, True, True, True),
    ],
)
def test_policies(policy: str, master: bool, success: bool, failure: bool, killed: bool) -> None:
    containers = (ended(0, is_master=True), ended(0), ended(1), ended(143))
    for name in (policy, PACKAGE + policy):
        assert tuple(keeps_logs(name, "", container) for container in containers) == (master, success, failure, killed)


def test_sample_keeps_masters_failures_and_the_first() -> None:
    policy = "SampleContainerLogAggregationPolicy"
    assert keeps_logs(policy, "SR:0,MIN:0", ended(0, is_master=True))
    assert keeps_logs(policy, "SR:0,MIN:0", ended(137))
    assert not keeps_logs(policy, "SR:0,MIN:0", ended(0))
    assert keeps_logs(policy, "SR:0,MIN:3", ended(0, sequence=2))
    assert not keeps_logs(policy, "SR:0,MIN:3", ended(0, sequence=3))
    assert all(keeps_logs(policy, "nonsense,SR:x,MIN:-1", ended(0, sequence=n)) for n in range(1, 20))


def test_sample_rate_is_about_kept() -> None:
    kept = [
        keeps_logs("SampleContainerLogAggregationPolicy", "SR:0.2,MIN:0", ended(0, sequence=n)) for n in range(1000)
    ]
    assert 150 < sum(kept) < 250


@pytest.mark.parametrize(
    ("text", "code"),
    # Made by ContainerId.hashCode of Hadoop 3.5.0.
    [
        ("container_1700000000000_0007_01_000002", -1300828475),
        ("container_e17_1700000000000_10007_02_123456", -2115123784),
        ("container_1_0001_01_000001", -1219638178),
    ],
)
def test_hash_is_javas(text: str, code: int) -> None:
    assert java_hash(ContainerId.parse(text)) == code


def test_running_container_counts_as_successful() -> None:
    assert not keeps_logs("FailedContainerLogAggregationPolicy", "", running(container_id(2), False))
