from pathlib import Path, PurePosixPath

import pytest

from nm_plugin.cgroups.detect import find_layout, mounted_version
from nm_plugin.cgroups.files import LostReading
from nm_plugin.cgroups.layout import V1, V2, Version
from tests.support.cgroup_tree import CgroupTree


@pytest.mark.parametrize("version", [V1, V2], ids=lambda version: version.name)
@pytest.mark.parametrize("driver", ["cgroupfs", "systemd"])
@pytest.mark.parametrize("cgroup_root", ["/", "/rig/n1"])
def test_the_layout_is_found_by_looking(tmp_path: Path, version: Version, driver: str, cgroup_root: str) -> None:
    tree = CgroupTree(
        mount=tmp_path / "cgroup", proc=tmp_path / "proc", version=version, driver=driver, cgroup_root=cgroup_root
    ).make()
    layout = find_layout(tree.mount, cgroup_root)
    assert (layout.version, layout.driver, layout.is_machine) == (version, driver, cgroup_root == "/")
    assert layout.best_effort == tree.group(("kubepods", "besteffort"))


def test_an_empty_directory_is_no_cgroup_file_system(tmp_path: Path) -> None:
    assert mounted_version(tmp_path) is None
    with pytest.raises(LostReading, match="not a cgroup file system"):
        find_layout(tmp_path, "/")


def test_without_groups_of_pods_both_places_are_named(tmp_path: Path) -> None:
    CgroupTree(mount=tmp_path / "cgroup", proc=tmp_path / "proc", version=V2, driver="systemd").make()
    with pytest.raises(LostReading, match=r"/n1/kubepods/cpu\.stat or .*/n1\.slice/n1-kubepods\.slice/cpu\.stat"):
        find_layout(tmp_path / "cgroup", "/n1")


def test_two_spellings_are_not_guessed_between(tmp_path: Path) -> None:
    for driver in ("cgroupfs", "systemd"):
        CgroupTree(mount=tmp_path / "cgroup", proc=tmp_path / "proc", version=V1, driver=driver).make()
    with pytest.raises(LostReading, match=r"kubepods and kubepods\.slice both exist"):
        find_layout(tmp_path / "cgroup", "/")


def test_a_path_names_the_controller_in_version_1_only(tmp_path: Path) -> None:
    for version, path in (
        (V1, "cpuacct/kubepods/cpuacct.usage"),
        (V2, "kubepods/cpu.stat"),
    ):
        mount = tmp_path / version.name
        CgroupTree(mount=mount, proc=tmp_path / "proc", version=version, driver="cgroupfs").make()
        layout = find_layout(mount, "/")
        assert layout.path(PurePosixPath("kubepods"), version.cpu) == mount / path
