"""Pressure in made trees; the kernel's own is read by tests/contract/test_emergency.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from nm_plugin.cgroups.detect import find_layout
from nm_plugin.cgroups.files import Files
from nm_plugin.cgroups.layout import V1, V2, Version
from nm_plugin.cgroups.memory_pressure import full_percent
from tests.support.cgroup_tree import CgroupTree

TEXT = "some avg10=99.99 avg60=0.00 avg300=0.00 total=5\nfull avg10=12.34 avg60=1.00 avg300=0.00 total=7\n"


def _tree(tmp_path: Path, version: Version, cgroup_root: str = "/n1") -> CgroupTree:
    proc = tmp_path / "proc"
    return CgroupTree(
        mount=tmp_path / "cgroup", proc=proc, version=version, driver="cgroupfs", cgroup_root=cgroup_root
    ).make()


def _read(tree: CgroupTree) -> float | None:
    return full_percent(find_layout(tree.mount, tree.cgroup_root), Files(), tree.proc)


@pytest.mark.parametrize(("version", "controller"), [(V1, "unified"), (V2, "")])
def test_the_full_line_of_the_root_s_own_group_counts(tmp_path: Path, version: Version, controller: str) -> None:
    tree = _tree(tmp_path, version)
    tree.write(controller, tree.group(), "memory.pressure", TEXT)
    assert _read(tree) == 12.34


def test_a_machine_has_it_in_proc_where_its_group_has_none(tmp_path: Path) -> None:
    for number, root in enumerate(("/", "/n1")):
        (tmp_path / str(number)).mkdir()
        tree = _tree(tmp_path / str(number), V1, root)
        assert _read(tree) is None
        (tree.proc / "pressure").mkdir()
        (tree.proc / "pressure" / "memory").write_text(TEXT)
        assert _read(tree) == (12.34 if root == "/" else None)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "some avg10=99.99 avg60=0.00 avg300=0.00 total=5\n",
        "full avg10=",
        "full avg10=12.3",
        "full avg10=nan avg60=0.00 avg300=0.00 total=5\n",
        "full avg10=inf avg60=0.00 avg300=0.00 total=5\n",
        "full avg10=-1.00 avg60=0.00 avg300=0.00 total=5\n",
        "full avg10=100.01 avg60=0.00 avg300=0.00 total=5\n",
        "full avg10=1e2 avg60=0.00 avg300=0.00 total=5\n",
        "full avg10=99999.99 avg60=0.00 avg300=0.00 total=5\n",
        "full avg10=\u0661.\u0662 avg60=0.00 avg300=0.00 total=5\n",
    ],
)
def test_a_torn_or_absurd_file_says_nothing(tmp_path: Path, text: str) -> None:
    tree = _tree(tmp_path, V2)
    tree.write("", tree.group(), "memory.pressure", text)
    assert _read(tree) is None
