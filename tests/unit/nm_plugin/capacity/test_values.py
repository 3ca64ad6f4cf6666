"""A value that is held in a file, and what is kept of it; tests/contract/test_limits.py holds them in the kernel's."""

from __future__ import annotations

import errno
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from nm_plugin.capacity.values import FILE_NAME, Record, Value, WrittenValues


@dataclass
class File:
    """A file of the kernel that may refuse what is written."""

    stands: int | None = -1
    refuses: bool = False
    writes: list[int] = field(default_factory=list)

    def read(self) -> int | None:
        return self.stands

    def write(self, value: int) -> None:
        self.writes.append(value)
        if self.refuses:
            raise OSError(errno.EINVAL, "Invalid argument")
        self.stands = value


def _hold(value: Value, decided: int, file: File) -> bool:
    return value.hold(decided, file.read(), file.write, file.read)


def _read(value: Value) -> int | None:
    return value.bound.read


def test_what_stands_is_not_written_and_stays_the_same_object() -> None:
    value, file = Value("c", "memory.max", 5), File()
    assert not _hold(value, 5, file)
    before = value.bound
    assert (before.decided, before.written, before.read) == (5, 5, 5)
    assert not _hold(value, 5, file)
    assert value.bound is before
    assert file.writes == [5]


def test_only_what_differs_from_what_was_written_is_somebody_else_s() -> None:
    value, file = Value("c", "memory.max", 5), File()
    assert not _hold(value, 5, file), "what stood there before was the kubelet's"
    assert not _hold(value, 7, file), "a new decision"
    file.stands = 6
    assert _hold(value, 7, file)
    file.stands = 6
    assert _hold(value, 8, file), "changed, and decided anew in the same second"
    assert (value.bound.put_back, value.bound.read, file.writes) == (2, 8, [5, 7, 7, 8])


def test_what_the_kernel_refuses_is_told_with_its_reason_until_it_stands() -> None:
    value, file = Value("c", "memory.max", 5), File(refuses=True)
    _hold(value, 5, file)
    bound = value.bound
    assert (bound.written, bound.read, bound.why) == (None, -1, "not written: Invalid argument")
    file.stands = None
    _hold(value, 5, file)
    assert _read(value) is None
    file.refuses = False
    _hold(value, 5, file)
    last = value.bound
    assert (last.written, last.read, last.why) == (5, 5, "")


def test_the_next_life_reads_what_was_written_and_nothing_leaves_no_file(tmp_path: Path) -> None:
    record = Record(tmp_path)
    assert record.written.is_nothing
    record.pods(frozenset({"podb", "poda"}))
    record.quota_milli(1500)
    assert Record(tmp_path).written == WrittenValues(pods=frozenset({"poda", "podb"}), quota_milli=1500)
    record.pods(frozenset())
    assert Record(tmp_path).written == WrittenValues(quota_milli=1500)
    record.quota_milli(None)
    assert not (tmp_path / FILE_NAME).exists()


def test_what_the_disk_refuses_is_known_and_told_and_goes_to_the_file_once_it_can(tmp_path: Path) -> None:
    record = Record(tmp_path)
    record.pods(frozenset({"poda"}))
    (tmp_path / f"{FILE_NAME}.tmp").mkdir()
    record.pods(frozenset({"poda", "podb"}))
    assert record.written.pods == {"poda", "podb"}
    assert "Is a directory" in record.problem
    assert Record(tmp_path).written.pods == {"poda"}
    (tmp_path / f"{FILE_NAME}.tmp").rmdir()
    record.pods(frozenset({"poda", "podb"}))
    assert (record.problem, Record(tmp_path).written.pods) == ("", {"poda", "podb"})


@pytest.mark.parametrize(
    ("content", "written"),
    [
        ('{"format": 1, "pods": ["poda"]}', WrittenValues(pods=frozenset({"poda"}))),
        ('{"format": 1, "pods": [], "quota_milli": "x"}', WrittenValues()),
        ("{", WrittenValues()),
    ],
)
def test_a_file_of_an_older_agent_is_read_and_a_torn_one_is_dropped(
    tmp_path: Path, content: str, written: WrittenValues
) -> None:
    (tmp_path / FILE_NAME).write_text(content)
    assert Record(tmp_path).written == written
