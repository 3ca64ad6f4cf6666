"""``spark-decommission``: executors that are to go hand on what they have shuffled and cached.  Spark 3.5 and 4.

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
    """Of HDFS, absolute, a directory for each user: blocks are as secret as what they were made of."""
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
            why="executors on a node that leaves take no more tasks and hand on what they have",
        ),
        Setting(key="spark.storage.decommission.enabled", value="true", why="what they have are blocks"),
        Setting(key=f"{_BLOCKS}enabled", value="true", why="shuffle blocks go to other executors"),
        Setting(
            key="spark.storage.decommission.rddBlocks.enabled",
            value="true",
            why="cached blocks go to other executors",
        ),
        Setting(
            key=_INTERVAL,
            value="1s",
            why="an executor ends soon after its last block has moved; Spark's 30s are longer than a notice",
        ),
        Setting(
            key=_CLEAN_UP,
            value="true",
            why="what the application left in the fallback storage goes with its end",
            needs=FALLBACK_PATH,
        ),
    ),
    options={
        FALLBACK_PATH: Option(
            accepts=is_fallback_path,
            expected="hdfs:, an absolute path with {user} in it and / at its end, as hdfs:///spark-fallback/{user}/",
            why="takes the shuffle blocks that no other executor takes",
        ),
        _CLEAN_UP: switch("whether what the application left there goes with its end", FALLBACK_PATH),
        "spark.storage.decommission.enabled": switch("whether blocks go to other executors"),
        f"{_BLOCKS}enabled": switch("whether shuffle blocks go to other executors"),
        "spark.storage.decommission.rddBlocks.enabled": switch("whether cached blocks go to other executors"),
        f"{_BLOCKS}maxThreads": count(1, 1000, "shuffle blocks that one executor sends at once"),
        f"{_BLOCKS}maxDiskSize": size("shuffle blocks that an executor may hold"),
        f"{_BLOCKS}bufferRacingMigrations": switch("blocks that come while their map output is not known yet wait"),
        "spark.storage.decommission.maxReplicationFailuresPerBlock": count(1, 1000, "tries for a cached block"),
        _INTERVAL: duration("between two looks whether all blocks have moved"),
        "spark.executor.decommission.killInterval": duration("an executor that decommissions longer is ended"),
        "spark.executor.decommission.forceKillTimeout": duration("the same, whatever it still does"),
        "spark.stage.ignoreDecommissionFetchFailure": switch("fetches that fail by it do not count for the stage"),
        "spark.scheduler.maxRetainedRemovedDecommissionExecutors": count(
            0, 100_000, "decommissioned executors whose lost fetches are known as such"
        ),
        "spark.scheduler.maxRetainedUnknownDecommissionExecutors": count(
            0, 100_000, "executors that decommissioned before they were known"
        ),
    },
    told={"decommission": "spark.decommission.enabled", "fallback": FALLBACK_PATH, "clean-up": _CLEAN_UP},
)
