"""MapReduce pi (10 maps) from the client's start to its exit, on Hadoop's own ResourceManager and on Yodel in turn.

    python -m bench.mapreduce [--runs 3]

Both have one node of the same size on this machine, the same HDFS and the same client; only one runs a job at a time.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import time
from collections.abc import Callable, Iterator

from bench.machine import print_machine
from tests.conformance.clients.mapreduce import example
from tests.conformance.clients.target import Target
from tests.support.hadoop import running_hadoop
from tests.support.hadoop_conf import addresses
from tests.support.hadoop_yodel import rm_addresses, running_yodel

MAPS, SAMPLES = 10, 1000


@contextlib.contextmanager
def both_clusters() -> Iterator[tuple[Target, Target]]:
    """Hadoop's and Yodel's, each warmed up by one small job."""
    with running_hadoop() as hadoop:
        hadoop.start_yarn()
        hadoop.start_history()
        with running_yodel(hadoop) as cluster:
            real = Target(name="real", line="3.5", addresses=addresses(hadoop.servers.ports), hadoop=hadoop)
            yodel = Target(name="yodl", line="3.5", addresses=rm_addresses(cluster), hadoop=hadoop)
            for target in (real, yodel):
                pi(target, maps=1)
            yield real, yodel


def pi(target: Target, maps: int = MAPS) -> None:
    """Raises RuntimeError with the client's words when the job fails."""
    result = example(target, "pi", maps, SAMPLES)
    if result.returncode != 0:
        raise RuntimeError(f"{target.name}: {result.text[-2000:]}")


def alternating(targets: tuple[Target, Target], runs: int, job: Callable[[Target], None]) -> list[list[float]]:
    """Wall times in seconds, a list for each target; in turn, so that a busy minute meets both."""
    taken: list[list[float]] = [[], []]
    for _ in range(runs):
        for times, target in zip(taken, targets, strict=True):
            begin_s = time.perf_counter()
            job(target)
            times.append(time.perf_counter() - begin_s)
    return taken


def row(name: str, taken: list[list[float]]) -> str:
    real, yodel = (statistics.median(times) for times in taken)
    return f"| {name} | {real:.1f} s | {yodel:.1f} s | {yodel / real:.2f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    runs = parser.parse_args().runs
    with both_clusters() as targets:
        taken = alternating(targets, runs, pi)
    print(f"| client's start to exit, median of {runs} | Hadoop 3.5.0 | Yodel | Yodel / Hadoop |")
    print("|---|---|---|---|")
    print(row(f"MapReduce pi, {MAPS} maps", taken), flush=True)


if __name__ == "__main__":
    print_machine()
    main()
