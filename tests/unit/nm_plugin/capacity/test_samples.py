from dataclasses import replace
from itertools import pairwise

import pytest

from nm_plugin.capacity.samples import Reading, kept, sample_of
from nm_plugin.cgroups.counters import ResourceCounters
from nm_plugin.cgroups.files import LostReading
from yodel.domain.colocation.measured import InstantUse
from yodel.domain.colocation.report import MEMORY_MIB


def _reading(at_ms: int, *, node: int, pods: int, best_effort: int) -> Reading:
    counters = ResourceCounters(
        machine_milli=2000,
        cpu_milli_size=1500,
        memory_mib_size=8192,
        cpu_us=InstantUse(node=node, pods=pods, best_effort=best_effort),
        memory_mib=InstantUse(node=30, pods=20, best_effort=10),
    )
    return Reading(at_ms=at_ms, counters=counters)


def test_a_sample_is_what_was_used_between_two_readings() -> None:
    before = _reading(1000, node=5_000_000, pods=3_000_000, best_effort=1_000_000)
    now = _reading(3000, node=7_000_000, pods=4_000_000, best_effort=1_000_000)
    sample = sample_of(before, now)
    assert sample.cpu_milli == InstantUse(node=1000, pods=500, best_effort=0)
    assert sample.memory_mib == InstantUse(node=30, pods=20, best_effort=10)
    assert (sample.at_ms, sample.cpu_milli_size, sample.memory_mib_size) == (3000, 1500, 8192)


@pytest.mark.parametrize(
    ("pods_mib", "allocatable_mib", "reserved", "evicts_at"),
    [
        (None, None, None, None),
        (2200, None, 5992, 2200),
        (2200, 2100, 5992, 2100),
        (None, 2100, 6092, None),
        (8192, 8092, 0, 8092),
        (9000, 9999, 0, 9000),
        (None, 9000, 0, None),
    ],
)
def test_what_the_kubelet_keeps_is_said_by_the_limit_of_all_pods_or_by_what_is_allocatable(
    pods_mib: int | None, allocatable_mib: int | None, reserved: int | None, evicts_at: int | None
) -> None:
    reading = _reading(2000, node=0, pods=0, best_effort=0)
    counters = replace(reading.counters, memory_mib_pods=pods_mib, cpu_milli_pods=900)
    allocatable = {} if allocatable_mib is None else {MEMORY_MIB: allocatable_mib}
    now = replace(reading, counters=counters, allocatable=allocatable)
    sample = sample_of(_reading(1000, node=0, pods=0, best_effort=0), now)
    assert (sample.memory_mib_reserved, now.memory_mib_for_pods) == (reserved, evicts_at)
    assert sample.cpu_milli_reserved == 600


def test_a_counter_that_went_back_loses_the_reading() -> None:
    before = _reading(1000, node=10, pods=10, best_effort=10)
    with pytest.raises(LostReading, match="CPU of best-effort pods went from 10 to 0 us in 1000 ms"):
        sample_of(before, _reading(2000, node=10, pods=10, best_effort=0))


def test_more_than_the_processors_can_do_loses_the_reading() -> None:
    before = _reading(1000, node=0, pods=0, best_effort=0)
    sample_of(before, _reading(2000, node=3_000_000, pods=0, best_effort=0))
    with pytest.raises(LostReading, match="CPU of the node"):
        sample_of(before, _reading(2000, node=3_001_000, pods=0, best_effort=0))


def test_two_readings_of_one_instant_are_no_sample() -> None:
    with pytest.raises(LostReading, match="0 ms"):
        sample_of(_reading(5, node=0, pods=0, best_effort=0), _reading(5, node=0, pods=0, best_effort=0))


def test_old_samples_are_dropped() -> None:
    readings = [_reading(at_ms, node=0, pods=0, best_effort=0) for at_ms in (0, 1000, 2000, 3000)]
    samples = tuple(sample_of(before, now) for before, now in pairwise(readings))
    assert [sample.at_ms for sample in kept(samples, 1000)] == [2000, 3000]
