"""What measuring costs a node agent beside a hundred pods, and how soon its loan follows what a service uses.

    python -m bench.capacity [--pods 100] [--seconds 60] [--turns 10]

The loop is the agent's own, on groups of this machine's cgroup v1 that are made as the kubelet makes them, each pod
with a process; needs root.  The loop first idles for as long without a policy, and only the difference counts.

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
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import uvloop

from nm_plugin.capacity.clock import MonotonicClock
from nm_plugin.capacity.lender import Lender, Source
from nm_plugin.capacity.processes import ProcessCounters
from nm_plugin.capacity.ticks import Most
from nm_plugin.cgroups.counters import CgroupCounters
from nm_plugin.host.users import FileThreads
from yodel.domain.colocation.policy import Policy, Shaping
from yodel.domain.colocation.presets import PRESETS
from yodel.domain.colocation.report import CPU_MILLI
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


def resident_kib() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE_KIB


async def loop_costs(source: Source, seconds: float) -> tuple[float, float, int, int]:
    """Seconds of CPU without and with a policy, KiB more with it, and bytes of a report on the wire."""
    threads = FileThreads(1, "capacity")
    lender = Lender(source, Most(), MonotonicClock(), threads, lambda: None)
    task = asyncio.create_task(lender.run())
    policy = Policy(
        version="1", preset="koordinator", cpu=KOORDINATOR.cpu, memory=KOORDINATOR.memory, shaping=Shaping()
    )
    try:
        await _beats(lender, 3)  # imports and first allocations are of the agent as it is
        resident, idle, sent = resident_kib(), await _beats(lender, seconds), 0
        lender.obey(policy)
        busy = await _beats(lender, seconds)
        report = lender.due()
        lender.forgotten()
        report = lender.due()
        if report is not None:
            sent = colocation.capacity_report_pb(report).ByteSize()
        return idle, busy, resident_kib() - resident, sent
    finally:
        task.cancel()
        threads.close()


async def _beats(lender: Lender, seconds: float) -> float:
    """Seconds of CPU for so many heartbeats, of which each takes what is due."""
    began = time.process_time()
    for _ in range(int(seconds)):
        await asyncio.sleep(1)
        request, report = server_pb.NodeHeartbeatRequestProto(), lender.due()
        if report is not None:
            request.capacity.CopyFrom(colocation.capacity_report_pb(report))
        request.SerializeToString()
        lender.told(report)
    return time.process_time() - began


async def reactions(name: str, turns: int) -> tuple[list[float], list[float]]:
    """Seconds until the loan is down, and until it is up again, of each turn."""
    (MOUNT / "cpu" / name / "cpu.cfs_quota_us").write_text("100000")
    service = Path(name, "kubepods/burstable/pod1")
    (MOUNT / "cpu" / service / "cpu.cfs_quota_us").write_text("30000")
    threads, changed = FileThreads(1, "capacity"), asyncio.Event()
    lender = Lender(CgroupCounters(MOUNT, f"/{name}"), Most(), MonotonicClock(), threads, changed.set)
    task = asyncio.create_task(lender.run())
    lender.obey(Policy(version="1", preset="baidu", cpu=BAIDU.cpu, memory=BAIDU.memory, shaping=Shaping()))
    down_s, up_s = list[float](), list[float]()
    try:
        before = await _until(lender, changed, lambda milli: milli >= 900)
        for turn in range(turns):
            await asyncio.sleep(turn / turns)  # at any moment of the agent's second
            began = time.monotonic()
            process = await asyncio.create_subprocess_exec(
                "sh",
                "-c",
                "echo $$ > $0; echo $$ > $1; while :; do :; done",
                *(str(MOUNT / controller / service / "cgroup.procs") for controller in ("cpu", "cpuacct")),
            )
            await _until(lender, changed, lambda milli: milli <= before - 200)
            down_s.append(time.monotonic() - began)
            await _until(lender, changed, lambda milli: milli <= before - 300)
            process.kill()
            await process.wait()
            began = time.monotonic()
            await _until(lender, changed, lambda milli: milli >= before)
            up_s.append(time.monotonic() - began)
        return down_s, up_s
    finally:
        task.cancel()
        threads.close()


async def _until(lender: Lender, changed: asyncio.Event, is_so: Callable[[int], bool]) -> int:
    """The loan of CPU once it is so."""
    async with asyncio.timeout(60):
        while True:
            report = lender.due()
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
        down_s, up_s = uvloop.run(reactions(name, options.turns))
        print(f"a service takes three tenths of the node: {_shown(down_s)}; it ends: {_shown(up_s)}")


if __name__ == "__main__":
    main()
