"""A driver that ends with the status it is told: ``exit_with.py STATUS``."""

import sys

from pyspark.sql import SparkSession


def main() -> None:
    spark = SparkSession.builder.appName("exit-with").getOrCreate()
    spark.stop()
    sys.exit(int(sys.argv[1]))


if __name__ == "__main__":
    main()
