"""Word count with plain RDDs: ``count_words.py INPUT OUTPUT``; what ``--files stop_words.txt`` lists is not counted."""

import pathlib
import sys
from operator import add

from pyspark.sql import SparkSession


def counted(line: str) -> list[tuple[str, int]]:
    """Reads the file where the container finds it: in its working folder."""
    stop_words = set(pathlib.Path("stop_words.txt").read_text().split())
    return [(word, 1) for word in line.split() if word not in stop_words]


def main() -> None:
    source, target = sys.argv[1:]
    assert pathlib.Path("stop_words.txt").exists(), "the driver lacks the file"
    spark = SparkSession.builder.appName("count-words").getOrCreate()
    counts = spark.sparkContext.textFile(source, 2).flatMap(counted).reduceByKey(add, 2)
    counts.map(lambda pair: f"{pair[0]} {pair[1]}").saveAsTextFile(target)
    spark.stop()


if __name__ == "__main__":
    main()
