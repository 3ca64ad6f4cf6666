"""A pod's use is read by the uid that the ResourceManager named: a made tree, whatever its processes say."""

from __future__ import annotations

from pathlib import Path

import pytest

from nm_plugin.cgroups.layout import BEST_EFFORT, BURSTABLE, PODS, V1, V2, Version, pod_uid_in
from nm_plugin.cgroups.pod_groups import PodGroups
from tests.support.cgroup_tree import MIB, CgroupTree

UID = "0a-1"


@pytest.fixture(params=[V1, V2], ids=lambda version: version.name)
def tree(tmp_path: Path, request: pytest.FixtureRequest) -> CgroupTree:
    version: Version = request.param
    made = CgroupTree(
        mount=tmp_path / "cgroup", proc=tmp_path / "proc", version=version, driver="systemd", cgroup_root="/n1"
    )
    return made.make()


def _pod(tree: CgroupTree, parent: tuple[str, ...], *, mib: int = 0, inactive_mib: int = 0) -> None:
    tree.use((*parent, f"pod{UID}"), cpu_us=0, memory_mib=mib, inactive_mib=inactive_mib)


def _write(tree: CgroupTree, parent: tuple[str, ...], text: str, file: str = "memory.stat") -> None:
    tree.write(tree.version.memory.controller, tree.group((*parent, f"pod{UID}")), file, text)


@pytest.mark.parametrize("parent", [PODS, BURSTABLE, BEST_EFFORT])
def test_what_its_processes_hold_is_their_own_and_files_in_memory(tree: CgroupTree, parent: tuple[str, ...]) -> None:
    groups = PodGroups(tree.mount, "/n1")
    assert (groups.held_bytes(UID), groups.is_of_another_class(UID)) == (None, False)
    _pod(tree, parent, mib=300)
    own, files = (number.key for number in tree.version.held)
    _write(tree, parent, f"cache 900\n{own} {100 * MIB}\n{files} {20 * MIB}\ninactive_file 7\n")
    assert groups.held_bytes(UID) == 120 * MIB
    assert groups.is_of_another_class(UID) == (parent != BEST_EFFORT)
    _write(tree, parent, "torn")
    assert groups.held_bytes(UID) is None


def test_lent_is_the_best_effort_group_alone_and_less_files_read_once(tree: CgroupTree) -> None:
    groups = PodGroups(tree.mount, "/n1")
    _pod(tree, BURSTABLE, mib=300)
    assert groups.lent_mib(UID) is None
    _pod(tree, BEST_EFFORT, mib=300, inactive_mib=90)
    assert groups.lent_mib(UID) == 300
    _write(tree, BEST_EFFORT, "torn", tree.version.memory.file)
    assert groups.lent_mib(UID) == 0, "it goes by its rank"


@pytest.mark.parametrize("uid", ["", "..", "0a/../0a-1", "a b"])
def test_what_is_no_uid_has_no_group(tree: CgroupTree, uid: str) -> None:
    _pod(tree, BEST_EFFORT, mib=300)
    assert PodGroups(tree.mount, "/n1").lent_mib(uid) is None


def test_where_no_cgroups_are_seen_nothing_is_known(tmp_path: Path) -> None:
    for mount in (None, tmp_path):
        assert PodGroups(mount, "/").held_bytes(UID) is None


@pytest.mark.parametrize(
    ("groups", "uid"),
    [
        ("0::/kubepods/besteffort/pod0a-1/cri-1\n", "0a-1"),
        ("0::/../../pod0a-1/cri-1\n", "0a-1"),
        (
            "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0a_1.slice/cri-containerd-1.scope\n",
            "0a-1",
        ),
        ("0::/kubepods.slice/kubepods-pod0a_1.slice\n", "0a-1"),
        ("4:memory:/n1/kubepods/pod0a-1\n3:cpu:/\n", "0a-1"),
        ("0::/kubepods/pod0a-1/docker/kubepods/pod0b-2/c\n", "0a-1"),
        ("0::/kubepods/besteffort\n", ""),
        ("0::/system.slice/pods-0a.service\n", ""),
        ("0::/\n", ""),
        ("", ""),
    ],
)
def test_the_pod_of_a_process_is_in_its_groups(groups: str, uid: str) -> None:
    assert pod_uid_in(groups) == uid
