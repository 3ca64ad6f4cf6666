"""How fast Yodel places pods on many nodes, beside what the same API server and scheduler do for a plain loop.

    python -m bench.placement --nodes 100 [--pods 1000] [--rounds 3] [--modes created,native,extended,bind]
    python -m bench.placement --nodes 100 --relist 10000

Real etcd, API server and kube-scheduler; nodes are kwok's (no kubelet).  The ceiling is a loop that posts the same pods
with the project's own HTTP client, over as many connections as are best, in rounds before and after Yodel's.  Yodel's
rounds begin with an ApplicationMaster's ask over RPC and end when the last pod is created, bound, granted.

All of it shares this machine: each millisecond of processor time that a pod costs a client is taken from the API
server, so processor time a pod is printed with the rates.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import os
import sys
import time
from pathlib import Path

import psutil
import uvloop

from bench.placement_cluster import DAEMONS, FakeCluster, cpu_s, each, fake_cluster, pods_path, post
from bench.placement_figures import Cpu, Round, cpu_row, figure_row, table_row
from bench.placement_relist import measure_relist
from bench.placement_yodel import MODES, NAMESPACE, Mode, PodBodies, resource_manager, yodel_round

RAW_NAMESPACE = "raw"
CONCURRENCIES = (8, 16, 32, 64)
WARM_UP_PODS = 100
SETTLE_S = 1.0
PROCESSES = (*DAEMONS, "ResourceManager", "agents", "client")


async def raw_round(fake: FakeCluster, mode: Mode, pods: int, concurrency: int) -> Round:
    """A plain loop: pods created, and bound by whoever binds them."""
    bodies = PodBodies(mode, RAW_NAMESPACE)
    nodes = itertools.cycle(fake.nodes)
    made = [bodies.next(next(nodes) if mode.binds else "") for _ in range(pods)]
    path, own = pods_path(RAW_NAMESPACE), psutil.Process()
    before, begin_s = fake.cpu() | Cpu({"client": cpu_s(own)}), time.perf_counter()
    await each(made, concurrency, lambda body: post(fake.client, path, body))
    until_s = {"created": time.perf_counter() - begin_s}
    if mode.is_bound:
        until_s["bound"] = await fake.until_bound(RAW_NAMESPACE) - begin_s
    cpu = (fake.cpu() | Cpu({"client": cpu_s(own)})) - before
    await fake.empty(RAW_NAMESPACE)
    await asyncio.sleep(SETTLE_S)
    return Round(pods=pods, until_s=until_s, cpu=cpu)


async def best_concurrency(fake: FakeCluster, mode: Mode, pods: int) -> int:
    """Of the plain loop, by what matters in the mode."""
    what = "bound" if mode.is_bound else "created"
    rates = {n: (await raw_round(fake, mode, pods, n)).rate(what) for n in CONCURRENCIES}
    say(f"{mode.name}: plain loop by concurrency: " + ", ".join(f"{n}: {rate:.0f}/s" for n, rate in rates.items()))
    return max(rates, key=lambda n: rates[n])


async def measure(fake: FakeCluster, mode: Mode, pods: int, rounds: int, log: Path | None) -> list[str]:
    """Rows of the table; more is said on the way."""
    concurrency = await best_concurrency(fake, mode, pods // 2)
    raw = [await raw_round(fake, mode, pods, concurrency) for _ in range(rounds)]
    async with resource_manager(fake, mode, log=log) as rm:
        await yodel_round(fake, rm, mode, WARM_UP_PODS)
        ours = []
        for _ in range(rounds):
            await asyncio.sleep(SETTLE_S)
            ours.append(await yodel_round(fake, rm, mode, pods))
    raw.append(await raw_round(fake, mode, pods, concurrency))
    say(f"{mode.name}: plain loop, a round each: {_rounds(raw)}")
    say(f"{mode.name}: Yodel, a round each: {_rounds(ours)}")
    say(table_row(["processor ms a pod", *PROCESSES]))
    say(table_row([f"{mode.name}, plain loop over {concurrency}", *cpu_row(raw, PROCESSES)]))
    say(table_row([f"{mode.name}, Yodel", *cpu_row(ours, PROCESSES)]))
    return figures(mode, raw, ours)


def figures(mode: Mode, raw: list[Round], ours: list[Round]) -> list[str]:
    rows = [figure_row(f"{mode.name}: created", raw, "created", ours, "created")]
    if mode.is_bound:
        rows.append(figure_row(f"{mode.name}: bound", raw, "bound", ours, "bound"))
        rows.append(figure_row(f"{mode.name}: granted", raw, "bound", ours, "granted"))
    return rows


def _rounds(rounds: list[Round]) -> str:
    return "; ".join(", ".join(f"{what} {one.rate(what):.0f}/s" for what in one.until_s) for one in rounds)


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


async def run(arguments: argparse.Namespace) -> None:
    async with fake_cluster(arguments.nodes, (NAMESPACE, RAW_NAMESPACE)) as fake:
        say(f"{arguments.nodes} fake nodes are Ready; load average {os.getloadavg()[0]:.1f}")
        if arguments.relist:
            for row in await measure_relist(fake, arguments.relist, arguments.log):
                print(row, flush=True)
            return
        rows = []
        for mode in MODES:
            if mode.name in arguments.modes:
                rows += await measure(fake, mode, arguments.pods, arguments.rounds, arguments.log)
    print(f"| {arguments.nodes} nodes, pods/s | plain loop | Yodel | ratio |\n|---|---|---|---|")
    print("\n".join(rows), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=100)
    parser.add_argument("--pods", type=int, default=1000, help="a round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--modes", type=lambda text: text.split(","), default=[mode.name for mode in MODES])
    parser.add_argument("--relist", type=int, default=0, help="measure a relisting of so many pods instead")
    parser.add_argument("--log", type=Path, help="the ResourceManager's; else nothing is kept of it")
    uvloop.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
