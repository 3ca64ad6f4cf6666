"""The spelling of groups, against what kubelets make (``pkg/kubelet/cm/cgroup_manager_linux.go``, its own examples)."""

from pathlib import PurePosixPath

from nm_plugin.cgroups.layout import BEST_EFFORT, DRIVERS, PODS, levels


def test_cgroupfs_spells_a_group_as_it_is_named() -> None:
    spell = DRIVERS["cgroupfs"]
    assert spell(BEST_EFFORT) == PurePosixPath("kubepods/besteffort")
    assert spell((*levels("/rig/n1"), *PODS)) == PurePosixPath("rig/n1/kubepods")
    assert spell(()) == PurePosixPath()


def test_systemd_spells_each_level_with_all_above_it() -> None:
    spell = DRIVERS["systemd"]
    assert spell(BEST_EFFORT) == PurePosixPath("kubepods.slice/kubepods-besteffort.slice")
    assert spell((*levels("/my-node/"), *BEST_EFFORT)) == PurePosixPath(
        "my_node.slice/my_node-kubepods.slice/my_node-kubepods-besteffort.slice"
    )
    assert spell(()) == PurePosixPath()
