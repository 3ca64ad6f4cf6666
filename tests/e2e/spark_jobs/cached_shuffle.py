"""Reads one shuffle and cached blocks again and again until somebody makes the file ``FOLDER/end``.

``cached_shuffle.py FOLDER``: sums of numbers by their last digit, shuffled once, and the numbers themselves, cached.
Each round the driver checks both; what is lost with an executor is computed anew, and nothing else.
"""

import sys
import threading

from pyspark import StorageLevel
from pyspark.sql import SparkSession

NUMBERS, MAPS, REDUCES = 60_000, 6, 6
EXPECTED = sorted((digit, sum(range(digit, NUMBERS, 10))) for digit in range(10))


def slowly(pair: tuple[int, int]) -> tuple[int, int]:
    threading.Event().wait(0.2)
    return pair


def main() -> None:
    spark = SparkSession.builder.appName("cached-shuffle").getOrCreate()
    context = spark.sparkContext
    end = context._jvm.org.apache.hadoop.fs.Path(f"{sys.argv[1]}/end")
    files = end.getFileSystem(context._jsc.hadoopConfiguration())
    cached = context.parallelize(range(NUMBERS), MAPS).persist(StorageLevel.MEMORY_AND_DISK)
    shuffled = cached.map(lambda number: (number % 10, number)).reduceByKey(lambda one, other: one + other, REDUCES)
    rounds = 0
    while not files.exists(end):
        found, count = sorted(shuffled.map(slowly).collect()), cached.count()
        if found != EXPECTED or count != NUMBERS:
            raise SystemExit(f"round {rounds}: {found}, {count}")
        rounds += 1
        print(f"round {rounds} is right", flush=True)
    print(f"all {rounds} rounds were right", flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
