"""The loops beside the containers, with a disk and a process table that tests fill."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import pytest

from nm_plugin.container.life import Container, LifeState
from nm_plugin.host.directories import Directories
from nm_plugin.host.disks import DiskLimits, Disks
from nm_plugin.host.health_script import ScriptSettings
from nm_plugin.host.users import FileThreads
from nm_plugin.node.memory import Excess, MemoryMonitor
from nm_plugin.node.watch import NodeWatch, WatchSettings
from tests.support.node_agent import FakeUsers, container_id, eventually
from yodel.domain.ids import ContainerId
from yodel.domain.resource import Resource


@dataclass
class Space:
    """A disk's space in bytes."""

    total: int = 100 << 30
    free: int = 50 << 30


@dataclass
class UsedDirs:
    """Stand in for the part of the cache that is asked here."""

    used: list[tuple[Path, ...]] = field(default_factory=list)

    def use_dirs(self, local_dirs: tuple[Path, ...], lost: frozenset[Path]) -> None:
        self.used.append(local_dirs)


@dataclass
class OneExcess:
    """A monitor that finds the same container too large at each look, and refuses the first look."""

    looks: int = 0
    cores: float = 1.5

    def sample(self, running: list[Container], now_ms: int) -> list[Excess]:
        self.looks += 1
        if self.looks == 1:
            raise OSError("/proc is away")
        return [Excess(container_id=c.container_id, exit_status=-104, text="too large") for c in running]

    def totals_bytes(self) -> tuple[int, int]:
        return 3 << 20, 1 << 60


@dataclass
class FewContainers:
    """A manager that knows containers and writes down kills."""

    containers: tuple[Container, ...] = ()
    killed: list[tuple[ContainerId, int]] = field(default_factory=list)

    def all(self) -> tuple[Container, ...]:
        return self.containers

    async def kill(self, container_id: ContainerId, exit_status: int, text: str) -> None:
        self.killed.append((container_id, exit_status))


@dataclass
class World:
    make: Callable[[ScriptSettings | None], NodeWatch]
    watch: NodeWatch
    space: Space
    cache: UsedDirs
    monitor: OneExcess
    local: tuple[Path, ...]
    reports: list[str] = field(default_factory=list)

    def with_script(self, path: Path) -> NodeWatch:
        """Another watch, that asks a script."""
        return self.make(ScriptSettings(path=path, interval_s=0.001))


@pytest.fixture
def world(open_path: Path, users: FakeUsers, threads: FileThreads) -> World:
    local, log_dir = (open_path / "a", open_path / "b"), open_path / "g"
    full, roomy, cache, monitor = Space(), Space(), UsedDirs(), OneExcess()
    disks = Disks(
        Directories(local_dirs=local, log_dirs=(log_dir,)),
        DiskLimits(),
        lambda path: full if path == local[0] else roomy,
    )
    settings = WatchSettings(monitor_interval_s=0.001, disk_interval_s=0.001)
    reports: list[str] = []

    def make(script: ScriptSettings | None) -> NodeWatch:
        changed = replace(settings, health_script=script)
        return NodeWatch(
            changed,
            monitor=cast(MemoryMonitor, monitor),
            disks=disks,
            threads=threads,
            memory=threads,
            use_dirs=cache.use_dirs,
            report=lambda: reports.append("now"),
            now_ms=lambda: 77,
        )

    return World(make, make(None), full, cache, monitor, local, reports)


async def until(work: Any, condition: Callable[[], bool]) -> None:
    """Run one of the endless loops until something is so."""
    task = asyncio.create_task(work)
    try:
        await eventually(condition)
        assert not task.done()
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def test_full_disk_is_left_out_reported_once_and_taken_in_again(world: World) -> None:
    await world.watch.check_disks()
    assert (world.watch.state().health.report, world.watch.state().health.checked_ms) == ("", 77)
    world.space.free = 0
    await world.watch.check_disks()
    await world.watch.check_disks()
    health = world.watch.state().health
    assert health.is_healthy
    assert health.report.startswith("1/2 local-dirs usable space is below configured utilization percentage")
    assert world.cache.used == [(world.local[1],)]
    assert world.reports == ["now"]
    world.space.free = 50 << 30
    await until(world.watch.watch_disks(), lambda: len(world.cache.used) == 2)
    assert world.cache.used[-1] == world.local
    assert world.watch.state().health.report == ""


async def test_what_is_too_large_is_killed_and_a_failed_look_is_survived(world: World) -> None:
    one = Container(container_id=container_id(2), user="alice", resource=Resource(1, 1), state=LifeState.RUNNING)
    waiting = replace(one, container_id=container_id(4), state=LifeState.SCHEDULED)
    manager = FewContainers((one, waiting))
    await until(world.watch.watch_memory(cast(Any, manager)), lambda: bool(manager.killed))
    assert set(manager.killed) == {(container_id(2), -104)}
    used = world.watch.state().containers
    assert (used.pmem_mib, used.vmem_mib, used.cpu_vcores) == (3, 2**31 - 1, 1.5)


async def test_script_makes_the_node_unhealthy_and_well_again(world: World, open_path: Path) -> None:
    said, path = open_path / "said", open_path / "check"
    said.write_text("ERROR fan stands still\n")
    path.write_text(f"#!/bin/sh\ncat {said}\n")
    path.chmod(0o755)
    watch = world.with_script(path)
    await until(watch.watch_health(), lambda: bool(world.reports))
    health = watch.state().health
    assert (health.is_healthy, health.report) == (False, "ERROR fan stands still\n")
    said.write_text("fine\n")
    await until(watch.watch_health(), lambda: len(world.reports) == 2)
    assert watch.state().health.is_healthy
    await asyncio.wait_for(world.watch.watch_health(), 60)  # without a script there is nothing to watch
