"""``celeborn``: shuffle data go to the workers of an Apache Celeborn.  Its 0.5 and 0.6 lines; Spark 3.0 to 3.5.

``spark``: the client decides at each shuffle, and falls back to Spark's own where no worker or no quota is to be had
(``AUTO``).  Then nothing may be said of reliable storage: blocks that fell back go with their executors, and Spark has
to know that.  ``refuse``: nothing falls back (``NEVER``), so an executor takes nothing along, however it ends.  Spark
knows that by the I/O plug-in alone, since map outputs are registered under the executors' own addresses.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from yodel.domain.shuffle.accepted import count, duration, names, one_of, size, switch
from yodel.domain.shuffle.service import Client, Service, Setting

MANAGER = "org.apache.spark.shuffle.celeborn.SparkShuffleManager"
_CLIENT = "spark.celeborn.client."
_POLICY = f"{_CLIENT}spark.shuffle.fallback.policy"
_LOOK_UP = "spark.celeborn.rpc.lookupTimeout"
_FORCED = f"{_CLIENT}spark.shuffle.forceFallback.enabled"
_IDENTITIES = ("celeborn.quota.identity.user-specific.", "spark.celeborn.identity.user-specific.")
"""The identities of the 0.5 line, whose ``DefaultIdentityProvider`` reads JVM properties alone, and of the 0.6 line."""


def can_fall_back(settings: Mapping[str, str]) -> bool:
    """Return True if a shuffle of an application with these settings can be Spark's own."""
    return settings.get(_POLICY, "").upper() != "NEVER" or settings.get(_FORCED, "").lower() == "true"


CELEBORN = Service(
    name="celeborn",
    settings=(
        Setting(key="spark.shuffle.manager", value=MANAGER, why="shuffle data go to Celeborn's workers"),
        Setting(key="spark.celeborn.master.endpoints", value="{endpoints}", why="addresses of Celeborn's masters"),
        Setting(
            key="spark.serializer",
            value="org.apache.spark.serializer.KryoSerializer",
            why="records of Java's serializer cannot be relocated one by one",
        ),
        Setting(
            key="spark.sql.adaptive.localShuffleReader.enabled",
            value="false",
            why="shuffle data is never local to an executor",
        ),
        Setting(
            key=_POLICY,
            value="AUTO",
            why="without workers or quota, Spark's own shuffle is used",
            when_away="spark",
        ),
        Setting(
            key=_POLICY,
            value="NEVER",
            why="without workers or quota, the application fails",
            when_away="refuse",
        ),
        Setting(
            key=_LOOK_UP,
            value="10s",
            why="a master that accepts connections and does not answer delays each shuffle by this",
            when_away="spark",
        ),
        Setting(
            key="spark.shuffle.sort.io.plugin.class",
            value="org.apache.spark.shuffle.celeborn.CelebornShuffleDataIO",
            why="shuffle data outlive executors",
            is_never_fallback=True,
        ),
        Setting(
            key="spark.dynamicAllocation.shuffleTracking.enabled",
            value="false",
            why="executors need not be kept for their shuffle data",
            is_for_dynamic_allocation=True,
            is_never_fallback=True,
        ),
        *(Setting(key=f"{keys}tenant", value="{queue}", why="quotas of the queue") for keys in _IDENTITIES),
        *(Setting(key=f"{keys}userName", value="{user}", why="quotas of the user") for keys in _IDENTITIES),
    ),
    options={
        f"{_CLIENT}push.replicate.enabled": switch("each piece of data is stored on two workers"),
        f"{_CLIENT}spark.shuffle.writer": one_of(("HASH", "SORT"), "SORT needs less memory with many partitions"),
        f"{_CLIENT}spark.shuffle.fallback.numPartitionsThreshold": count(
            1, 999_999_999, "shuffles with at least this many partitions use Spark's own shuffle"
        ),
        f"{_CLIENT}shuffle.compression.codec": one_of(("LZ4", "ZSTD", "NONE"), "compression of shuffle data"),
        f"{_CLIENT}shuffle.partitionSplit.threshold": size("a partition that is larger is split"),
        f"{_CLIENT}slot.assign.maxWorkers": count(1, 1_000_000, "workers per shuffle"),
        f"{_CLIENT}push.buffer.max.size": size("buffer per partition in a task"),
        f"{_CLIENT}push.timeout": duration("for one push"),
        f"{_CLIENT}fetch.timeout": duration("for one fetch"),
        f"{_CLIENT}fetch.maxRetriesForEachReplica": count(0, 1000, "attempts to fetch from one worker"),
        f"{_CLIENT}push.revive.maxRetries": count(0, 1000, "attempts to push to another worker"),
        f"{_CLIENT}spark.fetch.throwsFetchFailure": switch("lost data is recomputed (Celeborn 0.5)"),
        f"{_CLIENT}spark.stageRerun.enabled": switch("lost data is recomputed (Celeborn 0.6)"),
        "spark.celeborn.storage.availableTypes": names("storage types of the workers, e.g. HDD,SSD"),
        "spark.celeborn.auth.enabled": switch("the service authenticates applications"),
        _LOOK_UP: duration("for a master or worker to answer a new connection"),
        "spark.celeborn.masterClient.maxRetries": count(1, 1000, "attempts to reach a master"),
        "spark.celeborn.masterClient.rpc.askTimeout": duration("for the answer of a master"),
    },
    client=Client(
        managers=frozenset({MANAGER, "org.apache.spark.shuffle.celeborn.RssShuffleManager"}),
        sparks=frozenset((3, minor) for minor in range(6)),
        scala="2.12",
        files=re.compile(r"celeborn-client-spark-.*\.jar"),
        can_fall_back=can_fall_back,
    ),
)
