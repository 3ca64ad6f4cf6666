"""Spill indexes and their cache.  The golden file was written by Hadoop 3.5.0's SpillRecord."""

from __future__ import annotations

import pytest

from nm_plugin.shuffle.spill_index import ENTRY_OVERHEAD_BYTES, IndexCache, Partition, SpillIndex
from tests.support.shuffle import index_bytes
from yodel.errors import InvalidValue

GOLDEN = bytes.fromhex(
    "000000000000000000000000000000020000000000000006"
    "000000000000000600000000000000640000000000000036"
    "000000000000003c000001d1a94a2000000000000000000a"
    "000000006ce511af"
)


def test_file_of_hadoop() -> None:
    index = SpillIndex.parse(GOLDEN)
    assert [index.partition(n) for n in range(len(index))] == [
        Partition(start=0, raw_length=2, part_length=6),
        Partition(start=6, raw_length=100, part_length=54),
        Partition(start=60, raw_length=2_000_000_000_000, part_length=10),
    ]
    assert index.partition(1).end == 60
    assert index_bytes([(0, 2, 6), (6, 100, 54), (60, 2_000_000_000_000, 10)]) == GOLDEN


@pytest.mark.parametrize("content", [b"", GOLDEN[:7], GOLDEN[:-1], GOLDEN[8:], GOLDEN + b"\0" * 8])
def test_length_that_is_no_index_is_refused(content: bytes) -> None:
    with pytest.raises(InvalidValue, match="spill index length"):
        SpillIndex.parse(content)


@pytest.mark.parametrize("position", [0, 23, 71, 72, 79])
def test_every_byte_is_under_the_checksum(position: int) -> None:
    content = bytearray(GOLDEN)
    content[position] ^= 1
    with pytest.raises(InvalidValue, match="CRC-32"):
        SpillIndex.parse(bytes(content))


@pytest.mark.parametrize("reduce", [-1, 3, 2**31 - 1])
def test_reduce_without_record_is_an_index_error(reduce: int) -> None:
    with pytest.raises(IndexError):
        SpillIndex.parse(GOLDEN).partition(reduce)


@pytest.mark.parametrize("record", [(-1, 0, 0), (0, -1, 0), (0, 0, -(2**63))])
def test_negative_numbers_are_refused(record: tuple[int, int, int]) -> None:
    index = SpillIndex.parse(index_bytes([record]))
    with pytest.raises(InvalidValue, match="no negative number"):
        index.partition(0)


def entry(records: int = 1) -> SpillIndex:
    return SpillIndex.parse(index_bytes([(0, 0, 0)] * records))


def test_least_recently_used_goes_first() -> None:
    cache = IndexCache(2 * (ENTRY_OVERHEAD_BYTES + 24))
    cache.put("job", "a", entry())
    cache.put("job", "b", entry())
    assert cache.get("job", "a") is not None
    cache.put("job", "c", entry())
    assert [cache.get("job", name) is not None for name in "abc"] == [True, False, True]
    assert cache.bytes == 2 * (ENTRY_OVERHEAD_BYTES + 24)


def test_index_larger_than_the_cache_is_not_kept() -> None:
    cache = IndexCache(ENTRY_OVERHEAD_BYTES + 24)
    cache.put("job", "a", entry())
    cache.put("job", "large", entry(2))
    assert cache.get("job", "large") is None
    assert cache.get("job", "a") is not None


def test_same_index_again_weighs_once() -> None:
    cache = IndexCache(1 << 20)
    for _ in range(3):
        cache.put("job", "a", entry())
    assert cache.bytes == ENTRY_OVERHEAD_BYTES + 24


def test_finished_job_is_forgotten() -> None:
    cache = IndexCache(1 << 20)
    cache.put("one", "a", entry())
    cache.put("two", "a", entry())
    cache.forget_job("one")
    assert (cache.get("one", "a"), cache.get("two", "a")) == (None, entry())
    assert cache.bytes == ENTRY_OVERHEAD_BYTES + 24
