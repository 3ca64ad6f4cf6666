"""Disks: what is full or broken is left out, in Hadoop's words."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from nm_plugin.host.directories import Directories
from nm_plugin.host.disks import DirState, DiskLimits, Disks, DiskVerdict, judge, report_of

LIMITS = DiskLimits(max_utilization_percent=90, low_watermark_percent=80)
A, B = Path("/a"), Path("/b")


class Space(NamedTuple):
    total: int
    free: int


def judged(free_percent: int, before: DiskVerdict = DiskVerdict.GOOD) -> DiskVerdict:
    return judge(A, Space(100, free_percent), DirState(path=A, verdict=before), LIMITS).verdict


def test_full_above_the_threshold_and_good_again_below_the_watermark() -> None:
    assert [judged(10), judged(9)] == [DiskVerdict.GOOD, DiskVerdict.FULL]
    assert [judged(15, DiskVerdict.FULL), judged(20, DiskVerdict.FULL)] == [DiskVerdict.FULL, DiskVerdict.GOOD]


def test_disk_without_any_space_is_full_whatever_is_allowed() -> None:
    limits = DiskLimits(max_utilization_percent=100, low_watermark_percent=100)
    assert judge(A, Space(100, 0), DirState(path=A), limits).verdict is DiskVerdict.FULL
    assert judge(A, Space(100, 1), DirState(path=A), limits).verdict is DiskVerdict.GOOD


def test_free_space_has_a_minimum() -> None:
    state = judge(A, Space(100 << 20, 50 << 20), DirState(path=A), DiskLimits(min_free_mib=51))
    assert (state.verdict, state.message) == (DiskVerdict.FULL, "free space below limit of 51MB")


def test_report_is_hadoops() -> None:
    full = DirState(path=A, verdict=DiskVerdict.FULL, message="used space above threshold of 90.0%")
    words = "usable space is below configured utilization percentage/no more usable space"
    assert report_of([full], [full]) == (
        f"1/1 local-dirs {words} [ /a : used space above threshold of 90.0% ] ;"
        f" 1/1 log-dirs {words} [ /a : used space above threshold of 90.0% ] "
    ).replace("; 1/1", ";1/1")
    broken = DirState(path=B, verdict=DiskVerdict.ERRORED, message="Can not read /b")
    assert report_of([DirState(path=A), broken], [DirState(path=A)]) == (
        "1/2 local-dirs have errors:  [ /b : Can not read /b ] "
    )
    assert report_of([DirState(path=A)], [DirState(path=A)]) == ""


def disks(root: Path, limits: DiskLimits = LIMITS, **free_percent: int) -> tuple[Disks, dict[str, int]]:
    """Local dirs by name with their free space, one roomy log dir."""
    (root / "logs").mkdir(exist_ok=True)
    for name in free_percent:
        (root / name).mkdir(exist_ok=True)
    directories = Directories(local_dirs=tuple(root / name for name in free_percent), log_dirs=(root / "logs",))
    return Disks(directories, limits, lambda path: Space(100, free_percent.get(path.name, 100))), free_percent


def test_bad_dirs_are_left_out_until_they_recover(tmp_path: Path) -> None:
    checked, free = disks(tmp_path, a=50, b=5)
    assert checked.check()
    assert checked.good.local_dirs == (tmp_path / "a",)
    assert checked.is_healthy
    free["b"] = 50
    assert checked.check()
    assert checked.good.local_dirs == (tmp_path / "a", tmp_path / "b")
    assert not checked.check()


def test_node_is_unhealthy_with_too_few_good_dirs(tmp_path: Path) -> None:
    checked, _ = disks(tmp_path, a=5)
    checked.check()
    assert not checked.is_healthy
    assert checked.good.local_dirs == (tmp_path / "a",)


def test_directory_that_cannot_be_written_is_errored(tmp_path: Path) -> None:
    checked, _ = disks(tmp_path, a=50, b=50)
    (tmp_path / "b").rmdir()
    (tmp_path / "b").write_text("a file")
    checked.check()
    assert checked.errored == {tmp_path / "b"}
    assert "1/2 local-dirs have errors:" in checked.report
    assert checked.is_healthy


def test_no_check_no_verdict(tmp_path: Path) -> None:
    checked, _ = disks(tmp_path, DiskLimits(enabled=False), a=0)
    assert not checked.check()
    assert checked.is_healthy
