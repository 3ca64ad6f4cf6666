"""A queue says how shuffle is done, and unmodified Spark jobs in it do so."""

from __future__ import annotations

import json
import os
import pathlib
import pwd
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self

import pytest

from tests.conformance.cluster import Cluster, running, wait_for
from tests.conformance.leaving import Nodes, hosts_of
from tests.conformance.queue_words import WORD, YODEL, queue_set, shown
from tests.conformance.shuffle_services import Job, Listener, jar_of, say
from tests.conformance.spark_submit import Result, Spark, event_log, maps_run, read_events
from tests.support.hadoop_jars import jars
from tests.support.hdfs import SUPERUSER, Hdfs
from tests.support.java import java_home
from yodel.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId
from yodel.domain.resource import Resource
from yodel.domain.states import ContainerType
from yodel.domain.tokens import MasterKey
from yodel.pb_convert.tokens import ContainerTokenContent, container_token

MAPS, REDUCES, ROWS = 4, 3, 5_000
TOTAL = sum(range(MAPS * ROWS))
"""The sum of all numbers that the job shuffles."""


LINES = ("4.x", "3.5.x")
FALLBACK = "/spark-fallback"
"""A path of HDFS, where everybody may make a directory."""


@pytest.fixture(scope="module")
def excluded(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    path = tmp_path_factory.mktemp("lists") / "exclude"
    path.touch()
    return path


@pytest.fixture(scope="module")
def shuffling(hdfs: Hdfs, excluded: pathlib.Path) -> Iterator[Cluster]:
    """Three nodes; an ApplicationMaster of BIG fills one, so that executors are on others."""
    hdfs.make_dir(FALLBACK, user=SUPERUSER, mode="1777")
    settings = {"YODEL_QUEUES": '["plain", "lent", "kept", "served"]', "YODEL_NODES_EXCLUDE_PATH": str(excluded)}
    with running(nodes=3, memory_mib=3072, settings=settings) as cluster:
        path = f"{WORD}option.spark.storage.decommission.fallbackStorage.path={hdfs.url}{FALLBACK}/{{user}}/"
        for words in (("root.lent",), ("root.kept", path)):
            told = queue_set(cluster, *words, f"{WORD}service=spark-decommission")
            assert told.returncode == 0, told.stderr
        yield cluster


BIG = {"spark.driver.memory": "2g", "spark.scheduler.minRegisteredResourcesRatio": "1.0"}


class HeldShuffle:
    """A job that waits between its maps and its reducers."""

    def __init__(
        self,
        spark: Spark,
        folder: pathlib.Path,
        queue: str,
        conf: Mapping[str, str] | None = None,
        deploy_mode: str = "cluster",
    ) -> None:
        self.folder = folder
        settings = event_log(folder) | {"spark.yarn.queue": queue, **(conf or {})}
        arguments = (MAPS, REDUCES, ROWS, folder)
        self.submission = spark.start(deploy_mode, "held_shuffle.py", *arguments, conf=settings)
        self.application_id = self.submission.application_id()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
        self.submission.stop()

    def mapped(self) -> None:
        wait_for("the maps", (self.folder / "mapped").exists)

    def reducing(self) -> None:
        """Lets the reducers start and hold; returns when one of them does."""
        (self.folder / "release").touch()
        wait_for("a reducer with its rows", lambda: list(self.folder.glob("reducing-*")))

    def release(self) -> None:
        for name in ("release", "go"):
            (self.folder / name).touch()

    def result(self) -> Result:
        return self.submission.result()

    def report(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads((self.folder / "report.json").read_text())
        return content

    def is_right(self) -> bool:
        report = self.report()
        return bool(report["sum"] == TOTAL and report["rows"] == MAPS * ROWS)

    def maps_run(self) -> int:
        return maps_run(read_events(self.folder))


@pytest.mark.parametrize("line", LINES)
def test_unmodified_job_has_the_settings_of_its_queue(shuffling: Cluster, shared_dir: pathlib.Path, line: str) -> None:
    conf = {"spark.storage.decommission.rddBlocks.enabled": "false"}
    with HeldShuffle(Spark(line, shuffling), shared_dir, "lent", conf) as job:
        job.release()
        result = job.result()
        assert result.returncode == 0, result.text[-6000:]
        assert job.is_right()
    assert job.maps_run() == MAPS
    settings = job.report()["settings"]
    assert settings == {
        "spark.decommission.enabled": "true",
        "spark.storage.decommission.enabled": "true",
        "spark.storage.decommission.shuffleBlocks.enabled": "true",
        "spark.storage.decommission.rddBlocks.enabled": "false",
        "spark.storage.decommission.replicationReattemptInterval": "1s",
    }, "what the submitter says himself wins"
    shuffle = shown(shuffling, job.application_id)["attempt_list"][0]["shuffle"]
    assert {line["key"] for line in shuffle["added"]} == settings.keys()
    assert {line["source"] for line in shuffle["added"]} == {f"{WORD}service of root.lent"}


def test_job_of_a_queue_that_says_nothing_has_none(shuffling: Cluster, shared_dir: pathlib.Path) -> None:
    with HeldShuffle(Spark("4.x", shuffling), shared_dir, "plain") as job:
        job.release()
        assert job.result().returncode == 0
        assert job.is_right()
    assert job.report()["settings"] == {}
    assert shown(shuffling, job.application_id)["attempt_list"][0]["shuffle"] is None


def test_what_its_agent_did_is_known_when_both_were_replaced(shuffling: Cluster, shared_dir: pathlib.Path) -> None:
    def status() -> str:
        try:
            found = shown(shuffling, job.application_id)["attempt_list"][0]["shuffle"]["status"]
        except OSError:
            return "nobody answers"
        return str(found)

    with HeldShuffle(Spark("4.x", shuffling), shared_dir, "lent") as job:
        job.mapped()
        assert status() == "ADDED", "while it runs"
        for role in ("rm", *(node["name"] for node in shuffling.ready.nodes)):
            killed = shuffling.ready.pids[role]
            os.kill(killed, signal.SIGKILL)
            wait_for(f"another {role}", lambda role=role, killed=killed: shuffling.ready.pids[role] != killed)
            wait_for(f"what {role} knows", lambda: status() == "ADDED")
        job.release()
        result = job.result()
        assert result.returncode == 0, result.text[-6000:]
        assert job.is_right()
    assert status() == "ADDED"


def test_conflict_fails_the_application_before_its_master_starts(shuffling: Cluster, shared_dir: pathlib.Path) -> None:
    with HeldShuffle(Spark("4.x", shuffling), shared_dir, "lent", {"spark.shuffle.service.enabled": "true"}) as job:
        assert job.result().returncode != 0
    found = shown(shuffling, job.application_id)
    assert found["state"] == "FAILED"
    assert "spark.shuffle.service.enabled=true" in found["diagnostics"]
    assert [attempt["number"] for attempt in found["attempt_list"]] == [1]


def test_driver_outside_of_the_cluster_has_the_lines_from_its_users_own_file(
    shuffling: Cluster, shared_dir: pathlib.Path
) -> None:
    command = [YODEL, "client-config", "--queue", "root.lent", "--server", shuffling.ready.rest_url]
    lines = subprocess.run(command, check=True, timeout=600, capture_output=True, text=True).stdout.splitlines()
    own = dict(line.split(" ", 1) for line in lines if not line.startswith("#"))
    with HeldShuffle(Spark("4.x", shuffling), shared_dir, "lent", own, "client") as job:
        job.mapped()
        found = shown(shuffling, job.application_id)
        assert "settings cannot be added in Spark's client mode" in found["diagnostics"]
        assert found["attempt_list"][0]["shuffle"]["added"] == []
        job.release()
        assert job.result().returncode == 0
        assert job.is_right()
    assert job.report()["settings"] == own


def test_client_of_a_service_comes_from_hdfs(shuffling: Cluster, hdfs: Hdfs, shared_dir: pathlib.Path) -> None:
    """Fetched as the user, who may read it as everybody may."""
    jar = jar_of("celeborn")
    hdfs.make_dir("/shuffle", user=SUPERUSER)
    hdfs.put("/shuffle/celeborn.jar", jar.read_bytes(), user=SUPERUSER)
    with Listener("celeborn", Spark("3.5.x", shuffling)) as listener:
        words = {"jar": f"{hdfs.url}/shuffle/celeborn.jar", "jar_sha256": f"@{jar}", "spark_version": "3.5.9"}
        say(shuffling, "served", service="celeborn", endpoints=listener.endpoint, **words)
        job = Job(shuffling, shared_dir, "served")
        assert job.result.returncode == 0, job.result.text[-6000:]
        assert job.is_right()
        assert listener.said("heartbeat") == [f"{job.result.application_id}_1"]


# --- nodes that are taken away --------------------------------------------------------------------------------------


class Lent:
    """A job of some executors whose maps have run, and the node of one of them."""

    def __init__(self, line: str, cluster: Cluster, excluded: pathlib.Path, folder: pathlib.Path) -> None:
        self.cluster, self.folder = cluster, folder
        self.spark = Spark(line, cluster)
        self.nodes = Nodes(self.spark, excluded)

    def job(self, queue: str, executors: int) -> HeldShuffle:
        return HeldShuffle(self.spark, self.folder, queue, {**BIG, "spark.executor.instances": str(executors)})

    def host_of_one(self, job: HeldShuffle) -> str:
        return min(hosts_of(self.cluster, job.application_id, "task").values())

    def taken_away(self, host: str, *how: str) -> None:
        self.nodes.exclude(host)
        self.nodes.refresh(*how)

    def emptied(self, job: HeldShuffle, host: str) -> None:
        wait_for("no executor there", lambda: host not in hosts_of(self.cluster, job.application_id, "task").values())

    def ended_well(self, job: HeldShuffle) -> None:
        job.release()
        result = job.result()
        assert result.returncode == 0, result.text[-6000:]
        assert job.is_right()


@pytest.fixture
def lent(
    request: pytest.FixtureRequest, shuffling: Cluster, excluded: pathlib.Path, shared_dir: pathlib.Path
) -> Iterator[Lent]:
    made = Lent(request.param, shuffling, excluded, shared_dir)
    yield made
    made.nodes.exclude()
    made.nodes.refresh()
    for node in shuffling.ready.nodes:
        made.nodes.until(node["node_id"].partition(":")[0], "RUNNING")


each_line = pytest.mark.parametrize("lent", LINES, indirect=True)
GRACEFUL = ("-g", "600", "-server")
ME = pwd.getpwuid(os.geteuid()).pw_name


@each_line
def test_no_map_runs_again_where_another_executor_takes_the_blocks(lent: Lent) -> None:
    with lent.job("lent", 2) as job:
        job.mapped()
        host = lent.host_of_one(job)
        lent.taken_away(host, *GRACEFUL)
        lent.emptied(job, host)
        lent.taken_away(host)
        assert lent.nodes.states()[host] == "DECOMMISSIONED"
        lent.ended_well(job)
    assert job.maps_run() == MAPS


@each_line
def test_no_map_runs_again_where_only_fallback_storage_takes_the_blocks(lent: Lent, hdfs: Hdfs) -> None:
    with lent.job("kept", 1) as job:
        job.mapped()
        directory = hdfs.status(f"{FALLBACK}/{ME}")
        assert (directory["owner"], directory["permission"]) == (ME, "700")
        host = lent.host_of_one(job)
        lent.taken_away(host, *GRACEFUL)
        lent.emptied(job, host)
        lent.taken_away(host)
        assert hdfs.names(f"{FALLBACK}/{ME}") == [job.application_id]
        lent.ended_well(job)
    assert job.maps_run() == MAPS
    assert hdfs.names(f"{FALLBACK}/{ME}") == [], "cleaned up at the end"


@each_line
@pytest.mark.parametrize("executors", [2, 1])
def test_without_the_setting_what_went_runs_again(lent: Lent, executors: int) -> None:
    with lent.job("plain", executors) as job:
        job.mapped()
        host = lent.host_of_one(job)
        lent.taken_away(host)
        lent.emptied(job, host)
        lent.ended_well(job)
    assert job.maps_run() > MAPS


@each_line
def test_without_notice_what_went_runs_again(lent: Lent) -> None:
    with lent.job("lent", 2) as job:
        job.mapped()
        host = lent.host_of_one(job)
        lent.taken_away(host)
        lent.emptied(job, host)
        lent.ended_well(job)
    assert job.maps_run() > MAPS


@each_line
def test_in_the_middle_of_the_reduce_stage_the_answer_is_right(
    lent: Lent, record_property: Callable[[str, object], None]
) -> None:
    with lent.job("lent", 2) as job:
        job.mapped()
        job.reducing()
        host = lent.host_of_one(job)
        lent.taken_away(host, *GRACEFUL)
        lent.taken_away(host)
        lent.emptied(job, host)
        lent.ended_well(job)
    record_property("maps run again", job.maps_run() - MAPS)


@pytest.mark.parametrize("lent", ["4.x"], indirect=True)
def test_killed_driver_leaves_nothing_in_fallback_storage(lent: Lent, hdfs: Hdfs) -> None:
    with lent.job("kept", 1) as job:
        job.mapped()
        host = lent.host_of_one(job)
        lent.taken_away(host, *GRACEFUL)
        lent.emptied(job, host)
        assert hdfs.names(f"{FALLBACK}/{ME}") == [job.application_id]
        killed = lent.spark.yarn("application", "-kill", job.application_id)
        assert killed.returncode == 0, killed.text
        wait_for("its blocks to go", lambda: hdfs.names(f"{FALLBACK}/{ME}") == [])


def test_genuine_node_manager_accepts_a_token_that_says_more_than_it_reads() -> None:
    """Hadoop's own class reads the identifier and makes the password that it has to come with."""
    key = MasterKey(key_id=7, secret=bytes(range(32)))
    container_id = ContainerId.of(ApplicationAttemptId(ApplicationId(1700000000000, 7), 1), 2)
    content = ContainerTokenContent(
        container_id=container_id,
        node_id=NodeId("node-1", 8041),
        user="alice",
        resource=Resource(1024, 1),
        expiry_ms=2**62,
        rm_identifier=1700000000000,
        priority=1,
        creation_ms=1,
        container_type=ContainerType.TASK,
        shuffle=(("service", "spark-decommission"), ("fallback", "hdfs:///spark-fallback/alice/")),
    )
    token = container_token(key, content)
    source = pathlib.Path(__file__).parents[1] / "rigs" / "hadoop" / "tokens" / "ReadsToken.java"
    command = [f"{java_home()}/bin/java", "-cp", f"{jars('hadoop')}/*", str(source)]
    said = subprocess.run(
        [*command, token.identifier.hex(), "7", key.secret.hex()],
        check=True,
        timeout=600,
        capture_output=True,
        text=True,
    )
    assert said.stdout.splitlines()[-1].split() == [token.password.hex(), str(container_id), "alice"]
