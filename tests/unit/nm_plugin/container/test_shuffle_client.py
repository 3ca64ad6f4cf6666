"""The client of a shuffle service in containers: a whole agent that fetches its jar, or does not."""

from __future__ import annotations

import hashlib
import os
import zipfile
from pathlib import Path

import pytest

from nm_plugin.localization.client_terms import LINK, WITHOUT
from nm_plugin.localization.spark_conf import FILE
from nm_plugin.localization.spark_conf import LINK as SETTINGS
from tests.support.fake_tracker import FakeTracker
from tests.support.node_agent import FakeUsers, Rig, add_resource, container_id, running_rig
from yodel.domain.ids import ContainerId
from yodel.domain.shuffle.report import Reason, Report, ShuffleOutcome
from yodel.domain.shuffle.spark_release import LIBRARIES
from yodel.domain.states import ContainerExitStatus, ContainerType
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.hadoop_pb import yarn_server_common_protos_pb2 as common_pb

MASTER, EXECUTOR = container_id(1), container_id(2)
PLUGIN_KEY, TRACKING_KEY = "spark.shuffle.sort.io.plugin.class", "spark.dynamicAllocation.shuffleTracking.enabled"
PLUGIN = f"'-D{PLUGIN_KEY}=x'"
POLICY = "spark.celeborn.client.spark.shuffle.fallback.policy"
OPTIONS = (
    "'-Dspark.shuffle.manager=x'",
    PLUGIN,
    "'-Dspark.dynamicAllocation.shuffleTracking.enabled=false'",
    f"'-D{POLICY}=NEVER'",
)
JAVA = "org.apache.spark.serializer.JavaSerializer"
DYNAMIC = "spark.dynamicAllocation.enabled=true\n"
CONTENT = b"PK jar of a client"
Told = tuple[tuple[str, str], ...]


class Spoken:
    """A container that says its class path, its options and what of its environment its executors would have."""

    def __init__(
        self, rig: Rig, container: ContainerId, said: str = "spark.master=yarn\n", libraries: str = ""
    ) -> None:
        self.rig, self.container = rig, container
        self.context = pb.ContainerLaunchContextProto()
        self.context.environment.add(key="CLASSPATH", value="{{PWD}}<CPS>{{PWD}}/__spark_libs__/*")
        self.context.command.extend(["echo", *OPTIONS, "> $LOG_DIRS/said;"])
        self.context.command.append(f"echo $CLASSPATH ${{{WITHOUT}-}} >> $LOG_DIRS/said; cat {LINK} >> $LOG_DIRS/said")
        self._archive(SETTINGS, FILE, said)
        if libraries:
            self._archive(LIBRARIES, libraries, "")

    def _archive(self, link: str, name: str, text: str) -> None:
        path = self.rig.root / f"{self.container}-{link}.zip"
        with zipfile.ZipFile(path, "w") as file:
            file.writestr(name, text)
        path.chmod(0o644)
        add_resource(self.context, link, path, type=pb.ARCHIVE, visibility=pb.PRIVATE)

    async def start(self, told: Told) -> str:
        """Return what the client said, or its diagnostics where it was not started."""
        await self.rig.pod(self.container)
        is_master = self.container.number == 1
        kind = ContainerType.APPLICATION_MASTER if is_master else ContainerType.TASK
        await self.rig.start(self.container, self.context, container_type=kind, shuffle=told)
        self.status = await self.rig.tracker.until_complete(self.container)
        try:
            return self.rig.log(self.container, "said")
        except FileNotFoundError:
            return self.status.diagnostics


@pytest.fixture
def jar(rig: Rig) -> Path:
    folder = rig.root / "jars"
    folder.mkdir()
    folder.chmod(0o755)
    path = folder / "client.jar"
    path.write_bytes(CONTENT)
    path.chmod(0o644)
    return path


@pytest.fixture
def closed(rig: Rig, jar: Path) -> Path:
    """Let only the container's user read the jar."""
    jar.chmod(0o600)
    if os.geteuid() == 0:
        os.chown(jar, rig.users.users["alice"].uid, -1)
    return jar


def told(place: Path, when_away: str = "spark", service: str = "celeborn", **others: str) -> Told:
    digest = hashlib.sha256(CONTENT).hexdigest()
    found = {"service": service, "when-away": when_away, "jar": f"file:{place}", "jar-sha256": digest}
    found |= {"spark-version": "3.5.9"} | {name.replace("_", "-"): text for name, text in others.items()}
    return tuple((name, text) for name, text in found.items() if text)


async def test_jar_is_last_on_the_class_path_of_both(rig: Rig, jar: Path) -> None:
    for container in (MASTER, EXECUTOR):
        said = await Spoken(rig, container).start(told(jar))
        assert CONTENT.decode() in said
        assert "/__spark_libs__/*:" in said
        assert f"/{LINK}\n" in said
    assert len(list(rig.root.rglob("filecache/*/client.jar"))) == 1


@pytest.mark.parametrize(
    ("own", "has_plugin", "has_tracking_off"),
    [("", True, False), (DYNAMIC, True, True), (f"{POLICY}=AUTO\n", False, False)],
)
async def test_plug_in_is_there_where_nothing_falls_back(
    rig: Rig, jar: Path, own: str, has_plugin: bool, has_tracking_off: bool
) -> None:
    said = await Spoken(rig, MASTER, own).start(told(jar, "refuse"))
    assert "spark.shuffle.manager=x" in said
    assert ("plugin" in said) == has_plugin
    assert ("shuffleTracking" in said) == has_tracking_off
    report = await rig.tracker.until_reported(MASTER)
    left_out = {key: one.cause.reason for one in report.left_out for key in one.keys}
    assert (report.outcome, report.cause) == (ShuffleOutcome.ADDED, None)
    assert (PLUGIN_KEY in left_out) != has_plugin
    assert (TRACKING_KEY in left_out) != has_tracking_off
    assert left_out.get(TRACKING_KEY) in (None, Reason.CAN_FALL_BACK if "AUTO" in own else Reason.ALLOCATION_STATIC)
    assert left_out.get(POLICY) is (Reason.OVERRIDDEN if "AUTO" in own else None)


@pytest.mark.parametrize(
    ("said", "others", "libraries", "typed", "reason"),
    [
        ("spark.shuffle.manager=sort\n", {}, "", "OWN_MANAGER", "the application sets spark.shuffle.manager=sort"),
        (f"spark.serializer={JAVA}\n", {}, "", "OWN_SERIALIZER", "the application sets spark.serial"),
        ("", {"spark_version": ""}, "", "SPARK_UNKNOWN", "yodel.remote-shuffle.spark-version"),
        ("", {}, "spark-core_2.13-4.0.5.jar", "SPARK_UNSUPPORTED", "it has Spark 4.0"),
        ("", {}, "spark-core_2.13-3.5.9.jar", "SCALA_DIFFERENT", "is for Scala 2.12"),
        (DYNAMIC, {"service": "uniffle"}, "", "NO_AUXILIARY_SERVICE", "needs the auxiliary service spark_shuffle"),
        ("", {"jar_sha256": "0" * 64}, "", "NO_JAR", "has another digest - expected SHA-256: 000"),
        ("", {"jar": "file:/nowhere/x.jar"}, "", "NO_JAR", "File file:/nowhere/x.jar does not exist"),
    ],
)
async def test_without_it_nothing_of_it_is_left_and_executors_are_told(
    rig: Rig, jar: Path, said: str, others: dict[str, str], libraries: str, typed: str, reason: str
) -> None:
    master = Spoken(rig, MASTER, said, libraries)
    text = await master.start(told(jar, **others))
    assert "Starts without" in master.status.diagnostics
    assert reason in master.status.diagnostics
    assert "-Dspark.shuffle" not in text
    assert "-Dspark.dynamicAllocation" not in text
    assert LINK not in text
    assert text.rstrip().endswith("none")
    report = await rig.tracker.until_reported(MASTER)
    (left_out,) = report.left_out
    assert (report.outcome, left_out.cause.reason.name) == (ShuffleOutcome.LEFT_OUT, typed)
    assert reason in str(left_out.cause)
    assert {"spark.shuffle.manager", PLUGIN_KEY} <= set(left_out.keys)


async def test_executor_of_a_master_without_it_has_no_jar(rig: Rig, jar: Path) -> None:
    executor = Spoken(rig, EXECUTOR)
    executor.context.environment.add(key=WITHOUT, value="none")
    said = await executor.start(told(jar, jar="file:/nowhere/x.jar"))
    assert said.rstrip().endswith("none")
    assert LINK not in said


@pytest.mark.parametrize("container", [MASTER, EXECUTOR])
async def test_jar_that_not_all_may_read_is_none(rig: Rig, closed: Path, container: ContainerId) -> None:
    one = Spoken(rig, container)
    text = await one.start(told(closed, "refuse"))
    assert "yodel.remote-shuffle.jar of the queue is not available" in text
    assert "is not publicly accessible" in text
    assert one.status.exit_status == ContainerExitStatus.INVALID


async def test_hint_that_contradicts_the_queue_is_no_client(rig: Rig, jar: Path) -> None:
    master = Spoken(rig, MASTER)
    master.context.environment.add(key="PYTHONPATH", value="{{PWD}}/py4j-0.10.9.9-src.zip")
    assert LINK not in await master.start(told(jar))
    report = await rig.tracker.until_reported(MASTER)
    assert report.cause is not None
    assert report.cause.reason is Reason.SPARK_CONTRADICTED


async def test_hint_says_nothing_where_the_libraries_do(rig: Rig, jar: Path) -> None:
    master = Spoken(rig, MASTER, libraries="spark-core_2.12-3.5.9.jar")
    master.context.environment.add(key="PYTHONPATH", value="{{PWD}}/py4j-0.10.9.9-src.zip")
    assert LINK in await master.start(told(jar))


async def test_release_by_the_localized_libraries(rig: Rig, jar: Path) -> None:
    said = await Spoken(rig, MASTER, libraries="spark-core_2.12-3.5.9.jar").start(told(jar, spark_version="4.0"))
    assert CONTENT.decode() in said


@pytest.mark.parametrize(
    "said",
    [
        "spark.shuffle.service.enabled=true\n",
        "spark.yarn.secondary.jars=local:/celeborn-client-spark-3.jar\nspark.executor.userClassPathFirst=true\n",
        f"{POLICY}=AUTO\n{DYNAMIC}spark.dynamicAllocation.shuffleTracking.enabled=false\n",
    ],
)
async def test_what_cannot_go_with_it_ends_the_attempt(rig: Rig, jar: Path, said: str) -> None:
    master = Spoken(rig, MASTER, said)
    text = await master.start(told(jar))
    assert master.status.exit_status == ContainerExitStatus.UNFIT_FOR_QUEUE
    assert said.rpartition("\n")[0].rpartition("\n")[2] in text
    assert "cannot be combined with celeborn" in text
    report = await rig.tracker.until_reported(MASTER)
    assert report.outcome is ShuffleOutcome.REFUSED
    assert report.cause is not None
    assert report.cause.reason is Reason.CONFLICT


async def test_tracking_may_be_off_where_the_queue_has_a_plug_in(rig: Rig, jar: Path) -> None:
    said = DYNAMIC + "spark.dynamicAllocation.shuffleTracking.enabled=false\n"
    assert "plugin" in await Spoken(rig, MASTER, said).start(told(jar, "refuse"))


async def test_driver_outside_has_executors_with_the_jar_where_it_names_the_service(rig: Rig, jar: Path) -> None:
    manager = "spark.shuffle.manager=org.apache.spark.shuffle.celeborn.SparkShuffleManager\n"
    assert CONTENT.decode() in await Spoken(rig, EXECUTOR, manager).start(told(jar, lines="none"))
    assert CONTENT.decode() in await Spoken(rig, container_id(5)).start(told(jar, lines="none"))
    gone = told(jar, lines="none", jar="file:/nowhere/x.jar")
    assert LINK not in await Spoken(rig, container_id(3)).start(gone)
    assert "remote-shuffle.jar of the queue is not available" in await Spoken(rig, container_id(4), manager).start(gone)
    master = Spoken(rig, MASTER, manager)
    assert LINK not in await master.start(gone), "its ApplicationMaster is never refused"
    assert "is not available" not in master.status.diagnostics
    assert await rig.tracker.until_reported(MASTER) == Report(ShuffleOutcome.OWN_SETTINGS)


async def test_what_was_done_is_told_once_to_each_resource_manager_and_by_each_agent(
    open_path: Path, users: FakeUsers
) -> None:
    tracker = FakeTracker()
    await tracker.start()
    place = open_path / "client.jar"
    place.write_bytes(CONTENT)
    async with running_rig(open_path, users, tracker) as rig:
        master = Spoken(rig, MASTER)
        master.context.command.append("; sleep 600")
        await rig.pod(MASTER)
        await rig.start(MASTER, master.context, container_type=ContainerType.APPLICATION_MASTER, shuffle=told(place))
        await tracker.until_running(MASTER)
        report = await tracker.until_reported(MASTER)
        count = len(tracker.heartbeats)
        await tracker.until(lambda: len(tracker.heartbeats) >= count + 3)
        assert sum(bool(beat.shuffle) for beat in tracker.heartbeats) == 1
        tracker.next_action = common_pb.NODE_ACTION_RESYNC
        await tracker.until(lambda: sum(bool(beat.shuffle) for beat in tracker.heartbeats) == 2)
        pods, rig.pods = rig.pods, []
    tracker.heartbeats.clear()
    async with running_rig(open_path, users, tracker) as rig:
        rig.pods = pods
        assert await tracker.until_reported(MASTER) == report
    await tracker.stop()


async def test_jar_in_the_image_is_named_and_not_fetched(rig: Rig) -> None:
    said = await Spoken(rig, MASTER).start(told(Path("x"), jar="local:///opt/x.jar", jar_sha256=""))
    assert ":/opt/x.jar" in said
