"""Real MapReduce in a queue of two containers, with a reducer that starts before the maps: it ends."""

from __future__ import annotations

import math

from tests.conformance.clients.target import Target
from tests.conformance.cluster import Cluster
from tests.conformance.held_mapreduce import Site, expected_count
from tests.conformance.queue_words import put_queues
from tests.support.hadoop import Hadoop
from tests.support.hadoop_yodel import rm_addresses, running_yodel

MAPS = 3


def narrow(cluster: Cluster, containers: int, container_mib: int) -> None:
    """Leave the queue ``narrow`` room for so many containers of the cluster."""
    whole_mib = cluster.rest("/metrics")["clusterMetrics"]["totalMB"]
    percent = math.ceil(1e6 * containers * container_mib / whole_mib) / 1e4  # a hair less would be a container less
    put_queues(
        cluster,
        {
            "root.narrow": {"capacity": f"{percent:.4f}", "maximum-capacity": f"{percent:.4f}"},
            "root.wide": {"capacity": f"{100 - percent:.4f}"},
        },
    )


def test_reducers_that_start_first_give_way_to_maps(rig: Hadoop) -> None:
    """The ApplicationMaster would wait for ever for room that it is not to get without a headroom of the queue."""
    with running_yodel(rig, settings={"YODEL_QUEUES": '["narrow", "wide"]'}) as cluster:
        narrow(cluster, 2, 1024)
        site = Site(
            cluster=cluster,
            target=Target(name="narrow", line="3.5", addresses=rm_addresses(cluster), hadoop=rig),
        )
        folder = site.word_files(MAPS)
        sizes = {
            "mapreduce_job_queuename": "narrow",
            "mapreduce_job_reduces": 1,
            "mapreduce_job_reduce_slowstart_completedmaps": "0.0",
            "yarn_app_mapreduce_am_resource_mb": 1024,
            "mapreduce_map_memory_mb": 1024,
            "mapreduce_reduce_memory_mb": 1024,
        }
        with site.example("wordcount", f"{folder}/in", f"{folder}/out", **sizes) as job:
            counters = job.counters()
        assert counters["Launched map tasks"] >= MAPS
        assert counters["Map input records"] > 0
        assert site.counted(f"{folder}/out") == expected_count(MAPS)
        shown = cluster.rest(f"/apps/{job.application_id}")["app"]
        assert shown["queue"] == "root.narrow"
