"""Writes down what reached driver and executors: ``what_arrived.py REPORT [ARGUMENT …]``.

Expects ``--files note.txt``, ``--py-files extra_module.py`` and ``--archives bundle.zip#bundle``, and reports the
arguments, the variables whose names begin with ``YODEL_TEST_``, the text of the file and of the archive's members, and
the value that the module brings, once as the driver and once as an executor sees them.
"""

import json
import os
import pathlib
import sys

from pyspark.sql import SparkSession


def seen_here(_: object = None) -> dict[str, object]:
    """Return what the calling process finds in its working folder, its environment and its module path."""
    import extra_module

    return {
        "file": pathlib.Path("note.txt").read_text(),
        "archive": {
            str(p.relative_to("bundle")): p.read_text() for p in pathlib.Path("bundle").rglob("*") if p.is_file()
        },
        "module": extra_module.VALUE,
        "environment": {k: v for k, v in os.environ.items() if k.startswith("YODEL_TEST_")},
    }


def main() -> None:
    report = pathlib.Path(sys.argv[1])
    spark = SparkSession.builder.appName("what-arrived").getOrCreate()
    executor = spark.sparkContext.parallelize([0], 1).map(seen_here).collect()[0]
    report.write_text(json.dumps({"arguments": sys.argv[2:], "driver": seen_here(), "executor": executor}))
    spark.stop()


if __name__ == "__main__":
    main()
