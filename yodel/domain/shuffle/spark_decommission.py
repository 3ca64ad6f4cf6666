"""``spark-decommission`` lets executors that will be stopped hand on their shuffled and cached data (Spark 3.5 and 4).

An executor decommissions when its node leaves (``YarnAllocator.handleNodesInDecommissioningState``) or its agent tells
it to; it moves its blocks to other executors, and what none takes to the fallback storage, where that is said.
Nothing of it works beside Spark's external shuffle service (``spark.shuffle.service.enabled``).
"""

from __future__ import annotations

from yodel.domain.shuffle.accepted import count, duration, size, switch
from yodel.domain.shuffle.service import Option, Service, Setting

FALLBACK_PATH = "spark.storage.decommission.fallbackStorage.path"
_CLEAN_UP = "spark.storage.decommission.fallbackStorage.cleanUp"
_INTERVAL = "spark.storage.decommission.replicationReattemptInterval"
_BLOCKS = "spark.storage.decommission.shuffleBlocks."


def is_fallback_path(text: str) -> bool:
    """Return True for an absolute path in HDFS with a directory for each user: blocks are as secret as their data."""
    scheme, _, rest = text.partition(":")
    path = rest if not rest.startswith("//") else "/" + rest.removeprefix("//").partition("/")[2]
    parts = path.split("/")
    is_absolute = scheme == "hdfs" and path.startswith("/") and path.endswith("/")
    is_clean = "." not in parts and ".." not in parts and "" not in parts[1:-1]
    return is_absolute and is_clean and "{user}" in path and ":" not in path and "," not in path


SPARK_DECOMMISSION = Service(
    name="spark-decommission",
    settings=(
        Setting(
            key="spark.decommission.enabled",
            value="true",
            why="executors on a draining node take no more tasks and migrate their blocks",
        ),
        Setting(key="spark.storage.decommission.enabled", value="true", why="blocks are migrated"),
        Setting(key=f"{_BLOCKS}enabled", value="true", why="shuffle blocks go to other executors"),
        Setting(
            key="spark.storage.decommission.rddBlocks.enabled",
            value="true",
            why="cached blocks go to other executors",
        ),
        Setting(
            key=_INTERVAL,
            value="1s",
            why="an executor exits soon after its last block has moved; Spark's 30s can exceed the notice",
        ),
        Setting(
            key=_CLEAN_UP,
            value="true",
            why="the application's files in the fallback storage are deleted when it ends",
            needs=FALLBACK_PATH,
        ),
    ),
    options={
        FALLBACK_PATH: Option(
            accepts=is_fallback_path,
            expected="hdfs:, an absolute path that contains {user} and ends with /, e.g. hdfs:///spark-fallback/{user}/",
            why="stores shuffle blocks that no other executor accepts",
        ),
        _CLEAN_UP: switch("whether the application's files there are deleted when it ends", FALLBACK_PATH),
        "spark.storage.decommission.enabled": switch("whether blocks go to other executors"),
        f"{_BLOCKS}enabled": switch("whether shuffle blocks go to other executors"),
        "spark.storage.decommission.rddBlocks.enabled": switch("whether cached blocks go to other executors"),
        f"{_BLOCKS}maxThreads": count(1, 1000, "shuffle blocks that one executor sends in parallel"),
        f"{_BLOCKS}maxDiskSize": size("shuffle data that an executor may store"),
        f"{_BLOCKS}bufferRacingMigrations": switch("buffer blocks that arrive before their map output is known"),
        "spark.storage.decommission.maxReplicationFailuresPerBlock": count(1, 1000, "attempts per cached block"),
        _INTERVAL: duration("between two checks that all blocks have moved"),
        "spark.executor.decommission.killInterval": duration("an executor that decommissions for longer is killed"),
        "spark.executor.decommission.forceKillTimeout": duration("the same, even if it is still migrating blocks"),
        "spark.stage.ignoreDecommissionFetchFailure": switch(
            "fetch failures caused by decommissioning do not count as stage failures"
        ),
        "spark.scheduler.maxRetainedRemovedDecommissionExecutors": count(
            0, 100_000, "decommissioned executors whose fetch failures are still recognized"
        ),
        "spark.scheduler.maxRetainedUnknownDecommissionExecutors": count(
            0, 100_000, "executors that were decommissioned before they registered"
        ),
    },
    told={"decommission": "spark.decommission.enabled", "fallback": FALLBACK_PATH, "clean-up": _CLEAN_UP},
)
