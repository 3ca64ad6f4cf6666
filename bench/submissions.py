"""Submissions a second, and the RM's resident memory idle and with 1,000 applications.

    python -m bench.submissions [--applications 1000]

One connection a submitter, eight submitters; every submission is on disk (fsync) before it is answered.
"""

from __future__ import annotations

import argparse
import asyncio
import time

import uvloop

from bench.cluster import Cluster, client, local_cluster, submit_unmanaged
from bench.machine import print_machine

SUBMITTERS = 8


async def measure(cluster: Cluster, applications: int) -> float:
    """Submissions a second (getNewApplication and submitApplication)."""

    async def submitter(count: int) -> None:
        rpc = client(cluster)
        for _ in range(count):
            await submit_unmanaged(rpc)
        await rpc.close()

    begin_s = time.perf_counter()
    async with asyncio.TaskGroup() as tasks:
        for _ in range(SUBMITTERS):
            tasks.create_task(submitter(applications // SUBMITTERS))
    return applications / (time.perf_counter() - begin_s)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--applications", type=int, default=1000)
    applications = parser.parse_args().applications
    with local_cluster("--nodes", "1") as cluster:
        idle_mib, before_s = cluster.resident_mib("rm"), cluster.processor_s("rm")
        rate = uvloop.run(measure(cluster, applications))
        each_ms = 1000 * (cluster.processor_s("rm") - before_s) / applications
        full_mib = cluster.resident_mib("rm")
    print(f"| submissions, {SUBMITTERS} connections | {rate:,.0f} /s |")
    print(f"| processor time of the RM, a submission | {each_ms:.2f} ms |")
    print(f"| resident memory of the RM, idle | {idle_mib:.0f} MiB |")
    print(f"| resident memory of the RM, {applications:,} applications | {full_mib:.0f} MiB |", flush=True)


if __name__ == "__main__":
    print_machine()
    main()
