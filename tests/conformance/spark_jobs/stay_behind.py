"""One shuffle read twice, with nobody in between: ``stay_behind.py PARTS REPORT COMPUTED WRITTEN GO``.

COMPUTED is a folder in which every run of a map-side partition leaves a file.  The driver touches the file WRITTEN once
the shuffle has been read for the first time, and reads it again when GO is there (it waits two minutes at most).  It
writes ``{"first": …, "second": …, "wrote": […], "read": […]}`` to REPORT: the sums, and the containers that wrote the
shuffle and those that read it at last.
"""

import json
import os
import pathlib
import sys
import threading
import time
import uuid
from collections.abc import Iterator

from pyspark.sql import SparkSession

NUMBERS_OF_A_PART = 1000


def computed(part: int, numbers: Iterator[int], folder: str) -> Iterator[tuple[int, tuple[int, str]]]:
    container = os.environ.get("CONTAINER_ID", "none")
    pathlib.Path(folder, f"part-{part}-{uuid.uuid4()}").touch()
    return iter([(number, (number, container)) for number in numbers])


def read_by(rows: Iterator[tuple[int, tuple[int, str]]]) -> Iterator[tuple[int, list[str], str]]:
    found = [value for _, value in rows]
    yield sum(n for n, _ in found), sorted({c for _, c in found}), os.environ.get("CONTAINER_ID", "none")


def main() -> None:
    parts = int(sys.argv[1])
    report, folder, written, go = (pathlib.Path(a) for a in sys.argv[2:6])
    context = SparkSession.builder.appName("stay-behind").getOrCreate().sparkContext
    numbers = context.parallelize(range(parts * NUMBERS_OF_A_PART), parts)
    shuffled = numbers.mapPartitionsWithIndex(lambda part, found: computed(part, found, str(folder))).partitionBy(3)
    first = shuffled.mapPartitions(read_by).collect()
    written.touch()
    give_up_at = time.monotonic() + 120
    while not go.exists() and time.monotonic() < give_up_at:
        threading.Event().wait(0.1)
    second = shuffled.mapPartitions(read_by).collect()
    told = {
        "first": sum(total for total, _, _ in first),
        "second": sum(total for total, _, _ in second),
        "wrote": sorted({container for _, containers, _ in first for container in containers}),
        "read": sorted({container for _, _, container in second}),
    }
    report.write_text(json.dumps(told))
    context.stop()


if __name__ == "__main__":
    main()
