"""A shuffle in the test's hand: ``held_shuffle.py MAPS REDUCES ROWS FOLDER``.

MAPS partitions of ROWS rows each are summed by key in REDUCES partitions.  A first job computes one of those, for which
all maps run; then the driver writes FOLDER/mapped and waits until FOLDER/release is there.  A second job computes all
of them from what the maps wrote; each of its tasks writes FOLDER/reducing-N once it has rows, and waits for FOLDER/go.
FOLDER/report.json gets ``{"sum": …, "rows": …, "settings": {…}}``, the settings as the driver has them.
"""

import json
import pathlib
import sys
import threading

from pyspark.sql import SparkSession


def wait_for(path: pathlib.Path) -> None:
    pause = threading.Event()
    while not path.exists():
        pause.wait(0.1)


def reduced(part: int, rows, folder: str):
    """The sum of its numbers, and how many they are."""
    numbers = [number for _, (number, _) in rows]
    (pathlib.Path(folder) / f"reducing-{part}").touch()
    wait_for(pathlib.Path(folder) / "go")
    yield sum(numbers), len(numbers)


def main() -> None:
    maps, reduces, rows = (int(a) for a in sys.argv[1:4])
    folder = sys.argv[4]
    spark = SparkSession.builder.appName("held-shuffle").getOrCreate()
    context = spark.sparkContext
    numbers = context.parallelize(range(maps), maps).flatMap(lambda part: ((part * rows + n, 1) for n in range(rows)))
    by_key = numbers.map(lambda pair: (pair[0] % 97, pair)).partitionBy(reduces)
    context.runJob(by_key, lambda found: [sum(1 for _ in found)], [0])
    (pathlib.Path(folder) / "mapped").touch()
    wait_for(pathlib.Path(folder) / "release")
    found = by_key.mapPartitionsWithIndex(lambda part, rows: reduced(part, rows, folder)).collect()
    settings = {key: value for key, value in context.getConf().getAll() if "decommission" in key}
    report = {"sum": sum(total for total, _ in found), "rows": sum(count for _, count in found), "settings": settings}
    (pathlib.Path(folder) / "report.json").write_text(json.dumps(report))
    spark.stop()


if __name__ == "__main__":
    main()
