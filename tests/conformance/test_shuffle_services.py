"""A queue says Celeborn or Uniffle, and an unmodified Spark 3.5 job in it has the real client of the service.

No server of either can be had here (``make remote-shuffle`` is for those who have one): what is spoken to is a listener
that says that there are no workers.
"""

from __future__ import annotations

import pathlib
import shutil
import socket
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conformance.cluster import Cluster, running, wait_for
from tests.conformance.queue_words import YODEL, shown
from tests.conformance.shuffle_services import ME, ONCE, Job, Listener, jar_of, logs_of, say, shown_queue
from tests.conformance.spark_submit import Spark


@pytest.fixture(scope="module")
def served() -> Iterator[Cluster]:
    with running(nodes=2, memory_mib=3072, settings={"YODEL_QUEUES": '["celeborn", "uniffle", "strict"]'}) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def spark(served: Cluster) -> Spark:
    return Spark("3.5.x", served)


def test_celeborn_without_workers_is_asked_and_falls_back(
    served: Cluster, spark: Spark, shared_dir: pathlib.Path
) -> None:
    jar = jar_of("celeborn")
    with Listener("celeborn", spark) as listener:
        say(
            served,
            "celeborn",
            service="celeborn",
            endpoints=listener.endpoint,
            jar=f"local:{jar}",
            spark_version="3.5.9",
        )
        job = Job(served, shared_dir, "celeborn")
        assert job.result.returncode == 0, job.result.text[-6000:]
        assert job.is_right()
        assert listener.said("heartbeat") == [f"{job.result.application_id}_1"]
        assert listener.said("quota") == [f"root.celeborn {ME}"]
    settings = job.settings()
    assert settings["spark.celeborn.identity.user-specific.tenant"] == "root.celeborn", "the 0.6 line's key"
    assert settings["spark.shuffle.manager"] == "org.apache.spark.shuffle.celeborn.SparkShuffleManager"
    assert settings["spark.celeborn.client.spark.shuffle.fallback.policy"] == "AUTO"
    assert "spark.shuffle.sort.io.plugin.class" not in settings
    shuffle = shown(served, job.result.application_id)["attempt_list"][0]["shuffle"]
    spark_added = {line["key"]: line["value"] for line in shuffle["added"] if line["key"].startswith("spark.")}
    assert spark_added.items() <= settings.items()
    assert shuffle["status"] == "ADDED", "its node agent has reported"
    assert {line["key"]: line["reason"] for line in shuffle["left_out"]} == {
        "spark.shuffle.sort.io.plugin.class": "CAN_FALL_BACK",
        "spark.dynamicAllocation.shuffleTracking.enabled": "CAN_FALL_BACK",
    }


def test_uniffle_without_servers_denies_and_the_job_is_sparks_own(
    served: Cluster, spark: Spark, shared_dir: pathlib.Path
) -> None:
    jar = jar_of("uniffle")
    with Listener("uniffle", spark) as listener:
        say(
            served, "uniffle", service="uniffle", endpoints=listener.endpoint, jar=f"local:{jar}", spark_version="3.5.9"
        )
        job = Job(served, shared_dir, "uniffle")
        assert job.result.returncode == 0, job.result.text[-6000:]
        assert job.is_right()
        assert listener.said("access") == [f"{ME} {job.result.application_id}"]
    settings = job.settings()
    assert (settings["spark.rss.enabled"], settings["spark.shuffle.manager"]) == ("false", "sort")


def test_uniffle_that_allows_it_is_asked_for_servers(served: Cluster, spark: Spark, shared_dir: pathlib.Path) -> None:
    retries = {"spark.rss.client.assignment.retry.times": "1", "spark.rss.client.assignment.retry.interval": "100"}
    jar = jar_of("uniffle")
    with Listener("uniffle", spark, "allows") as listener:
        say(
            served, "uniffle", service="uniffle", endpoints=listener.endpoint, jar=f"local:{jar}", spark_version="3.5.9"
        )
        job = Job(served, shared_dir, "uniffle", retries | ONCE)
        assert job.result.returncode != 0, "the client's own failure, shown as such"
        (assigned,) = listener.said("assignment")
    assert assigned.startswith(f"{job.result.application_id}_")
    assert job.settings()["spark.shuffle.manager"] == "org.apache.spark.shuffle.RssShuffleManager"


def test_jar_is_fetched_and_what_may_not_fall_back_fails_as_the_client_says(
    served: Cluster, spark: Spark, shared_dir: pathlib.Path
) -> None:
    """The jars of Spark, named here, say which Spark it is."""
    jar = shared_dir / "celeborn.jar"
    shutil.copyfile(jar_of("celeborn"), jar)
    with Listener("celeborn", spark) as listener:
        say(served, "strict", service="celeborn", endpoints=listener.endpoint, jar=f"@{jar}", when_away="refuse")
        found = shown_queue(served, "root.strict")
        assert found["shuffle_endpoints"][0]["address"] == listener.endpoint
        job = Job(served, shared_dir, "strict", {"spark.yarn.jars": f"file:{spark.jars}", **ONCE})
        assert job.result.returncode != 0
        assert listener.said("workers") == [""]
    assert "Fallback to spark built-in shuffle implementation is prohibited" in logs_of(
        served, job.result.application_id
    )
    assert job.settings()["spark.celeborn.client.spark.shuffle.fallback.policy"] == "NEVER"
    assert job.settings()["spark.shuffle.sort.io.plugin.class"].endswith(".CelebornShuffleDataIO")
    assert "spark.dynamicAllocation.shuffleTracking.enabled" not in job.settings(), "its allocation is not dynamic"


def test_jar_that_was_changed_is_none_for_the_driver_and_for_its_executors(
    served: Cluster, spark: Spark, shared_dir: pathlib.Path
) -> None:
    jar = shared_dir / "celeborn.jar"
    shutil.copyfile(jar_of("celeborn"), jar)
    with Listener("celeborn", spark) as listener:
        say(served, "celeborn", service="celeborn", endpoints=listener.endpoint, jar=f"@{jar}", spark_version="3.5.9")
        with jar.open("ab") as file:
            file.write(b"and more")
        job = Job(served, shared_dir, "celeborn")
        assert job.result.returncode == 0, job.result.text[-6000:]
        assert job.is_right()
        assert listener.said("heartbeat") == []
    assert "spark.shuffle.manager" not in job.settings()
    found = shown(served, job.result.application_id)
    assert_left_out(found, "NO_JAR")
    assert "Without celeborn, which root.celeborn requires: yodel.remote-shuffle.jar" in found["diagnostics"]


def assert_left_out(found: dict[str, Any], reason: str) -> None:
    shuffle = found["attempt_list"][0]["shuffle"]
    assert (shuffle["status"], shuffle["added"]) == ("LEFT_OUT", [])
    assert {line["reason"] for line in shuffle["left_out"]} <= {reason}
    assert shuffle["left_alone_because"]


def test_spark_4_whose_jars_are_in_the_image_runs_in_a_queue_of_spark_3(
    served: Cluster, spark: Spark, shared_dir: pathlib.Path
) -> None:
    """Its command and PYTHONPATH contradict the queue."""
    jar, newer = jar_of("celeborn"), Spark("4.x", served)
    with Listener("celeborn", spark) as listener:
        words = {"service": "celeborn", "jar": f"local:{jar}", "jar_sha256": "", "spark_version": "3.5.9"}
        say(served, "celeborn", endpoints=listener.endpoint, **words)
        conf = {"spark.yarn.queue": "celeborn", "spark.yarn.jars": f"local:{newer.jars}"}
        result = newer.submit("cluster", "pi.py", 100, 2, shared_dir / "report.json", conf=conf)
        assert result.returncode == 0, result.text[-6000:]
        assert listener.said("heartbeat") == []
    found = shown(served, result.application_id)
    assert_left_out(found, "SPARK_CONTRADICTED")
    assert "but its command has --add-modules=jdk.incubator.vector" in found["diagnostics"]


def test_dynamic_allocation_has_the_plug_in_where_nothing_falls_back(
    served: Cluster, spark: Spark, shared_dir: pathlib.Path
) -> None:
    dynamic = {"spark.dynamicAllocation.enabled": "true", "spark.executor.instances": ""}
    jar = jar_of("uniffle")
    with Listener("uniffle", spark) as listener:
        words = {"service": "uniffle", "jar": f"local:{jar}", "jar_sha256": "", "spark_version": "3.5.9"}
        say(served, "strict", endpoints=listener.endpoint, when_away="refuse", **words)
        retries = {"spark.rss.client.assignment.retry.times": "1", "spark.rss.client.assignment.retry.interval": "100"}
        job = Job(served, shared_dir, "strict", dynamic | retries | ONCE)
        assert job.result.returncode != 0
        assert listener.said("assignment"), "its driver started, with executors as it wants them"
        assert listener.said("access") == [], "nobody is asked whether it may"
    settings = job.settings()
    assert settings["spark.shuffle.sort.io.plugin.class"] == "org.apache.spark.shuffle.RssShuffleDataIo"
    assert settings["spark.dynamicAllocation.shuffleTracking.enabled"] == "false"


def test_driver_outside_has_the_lines_of_its_users_own_file_and_its_executors_the_jar(
    served: Cluster, spark: Spark, shared_dir: pathlib.Path
) -> None:
    jar = shared_dir / "celeborn.jar"
    shutil.copyfile(jar_of("celeborn"), jar)
    with Listener("celeborn", spark) as listener:
        say(served, "celeborn", service="celeborn", endpoints=listener.endpoint, jar=f"@{jar}")
        command = [YODEL, "client-config", "--queue", "root.celeborn", "--server", served.ready.rest_url]
        lines = subprocess.run(command, check=True, timeout=600, capture_output=True, text=True).stdout.splitlines()
        own = dict(line.split(" ", 1) for line in lines if not line.startswith("#"))
        assert own["spark.driver.extraClassPath"] == str(jar)
        job = Job(served, shared_dir, "celeborn", own, "client")
        assert job.result.returncode == 0, job.result.text[-6000:]
        assert job.is_right()
        assert listener.said("quota") == [f"root.celeborn {ME}"]
    found = shown(served, job.result.application_id)
    assert found["attempt_list"][0]["shuffle"]["status"] == "OWN_SETTINGS"
    assert "Without celeborn" not in found["diagnostics"], "it is not without what its own settings use"


def test_endpoints_down_and_the_leader_killed(served: Cluster, spark: Spark, shared_dir: pathlib.Path) -> None:
    jar, port = jar_of("celeborn"), free_port()
    for queue, when_away in (("celeborn", "spark"), ("strict", "refuse")):
        words = {"service": "celeborn", "jar": f"local:{jar}", "jar_sha256": "", "spark_version": "3.5.9"}
        say(served, queue, endpoints=f"127.0.0.1:{port}", when_away=when_away, **words)

    def is_down() -> bool:
        return bool(shown_queue(served, "root.strict")["shuffle_endpoints"][0]["state"] == "down")

    wait_for("the endpoint to be known as down", is_down)
    killed = served.kill_rm()
    wait_for("the next ResourceManager", lambda: served.ready.pids["rm"] != killed)
    wait_for("its pages", lambda: is_served(served))
    assert is_down(), "it knew before it served anybody"
    job = Job(served, shared_dir, "celeborn")
    assert job.result.returncode == 0, job.result.text[-6000:]
    assert job.is_right()
    assert "spark.shuffle.manager" not in job.settings()
    away = f"none of yodel.remote-shuffle.endpoints of the queue answers (127.0.0.1:{port})"
    assert (
        f"Without celeborn, which root.celeborn requires: {away}"
        in shown(served, job.result.application_id)["diagnostics"]
    )
    refused = spark.submit("cluster", "pi.py", "1", conf={"spark.yarn.queue": "strict"})
    found = shown(served, refused.application_id)
    assert found["state"] == "FAILED"
    assert f"celeborn, required by root.strict, is not available: {away}" in found["diagnostics"]


def is_served(cluster: Cluster) -> bool:
    try:
        cluster.rest("/info")
    except OSError:
        return False
    return True


def free_port() -> int:
    """One on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port
