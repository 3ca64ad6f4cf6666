"""Pi from the points of a square grid that lie inside a quarter circle: ``pi.py SIDE PARTITIONS REPORT``.

The count is an integer that anybody can compute again, so a wrong answer cannot pass as bad luck.  The driver writes
``{"inside": …, "pi": "…"}`` to REPORT, a path that driver and test share.
"""

import json
import math
import pathlib
import sys

from pyspark.sql import SparkSession


def inside_row(side: int, x: int) -> int:
    """Points (x, y) with integer 0 <= y and x*x + y*y < side*side."""
    return math.isqrt(side * side - 1 - x * x) + 1


def main() -> None:
    side, partitions, report = int(sys.argv[1]), int(sys.argv[2]), pathlib.Path(sys.argv[3])
    spark = SparkSession.builder.appName("pi").getOrCreate()
    inside = spark.sparkContext.parallelize(range(side), partitions).map(lambda x: inside_row(side, x)).sum()
    pi = f"{4 * inside / (side * side):.6f}"
    report.write_text(json.dumps({"inside": inside, "pi": pi}))
    print(f"Pi is roughly {pi}")
    spark.stop()


if __name__ == "__main__":
    main()
