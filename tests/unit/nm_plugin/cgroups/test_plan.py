"""Batch pods are held to weights by size, and to limits above what was granted and never below use."""

import pytest

from nm_plugin.cgroups.plan import KNOBS, NONE, as_text, as_value, kubelets, limit_bytes, planned, quota_us

MIB = 1 << 20
V1, V2 = KNOBS["cgroup v1"], KNOBS["cgroup v2"]


@pytest.mark.parametrize(("granted", "limit"), [(0, 64), (100, 164), (640, 704), (641, 706), (10_240, 11_264)])
def test_the_limit_is_a_tenth_or_64_mib_above_what_was_granted(granted: int, limit: int) -> None:
    assert limit_bytes(granted) == limit * MIB


def test_a_vcore_weighs_what_a_best_effort_pod_does() -> None:
    for knobs, file, one in ((V1, "cpu.shares", 2), (V2, "cpu.weight", 1)):
        weights = [
            planned(knobs, memory_mib=1, vcores=vcores, used_bytes=0, before={})[file] for vcores in (0, 1, 2, 10**7)
        ]
        assert weights == [one, one, 2 * one, knobs.weight.most]
        assert kubelets(knobs)[file] == one


def test_a_limit_comes_down_to_use_and_not_below_it() -> None:
    first = planned(V2, memory_mib=100, vcores=1, used_bytes=300 * MIB + 1, before={})
    assert first == {"cpu.weight": 1, "memory.high": 164 * MIB, "memory.max": 365 * MIB}
    more = planned(V2, memory_mib=100, vcores=1, used_bytes=350 * MIB, before=first)
    assert more["memory.max"] == 365 * MIB
    less = planned(V2, memory_mib=100, vcores=1, used_bytes=200 * MIB, before=first)
    assert less["memory.max"] == 264 * MIB
    there = planned(V2, memory_mib=100, vcores=1, used_bytes=164 * MIB, before=less)
    assert (there["memory.high"], there["memory.max"]) == (NONE, 164 * MIB)


def test_a_container_that_grows_gets_its_new_limit_at_once() -> None:
    before = planned(V1, memory_mib=100, vcores=1, used_bytes=0, before={})
    grown = planned(V1, memory_mib=1000, vcores=4, used_bytes=150 * MIB, before=before)
    assert grown == {"cpu.shares": 8, "memory.limit_in_bytes": 1100 * MIB}


def test_a_quota_is_of_the_period_and_never_less_than_the_kernel_takes() -> None:
    assert [quota_us(milli, 100_000) for milli in (0, 9, 10, 1, 2500)] == [1000, 1000, 1000, 1000, 250_000]
    assert quota_us(2500, 20_000) == 50_000
    assert [as_value(V2, "max 100000\n"), as_value(V2, "250000 100000\n"), as_value(V1, "-1\n")] == [
        NONE,
        250_000,
        NONE,
    ]


def test_no_limit_is_spelled_as_each_version_does() -> None:
    assert [as_text(V1, NONE), as_text(V2, NONE), as_text(V1, 7)] == ["-1", "max", "7"]
    assert [as_value(V1, "9223372036854771712\n"), as_value(V2, "max\n"), as_value(V1, "7\n")] == [NONE, NONE, 7]
    assert [as_value(V2, word) for word in ("", "-7", "x", "9" * 21)] == [None] * 4
