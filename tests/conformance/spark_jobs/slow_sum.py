"""A sum made slowly enough to be disturbed: ``slow_sum.py TASKS TASK_MS REPORT MARKER [RELEASE]``.

MARKER is a folder: every started task writes ``task-<n>`` in it, with the container's id, its working folder and its
token file as JSON, so that a test knows when executors work and where.  Each task waits TASK_MS milliseconds and adds
its own number.  When RELEASE is named, tasks also wait until that file is there (at most two minutes), so that a
disturbance surely falls into the middle.  The driver writes ``{"sum": …, "tasks": …, "executors": […]}`` to REPORT,
where executors are the container ids that computed something.
"""

import json
import os
import pathlib
import sys
import threading
import time

from pyspark.sql import SparkSession


def one_task(number: int, task_ms: int, marker: str, release: str | None) -> tuple[int, str]:
    """The number and the container that added it."""
    container = os.environ.get("CONTAINER_ID", "none")
    place = {"container": container, "folder": os.getcwd(), "tokens": os.environ.get("HADOOP_TOKEN_FILE_LOCATION", "")}
    written = pathlib.Path(marker) / f".task-{number}"
    written.write_text(json.dumps(place))
    written.rename(written.with_name(f"task-{number}"))
    pause = threading.Event()
    pause.wait(task_ms / 1000)
    give_up_at = time.monotonic() + 120
    while release is not None and not pathlib.Path(release).exists() and time.monotonic() < give_up_at:
        pause.wait(0.1)
    return number, container


def main() -> None:
    tasks, task_ms, report, marker = int(sys.argv[1]), int(sys.argv[2]), pathlib.Path(sys.argv[3]), sys.argv[4]
    release = sys.argv[5] if len(sys.argv) > 5 else None
    spark = SparkSession.builder.appName("slow-sum").getOrCreate()
    numbers = spark.sparkContext.parallelize(range(tasks), tasks)
    done = numbers.map(lambda n: one_task(n, task_ms, marker, release)).collect()
    executors = sorted({container for _, container in done})
    report.write_text(json.dumps({"sum": sum(n for n, _ in done), "tasks": len(done), "executors": executors}))
    spark.stop()


if __name__ == "__main__":
    main()
