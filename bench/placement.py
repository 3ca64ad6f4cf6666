"""Measures how fast Yodel places pods on many nodes, compared with a plain loop on the same API server and scheduler.

    python -m bench.placement --nodes 100 [--pods 1000] [--rounds 3] [--modes created,native,extended,bind]
    python -m bench.placement --nodes 100 --relist 10000

Real etcd, API server and kube-scheduler; nodes are kwok's (no kubelet).  The ceiling is a loop that posts the same pods
with the project's own HTTP client, over as many connections as are best: alone, and beside a ResourceManager that has
nothing to do but to watch and to hear its agents, in turn with Yodel's rounds.  Those begin with an ApplicationMaster's
ask over RPC and end when the last pod is created, bound, granted.

All of it shares this machine: each millisecond of processor time that a pod costs a client is taken from the API
server, so processor time a pod is printed with the rates.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import os
import signal
import sys
import time
from pathlib import Path

import psutil
import uvloop

from bench.machine import print_machine
from bench.placement_cluster import DAEMONS, FakeCluster, cpu_s, each, fake_cluster, pods_path, post
from bench.placement_figures import Cpu, Round, Rounds, cpu_row, table_row
from bench.placement_relist import measure_relist
from bench.placement_yodel import MODES, NAMESPACE, Mode, PodBodies, Rm, resource_manager, yodel_round

RAW_NAMESPACE = "raw"
CONCURRENCIES = (16, 32, 64)
WARM_UP_PODS = 100
UNSCHEDULED = 2
"""Times as many pods where no scheduler has a part: those rounds are short."""
SETTLE_S = 1.0
COLUMNS = ("plain loop", "beside an idle Yodel", "Yodel", "Yodel / plain loop", "Yodel / beside")
PROCESSES = (*DAEMONS, "ResourceManager", "agents", "client")


async def raw_round(fake: FakeCluster, mode: Mode, pods: int, concurrency: int, rm: Rm | None = None) -> Round:
    """A plain loop: pods created, and bound by whoever binds them.  ``rm`` stands by: what it uses is noted too."""
    bodies = PodBodies(mode, RAW_NAMESPACE)
    nodes = itertools.cycle(fake.nodes)
    made = [bodies.next(next(nodes) if mode.binds else "") for _ in range(pods)]
    path = pods_path(RAW_NAMESPACE)

    def cpu() -> Cpu:
        return fake.cpu() | (rm.cpu() if rm is not None else Cpu({"client": cpu_s(psutil.Process())}))

    before, begin_s = cpu(), time.perf_counter()
    await each(made, concurrency, lambda body: post(fake.client, path, body))
    until_s = {"created": time.perf_counter() - begin_s}
    if mode.is_bound:
        until_s["bound"] = await fake.until_bound(RAW_NAMESPACE) - begin_s
    used = cpu() - before
    await fake.empty(RAW_NAMESPACE)
    await asyncio.sleep(SETTLE_S)
    return Round(pods=pods, until_s=until_s, cpu=used)


async def best_concurrency(fake: FakeCluster, mode: Mode, pods: int) -> int:
    """Return the best concurrency of the plain loop, by the rate that matters in the mode."""
    what = "bound" if mode.is_bound else "created"
    rates = {n: (await raw_round(fake, mode, pods, n)).rate(what) for n in CONCURRENCIES}
    say(f"{mode.name}: plain loop by concurrency: " + ", ".join(f"{n}: {rate:.0f}/s" for n, rate in rates.items()))
    return max(rates, key=lambda n: rates[n])


async def measure(fake: FakeCluster, mode: Mode, pods: int, rounds: int, log: Path | None) -> list[str]:
    """Rows of the table; more is said on the way."""
    concurrency = await best_concurrency(fake, mode, pods // 2)
    alone = [await raw_round(fake, mode, pods, concurrency) for _ in range(rounds)]
    beside, ours = [], []
    async with resource_manager(fake, mode, log=log) as rm:
        await yodel_round(fake, rm, mode, WARM_UP_PODS)
        for _ in range(rounds):
            await asyncio.sleep(SETTLE_S)
            beside.append(await raw_round(fake, mode, pods, concurrency, rm))
            ours.append(await yodel_round(fake, rm, mode, pods))
    say(table_row(["processor ms a pod", *PROCESSES]))
    for name, some in (("alone", alone), ("beside", beside), ("Yodel", ours)):
        say(table_row([f"{mode.name}, {name}", *cpu_row(some, PROCESSES)]) + f"  rounds: {_rounds(some)}")
    return figures(mode, Rounds(alone=alone, beside=beside, ours=ours))


def figures(mode: Mode, rounds: Rounds) -> list[str]:
    """Return a mode's rows; beside a scheduler the rate of creation says only how hungry it is, and is left out."""
    if not mode.is_bound:
        return [rounds.row(f"{mode.name}: created", "created", "created")]
    return [
        rounds.row(f"{mode.name}: bound", "bound", "bound"),
        rounds.row(f"{mode.name}: granted", "bound", "granted"),
    ]


def _rounds(rounds: list[Round]) -> str:
    return "; ".join(", ".join(f"{what} {one.rate(what):.0f}/s" for what in one.until_s) for one in rounds)


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


async def run(arguments: argparse.Namespace) -> None:
    """Ends its servers at SIGTERM too."""
    itself = asyncio.current_task()
    assert itself is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, itself.cancel)
    async with fake_cluster(arguments.nodes, (NAMESPACE, RAW_NAMESPACE)) as fake:
        say(f"{arguments.nodes} fake nodes are Ready; load average {os.getloadavg()[0]:.1f}")
        if arguments.relist:
            for row in await measure_relist(fake, arguments.relist, arguments.log):
                print(row, flush=True)
            return
        rows = []
        for mode in MODES:
            if mode.name in arguments.modes:
                pods = arguments.pods if mode.is_scheduled else UNSCHEDULED * arguments.pods
                rows += await measure(fake, mode, pods, arguments.rounds, arguments.log)
    print(table_row([f"{arguments.nodes} nodes, pods/s", *COLUMNS]) + "\n" + "|---" * (len(COLUMNS) + 1) + "|")
    print("\n".join(rows), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=100)
    parser.add_argument("--pods", type=int, default=1000, help="a round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--modes", type=lambda text: text.split(","), default=[mode.name for mode in MODES])
    parser.add_argument("--relist", type=int, default=0, help="measure a relisting of so many pods instead")
    parser.add_argument("--log", type=Path, help="the ResourceManager's; else nothing is kept of it")
    try:
        uvloop.run(run(parser.parse_args()))
    except asyncio.CancelledError:
        sys.exit(128 + signal.SIGTERM)


if __name__ == "__main__":
    print_machine()
    main()
