"""An ApplicationMaster whose submitter set what cannot go with its queue: a whole agent that does not start it."""

from __future__ import annotations

import asyncio
import zipfile

import pytest

from nm_plugin.localization.spark_conf import FILE, LINK
from tests.support.node_agent import Rig, add_resource, container_id, context_of
from yodel.domain.states import ContainerExitStatus, ContainerType
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.hadoop_pb import yarn_service_protos_pb2 as service_pb
from yodel.pb_convert import ids

MASTER = container_id(1)
TERMS = (("service", "spark-decommission"), ("when-away", "spark"), ("decommission", "true"))
BESIDE = "spark.shuffle.service.enabled=true\n"


def context(rig: Rig, said: str, command: str = "touch ../../../ran; sleep 100") -> pb.ContainerLaunchContextProto:
    path = rig.root / f"{abs(hash(said))}.zip"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(FILE, said)
    path.chmod(0o644)
    made = context_of(command)
    add_resource(made, LINK, path, type=pb.ARCHIVE, visibility=pb.PRIVATE)
    return made


async def test_conflict_ends_it_before_it_starts(rig: Rig) -> None:
    await rig.pod(MASTER)
    await rig.start(MASTER, context(rig, BESIDE), container_type=ContainerType.APPLICATION_MASTER, shuffle=TERMS)
    status = await rig.tracker.until_complete(MASTER)
    assert status.exit_status == ContainerExitStatus.UNFIT_FOR_QUEUE
    assert "spark.shuffle.service.enabled=true cannot go with spark-decommission" in status.diagnostics
    assert not (await asyncio.to_thread(lambda: list(rig.root.rglob("ran"))))


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
        container_id=ids.container_id_pb(MASTER), container_launch_context=context(rig, BESIDE)
    )
    client = rig.client(MASTER.attempt_id)
    try:
        await client.call("reInitializeContainer", request, service_pb.ReInitializeContainerResponseProto)
    finally:
        await client.close()

    def said() -> bool:
        status = rig.tracker.last_status(MASTER)
        return status is not None and "cannot go with spark-decommission" in status.diagnostics

    await rig.tracker.until(said)
    status = rig.tracker.last_status(MASTER)
    assert status is not None
    assert status.state == pb.C_RUNNING
    await rig.stop(MASTER)
