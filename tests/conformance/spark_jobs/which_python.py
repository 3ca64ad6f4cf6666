"""Writes down which Python driver and executors run, and a module that only its environment has: ``REPORT``."""

import json
import pathlib
import sys

from pyspark.sql import SparkSession


def seen_here(_: object = None) -> dict[str, str]:
    import mrjob

    return {"prefix": sys.prefix, "mrjob": mrjob.__version__, "file": mrjob.__file__}


def main() -> None:
    report = pathlib.Path(sys.argv[1])
    spark = SparkSession.builder.appName("which-python").getOrCreate()
    executor = spark.sparkContext.parallelize([0], 1).map(seen_here).collect()[0]
    report.write_text(json.dumps({"driver": seen_here(), "executor": executor}))
    spark.stop()


if __name__ == "__main__":
    main()
