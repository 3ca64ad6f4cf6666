"""Shuffles the same numbers again and again, until it is killed: each round prints its seconds.

``shuffle_rounds.py NUMBERS PARTITIONS``: SHA-256 of each number, grouped by its first two digits, sorted.  A wrong
count ends the job as failed.
"""

import hashlib
import sys
import time
from collections import Counter

from pyspark.sql import SparkSession
from pyspark.sql import functions as f


def main() -> None:
    numbers, partitions = int(sys.argv[1]), int(sys.argv[2])
    spark = SparkSession.builder.appName("shuffle-rounds").getOrCreate()
    spark.conf.set("spark.sql.shuffle.partitions", partitions)
    spark.conf.set("spark.sql.adaptive.enabled", False)
    counted = Counter(hashlib.sha256(str(number).encode()).hexdigest()[:2] for number in range(numbers))
    expected = sorted(counted.items())
    digits = f.substring(f.sha2(f.col("id").cast("string"), 256), 1, 2)
    hashes = spark.range(0, numbers, 1, partitions).select(digits.alias("digits"))
    while True:
        began = time.monotonic()
        found = hashes.repartition(partitions, "digits").groupBy("digits").count().orderBy("digits").collect()
        if [(row["digits"], row["count"]) for row in found] != expected:
            raise SystemExit(f"wrong counts: {found}")
        print(round(time.monotonic() - began, 3), flush=True)


if __name__ == "__main__":
    main()
