"""The reader of cgroups on groups of the kernel, made as the kubelet makes them: cgroup v1 and root, as for the rig."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from nm_plugin.cgroups.counters import CgroupCounters
from nm_plugin.cgroups.files import LostReading
from nm_plugin.cgroups.layout import BEST_EFFORT, BURSTABLE, PODS
from nm_plugin.cgroups.pressure import OnlinePressure
from tests.support.node_agent import eventually
from yodel.domain.colocation.report import Pressure

MOUNT = Path("/sys/fs/cgroup")
CONTROLLERS = ("cpu", "cpuacct", "memory")
BURN = """
import os, sys, time
for path in sys.argv[1:]:
    open(path, "w").write(str(os.getpid()))
held = bytearray(os.urandom(64 << 20))
began = time.process_time()
while time.process_time() - began < 0.4:
    pass
print("burnt", flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def _groups(name: str) -> Iterator[None]:
    """The kubelet's root, its pods and the best-effort ones, in each hierarchy; gone afterwards."""
    paths = [MOUNT / controller / Path(name, *names) for controller in CONTROLLERS for names in ((), PODS, BEST_EFFORT)]
    for path in paths:
        path.mkdir()
    try:
        (MOUNT / "cpu" / name / "cpu.cfs_quota_us").write_text("90000")
        (MOUNT / "memory" / name / "memory.limit_in_bytes").write_text(str(512 << 20))
        yield
    finally:
        for path in reversed(paths):
            path.rmdir()


def test_what_a_best_effort_pod_uses_is_read_from_the_kernel() -> None:
    name = f"yodel-test-{os.getpid()}"
    reader = CgroupCounters(MOUNT, f"/{name}")
    with _groups(name):
        before = reader.read()
        files = [str(MOUNT / controller / Path(name, *BEST_EFFORT) / "cgroup.procs") for controller in CONTROLLERS]
        with subprocess.Popen(
            [sys.executable, "-c", BURN, *files], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"burnt\n"
            after = reader.read()
    assert reader.source == "cgroup v1"
    assert (after.cpu_milli_size, after.memory_mib_size) == (900, 512)
    for used in ("node", "pods", "best_effort"):
        assert getattr(after.cpu_us, used) - getattr(before.cpu_us, used) > 300_000
        assert 64 <= getattr(after.memory_mib, used) - getattr(before.memory_mib, used) < 256


def test_groups_that_are_made_anew_cost_one_reading() -> None:
    name = f"yodel-test-{os.getpid()}"
    reader = CgroupCounters(MOUNT, f"/{name}")
    with _groups(name):
        reader.read()
    with _groups(name):
        with pytest.raises(LostReading, match="No such device"):
            reader.read()
        assert reader.read().cpu_us.best_effort == 0
    with pytest.raises(LostReading):
        reader.read()
    with pytest.raises(LostReading, match="does not exist"):
        reader.read()


WAITERS = """
import os, subprocess, sys
open(sys.argv[1], "w").write(str(os.getpid()))
waiters = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * os.cpu_count())]
print("there", flush=True)
sys.stdin.read()
for waiter in waiters:
    waiter.kill()
    waiter.wait()
"""


@contextlib.contextmanager
def _waiters(group: Path) -> Iterator[None]:
    """Twice as many processes as there are processors, in a group."""
    command = [sys.executable, "-c", WAITERS, str(group / "cgroup.procs")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"there\n"
        yield


async def test_online_pods_that_wait_for_a_processor_are_seen_in_the_hierarchy_beside() -> None:
    name = f"yodel-test-{os.getpid()}"
    source = f"{name}/kubepods/burstable"
    unified = [MOUNT / "unified" / Path(name, *names) for names in ((), PODS, BURSTABLE)]
    with _groups(name):
        pressure = OnlinePressure(MOUNT, f"/{name}")
        assert pressure.read() is None
        for path in unified:
            path.mkdir()
        try:
            idle = Pressure(source=source, some_basis_points=0)
            assert pressure.read() == idle
            with _waiters(unified[-1]):
                await eventually(lambda: pressure.read() not in (None, idle), 60)
        finally:
            for path in reversed(unified):
                path.rmdir()
