"""Options of ``yodel local``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import psutil
import pytest

from yodel.errors import InvalidValue
from yodel.local import options
from yodel.local.options import LocalOptions, default_memory_mib, size_of


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"nodes": 0}, "--nodes"),
        ({"nodes": 51}, "--nodes"),
        ({"memory_mib": 1023}, "--memory-mib"),
        ({"memory_mib": 256, "minimum_allocation_mib": 512}, "--memory-mib"),
        ({"minimum_allocation_mib": 0}, "--minimum-allocation-mib"),
        ({"vcores": 0}, "--vcores"),
        ({"wait_s": 0}, "--wait-s"),
        ({"wait_s": 601}, "--wait-s.*1 to 600"),
        ({"colocation": "best", "dialect": "koordinator"}, "--colocation.*one of koordinator, katalyst-canonical"),
        ({"colocation": "crane", "dialect": "koordinator", "nodes": 2}, "--nodes.*1 with --colocation"),
        ({"colocation": "crane"}, "--dialect.*native.*another one with --colocation"),
    ],
)
def test_values_out_of_range_are_refused_by_their_option(given: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidValue, match=named):
        LocalOptions(directory=Path("/tmp/y"), **given)


@pytest.mark.parametrize(
    "path", ["/tmp/a b", "/tmp/a,b", "/tmp/a:b", "/tmp/a?b", "/tmp/a#b", "/tmp/a%b", "/tmp/$a", "/a\n"]
)
def test_directories_that_class_paths_and_urls_cannot_hold_are_refused(path: str) -> None:
    with pytest.raises(InvalidValue, match="--dir"):
        LocalOptions(directory=Path(path))


def test_directory_becomes_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert LocalOptions(directory=Path("a/../b")).directory == tmp_path / "b"


@pytest.mark.parametrize(
    ("machine_gib", "nodes", "expected_mib"), [(64, 1, 8192), (8, 1, 6144), (8, 2, 3072), (1, 1, 2048), (8, 0, 6144)]
)
def test_default_memory_is_three_quarters_of_the_machine_within_bounds(
    monkeypatch: pytest.MonkeyPatch, machine_gib: int, nodes: int, expected_mib: int
) -> None:
    class Memory:
        total = machine_gib * 1024**3

    monkeypatch.setattr(psutil, "virtual_memory", Memory)
    assert default_memory_mib(nodes) == expected_mib
    assert options.NODE_MEMORY_MIN_MIB <= expected_mib <= options.NODE_MEMORY_MAX_MIB


def test_with_colocation_the_node_is_as_large_as_the_machine_and_a_vcore_is_a_tenth_of_a_core() -> None:
    made = LocalOptions(
        directory=Path("/tmp/y"), dialect="koordinator", colocation="crane", **size_of(1, None, None, "crane")
    )
    assert made.cpu_milli == (os.cpu_count() or 0) * 1000
    assert made.memory_mib == psutil.virtual_memory().total >> 20
    assert made.milli_per_vcore == 100


def test_a_size_that_was_said_counts_without_colocation_and_is_refused_with_it() -> None:
    assert size_of(1, 4096, 3, None) == {"memory_mib": 4096, "vcores": 3}
    assert size_of(2, None, None, None) == {"memory_mib": default_memory_mib(2), "vcores": 8}
    with pytest.raises(InvalidValue, match=r"--memory-mib.*4096.*as large as the machine"):
        size_of(1, 4096, None, "crane")
    with pytest.raises(InvalidValue, match=r"--vcores.*3.*as large as the machine"):
        size_of(1, None, 3, "crane")
