"""Works until somebody makes the file ``FOLDER/end``: ``until_told.py FOLDER``.

Every round is a stage of twelve tasks of a second; the driver checks each sum.
"""

import sys
import threading

from pyspark.sql import SparkSession

TASKS = 12


def one_task(number: int) -> int:
    threading.Event().wait(1)
    return number


def main() -> None:
    spark = SparkSession.builder.appName("until-told").getOrCreate()
    context = spark.sparkContext
    end = context._jvm.org.apache.hadoop.fs.Path(f"{sys.argv[1]}/end")
    files = end.getFileSystem(context._jsc.hadoopConfiguration())
    rounds = 0
    while not files.exists(end):
        total = context.parallelize(range(TASKS), TASKS).map(one_task).sum()
        if total != sum(range(TASKS)):
            raise SystemExit(f"round {rounds}: {total}")
        rounds += 1
        print(f"round {rounds} is right", flush=True)
    print(f"all {rounds} rounds were right", flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
