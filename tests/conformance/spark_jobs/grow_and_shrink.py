"""Load, then idleness, under dynamic allocation: ``grow_and_shrink.py TASKS TASK_MS IDLE_S REPORT LOADED GO``.

Touches the file LOADED when all tasks are done, and has no work from then until there is the file GO, or for IDLE_S
seconds; every 100 ms it samples how many executors are registered.  The driver writes
``{"sum": …, "peak": …, "at_end": …, "was_told": …}`` to REPORT.
"""

import json
import pathlib
import sys
import threading
import time

from pyspark import SparkContext
from pyspark.sql import SparkSession


def executors(context: SparkContext) -> int:
    """Registered executors, the driver left out."""
    return int(context._jsc.sc().statusTracker().getExecutorInfos().__len__()) - 1


def wait_and_return(number: int, task_ms: int) -> int:
    threading.Event().wait(task_ms / 1000)
    return number


def main() -> None:
    tasks, task_ms, idle_s = (int(a) for a in sys.argv[1:4])
    report, loaded, go = (pathlib.Path(a) for a in sys.argv[4:7])
    context = SparkSession.builder.appName("grow-and-shrink").getOrCreate().sparkContext
    over, samples = threading.Event(), [0]

    def watch() -> None:
        while not over.wait(0.1):
            samples.append(executors(context))

    watcher = threading.Thread(target=watch, name="executor-watch", daemon=True)
    watcher.start()
    total = context.parallelize(range(tasks), tasks).map(lambda n: wait_and_return(n, task_ms)).sum()
    loaded.touch()
    pause, give_up_at = threading.Event(), time.monotonic() + idle_s
    while not go.exists() and time.monotonic() < give_up_at:
        pause.wait(0.1)
    was_told = go.exists()
    over.set()
    watcher.join(5)
    seen = {"sum": total, "peak": max(samples), "at_end": executors(context), "was_told": was_told}
    report.write_text(json.dumps(seen))
    context.stop()


if __name__ == "__main__":
    main()
