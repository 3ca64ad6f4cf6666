"""Counters of made trees; tests/contract/test_cgroups.py reads real ones."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nm_plugin.cgroups.counters import CgroupCounters
from nm_plugin.cgroups.files import LostReading
from nm_plugin.cgroups.layout import BEST_EFFORT, PODS, V1, V2, Version
from tests.support.cgroup_tree import CgroupTree
from yodel.domain.colocation.measured import InstantUse

MACHINE_MILLI = (os.cpu_count() or 1) * 1000
NO_QUOTA = {V1.name: "-1", V2.name: "max"}
NO_MEMORY_LIMIT = {V1.name: "9223372036854771712", V2.name: "max"}
VERSIONS = pytest.mark.parametrize("version", [V1, V2], ids=lambda version: version.name)


def _tree(tmp_path: Path, version: Version, driver: str = "cgroupfs", cgroup_root: str = "/n1") -> CgroupTree:
    tree = CgroupTree(
        mount=tmp_path / "cgroup", proc=tmp_path / "proc", version=version, driver=driver, cgroup_root=cgroup_root
    ).make()
    tree.use((), cpu_us=900, memory_mib=3000, inactive_mib=100)
    tree.use(PODS, cpu_us=700, memory_mib=2000, inactive_mib=500)
    tree.use(BEST_EFFORT, cpu_us=300, memory_mib=1000)
    return tree


def _reader(tree: CgroupTree) -> CgroupCounters:
    return CgroupCounters(tree.mount, tree.cgroup_root, tree.proc)


@VERSIONS
@pytest.mark.parametrize("driver", ["cgroupfs", "systemd"])
def test_three_groups_are_read_and_page_cache_is_not_counted(tmp_path: Path, version: Version, driver: str) -> None:
    reader = _reader(_tree(tmp_path, version, driver))
    counters = reader.read()
    assert counters.cpu_us == InstantUse(node=900, pods=700, best_effort=300)
    assert counters.memory_mib == InstantUse(node=3000, pods=2000, best_effort=1000)
    assert (counters.cpu_milli_size, counters.memory_mib_size) == (MACHINE_MILLI, 16 << 10)
    assert reader.source == version.name


@VERSIONS
def test_the_memory_of_a_whole_machine_is_what_is_not_available(tmp_path: Path, version: Version) -> None:
    counters = _reader(_tree(tmp_path, version, cgroup_root="/")).read()
    assert counters.memory_mib == InstantUse(node=4 << 10, pods=2000, best_effort=1000)


def _limits(tree: CgroupTree, *, cpus: str, quota_us: str, memory: str, names: tuple[str, ...] = ()) -> None:
    files = (
        [
            ("cpuset", "cpuset.cpus", cpus),
            ("cpu", "cpu.cfs_quota_us", quota_us),
            ("cpu", "cpu.cfs_period_us", "100000"),
            ("memory", "memory.limit_in_bytes", memory),
        ]
        if tree.version is V1
        else [
            ("", "cpuset.cpus.effective", cpus),
            ("", "cpu.max", f"{quota_us} 100000"),
            ("", "memory.max", memory),
        ]
    )
    for controller, name, text in files:
        tree.write(controller, tree.group(names), name, f"{text}\n")


@VERSIONS
def test_a_node_is_as_large_as_the_least_of_its_limits(tmp_path: Path, version: Version) -> None:
    tree = _tree(tmp_path, version)
    reader, no_limit, much = _reader(tree), NO_QUOTA[version.name], NO_MEMORY_LIMIT[version.name]
    _limits(tree, cpus="1", quota_us=no_limit, memory=much)
    assert (reader.read().cpu_milli_size, reader.read().memory_mib_size) == (1000, 16 << 10)
    _limits(tree, cpus="0-1,4", quota_us="50000", memory=str(8 << 30))
    assert (reader.read().cpu_milli_size, reader.read().memory_mib_size) == (500, 8 << 10)
    _limits(tree, cpus="", quota_us=no_limit, memory=much)
    assert reader.read().cpu_milli_size == MACHINE_MILLI


@VERSIONS
@pytest.mark.parametrize("driver", ["cgroupfs", "systemd"])
def test_what_all_pods_may_use_is_their_own_limit_where_they_have_one(
    tmp_path: Path, version: Version, driver: str
) -> None:
    """The kubelet sets one of memory, of all that it finds where nothing is reserved; of cores it sets a weight."""
    tree = _tree(tmp_path, version, driver)
    reader, no_limit, much = _reader(tree), NO_QUOTA[version.name], NO_MEMORY_LIMIT[version.name]
    all_cpus = f"0-{MACHINE_MILLI // 1000 - 1}"

    def of_pods() -> tuple[int | None, int | None]:
        counters = reader.read()
        assert (counters.cpu_milli_size, counters.memory_mib_size) == (MACHINE_MILLI, 16 << 10), "the machine's"
        return counters.cpu_milli_pods, counters.memory_mib_pods

    assert of_pods() == (None, None), "no such files"
    _limits(tree, cpus=all_cpus, quota_us=no_limit, memory=much, names=PODS)
    assert of_pods() == (None, None)
    _limits(tree, cpus=all_cpus, quota_us=no_limit, memory=str(16 << 30), names=PODS)
    assert of_pods() == (None, 16 << 10)
    _limits(tree, cpus=all_cpus, quota_us="30000", memory=str((2200 << 20) - 4096), names=PODS)
    assert of_pods() == (300, 2199)
    if MACHINE_MILLI > 1000:
        _limits(tree, cpus="0", quota_us=no_limit, memory=much, names=PODS)
        assert of_pods() == (1000, None)


@VERSIONS
@pytest.mark.parametrize("text", ["", "\n", "12x\n", "-5\n", "9" * 30])
def test_a_torn_or_absurd_file_costs_one_reading(tmp_path: Path, version: Version, text: str) -> None:
    tree = _tree(tmp_path, version)
    reader, file = _reader(tree), version.memory.file
    tree.write(version.memory.controller, tree.group(PODS), file, text)
    with pytest.raises(LostReading, match=rf"{file}: .* is not a number"):
        reader.read()
    tree.use(PODS, cpu_us=700, memory_mib=2000)
    assert reader.read().memory_mib.pods == 2000


@VERSIONS
def test_a_missing_file_and_a_missing_line_are_named(tmp_path: Path, version: Version) -> None:
    tree = _tree(tmp_path, version)
    path = tree.mount / version.inactive_file.controller / tree.group(BEST_EFFORT) / "memory.stat"
    path.write_text("cache 0\n")
    with pytest.raises(LostReading, match=rf"memory\.stat: no line {version.inactive_file.key}"):
        _reader(tree).read()
    path.unlink()
    with pytest.raises(LostReading, match=r"memory\.stat: No such file"):
        _reader(tree).read()


@VERSIONS
def test_more_memory_than_the_machine_can_have_is_absurd(tmp_path: Path, version: Version) -> None:
    tree = _tree(tmp_path, version)
    tree.use(BEST_EFFORT, cpu_us=300, memory_mib=40 << 10)
    with pytest.raises(LostReading, match="memory of best-effort pods: 40960 MiB on a machine of 16384 MiB"):
        _reader(tree).read()


@VERSIONS
@pytest.mark.parametrize(("cpus", "quota_us"), [("3-1", "50000"), ("a", "50000"), ("0", "0")])
def test_an_absurd_size_costs_one_reading(tmp_path: Path, version: Version, cpus: str, quota_us: str) -> None:
    tree = _tree(tmp_path, version)
    _limits(tree, cpus=cpus, quota_us=quota_us, memory=str(8 << 30))
    with pytest.raises(LostReading):
        _reader(tree).read()


def test_groups_that_appear_later_are_found(tmp_path: Path) -> None:
    CgroupTree(mount=tmp_path / "cgroup", proc=tmp_path / "proc", version=V2, driver="systemd").make()
    reader = CgroupCounters(tmp_path / "cgroup", "/n1", tmp_path / "proc")
    with pytest.raises(LostReading):
        reader.read()
    _tree(tmp_path, V2, "systemd")
    assert reader.read().cpu_us.pods == 700
