"""A shuffle in the test's hand: ``held_shuffle.py MAPS REDUCES ROWS REPORT MAPPED RELEASE``.

MAPS partitions of ROWS rows each are summed by key in REDUCES partitions.  A first job computes one of those, for which
all maps run; then the driver writes MAPPED and waits until RELEASE is there.  A second job computes all of them from
what the maps wrote.  REPORT gets ``{"sum": …, "rows": …, "settings": {…}}``, the settings as the driver has them.
"""

import json
import pathlib
import sys
import threading

from pyspark.sql import SparkSession


def main() -> None:
    maps, reduces, rows = (int(a) for a in sys.argv[1:4])
    report, mapped, release = (pathlib.Path(a) for a in sys.argv[4:7])
    spark = SparkSession.builder.appName("held-shuffle").getOrCreate()
    context = spark.sparkContext
    numbers = context.parallelize(range(maps), maps).flatMap(lambda part: ((part * rows + n, 1) for n in range(rows)))
    by_key = numbers.map(lambda pair: (pair[0] % 97, pair)).partitionBy(reduces)
    context.runJob(by_key, lambda found: [sum(1 for _ in found)], [0])
    mapped.touch()
    pause = threading.Event()
    while not release.exists():
        pause.wait(0.1)
    found = context.runJob(by_key, lambda rows: [(sum(pair[0] for _, pair in list(rows)), 0)])
    counted = context.runJob(by_key, lambda rows: [sum(1 for _ in rows)])
    settings = {key: value for key, value in context.getConf().getAll() if "decommission" in key}
    written = report.with_suffix(".part")
    written.write_text(json.dumps({"sum": sum(s for s, _ in found), "rows": sum(counted), "settings": settings}))
    written.rename(report)
    spark.stop()


if __name__ == "__main__":
    main()
