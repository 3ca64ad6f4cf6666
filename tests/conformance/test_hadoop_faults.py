"""MapReduce and the distributed shell while things break around them: nothing is lost, nothing is left behind.

Each test stops a real job in the middle by holding one of its processes, breaks something, and lets it go on.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
import urllib.error
from collections.abc import Iterator, Mapping

import psutil
import pytest

from nm_plugin.shuffle.jobs import JobStore
from tests.conformance.clients import shell
from tests.conformance.clients.target import Target
from tests.conformance.cluster import Cluster, wait_for
from tests.conformance.held_mapreduce import (
    HeldMapReduce,
    Site,
    assert_nothing_is_left,
    expected_count,
    processes_of,
)
from tests.conformance.rest_words import new_id, polled_to_the_end, post
from tests.conformance.rest_words import shell as shell_body
from tests.support import hiding
from tests.support.hadoop import Hadoop
from tests.support.hadoop_yodel import rm_addresses, running_yodel
from tests.support.processes import has_ended
from tests.support.shuffle import Ask, Reducer, fetch

pytestmark = pytest.mark.timeout(1200)
SORT_MAPS, SORT_ROWS = 4, 500_000
KEY_BYTES = 10  # terasort reads rows of 100 bytes: a key, then anything
OUTAGE_S = 20
DISK_MIB = 128
FREE_MIB = 32
KILLED_WITHIN_S = 10
BACK_TIMEOUT_S = 600
# What a cluster gives its jobs where the NameNode is one process: a client waits for it.
PATIENT = {"dfs_client_retry_policy_enabled": "true", "dfs_client_retry_policy_spec": "1000,300"}
EARLY = {"mapreduce_job_reduce_slowstart_completedmaps": "0.05"}


@pytest.fixture(scope="module")
def site(rig: Hadoop) -> Iterator[Site]:
    """One node."""
    with running_site(rig, "hurt") as started:
        yield started


@contextlib.contextmanager
def running_site(rig: Hadoop, name: str, nodes: int = 1, settings: Mapping[str, str] | None = None) -> Iterator[Site]:
    with running_yodel(rig, nodes=nodes, settings=settings) as cluster:
        target = Target(name=name, line="3.5", addresses=rm_addresses(cluster), hadoop=rig)
        yield Site(cluster=cluster, target=target)


def kill_and_wait(cluster: Cluster, role: str) -> None:
    """SIGKILL to a part of ``yodel local``; returns when another process has its role."""
    killed = cluster.ready.pids[role]
    os.kill(killed, signal.SIGKILL)
    wait_for(f"another {role}", lambda: cluster.ready.pids[role] != killed)


def node_report(cluster: Cluster) -> tuple[str, str]:
    """State and health report of the first node."""
    node = cluster.rest("/nodes")["nodes"]["node"][0]
    return node["state"], node["healthReport"]


def listed_state(site: Site) -> str:
    """Return the node's state as ``yarn node -list -all`` shows it, where there is one node."""
    result = site.target.yarn("node", "-list", "-all", timeout_s=180)
    assert result.returncode == 0, result.text
    row = next(line for line in result.stdout.splitlines() if line.strip().startswith("localhost:"))
    return row.split()[1]


def rows_to_sort() -> list[bytes]:
    """The same in every run; no two keys are equal."""
    drawn = random.Random(1).randbytes(KEY_BYTES * SORT_ROWS)
    keys = (drawn[at : at + KEY_BYTES] for at in range(0, len(drawn), KEY_BYTES))
    return [key + b"%090d" % number for number, key in enumerate(keys)]


def test_node_agent_dies_while_a_terasort_shuffles(site: Site) -> None:
    folder, rows = site.target.folder(), rows_to_sort()
    for number in range(SORT_MAPS):
        site.target.hadoop.hdfs.put(f"{folder}/in/{number}", b"".join(rows[number::SORT_MAPS]), user="hdfs")
    limits = {"mapreduce_job_reduces": 2, "mapreduce_job_running_map_limit": 2, **EARLY}
    with site.example("terasort", f"{folder}/in", f"{folder}/out", **limits) as job:
        held = job.hold("m_000000")
        for reduce in ("r_000000", "r_000001"):
            job.until_copied(reduce, 3)
        wait_for("the master, the held map and two reducers", lambda: len(job.pods()) == 4)
        before = job.pods()

        (node,) = (entry["name"] for entry in site.cluster.ready.nodes)
        os.kill(site.cluster.ready.pids[node], signal.SIGKILL)
        job.release("m_000000")  # its output is wanted from a shuffle that is away
        killed_beats = site.cluster.rest("/nodes")["nodes"]["node"][0]["lastHealthUpdate"]
        wait_for(
            "heartbeats of the next agent",
            lambda: site.cluster.rest("/nodes")["nodes"]["node"][0]["lastHealthUpdate"] > killed_beats,
        )
        assert job.pods().items() <= before.items(), "no other containers came"
        counters = job.counters()
        assert has_ended(held)
    assert counters["Launched map tasks"] == 4
    assert counters["Launched reduce tasks"] == 2
    assert counters["Shuffled Maps"] == 8
    assert counters["Reduce output records"] == SORT_ROWS
    assert job.attempts() == [1]
    written = b"".join(site.target.hadoop.hdfs.read(f"{folder}/out/part-r-0000{reduce}") for reduce in range(2))
    is_sorted = written == b"".join(sorted(rows))
    assert is_sorted, "50 MB that nobody wants to read"
    assert_nothing_is_left(site, job.application_id)


def test_name_node_is_away_while_containers_localize_and_maps_commit(rig: Hadoop) -> None:
    # A node that is held must not count as lost.
    with running_site(rig, "away", nodes=2, settings={"YODEL_NODE_EXPIRY_S": "600"}) as site:
        folder = site.target.folder()
        # Beside the master is room for one such map, so the other node gets two.
        sizes = {"mapreduce_job_maps": 3, "mapreduce_map_memory_mb": 3072}
        with site.example("teragen", 30_000, f"{folder}/out", **sizes, **PATIENT) as job, held_agent(job) as agent:
            here = next(iter(job.nodes_of("am").values()))

            def here_and_there() -> bool:
                nodes = list(job.nodes_of("task").values())
                return nodes.count(here) == 1 and len(nodes) == 3

            beside = wait_for("a map beside the master", lambda: running_map(job), every_s=0.05)
            job.hold(beside)  # at once: it has work for a second
            wait_for("containers on both nodes", here_and_there)
            rig.name_node.kill()
            away_since = time.monotonic()
            try:
                agent.resume()
                job.release(beside)
                wait_for("a download that waits", lambda: downloads(agent))
                threading.Event().wait(OUTAGE_S - (time.monotonic() - away_since))
                assert {task["state"] for task in job.tasks().values()} <= {"RUNNING", "SCHEDULED"}
                wait_for("the download that still waits", lambda: downloads(agent))
            finally:
                rig.name_node.start()
            counters = job.counters()
        assert counters["Launched map tasks"] == 3
        assert counters["Map output records"] == 30_000
        assert (
            sum(site.target.hadoop.hdfs.status(f"{folder}/out/part-m-0000{n}")["length"] for n in range(3)) == 3 * 10**6
        )
        wait_for("the logs in HDFS", lambda: aggregation(site, job) == "SUCCEEDED")
        logs = site.target.yarn("logs", "-applicationId", job.application_id, timeout_s=180)
        assert logs.returncode == 0, logs.text
        told = {line.split()[1] for line in logs.stdout.splitlines() if line.startswith("Container: ")}
        assert {name.rpartition("_")[2] for name in told} == {"000001", "000002", "000003", "000004"}
        assert_nothing_is_left(site, job.application_id)


class HeldAgent:
    """A stopped node agent: its node is there, and nothing starts on it."""

    def __init__(self, pid: int) -> None:
        self.process = psutil.Process(pid)
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.process.send_signal(signal.SIGCONT)


@contextlib.contextmanager
def held_agent(job: HeldMapReduce) -> Iterator[HeldAgent]:
    """Hold the agent of the node on which the job's master is not."""
    cluster = job.site.cluster
    where = wait_for("the master's node", lambda: job.nodes_of("am"))
    other = next(node["name"] for node in cluster.ready.nodes if node["name"] not in where.values())
    agent = HeldAgent(cluster.ready.pids[other])
    try:
        yield agent
    finally:
        agent.resume()


def running_map(job: HeldMapReduce) -> str:
    """A map that has a process; empty when there is none."""
    for process in processes_of(job.application_id):
        with contextlib.suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
            found = [part for part in process.cmdline() if part.startswith("attempt_") and "_m_" in part]
            if process.name() == "java" and found:
                return found[0][-10:-2]
    return ""


def downloads(agent: HeldAgent) -> list[psutil.Process]:
    """The agent's processes that read from HDFS."""
    found = []
    for child in agent.process.children():
        with contextlib.suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
            if "nm_plugin.localization.hdfs_reader" in child.cmdline():
                found.append(child)
    return found


def aggregation(site: Site, job: HeldMapReduce) -> str:
    return str(site.cluster.application(job.application_id).get("logAggregationStatus"))


@pytest.fixture
def disks() -> Iterator[tuple[pathlib.Path, pathlib.Path]]:
    """Two small disks of their own (needs root)."""
    with contextlib.ExitStack() as stack:
        yield stack.enter_context(small_disk()), stack.enter_context(small_disk())


@contextlib.contextmanager
def small_disk() -> Iterator[pathlib.Path]:
    path = pathlib.Path(tempfile.mkdtemp(prefix="yodel-disk-"))
    options = f"size={DISK_MIB}m,mode=755"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", path], check=True, timeout=10)
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", path], check=True, timeout=10)
        path.rmdir()


def fill(disk: pathlib.Path) -> None:
    """Leaves a quarter of what a disk must have."""
    room = os.statvfs(disk)
    with (disk / "ballast").open("wb") as ballast:
        os.posix_fallocate(ballast.fileno(), 0, room.f_bavail * room.f_frsize - (FREE_MIB << 18))


def test_local_disks_fill_up_under_a_job(rig: Hadoop, disks: tuple[pathlib.Path, pathlib.Path]) -> None:
    first, second = disks
    settings = {
        "YODEL_NM_LOCAL_DIRS": f'["{first}/local", "{second}/local"]',
        "YODEL_NM_DISK_CHECK_INTERVAL_S": "0.5",
        "YODEL_NM_DISK_MIN_FREE_MIB": str(FREE_MIB),  # a share in percent would be about the machine's own disk too
    }
    with running_site(rig, "full", settings=settings) as site:
        folder = site.word_files(maps=2)
        late = {"mapreduce_job_reduce_slowstart_completedmaps": "1.0"}  # the reducer starts after the disk is full
        with site.example("wordcount", f"{folder}/in", f"{folder}/out", **late) as job:
            job.hold("m_000000")
            job.until("one map at its end", {"m_000001": "SUCCEEDED"})
            fill(first)
            wait_for("the report", lambda: "1/2 local-dirs usable space" in node_report(site.cluster)[1])
            assert node_report(site.cluster)[0] == "RUNNING"
            job.release("m_000000")
            reducer = job.hold("r_000000")
            assert reducer.environ()["LOCAL_DIRS"].startswith(f"{second}/local/")
            assert str(first) not in reducer.environ()["LOCAL_DIRS"]
            job.release("r_000000")
            counters = job.counters()
        assert (counters["Launched map tasks"], counters["Launched reduce tasks"]) == (2, 1)
        assert site.counted(f"{folder}/out") == expected_count(2)

        fill(second)
        wait_for("the node unhealthy", lambda: node_report(site.cluster)[0] == "UNHEALTHY")
        assert "2/2 local-dirs usable space" in node_report(site.cluster)[1]
        assert listed_state(site) == "UNHEALTHY"
        for disk in disks:
            (disk / "ballast").unlink()
        wait_for("the node back", lambda: node_report(site.cluster) == ("RUNNING", ""))
        assert listed_state(site) == "RUNNING"
        later = new_id(site.cluster)
        post(site.cluster, shell_body(later, "exit 9"))
        assert "exitCode: 9" in polled_to_the_end(site.cluster, later)[2]
        assert_nothing_is_left(site, job.application_id)

        def is_clean() -> bool:
            found = {name for disk in disks for _, folders, files in os.walk(disk) for name in (*folders, *files)}
            return not any(job.application_id in name for name in found)

        wait_for("disks without its files", is_clean)


def test_nothing_survives_the_kill_of_an_application_that_forks_and_hides(site: Site, shared_dir: pathlib.Path) -> None:
    program = shared_dir / "daemons.py"
    program.write_text(hiding.PROGRAM)
    words = f"{program} {shared_dir} stays keeps=keeps clears=clears"
    client = shell.start(site.target, "-shell_command", f"exec {sys.executable} {words}")
    try:
        application_id = shell.working(site.target, client)
        names = ("itself", "keeps", "clears")
        wait_for("its processes", lambda: all((shared_dir / name).exists() for name in names))
        hidden = [psutil.Process(int((shared_dir / name).read_text())) for name in names]
        assert not any(map(has_ended, hidden))
        killing = site.target.yarn("application", "-kill", application_id, timeout_s=180)
        assert killing.returncode == 0, killing.text
        wait_for("the end of them all", lambda: all(map(has_ended, hidden)))
        assert site.cluster.ended(application_id)["finalStatus"] == "KILLED"
        assert client.result(120).returncode != 0
    finally:
        client.stop()
    assert_nothing_is_left(site, application_id)


def test_resource_manager_dies_in_the_middle_of_a_job(site: Site) -> None:
    folder = site.word_files(maps=3)
    with site.example("wordcount", f"{folder}/in", f"{folder}/out") as job:
        job.hold("m_000000")
        job.until("the other maps at their ends", {"m_000001": "SUCCEEDED", "m_000002": "SUCCEEDED"})
        (master,) = job.pods("am").items()
        kill_and_wait(site.cluster, "rm")
        wait_for("the next ResourceManager", lambda: serves(site.cluster))
        job.release("m_000000")
        counters = job.counters()
        assert master[0].endswith("_01_000001")
    assert (counters["Launched map tasks"], counters["Launched reduce tasks"]) == (3, 1)
    assert counters["Map output records"] == sum(expected_count(3).values())
    assert counters["Shuffled Maps"] == 3
    assert site.counted(f"{folder}/out") == expected_count(3)
    assert job.attempts() == [1]
    assert_nothing_is_left(site, job.application_id)


def serves(cluster: Cluster) -> bool:
    try:
        return bool(cluster.rest("/info"))
    except (urllib.error.URLError, OSError):
        return False


def test_second_master_takes_finished_maps_over_when_the_first_ones_pod_is_deleted(site: Site) -> None:
    folder = site.word_files(maps=3)
    with site.example("wordcount", f"{folder}/in", f"{folder}/out") as job:
        maps = {f"m_00000{number}": "SUCCEEDED" for number in range(3)}
        reducer = job.hold("r_000000")  # slow start: not before the maps are done but one
        job.until("the maps at their ends", maps)
        (pod,) = site.cluster.pods(job.application_id, "am")
        site.cluster.delete_pod(pod)
        counters = job.counters()
        assert has_ended(reducer), "the first master's reducer went with it"
    assert counters["Map output records"] == sum(expected_count(3).values())
    assert site.counted(f"{folder}/out") == expected_count(3)
    assert job.attempts() in ([1, 2], [2, 1])
    succeeded = job.successful_attempts()
    # A second master counts its attempts from 1000.
    assert {task: attempt.rpartition("_")[2] for task, [attempt] in succeeded.items()} == {
        **dict.fromkeys(maps, "0"),
        "r_000000": "1000",
    }
    assert_nothing_is_left(site, job.application_id)


async def test_hostile_fetches_do_not_disturb_a_job(site: Site) -> None:
    folder = site.word_files(maps=2)
    with site.example("wordcount", f"{folder}/in", f"{folder}/out", **EARLY) as job:
        held = job.hold("m_000000")
        job.until_copied("r_000000", 1)
        good = reducers_ask(site, job, "m_000001_0")
        assert (await fetch(good)).status == 200
        statuses = [
            (await fetch(good.but(secret=b"guessed"))).status,
            (await fetch(good.but(url_hash="x" * 5000))).status,
            (await fetch(good.but(maps=[f"../../{good.maps[0]}"]))).status,
            (await fetch(good.but(reduce=2**31 - 1))).status,
            (await fetch(good.but(reduce="0-2147483647"))).status,
        ]
        assert all(400 <= status < 600 for status in statuses), statuses
        broken = await Reducer.connect(good.port)
        await broken.send(b"GET /mapOutput?job=" + b"x" * (1 << 20))
        await broken.close()
        assert held.status() == psutil.STATUS_STOPPED
        job.release("m_000000")
        counters = job.counters()
    assert (counters["Launched map tasks"], counters["Failed Shuffles"]) == (2, 0)
    assert site.counted(f"{folder}/out") == expected_count(2)
    assert_nothing_is_left(site, job.application_id)


def reducers_ask(site: Site, job: HeldMapReduce, attempt: str) -> Ask:
    """Return what the job's own reducer sends: with the job's secret, which only the agent's folder tells."""
    with (site.agent_dir() / "nm.toml").open("rb") as file:
        configured = tomllib.load(file)
    store = JobStore(site.agent_dir() / "state" / "shuffle")
    (known,) = (found for found in store.load() if str(found.application_id) == job.application_id)
    digits = job.application_id.replace("application_", "")
    port = configured["shuffle_port"] or store.last_port()
    return Ask(port=port, maps=[f"attempt_{digits}_{attempt}"], job=f"job_{digits}", secret=known.secret)
