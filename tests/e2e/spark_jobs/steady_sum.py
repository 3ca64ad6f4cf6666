"""A sum that takes its time: ``steady_sum.py TASKS SECONDS``; each task waits and adds its own number."""

import sys
import threading

from pyspark.sql import SparkSession


def one_task(number: int, wait_s: float) -> int:
    threading.Event().wait(wait_s)
    return number


def main() -> None:
    tasks, wait_s = int(sys.argv[1]), float(sys.argv[2])
    spark = SparkSession.builder.appName("steady-sum").getOrCreate()
    total = spark.sparkContext.parallelize(range(tasks), tasks).map(lambda n: one_task(n, wait_s)).sum()
    print(f"the sum is {total}")
    spark.stop()


if __name__ == "__main__":
    main()
