"""Load, then idleness, under dynamic allocation: ``grow_and_shrink.py TASKS TASK_MS IDLE_S REPORT LOADED IDLE``.

Touches the file LOADED when all tasks are done and IDLE after IDLE_S seconds without work; every 100 ms it samples how
many executors are registered.  The driver writes ``{"sum": …, "peak": …, "at_end": …}`` to REPORT.
"""

import json
import pathlib
import sys
import threading

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
    report, loaded, idle = (pathlib.Path(a) for a in sys.argv[4:7])
    context = SparkSession.builder.appName("grow-and-shrink").getOrCreate().sparkContext
    over, samples = threading.Event(), [0]

    def watch() -> None:
        while not over.wait(0.1):
            samples.append(executors(context))

    watcher = threading.Thread(target=watch, name="executor-watch", daemon=True)
    watcher.start()
    total = context.parallelize(range(tasks), tasks).map(lambda n: wait_and_return(n, task_ms)).sum()
    loaded.touch()
    threading.Event().wait(idle_s)
    idle.touch()
    over.set()
    watcher.join(5)
    report.write_text(json.dumps({"sum": total, "peak": max(samples), "at_end": executors(context)}))
    context.stop()


if __name__ == "__main__":
    main()
