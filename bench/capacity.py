"""Measures what a node agent spends on measuring and bounding a hundred pods, and how soon its loan follows a service.

    python -m bench.capacity [--pods 100] [--seconds 60] [--turns 10]

The loop is the agent's own, on groups of this machine's cgroup v1 that are made as the kubelet makes them, each pod
with a process; needs root.  The loop first idles for as long without a policy, and only the difference counts.

What holding limits and the quota costs on top is measured beside as many batch pods of the agent's own.

Then the node is a group of one core, and a service in it uses three tenths, or nothing: measured is from the service's
start to the loan that has fallen, and from its end to the loan that is back.  Other work on the machine is in other
groups and is not seen.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import uvloop

from bench.machine import print_machine
from nm_plugin.capacity.bounds import Bounds
from nm_plugin.capacity.clock import MonotonicClock
from nm_plugin.capacity.lender import Lender, Source
from nm_plugin.capacity.processes import ProcessCounters
from nm_plugin.capacity.running import Batch, Batches
from nm_plugin.capacity.ticks import AgentMaximum
from nm_plugin.cgroups.counters import CgroupCounters
from nm_plugin.cgroups.layout import BEST_EFFORT
from nm_plugin.container.life import Container, LifeState
from nm_plugin.host.users import FileThreads
from yodel.domain.colocation.policy import Policy, Shaping
from yodel.domain.colocation.presets import PRESETS
from yodel.domain.colocation.report import CPU_MILLI
from yodel.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId
from yodel.domain.resource import Resource
from yodel.hadoop_pb import yarn_server_common_service_protos_pb2 as server_pb
from yodel.pb_convert import colocation

MOUNT = Path("/sys/fs/cgroup")
CONTROLLERS = ("cpu", "cpuacct", "memory")
KOORDINATOR, BAIDU = PRESETS["koordinator"], PRESETS["baidu"]
PAGE_KIB = os.sysconf("SC_PAGE_SIZE") >> 10


@contextlib.contextmanager
def node_with_pods(name: str, pods: int) -> Iterator[None]:
    """The kubelet's groups below ``name``, half of the pods best-effort."""
    paths = [Path(name), Path(name, "kubepods"), Path(name, "kubepods/besteffort"), Path(name, "kubepods/burstable")]
    classes = [Path(name, "kubepods", ("besteffort", "burstable")[number % 2]) for number in range(pods)]
    leaves = [path / f"pod{number}" for number, path in enumerate(classes)]
    made = [MOUNT / controller / path for path in (*paths, *leaves) for controller in CONTROLLERS]
    processes: list[subprocess.Popen[bytes]] = []
    for path in made:
        path.mkdir()
    try:
        for leaf in leaves:
            process = subprocess.Popen(["sleep", "infinity"])
            processes.append(process)
            for controller in CONTROLLERS:
                (MOUNT / controller / leaf / "cgroup.procs").write_text(str(process.pid))
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()
        for path in reversed(made):
            path.rmdir()


@contextlib.contextmanager
def node_with_own_pods(name: str, pods: int) -> Iterator[dict[ContainerId, str]]:
    """The kubelet's groups below ``name`` with so many batch pods, by container."""
    attempt = ApplicationAttemptId(ApplicationId(1, 1), 1)
    uids = {ContainerId(attempt, number + 1): f"0a-{number}" for number in range(pods)}
    groups = [Path(name), Path(name, "kubepods"), Path(name, *BEST_EFFORT)]
    for uid in uids.values():
        groups += [Path(name, *BEST_EFFORT, f"pod{uid}"), Path(name, *BEST_EFFORT, f"pod{uid}", "container")]
    made = [MOUNT / controller / path for path in groups for controller in CONTROLLERS]
    processes: list[subprocess.Popen[bytes]] = []
    for path in made:
        path.mkdir()
    try:
        for uid in uids.values():
            process = subprocess.Popen(["/bin/sleep", "infinity"])
            processes.append(process)
            for controller in CONTROLLERS:
                procs = MOUNT / controller / Path(name, *BEST_EFFORT, f"pod{uid}", "container", "cgroup.procs")
                procs.write_text(str(process.pid))
        yield uids
    finally:
        for process in processes:
            process.kill()
            process.wait()
        for path in reversed(made):
            path.rmdir()


async def bounds_cost(name: str, uids: dict[ContainerId, str], seconds: float) -> tuple[float, float]:
    """Seconds of CPU of the loop and of the heartbeats that measure only, and that hold limits and the quota too."""
    threads = FileThreads(1, "capacity")
    containers = [
        Container(
            container_id=one,
            user="root",
            pod_uid=uid,
            resource=Resource(1024, 1),
            state=LifeState.RUNNING,
        )
        for one, uid in uids.items()
    ]
    with tempfile.TemporaryDirectory() as state_dir:
        bounds = Bounds(
            MOUNT,
            MOUNT,
            f"/{name}",
            Path(state_dir),
            MonotonicClock(),
            threads,
            Batches(lambda: containers),
        )
        source = CgroupCounters(MOUNT, f"/{name}")
        lender = Lender(source, AgentMaximum(), MonotonicClock(), threads, lambda: None, bounds)
        tasks = [asyncio.create_task(lender.run()), asyncio.create_task(bounds.run())]
        policy = Policy(version="1", preset="baidu", cpu=BAIDU.cpu, memory=BAIDU.memory, shaping=Shaping())
        try:
            lender.obey(policy)
            lender.answered()
            await _beats(lender, 3)
            measures = await _beats(lender, seconds)
            lender.obey(replace(policy, version="2", limits=True, quota=True))
            lender.answered()
            await _beats(lender, 3)
            assert len(bounds.shown()) == 2 * len(uids) + 1, bounds.problem()
            holds = await _beats(lender, seconds)
            lender.obey(None)
            lender.answered()
            await _beats(lender, 3)
            return measures, holds
        finally:
            for task in tasks:
                task.cancel()
            threads.close()


def resident_kib() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE_KIB


async def loop_costs(source: Source, seconds: float) -> tuple[float, float, int, int]:
    """Seconds of CPU without and with a policy, KiB more with it, and bytes of a report on the wire."""
    threads = FileThreads(1, "capacity")
    lender = Lender(source, AgentMaximum(), MonotonicClock(), threads, lambda: None)
    task = asyncio.create_task(lender.run())
    policy = Policy(
        version="1", preset="koordinator", cpu=KOORDINATOR.cpu, memory=KOORDINATOR.memory, shaping=Shaping()
    )
    try:
        await _beats(lender, 3)  # imports and first allocations are of the agent as it is
        resident, idle, sent = resident_kib(), await _beats(lender, seconds), 0
        lender.obey(policy)
        busy = await _beats(lender, seconds)
        lender.registered(is_apart=True)
        due = lender.due()
        sent += 0 if due.loan is None else colocation.loan_report_pb(due.loan).ByteSize()
        sent += 0 if due.written is None else colocation.written_report_pb(due.written).ByteSize()
        return idle, busy, resident_kib() - resident, sent
    finally:
        task.cancel()
        threads.close()


async def _beats(lender: Lender, seconds: float) -> float:
    """Seconds of CPU for so many heartbeats, of which each takes what is due."""
    began = time.process_time()
    for _ in range(int(seconds)):
        await asyncio.sleep(1)
        request, due = server_pb.NodeHeartbeatRequestProto(), lender.due()
        if due.loan is not None:
            request.loan.CopyFrom(colocation.loan_report_pb(due.loan))
        if due.written is not None:
            request.written.CopyFrom(colocation.written_report_pb(due.written))
        request.SerializeToString()
        lender.told(due)
    return time.process_time() - began


async def reactions(name: str, turns: int, state_dir: Path) -> tuple[list[float], list[float], list[float]]:
    """Seconds until the loan is down, until the quota is, and until the loan is up again, of each turn."""
    (MOUNT / "cpu" / name / "cpu.cfs_quota_us").write_text("100000")
    service = Path(name, "kubepods/burstable/pod1")
    (MOUNT / "cpu" / service / "cpu.cfs_quota_us").write_text("30000")
    threads, changed = FileThreads(1, "capacity"), asyncio.Event()
    bounds = Bounds(MOUNT, MOUNT, f"/{name}", state_dir, MonotonicClock(), threads, _nothing)
    lender = Lender(CgroupCounters(MOUNT, f"/{name}"), AgentMaximum(), MonotonicClock(), threads, changed.set, bounds)
    task = asyncio.create_task(lender.run())
    lender.obey(Policy(version="1", preset="baidu", cpu=BAIDU.cpu, memory=BAIDU.memory, shaping=Shaping(), quota=True))
    lender.answered()
    down_s, quota_s, up_s = list[float](), list[float](), list[float]()
    try:
        before = await _until(lender, changed, lambda milli: milli >= 900)
        for turn in range(turns):
            await asyncio.sleep(turn / turns)  # at any moment of the agent's second
            began = time.monotonic()
            process = await asyncio.create_subprocess_exec(
                "sh",
                "-c",
                "echo $$ > $0; echo $$ > $1; while [ -d /proc/$PPID ]; do :; done",
                *(str(MOUNT / controller / service / "cgroup.procs") for controller in ("cpu", "cpuacct")),
            )
            falls = asyncio.create_task(_quota_falls(MOUNT / "cpu" / name))
            await _until(lender, changed, lambda milli: milli <= before - 200)
            down_s.append(time.monotonic() - began)
            quota_s.append(await falls - began)
            await _until(lender, changed, lambda milli: milli <= before - 300)
            process.kill()
            await process.wait()
            began = time.monotonic()
            await _until(lender, changed, lambda milli: milli >= before)
            up_s.append(time.monotonic() - began)
        return down_s, quota_s, up_s
    finally:
        task.cancel()
        threads.close()


def _nothing() -> list[Batch]:
    return []


async def _quota_falls(group: Path) -> float:
    """The moment at which the best-effort pods may use no more than 0.8 of the core; it is looked for for a minute."""
    path = group / Path(*BEST_EFFORT, "cpu.cfs_quota_us")
    for _ in range(12_000):
        if int(path.read_text()) <= 80_000:
            break
        await asyncio.sleep(0.005)
    return time.monotonic()


async def _until(lender: Lender, changed: asyncio.Event, is_so: Callable[[int], bool]) -> int:
    """The loan of CPU once it is so."""
    async with asyncio.timeout(60):
        while True:
            report = lender.due().loan
            loan = report.loan_of(CPU_MILLI) if report is not None else None
            if loan is not None and is_so(loan.amount):
                return loan.amount
            changed.clear()
            await changed.wait()


def _shown(seconds: list[float]) -> str:
    return f"median {statistics.median(seconds):.1f} s, maximum {max(seconds):.1f} s of {len(seconds)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("--pods", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--turns", type=int, default=10)
    options = parser.parse_args()
    name = f"yodel-bench-{os.getpid()}"
    with node_with_pods(name, options.pods):
        sources: tuple[Source, ...] = (CgroupCounters(MOUNT, f"/{name}"), ProcessCounters(list))
        for source in sources:
            began = time.process_time()
            for _ in range(200):
                source.read()
            one_us = (time.process_time() - began) / 200 * 1e6
            idle, busy, more_kib, sent = uvloop.run(loop_costs(source, options.seconds))
            print(
                f"{source.source}, {options.pods} pods: {(busy - idle) / options.seconds * 100:.3f} % of a core "
                f"(a reading {one_us:.0f} us), {more_kib / 1024:.1f} MiB more, a report {sent} bytes",
                flush=True,
            )
    with node_with_own_pods(f"{name}-own", options.pods) as uids:
        measures, holds = uvloop.run(bounds_cost(f"{name}-own", uids, options.seconds))
        print(
            f"{options.pods} own batch pods: {measures / options.seconds * 100:.3f} % of a core measured, "
            f"{holds / options.seconds * 100:.3f} % held to limits and a quota, too",
            flush=True,
        )
    with node_with_pods(name, options.pods), tempfile.TemporaryDirectory() as state_dir:
        down_s, quota_s, up_s = uvloop.run(reactions(name, options.turns, Path(state_dir)))
        print(f"a service takes three tenths of the node: {_shown(down_s)}, the quota: {_shown(quota_s)}")
        print(f"it ends: {_shown(up_s)}")


if __name__ == "__main__":
    print_machine()
    main()
