"""Pi, counted: the points of a square grid that lie inside a quarter circle.  ``pi.py [SIDE [OUTPUT]]``

    spark-submit --master yarn --deploy-mode cluster examples/pi.py 4000 file:///tmp/pi

The answer goes to standard output and, when OUTPUT is named, into a text file in that folder, which
replaces an older one.
"""

import math
import sys

from pyspark.sql import SparkSession


def inside_row(side: int, x: int) -> int:
    """Return how many integers y >= 0 keep (x, y) inside the circle of radius ``side``."""
    return math.isqrt(side * side - 1 - x * x) + 1


def main() -> None:
    side = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
    spark = SparkSession.builder.appName("pi").getOrCreate()
    inside = spark.sparkContext.parallelize(range(side), 4).map(lambda x: inside_row(side, x)).sum()
    answer = f"Pi is roughly {4 * inside / (side * side):.6f} ({inside} of {side * side} points)"
    print(answer)
    if len(sys.argv) > 2:
        spark.createDataFrame([answer], "string").coalesce(1).write.mode("overwrite").text(sys.argv[2])
    spark.stop()


if __name__ == "__main__":
    main()
