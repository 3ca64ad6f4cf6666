"""A Spark program that loads what Spark's clients, ApplicationMasters and executors do; see ``class_data``.

Arguments: properties of Hadoop, ``NAME=VALUE``, of a ResourceManager that does not answer.
"""

import contextlib
import sys

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

settings = SparkConf().setAppName("class data").set("spark.ui.enabled", "false")
for word in sys.argv[1:]:
    name, _, value = word.partition("=")
    settings.set(f"spark.hadoop.{name}", value)
context = SparkContext(conf=settings.setMaster("local[2]"))
context.parallelize(range(100), 2).map(lambda x: (x % 3, x)).reduceByKey(lambda a, b: a + b).collect()
SparkSession(context).range(1000).selectExpr("id % 7 as k", "id").groupBy("k").sum("id").collect()
context.stop()
with contextlib.suppress(Exception):
    SparkContext(conf=settings.setMaster("yarn"))
