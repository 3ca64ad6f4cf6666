"""A join and a group-by that shuffle every row: ``join_and_group.py ROWS KEYS GROUPS REPORT``.

ROWS rows ``(id, k = id mod KEYS)`` meet KEYS rows ``(k, w = k*k + 1)``; every group ``k mod GROUPS`` gets its count and
the exact sum of ``id * w``, a number beyond 64 bits.  Broadcast joins are off, so both sides go through the shuffle.
The driver writes ``[[group, count, "sum"], …]`` to REPORT.
"""

import json
import pathlib
import sys

from pyspark.sql import SparkSession

QUERY = """
    SELECT f.k % ${yodel.groups} AS g, count(*) AS n, CAST(sum(CAST(f.id AS DECIMAL(20)) * w.w) AS STRING) AS s
    FROM facts f JOIN weights w ON f.k = w.k GROUP BY f.k % ${yodel.groups} ORDER BY g
"""


def main() -> None:
    rows, keys, groups = (int(a) for a in sys.argv[1:4])
    report = pathlib.Path(sys.argv[4])
    spark = (
        SparkSession.builder.appName("join-and-group")
        .config("spark.sql.autoBroadcastJoinThreshold", "-1")
        .config("spark.sql.adaptive.enabled", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .getOrCreate()
    )
    spark.range(0, rows, 1, 4).selectExpr("id", f"id % {keys} AS k").createOrReplaceTempView("facts")
    spark.range(0, keys, 1, 2).selectExpr("id AS k", "id * id + 1 AS w").createOrReplaceTempView("weights")
    spark.conf.set("yodel.groups", str(groups))
    answer = spark.sql(QUERY).collect()
    report.write_text(json.dumps([[r.g, r.n, r.s] for r in answer]))
    spark.stop()


if __name__ == "__main__":
    main()
