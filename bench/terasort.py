"""Terasort of 200 MB on Hadoop's own ResourceManager and on Yodel in turn: wall time of each of its three jobs.

python -m bench.terasort [--runs 3] [--megabytes 200]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

from bench.machine import print_machine
from bench.mapreduce import both_clusters, row
from tests.conformance.clients.mapreduce import ROW_BYTES, example
from tests.conformance.clients.target import Target, settings
from tests.conformance.spark_submit import Result

STEPS = ("teragen", "terasort", "teravalidate")


def three_jobs(target: Target, size_bytes: int) -> list[float]:
    """Seconds of each.  Raises RuntimeError with the client's words when one fails."""
    folder = target.folder()
    maps, reduces = settings({"mapreduce.job.maps": 2}), settings({"mapreduce.job.reduces": 2})
    taken = [
        _timed(lambda: example(target, "teragen", *maps, size_bytes // ROW_BYTES, f"{folder}/in")),
        _timed(lambda: example(target, "terasort", *reduces, f"{folder}/in", f"{folder}/out")),
        _timed(lambda: example(target, "teravalidate", f"{folder}/out", f"{folder}/report")),
    ]
    target.hadoop.hdfs.delete(folder, user="hdfs")
    return taken


def _timed(job: Callable[[], Result]) -> float:
    begin_s = time.perf_counter()
    result = job()
    if result.returncode != 0:
        raise RuntimeError(result.text[-2000:])
    return time.perf_counter() - begin_s


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--megabytes", type=int, default=200)
    arguments = parser.parse_args()
    taken: dict[str, list[list[float]]] = {step: [[], []] for step in STEPS}
    with both_clusters() as targets:
        for _ in range(arguments.runs):
            for index, target in enumerate(targets):
                for step, wall_s in zip(STEPS, three_jobs(target, arguments.megabytes * 1_000_000), strict=True):
                    taken[step][index].append(wall_s)
    print(f"| {arguments.megabytes} MB, median of {arguments.runs} | Hadoop 3.5.0 | Yodel | Yodel / Hadoop |")
    print("|---|---|---|---|")
    for step in STEPS:
        print(row(step, taken[step]), flush=True)


if __name__ == "__main__":
    print_machine()
    main()
