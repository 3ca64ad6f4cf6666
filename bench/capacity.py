"""What measuring costs a node agent: processor time and memory of its loop, beside a hundred pods.

    python -m bench.capacity [--pods 100] [--seconds 60]

The loop is the agent's own, on groups of this machine's cgroup v1 that are made as the kubelet makes them, each pod
with a process; needs root.  The loop first idles for as long without a policy, and only the difference counts.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import subprocess
import time
from collections.abc import Iterator
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
from yodel.hadoop_pb import yarn_server_common_service_protos_pb2 as server_pb
from yodel.pb_convert import colocation

MOUNT = Path("/sys/fs/cgroup")
CONTROLLERS = ("cpu", "cpuacct", "memory")
KOORDINATOR = PRESETS["koordinator"]
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("--pods", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=60)
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


if __name__ == "__main__":
    main()
