"""The unmodified distributed shell with a placement specification, on nodes enough to tell good places from bad."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.conformance.clients import shell
from tests.conformance.clients.target import Target
from tests.conformance.cluster import Cluster, wait_for
from tests.conformance.spark_submit import Submission
from tests.support.hadoop import Hadoop
from tests.support.hadoop_yodel import rm_addresses, running_yodel

pytestmark = pytest.mark.timeout(900)
RUNNING_TIMEOUT_S = 600
REJECTED_TIMEOUT_S = 600
TAG = "tag.yodel.io/"


@pytest.fixture(scope="module")
def three_nodes(rig: Hadoop) -> Iterator[Cluster]:
    with running_yodel(rig, nodes=3) as started:
        yield started


@pytest.fixture(scope="module", autouse=True)
def rejected(rig: Hadoop) -> Iterator[tuple[Cluster, Submission]]:
    """A shell whose containers cannot be placed, on a cluster of its own; its master retries for a minute.

    It waits beside the other tests of this file, so it is started before them.
    """
    settings = {"YODEL_PLACEMENT_CONSTRAINTS_HANDLER": "placement-processor"}
    with running_yodel(rig, settings=settings) as cluster, contextlib.ExitStack() as stack:
        target = Target(name="rejected", line="3.5", addresses=rm_addresses(cluster), hadoop=rig)
        spec = ("-placement_spec", "zk(2),NOTIN,NODE,zk", "-container_memory", 256)
        submission = shell.start(target, "-shell_command", "sleep 600", *spec)
        stack.callback(submission.stop)
        submission.application_id()
        yield cluster, submission


@pytest.fixture
def target(rig: Hadoop, three_nodes: Cluster) -> Target:
    return Target(name="placed", line="3.5", addresses=rm_addresses(three_nodes), hadoop=rig)


def nodes_by_tag(cluster: Cluster, application_id: str) -> dict[str, list[str]]:
    """Kubernetes nodes of the running pods that carry each allocation tag."""
    listing = cluster.kubectl("get", "pods", "-A", "-o", "json", "-l", f"yodel.io/application={application_id}")
    found: dict[str, list[str]] = {}
    for pod in json.loads(listing)["items"]:
        tags = [key.removeprefix(TAG) for key in pod["metadata"]["labels"] if key.startswith(TAG)]
        if tags and pod["status"].get("phase") == "Running":
            found.setdefault(tags[0], []).append(pod["spec"]["nodeName"])
    return found


def placed(target: Target, cluster: Cluster, spec: str, **expected: int) -> dict[str, list[str]]:
    """Return where the containers of each tag run, once there are as many as expected; kill the application then."""
    words = ("-shell_command", "sleep 300", "-placement_spec", spec, "-container_memory", 256)
    job = shell.start(target, *words)
    application_id = job.application_id()

    def probe() -> dict[str, list[str]] | None:
        found = nodes_by_tag(cluster, application_id)
        return found if {tag: len(nodes) for tag, nodes in found.items()} == expected else None

    try:
        return wait_for(f"{expected} of {spec}", probe)
    finally:
        target.yarn("application", "-kill", application_id)
        job.result(RUNNING_TIMEOUT_S)


def test_apart_and_beside(target: Target, three_nodes: Cluster) -> None:
    found = placed(target, three_nodes, "zk(2),NOTIN,NODE,zk:hbase(3),IN,NODE,zk", zk=2, hbase=3)
    assert len({*found["zk"]}) == 2
    assert {*found["hbase"]} <= {*found["zk"]}


def test_no_more_than_so_many_on_a_node(target: Target, three_nodes: Cluster) -> None:
    """The bound is as in Hadoop on those that are there before another comes: 1 means two in the end."""
    found = placed(target, three_nodes, "web(6),CARDINALITY,NODE,web,0,1", web=6)
    assert sorted(Counter(found["web"]).values()) == [2, 2, 2]


def test_alternatives_are_counted_by_the_resource_manager(target: Target, three_nodes: Cluster) -> None:
    found = placed(target, three_nodes, "zk(3),OR(NOTIN,NODE,zk:IN,NODE,hbase)", zk=3)
    assert len({*found["zk"]}) == 3


def test_racks_are_labels_that_may_come_while_nodes_are_in_use(target: Target, three_nodes: Cluster) -> None:
    names = sorted(node["name"] for node in three_nodes.ready.nodes)
    racks = dict(zip(names, ("r1", "r1", "r2"), strict=True))

    def shown() -> dict[str, str]:
        nodes = three_nodes.rest("/nodes")["nodes"]["node"]
        return {node["nodeHostName"]: node["rack"] for node in nodes}

    assert {*shown().values()} == {"/default-rack"}
    try:
        for name, rack in racks.items():
            three_nodes.kubectl("label", "node", name, f"topology.kubernetes.io/rack={rack}")
        wait_for("racks", lambda: sorted(shown().values()) == ["/r1", "/r1", "/r2"])
        found = placed(target, three_nodes, "zk(2),NOTIN,RACK,zk", zk=2)
        assert sorted(racks[node] for node in found["zk"]) == ["r1", "r2"]
    finally:
        for name in racks:
            three_nodes.kubectl("label", "node", name, "topology.kubernetes.io/rack-")
    wait_for("no racks", lambda: {*shown().values()} == {"/default-rack"})


def test_placement_processor_gives_back_what_no_node_satisfies(rejected: tuple[Cluster, Submission]) -> None:
    """The shell's master asks again until its retries are over, and ends; with the other handler it would wait."""
    cluster, submission = rejected
    result = submission.result(REJECTED_TIMEOUT_S)
    app = cluster.ended(result.application_id)
    assert (app["state"], app["finalStatus"]) == ("FINISHED", "FAILED")
