"""The one writer, on a made tree: what it opens for writing, and what it refuses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest

from nm_plugin.cgroups.detect import Layout
from nm_plugin.cgroups.layout import V2 as V2_FILES
from nm_plugin.cgroups.plan import KNOBS, NONE, POD_FILES, Knob
from nm_plugin.cgroups.writer import BestEffort
from tests.support.opened_files import opened_files, written

V2 = KNOBS["cgroup v2"]
LIMIT = V2.limit
LAYOUT = Layout(
    mount=Path("/nowhere"),
    version=V2_FILES,
    driver="cgroupfs",
    root=PurePosixPath(),
    pods=PurePosixPath("pods"),
    best_effort=PurePosixPath("best"),
)


def _groups(best_effort: Path) -> BestEffort:
    return BestEffort(best_effort.parent, replace(LAYOUT, best_effort=PurePosixPath(best_effort.name)))


@pytest.fixture
def opened() -> Iterator[list[tuple[str, int]]]:
    with opened_files() as found:
        yield found


@pytest.fixture
def mount(tmp_path: Path) -> Path:
    for pod in ("podaa", "podbb"):
        (tmp_path / "best" / pod / "container").mkdir(parents=True)
        (tmp_path / "best" / pod / "memory.max").write_text("max\n")
        (tmp_path / "best" / pod / "cpu.weight").write_text("1\n")
    (tmp_path / "online").mkdir()
    (tmp_path / "online" / "memory.max").write_text("max\n")
    (tmp_path / "best" / "memory.max").write_text("max\n")
    (tmp_path / "best" / "cpu.max").write_text("max 100000\n")
    return tmp_path / "best"


def test_a_value_is_written_and_read_back(mount: Path, opened: list[tuple[str, int]]) -> None:
    groups = _groups(mount)
    groups.write("podaa", LIMIT, 5 << 20)
    assert groups.read("podaa", LIMIT) == 5 << 20
    groups.write("podaa", LIMIT, NONE)
    assert (mount / "podaa" / "memory.max").read_text() == "max"
    assert written(opened) == ["memory.max", "memory.max"]
    assert (mount / "podbb" / "memory.max").read_text() == "max\n"


def test_of_the_group_itself_the_quota_alone_is_written(mount: Path, opened: list[tuple[str, int]]) -> None:
    groups = _groups(mount)
    assert (groups.read_quota(), groups.period_us()) == (NONE, 100_000)
    groups.write_quota(40_000)
    assert groups.read_quota() == 40_000
    groups.write_quota(NONE)
    assert (mount / "cpu.max").read_text() == "max"
    assert written(opened) == ["cpu.max", "cpu.max"]
    with pytest.raises(PermissionError, match="is not written"):
        groups.write("podaa", V2.quota, 1)


def test_seven_files_have_names_that_are_written() -> None:
    assert {knobs.quota.file for knobs in KNOBS.values()} == {"cpu.cfs_quota_us", "cpu.max"}
    assert sorted(POD_FILES) == ["cpu.shares", "cpu.weight", "memory.high", "memory.limit_in_bytes", "memory.max"]


@pytest.mark.parametrize("pod", ["", ".", "..", "podaa/container", "../online", "/", "pod\0", "pod\n"])
def test_only_a_name_below_the_group_is_opened(mount: Path, pod: str, opened: list[tuple[str, int]]) -> None:
    groups = _groups(mount)
    with pytest.raises(OSError, match="names no group"):
        groups.write(pod, LIMIT, 1)
    assert not groups.has(pod)
    assert not written(opened)


def test_no_link_is_followed(mount: Path) -> None:
    (mount / "podcc").symlink_to(mount.parent / "online")
    (mount / "podbb" / "memory.max").unlink()
    (mount / "podbb" / "memory.max").symlink_to(mount.parent / "online" / "memory.max")
    groups = _groups(mount)
    for pod in ("podcc", "podbb"):
        with pytest.raises(OSError):
            groups.write(pod, LIMIT, 1)
    assert (mount.parent / "online" / "memory.max").read_text() == "max\n"
    link = mount.parent / "link"
    link.symlink_to(mount)
    with pytest.raises(OSError):
        _groups(link)


def test_only_the_few_files_are_written(mount: Path) -> None:
    with pytest.raises(PermissionError, match="is not written"):
        _groups(mount).write("podaa", Knob(controller="", file="cgroup.procs", kubelets=0), 1)
