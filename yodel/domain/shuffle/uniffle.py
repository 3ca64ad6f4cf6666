"""``uniffle``: shuffle data go to the servers of an Apache Uniffle.  Its 0.9 and 0.10 lines; Spark 3.0 to 3.5.

``spark``: the driver asks the coordinator once whether the application may, and is Spark's own where it may not
(``DelegationRssShuffleManager``); with dynamic allocation that needs Spark's external shuffle service on the nodes, for
which it then asks.  ``refuse``: it is never asked, and fails without servers.  The manager itself switches off what
cannot go with it: the external service, shuffle tracking, local readers.  How data are stored is the coordinator's to
say (``rss.coordinator.dynamicClientConf``), whose word wins over the one here.
"""

from __future__ import annotations

import re

from yodel.domain.shuffle.accepted import count, names, one_of, size
from yodel.domain.shuffle.service import Client, Service, Setting

MANAGER = "org.apache.spark.shuffle.RssShuffleManager"
DELEGATION = "org.apache.spark.shuffle.DelegationRssShuffleManager"
STORAGES = ("MEMORY_LOCALFILE", "MEMORY_HDFS", "MEMORY_LOCALFILE_HDFS", "LOCALFILE", "HDFS", "LOCALFILE_HDFS")
_STORAGE = "spark.rss.storage.type"

UNIFFLE = Service(
    name="uniffle",
    settings=(
        Setting(
            key="spark.shuffle.manager",
            value=DELEGATION,
            why="shuffle data go to Uniffle's servers where its coordinator allows it",
            when_away="spark",
        ),
        Setting(
            key="spark.shuffle.manager",
            value=MANAGER,
            why="shuffle data go to Uniffle's servers",
            when_away="refuse",
        ),
        Setting(key="spark.rss.coordinator.quorum", value="{endpoints}", why="addresses of Uniffle's coordinators"),
        Setting(
            key="spark.rss.access.id",
            value="{application}",
            outside="{user}",
            why="identity that the coordinator checks",
            when_away="spark",
        ),
        Setting(
            key="spark.rss.quota.user",
            value="{user}",
            why="owner shown by the servers; the delegation manager sets it itself",
            when_away="refuse",
        ),
        Setting(
            key="spark.serializer",
            value="org.apache.spark.serializer.KryoSerializer",
            why="records of Java's serializer cannot be relocated one by one",
        ),
        Setting(key=_STORAGE, value="MEMORY_LOCALFILE", why="used if the coordinator sets no storage type"),
        Setting(
            key="spark.shuffle.sort.io.plugin.class",
            value="org.apache.spark.shuffle.RssShuffleDataIo",
            why="shuffle data outlive executors",
            is_for_dynamic_allocation=True,
        ),
        Setting(
            key="spark.dynamicAllocation.shuffleTracking.enabled",
            value="false",
            why="executors need not be kept for their shuffle data",
            when_away="refuse",
            is_for_dynamic_allocation=True,
        ),
    ),
    options={
        _STORAGE: one_of(STORAGES, "storage type, if the coordinator sets none"),
        "spark.rss.client.type": one_of(("GRPC", "GRPC_NETTY"), "transport to the servers"),
        "spark.rss.client.assignment.tags": names("only servers with all these tags"),
        "spark.rss.client.assignment.shuffle.nodes.max": count(1, 1_000_000, "servers per shuffle"),
        "spark.rss.client.access.retry.times": count(0, 1000, "further attempts to get access"),
        "spark.rss.client.access.retry.interval.ms": count(1, 3_600_000, "milliseconds between these attempts"),
        "spark.rss.client.retry.max": count(1, 1000, "attempts per send"),
        "spark.rss.client.send.check.timeout.ms": count(
            1_000, 86_400_000, "deadline for sending data, in milliseconds"
        ),
        "spark.rss.data.replica": count(1, 10, "replicas of each piece of data"),
        "spark.rss.data.replica.write": count(1, 10, "replicas that must confirm a write"),
        "spark.rss.data.replica.read": count(1, 10, "replicas that a read needs"),
        "spark.rss.writer.buffer.size": size("buffer per partition in a task"),
        "spark.rss.writer.buffer.spill.size": size("buffer for all partitions in a task"),
    },
    client=Client(
        managers=frozenset({MANAGER, DELEGATION}),
        sparks=frozenset((3, minor) for minor in range(6)),
        scala="2.12",
        files=re.compile(r"rss-client-spark.*\.jar"),
        dynamic_from={"spark": (3, 5), "refuse": (3, 5)},
        dynamic_needs={"spark": "spark_shuffle"},
    ),
)
