"""An ApplicationMaster whose queue says how shuffle is done: a whole agent that starts it, or does not."""

from __future__ import annotations

import os
import pwd
import stat
import zipfile
from pathlib import Path

import pytest

from nm_plugin.localization.spark_conf import FILE, LINK
from tests.support.node_agent import Rig, add_resource, container_id, context_of, eventually, own_user
from yodel.domain.states import ContainerExitStatus, ContainerType
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.hadoop_pb import yarn_service_protos_pb2 as service_pb
from yodel.pb_convert import ids

MASTER = container_id(1)
TERMS = (("service", "spark-decommission"), ("when-away", "spark"), ("decommission", "true"))
BESIDE = "spark.shuffle.service.enabled=true\n"


def context(rig: Rig, said: str, command: str) -> pb.ContainerLaunchContextProto:
    path = rig.root / f"{abs(hash(said))}.zip"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(FILE, said)
    path.chmod(0o644)
    made = context_of(command)
    add_resource(made, LINK, path, type=pb.ARCHIVE, visibility=pb.PRIVATE)
    return made


async def test_conflict_ends_it_before_it_starts(rig: Rig) -> None:
    (rig.root / "open").mkdir()
    (rig.root / "open").chmod(0o1777)
    await rig.pod(MASTER)
    made = context(rig, BESIDE, f"touch {rig.root}/open/ran; sleep 100")
    await rig.start(MASTER, made, container_type=ContainerType.APPLICATION_MASTER, shuffle=TERMS)
    status = await rig.tracker.until_complete(MASTER)
    assert status.exit_status == ContainerExitStatus.UNFIT_FOR_QUEUE
    assert "spark.shuffle.service.enabled=true cannot be combined with spark-decommission" in status.diagnostics
    assert not (rig.root / "open" / "ran").exists()


@pytest.mark.parametrize(
    ("said", "kind", "shuffle"),
    [
        (BESIDE, ContainerType.APPLICATION_MASTER, ()),
        (BESIDE + "spark.decommission.enabled=false\n", ContainerType.APPLICATION_MASTER, TERMS),
        ("spark.master=yarn\n", ContainerType.APPLICATION_MASTER, TERMS),
        (BESIDE, ContainerType.TASK, TERMS),
    ],
)
async def test_others_start(rig: Rig, said: str, kind: ContainerType, shuffle: tuple[tuple[str, str], ...]) -> None:
    await rig.pod(MASTER)
    await rig.start(MASTER, context(rig, said, "sleep 100"), container_type=kind, shuffle=shuffle)
    await rig.tracker.until_running(MASTER)
    await rig.stop(MASTER)


async def test_master_that_is_reinitialized_with_a_conflict_runs_on(rig: Rig) -> None:
    await rig.pod(MASTER)
    first = context(rig, "spark.master=yarn\n", "sleep 100")
    await rig.start(MASTER, first, container_type=ContainerType.APPLICATION_MASTER, shuffle=TERMS)
    await rig.tracker.until_running(MASTER)
    request = service_pb.ReInitializeContainerRequestProto(
        container_id=ids.container_id_pb(MASTER), container_launch_context=context(rig, BESIDE, "exit 1")
    )
    client = rig.client(MASTER.attempt_id)
    try:
        await client.call("reInitializeContainer", request, service_pb.ReInitializeContainerResponseProto)
    finally:
        await client.close()

    def said() -> bool:
        status = rig.tracker.last_status(MASTER)
        return status is not None and "cannot be combined with spark-decommission" in status.diagnostics

    await rig.tracker.until(said)
    status = rig.tracker.last_status(MASTER)
    assert status is not None
    assert status.state == pb.C_RUNNING
    await rig.stop(MASTER)


def fallback(rig: Rig, when_away: str = "spark") -> tuple[tuple[str, str], ...]:
    """Return the terms of a fallback: a directory here for HDFS, which its owner's worker makes all the same."""
    return (
        *TERMS[:1],
        ("when-away", when_away),
        *TERMS[2:],
        ("fallback", f"file://{rig.root}/spill/alice/"),
        ("clean-up", "true"),
    )


def with_options(rig: Rig, said: str = "spark.master=yarn\n") -> pb.ContainerLaunchContextProto:
    made = context(rig, said, "")
    made.command[:] = [
        "echo",
        "'-Dspark.storage.decommission.fallbackStorage.path=x'",
        "'-Dspark.decommission.enabled=true'",
        f"> {rig.root}/open/said; sleep 100",
    ]
    return made


async def said_by(
    rig: Rig, shuffle: tuple[tuple[str, str], ...], said: str = "spark.master=yarn\n", user: str = "alice"
) -> str:
    """The options that it was started with."""
    (rig.root / "open").mkdir()
    (rig.root / "open").chmod(0o1777)
    await rig.pod(MASTER, user)
    kind = ContainerType.APPLICATION_MASTER
    await rig.start(MASTER, with_options(rig, said), user, container_type=kind, shuffle=shuffle)
    await eventually(lambda: bool(read(rig.root / "open" / "said")))
    await rig.tracker.until_running(MASTER)
    return read(rig.root / "open" / "said")


def read(path: Path) -> str:
    return path.read_text() if path.exists() else ""


async def test_directory_is_the_users_alone_and_rid_of_what_a_killed_driver_left(rig: Rig) -> None:
    me = pwd.getpwuid(os.geteuid()).pw_name
    rig.users.users[me] = own_user(me)
    (rig.root / "spill").mkdir()
    assert "fallbackStorage" in await said_by(rig, fallback(rig), user=me)
    made = (rig.root / "spill" / "alice").stat()
    assert (stat.S_IMODE(made.st_mode), made.st_uid) == (0o700, os.geteuid())
    blocks, others = (
        rig.root / "spill" / "alice" / name for name in (str(MASTER.application_id), "application_1_0009")
    )
    for path in (blocks / "0" / "17", others):
        path.mkdir(parents=True)
    await rig.running.manager.kill(MASTER, ContainerExitStatus.KILLED_BY_RESOURCEMANAGER, "enough")
    await rig.tracker.until_complete(MASTER)
    await eventually(lambda: not blocks.exists())
    assert others.exists()


async def test_directory_of_another_is_not_used(rig: Rig, needs_root: None) -> None:
    (rig.root / "spill" / "alice").mkdir(parents=True)
    (rig.root / "spill" / "alice").chmod(0o777)
    assert "fallbackStorage" not in await said_by(rig, fallback(rig))
    status = rig.tracker.last_status(MASTER)
    assert status is not None
    assert "spill/alice is root's with mode 777, and has to be alice's" in status.diagnostics
    await rig.stop(MASTER)


async def test_directory_that_is_not_to_be_had_is_left_out(rig: Rig) -> None:
    options = await said_by(rig, fallback(rig))
    assert "fallbackStorage" not in options
    assert "-Dspark.decommission.enabled=true" in options
    status = rig.tracker.last_status(MASTER)
    assert status is not None
    assert "Starts without fallback storage: FileNotFoundError" in status.diagnostics
    await rig.stop(MASTER)


async def test_directory_that_is_not_to_be_had_ends_it_where_the_queue_says_so(rig: Rig) -> None:
    await rig.pod(MASTER)
    terms = fallback(rig, "refuse")
    await rig.start(MASTER, with_options(rig), container_type=ContainerType.APPLICATION_MASTER, shuffle=terms)
    status = await rig.tracker.until_complete(MASTER)
    assert status.exit_status == ContainerExitStatus.INVALID, "another attempt may find it"
    assert "The fallback storage of the queue is not available: FileNotFoundError" in status.diagnostics


async def test_directory_of_the_submitters_own_is_his_business(rig: Rig) -> None:
    own = "spark.storage.decommission.fallbackStorage.path=hdfs:///mine/\n"
    assert "fallbackStorage" in await said_by(rig, fallback(rig, "refuse"), own)
    await rig.stop(MASTER)
