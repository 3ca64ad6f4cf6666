"""Counts the words of a text: ``wordcount.py INPUT OUTPUT``; OUTPUT becomes a folder of lines ``word<TAB>count``.

    spark-submit --master yarn --deploy-mode cluster examples/wordcount.py file://$PWD/examples/river.txt file:///tmp/words

INPUT is a full path, because the program runs in a container with a work directory of its own.  OUTPUT replaces
an older one.
"""

import sys
from operator import add

from pyspark.sql import SparkSession


def words(line: str) -> list[str]:
    """Lower-case runs of letters."""
    return "".join(c.lower() if c.isalpha() else " " for c in line).split()


def main() -> None:
    source, target = sys.argv[1:3]
    spark = SparkSession.builder.appName("wordcount").getOrCreate()
    counts = spark.sparkContext.textFile(source, 2).flatMap(words).map(lambda word: (word, 1)).reduceByKey(add, 2)
    lines = counts.sortByKey().map(lambda pair: f"{pair[0]}\t{pair[1]}")
    spark.createDataFrame(lines, "string").write.mode("overwrite").text(target)
    spark.stop()


if __name__ == "__main__":
    main()
