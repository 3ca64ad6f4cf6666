"""Which containers run in the best-effort group, by the marks of the processes there: a made tree, a made ``/proc``."""

from __future__ import annotations

from pathlib import Path

import pytest

from nm_plugin.capacity.lent_pods import used_mib
from nm_plugin.cgroups.detect import find_layout
from nm_plugin.cgroups.layout import BEST_EFFORT, PODS, V1, V2, Version
from tests.support.cgroup_tree import CgroupTree
from tests.support.node_agent import container_id

ONE, OTHER = container_id(2), container_id(3)


@pytest.fixture(params=[V1, V2], ids=lambda version: version.name)
def tree(tmp_path: Path, request: pytest.FixtureRequest) -> CgroupTree:
    version: Version = request.param
    made = CgroupTree(
        mount=tmp_path / "cgroup", proc=tmp_path / "proc", version=version, driver="systemd", cgroup_root="/n1"
    )
    return made.make()


def _pod(tree: CgroupTree, parent: tuple[str, ...], uid: str, pids: str, mib: int = 0, inactive_mib: int = 0) -> None:
    names = (*parent, f"pod{uid}")
    tree.use(names, cpu_us=0, memory_mib=mib, inactive_mib=inactive_mib)
    controller = tree.version.memory.controller
    tree.write(controller, tree.group(names), "cgroup.procs", "")
    tree.write(controller, tree.group(names) / "cri-1.scope", "cgroup.procs", pids)


def _process(tree: CgroupTree, pid: int, environ: str, uid: int = 1000) -> None:
    process = tree.proc / str(pid)
    process.mkdir()
    (process / "status").write_text(f"Name:\tjava\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\nGid:\t0\t0\t0\t0\n")
    (process / "environ").write_bytes(environ.encode())


def _found(tree: CgroupTree, **changes: int) -> dict[int, int]:
    found = used_mib(find_layout(tree.mount, "/n1"), {ONE: 1000, OTHER: changes.get("uid", 1000)}, tree.proc)
    return {one.sequence: mib for one, mib in found.items()}


def test_a_pod_is_its_container_s_with_what_it_uses_less_files_read_once(tree: CgroupTree) -> None:
    _pod(tree, BEST_EFFORT, "0a-1", "7\n8\n", mib=300, inactive_mib=90)
    _pod(tree, BEST_EFFORT, "0a-2", "9\n")
    _pod(tree, PODS, "0a-3", "10\n")
    _process(tree, 7, f"PATH=/\0YODEL_CONTAINER_ID={ONE}\0")
    _process(tree, 8, "CONTAINER_ID=container_1_0001_01_000009\0")
    _process(tree, 9, "CONTAINER_ID=of-somebody-else\0")
    _process(tree, 10, f"CONTAINER_ID={OTHER}\0")
    assert _found(tree) == {2: 300}


def test_the_mark_counts_of_its_user_only(tree: CgroupTree) -> None:
    _pod(tree, BEST_EFFORT, "0a-1", "7\n", mib=300)
    _process(tree, 7, f"CONTAINER_ID={OTHER}\0")
    assert _found(tree) == {3: 300}
    assert _found(tree, uid=1001) == {}


def test_what_cannot_be_read_counts_as_nothing_used(tree: CgroupTree) -> None:
    _pod(tree, BEST_EFFORT, "0a-1", "7\n99\nx\n", mib=300)
    _process(tree, 7, f"CONTAINER_ID={ONE}\0")
    number = tree.version.memory
    tree.write(number.controller, tree.group((*BEST_EFFORT, "pod0a-1")), number.file, "torn")
    assert _found(tree) == {2: 0}


def test_without_pods_nobody_is_found(tree: CgroupTree) -> None:
    layout = find_layout(tree.mount, "/n1")
    assert used_mib(layout, {ONE: 1000}, tree.proc) == {}
