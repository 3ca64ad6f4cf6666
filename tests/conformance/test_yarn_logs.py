"""``yarn logs``: what node agents upload is read by Hadoop's own command line, from ``file:`` and from a real HDFS.

The same commands against Hadoop's ResourceManager and ours, by each client release, are in the compatibility table;
here are the details that a table does not show: owners and modes in HDFS, rolled files, a NameNode that is away.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import urllib.request
from asyncio import Semaphore
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from nm_plugin.host.users import FileThreads, OsUser
from nm_plugin.logs.formats import aggregated_tfile, indexed_file
from nm_plugin.logs.layout import RemoteLayout
from nm_plugin.logs.uploading.aggregation import LogAggregator, LogStatus
from nm_plugin.logs.uploading.journal import LogContext
from nm_plugin.logs.worker_pool import WorkerPool
from tests.conformance.cluster import Cluster, wait_for
from tests.support.bytes_file import BytesFile
from tests.support.hadoop import Hadoop
from tests.support.hadoop_jars import client_jars
from tests.support.hdfs import Hdfs
from tests.support.java import java_home
from tests.support.log_rig import NODE_FILE, LogRig
from tests.support.node_agent import APPLICATION, container_id, eventually
from yodel.hadoop_pb import yarn_protos_pb2 as pb

MASTER, WORKER = container_id(1), container_id(2)
COMMAND_TIMEOUT_S = 600
SILENCE_S = 5.0
BIG_BYTES = 20 << 20
IS_ROOT = os.geteuid() == 0
ALICE = OsUser(name="alice", uid=23001 if IS_ROOT else os.geteuid(), gid=23001 if IS_ROOT else os.getegid())


@pytest.fixture
def logged() -> Iterator[LogRig]:
    with tempfile.TemporaryDirectory(prefix="yodel-logs-", ignore_cleanup_errors=True) as name:
        pathlib.Path(name).chmod(0o755)
        yield LogRig(root=pathlib.Path(name), user=ALICE)


def write(logged: LogRig, name: str, content: bytes) -> pathlib.Path:
    """Alice's own, as a container would have written it."""
    path = logged.write(WORKER, name, content)
    if IS_ROOT:
        for one in (path, path.parent, path.parent.parent):
            os.chown(one, ALICE.uid, ALICE.gid)
    return path


@contextlib.asynccontextmanager
async def aggregator_on(hdfs: Hdfs, logged: LogRig, root: str) -> AsyncIterator[LogAggregator]:
    logged.changes["layout"] = RemoteLayout(root=f"{hdfs.url}{root}", suffix="logs", format=logged.format)
    logged.changes |= {"retry_min_s": 0.5, "retry_max_s": 1.0}
    threads = FileThreads(2)
    workers = WorkerPool(threads=threads, config_dir=hdfs.conf_dir, slots=Semaphore(2), silence_s=SILENCE_S)
    try:
        async with logged.aggregator(workers) as aggregator:
            yield aggregator
    finally:
        threads.close()


def origin(**context: str) -> LogContext:
    message = pb.LogAggregationContextProto(**context)
    return LogContext(user="alice", context=message.SerializeToString(), acls={"VIEW_APP": "bob"})


async def finish(aggregator: LogAggregator) -> None:
    await aggregator.container_finished(WORKER, 0)
    await aggregator.application_finished(APPLICATION)


async def over(aggregator: LogAggregator) -> None:
    await eventually(lambda: not aggregator.applications(), timeout_s=60)


def application_dir(root: str, format: str) -> str:
    return f"{root}/alice/bucket-logs-{format}/{APPLICATION.sequence:04d}/{APPLICATION}"


@pytest.mark.parametrize(("format", "compression"), [("tfile", "none"), ("tfile", "gz"), ("ifile", "gz")])
async def test_files_are_the_owners_with_hadoops_modes(
    hdfs: Hdfs, logged: LogRig, format: str, compression: str
) -> None:
    root = f"/logs-{format}-{compression}/below"
    hdfs.make_dir(f"/logs-{format}-{compression}", user="hdfs", mode="777")
    logged.format, logged.compression = format, compression
    content = os.urandom(1 << 20) * (BIG_BYTES >> 20)
    write(logged, "stdout", content)
    write(logged, "stderr", b"")
    async with aggregator_on(hdfs, logged, root) as aggregator:
        await aggregator.started(WORKER, False, origin())
        await finish(aggregator)
        await over(aggregator)
        assert aggregator.reports()[-1].status is LogStatus.SUCCEEDED
    directory = application_dir(root, format)
    assert hdfs.names(directory) == [NODE_FILE]
    file = hdfs.status(f"{directory}/{NODE_FILE}")
    assert (file["owner"], file["permission"]) == ("alice", "640")
    above = hdfs.status(directory)
    assert (above["owner"], above["permission"]) == ("alice", "770")
    top = hdfs.status(root)
    assert (top["permission"], file["group"]) == ("1777", top["group"])
    data = BytesFile(hdfs.read(f"{directory}/{NODE_FILE}"))
    if format == "tfile":
        logs = {log.name: b"".join(iter(log.read, b"")) for log in aggregated_tfile.logs(data, str(WORKER))}
        assert aggregated_tfile.head(data).acls == {"VIEW_APP": "bob"}
    else:
        index = indexed_file.read_index(data, str(APPLICATION))
        [upload] = index.uploads
        found = upload.logs[str(WORKER)]
        logs = {log.name: b"".join(indexed_file.read_log(data, index.compression, log)) for log in found}
    assert logs == {"stdout": content, "stderr": b""}


async def test_rolled_logs_are_appended_in_hdfs(hdfs: Hdfs, logged: LogRig) -> None:
    hdfs.make_dir("/rolled", user="hdfs", mode="1777")
    logged.format, logged.roll_interval_s = "ifile", 0.5
    async with aggregator_on(hdfs, logged, "/rolled") as aggregator:
        await aggregator.started(WORKER, False, origin(rolled_logs_include_pattern="rolled"))
        for number in range(3):
            path = write(logged, f"rolled.{number}", b"%d" % number * 100)
            await eventually(lambda path=path: not path.exists(), timeout_s=30)
        listed = await aggregator.uploaded(WORKER, ALICE)
        assert [name for one in listed for name, _, _ in one["logs"]] == ["rolled.0", "rolled.1", "rolled.2"]
        write(logged, "stdout", b"the rest")
        await finish(aggregator)
        await over(aggregator)
    [name] = hdfs.names(application_dir("/rolled", "ifile"))
    index = indexed_file.read_index(
        BytesFile(hdfs.read(f"{application_dir('/rolled', 'ifile')}/{name}")), str(APPLICATION)
    )
    assert [[log.name for log in u.logs[str(WORKER)]] for u in index.uploads] == [
        ["rolled.0"],
        ["rolled.1"],
        ["rolled.2"],
        ["stdout"],
    ]


async def test_upload_waits_for_a_name_node_that_is_away(hdfs: Hdfs, rig: Hadoop, logged: LogRig) -> None:
    hdfs.make_dir("/away", user="hdfs", mode="1777")
    write(logged, "stdout", b"patience")
    async with aggregator_on(hdfs, logged, "/away") as aggregator:
        await aggregator.started(WORKER, False, origin())
        rig.name_node.kill()
        try:
            await finish(aggregator)
            await eventually(
                lambda: aggregator.reports()[-1].status is LogStatus.RUNNING_WITH_FAILURE, timeout_s=4 * SILENCE_S
            )
        finally:
            rig.name_node.launch()
            hdfs.wait_until_ready()
        await over(aggregator)
    data = BytesFile(hdfs.read(f"{application_dir('/away', 'tfile')}/{NODE_FILE}"))
    assert [b"".join(iter(log.read, b"")) for log in aggregated_tfile.logs(data)] == [b"patience"]


# The command line, with a cluster.


def yarn_logs(cluster: Cluster, *arguments: str) -> tuple[int, str]:
    conf = cluster.ready.hadoop_conf_dir
    command = [f"{java_home()}/bin/java", "-Xmx256m", "-cp", f"{conf}:{client_jars('3.5')}/*"]
    done = subprocess.run(
        [*command, "org.apache.hadoop.yarn.client.cli.LogsCLI", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        timeout=COMMAND_TIMEOUT_S,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def submit(cluster: Cluster, command: str) -> str:
    status, text = cluster.curl_post("/apps/new-application", {})
    assert status == 200, text
    application_id = text.split('"application-id":"')[1].split('"')[0]
    body: dict[str, Any] = {
        "application-id": application_id,
        "application-name": "logs",
        "max-app-attempts": 1,
        "resource": {"memory": 256, "vCores": 1},
        "am-container-spec": {"commands": {"command": command}},
    }
    status, text = cluster.curl_post("/apps", body)
    assert status == 202, text
    return application_id


def test_logs_of_an_application_that_is_over(cluster: Cluster) -> None:
    application_id = submit(
        cluster, "echo a word 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr; seq 1 100000 ><LOG_DIR>/syslog"
    )
    cluster.ended(application_id)

    def is_aggregated() -> bool | None:
        return cluster.application(application_id).get("logAggregationStatus") == "SUCCEEDED" or None

    wait_for("aggregated logs", is_aggregated)
    code, text = yarn_logs(cluster, "-applicationId", application_id)
    assert (code, text.count("LogType:stdout\n")) == (0, 2)
    assert "LogLength:7\nLogContents:\na word\n\nEnd of LogType:stdout\n" in text
    assert "\n99999\n100000\n\nEnd of LogType:syslog\n" in text
    container = text.split("Container: ", 1)[1].split()[0]
    for words in (("-containerId", container), ("-am", "1")):
        code, text = yarn_logs(cluster, "-applicationId", application_id, *words, "-log_files", "syslog", "-size", "-7")
        assert (code, "LogContents:\n100000\n\nEnd" in text, "stdout" in text) == (0, True, False), (words, text)
    code, text = yarn_logs(cluster, "-applicationId", application_id, "-show_container_log_info")
    assert (code, text.count("AGGREGATED")) == (0, 5)
    whole = through_rm(cluster, application_id, container, "syslog")
    os.kill(cluster.ready.pids[node_name(cluster, application_id, container)], signal.SIGKILL)
    assert through_rm(cluster, application_id, container, "syslog") == whole, "another agent reads it"
    assert "\n100000\n\nEnd of LogType:syslog\n" in whole


def through_rm(cluster: Cluster, application_id: str, container: str, name: str) -> str:
    """Return a log as the ResourceManager reads it."""
    path = f"/api/v1/applications/{application_id}/containers/{container}/logs/{name}"
    with urllib.request.urlopen(f"{cluster.ready.rest_url}{path}", timeout=60) as answer:
        return str(answer.read().decode())


def node_name(cluster: Cluster, application_id: str, container: str) -> str:
    path = f"/api/v1/applications/{application_id}/containers/{container}"
    with urllib.request.urlopen(f"{cluster.ready.rest_url}{path}", timeout=60) as answer:
        node_id = json.load(answer)["node_id"]
    return next(str(node["name"]) for node in cluster.ready.nodes if node["node_id"] == node_id)


def test_logs_of_an_application_that_runs(cluster: Cluster) -> None:
    application_id = submit(cluster, "echo so far 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr; sleep 300")

    def is_shown() -> str | None:
        code, text = yarn_logs(cluster, "-applicationId", application_id, "-log_files", "stdout")
        return text if code == 0 and "so far" in text else None

    text = wait_for("logs of a running application", is_shown)
    assert "LogAggregationType: LOCAL\n" in text
    assert "so far\nEnd of LogType:stdout.This log file belongs to a running container (container_" in text
    code, text = yarn_logs(cluster, "-applicationId", application_id, "-am", "1", "-log_files", "stdout", "-size", "2")
    assert (code, "LogContents:\nsoEnd of LogType:stdout." in text) == (0, True)
    code, text = yarn_logs(cluster, "-applicationId", application_id, "-show_container_log_info")
    assert (code, text.count("LOCAL")) == (0, 4)
    container = text.split("Container: ", 1)[1].split()[0]
    code, text = yarn_logs(cluster, "-applicationId", application_id, "-log_files", "stdout")
    assert (code, through_rm(cluster, application_id, container, "stdout") in text) == (0, True)
    kill = ("-X", "PUT", "-H", "Content-Type: application/json", "-d", '{"state":"KILLED"}')
    assert cluster.curl(f"/apps/{application_id}/state", *kill)[0] in (200, 202)
