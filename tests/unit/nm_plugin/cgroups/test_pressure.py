"""The pressure of online pods on made trees."""

from __future__ import annotations

from pathlib import Path

import pytest

from nm_plugin.cgroups.layout import BEST_EFFORT, BURSTABLE, DRIVERS, PODS, V1, V2, Version, levels
from nm_plugin.cgroups.pressure import OnlinePressure
from tests.support.cgroup_tree import CgroupTree
from yodel.domain.colocation.report import Pressure

EACH = pytest.mark.parametrize(("version", "driver"), [(V1, "cgroupfs"), (V2, "cgroupfs"), (V2, "systemd")])


class Tree:
    """Groups of pods, each with a pressure."""

    def __init__(self, tmp_path: Path, version: Version, driver: str) -> None:
        made = CgroupTree(
            mount=tmp_path / "cgroup", proc=tmp_path / "proc", version=version, driver=driver, cgroup_root="/n1"
        ).make()
        made.use(PODS, cpu_us=1, memory_mib=1)
        self._driver, self._cgroup_root = driver, made.cgroup_root
        self._hierarchy = made.mount if version is V2 else made.mount / "unified"
        self.pressure = OnlinePressure(made.mount, made.cgroup_root)

    def group(self, *names: str) -> str:
        return str(DRIVERS[self._driver]((*levels(self._cgroup_root), *names)))

    def says(self, text: str, *names: str) -> None:
        path = self._hierarchy / self.group(*names)
        path.mkdir(parents=True, exist_ok=True)
        (path / "cpu.pressure").write_text(text)


def _some(avg10: str) -> str:
    return f"some avg10={avg10} avg60=9.00 avg300=8.00 total=7\nfull avg10=6.00 avg60=5.00 avg300=4.00 total=3\n"


@EACH
def test_the_online_group_that_waits_longest_counts_and_best_effort_does_not(
    tmp_path: Path, version: Version, driver: str
) -> None:
    tree = Tree(tmp_path, version, driver)
    assert tree.pressure.read() is None, "the kernel does not tell it"
    tree.says(_some("99.00"), *PODS)
    tree.says(_some("98.00"), *BEST_EFFORT)
    tree.says(_some("97.00"), *BEST_EFFORT, "podb")
    assert tree.pressure.read() is None, "no online pod"
    tree.says(_some("3.01"), *BURSTABLE)
    assert tree.pressure.read() == Pressure(source=tree.group(*BURSTABLE), some_basis_points=301)
    tree.says(_some("15.62"), *PODS, "poda")
    assert tree.pressure.read() == Pressure(source=tree.group(*PODS, "poda"), some_basis_points=1562)


@pytest.mark.parametrize(
    "text", ["", "some", "full avg10=1.00", "some avg10=", "some avg10=-1.00", "some avg10=1e9.00"]
)
def test_a_file_that_is_not_as_expected_says_nothing(tmp_path: Path, text: str) -> None:
    tree = Tree(tmp_path, V2, "cgroupfs")
    tree.says(text, *BURSTABLE)
    assert tree.pressure.read() is None


def test_where_no_cgroups_are_mounted_nothing_is_known(tmp_path: Path) -> None:
    assert OnlinePressure(tmp_path, "/").read() is None
