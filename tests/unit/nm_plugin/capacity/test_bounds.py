"""Bounds where there is nothing to bound; tests/contract/test_limits.py has the kernel's groups."""

from __future__ import annotations

from pathlib import Path

from nm_plugin.capacity.bounds import Bounds
from nm_plugin.capacity.clock import MonotonicClock
from nm_plugin.capacity.running import Batch
from nm_plugin.host.users import FileThreads
from tests.support.opened_files import descriptors_along


def _nobody() -> list[Batch]:
    return []


def test_a_group_that_is_missing_is_a_problem_and_leaves_nothing_open(tmp_path: Path) -> None:
    mount, writable, threads = tmp_path / "mount", tmp_path / "writable", FileThreads(1)
    (mount / "cpuacct" / "kubepods").mkdir(parents=True)
    for path in (mount / "cpuacct" / "cpuacct.usage", mount / "cpuacct" / "kubepods" / "cpuacct.usage"):
        path.write_text("0")
    agent = Bounds(writable, mount, "/", tmp_path, MonotonicClock(), threads, _nobody)
    agent.obey(limits=True)
    for controller in ("cpu", "memory"):
        before = descriptors_along(tmp_path)
        agent.look([])
        assert "limits: [Errno 2] No such file or directory" in agent.problem()
        assert descriptors_along(tmp_path) == before, f"{controller} cannot be written"
        (writable / controller / "kubepods" / "besteffort").mkdir(parents=True)
    before = descriptors_along(tmp_path)
    agent.look([])
    assert str(mount / "cpu" / "kubepods" / "besteffort") in agent.problem()
    assert descriptors_along(tmp_path) == before, "the node has no such group"
    threads.close()
