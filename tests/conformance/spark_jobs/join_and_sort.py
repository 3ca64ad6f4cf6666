"""A join and a sort of SIZE megabytes, in the caller's hand: ``join_and_sort.py SIZE FOLDER``.

Rows of some hundred bytes, ``(id, k = id mod KEYS, text = sha256(id))``, meet ``(k, w = 7 k mod KEYS)`` and are sorted
by ``(w, id)``.  Broadcast joins are off, so that everything goes through the shuffle.  A task of the last stage writes
FOLDER/reducing-N and waits until FOLDER/go is there; then it reads all of its rows, which have to be in order and of
the texts that belong to them.  FOLDER/report.json gets ``[[first, last, count, sum of id * (w + 1)], …]``, a partition
each.
"""

import hashlib
import json
import pathlib
import sys
import threading

ROWS_OF_A_MEGABYTE = 10_000
KEYS = 1009
PARTITIONS = 8


def checked(part: int, rows, folder: str):
    """Return what is in a partition of the last stage."""
    (pathlib.Path(folder) / f"reducing-{part}").touch()
    pause = threading.Event()
    while not (pathlib.Path(folder) / "go").exists():
        pause.wait(0.1)
    first = last = None
    count = total = 0
    for row in rows:
        here = [row.w, row.id]
        assert last is None or last < here, (last, here)
        assert hashlib.sha256(str(row.id).encode()).hexdigest() == row.text, row.id
        first, last = first or here, here
        count, total = count + 1, total + row.id * (row.w + 1)
    yield first, last, count, total


def main() -> None:
    from pyspark.sql import SparkSession

    size_mb, folder = int(sys.argv[1]), sys.argv[2]
    spark = (
        SparkSession.builder.appName("join-and-sort")
        .config("spark.sql.autoBroadcastJoinThreshold", "-1")
        .config("spark.sql.adaptive.enabled", "false")
        .config("spark.sql.shuffle.partitions", str(PARTITIONS))
        .getOrCreate()
    )
    facts = spark.range(0, size_mb * ROWS_OF_A_MEGABYTE, 1, PARTITIONS).selectExpr(
        "id", f"id % {KEYS} AS k", "sha2(CAST(id AS STRING), 256) AS text"
    )
    weights = spark.range(0, KEYS, 1, 2).selectExpr("id AS k", f"id * 7 % {KEYS} AS w")
    ordered = facts.join(weights, "k").select("w", "id", "text").orderBy("w", "id")
    found = ordered.rdd.mapPartitionsWithIndex(lambda part, rows: checked(part, rows, folder)).collect()
    (pathlib.Path(folder) / "report.json").write_text(json.dumps(found))
    spark.stop()


if __name__ == "__main__":
    main()
