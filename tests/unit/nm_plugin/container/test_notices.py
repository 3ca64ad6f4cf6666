"""Containers on notice: a whole agent, its ResourceManager, and containers that say what they heard."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

from nm_plugin.launch.executor import MAIN
from nm_plugin.localization.spark_conf import FILE, LINK
from tests.support.node_agent import Rig, add_resource, container_id, context_of, eventually
from yodel.domain.ids import ContainerId
from yodel.domain.states import ContainerType
from yodel.hadoop_pb import yarn_protos_pb2 as pb

EXECUTOR, OTHER, MASTER, FURTHER = container_id(2), container_id(3), container_id(1), container_id(4)
LISTENS = "trap 'echo heard >> heard' PWR; touch ready; while :; do sleep 0.02; done"
LATER = f"until [ -e listen ]; do sleep 0.02; done; {LISTENS}"


BY_QUEUE = (("service", "spark-decommission"), ("decommission", "true"))


def archive(root: Path, is_enabled: bool | None) -> Path:
    """Make the archive that ``spark-submit`` uploads; with None, nothing is said of decommissioning."""
    path = root / f"__spark_conf__{is_enabled}.zip"
    said = "spark.master=yarn\n" if is_enabled is None else f"spark.decommission.enabled={str(is_enabled).lower()}\n"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(FILE, said)
    path.chmod(0o644)
    return path


def work_dir(rig: Rig, container: ContainerId) -> Path:
    known = rig.running.manager.get(container)
    assert known is not None
    return Path(known.local_dir)


async def runs(
    rig: Rig, container: ContainerId, *, is_enabled: bool | None = True, program: str = LISTENS, **token: Any
) -> Path:
    """An executor as far as an agent can see; its work directory once it runs."""
    await rig.pod(container)
    context = context_of(f"exec /bin/bash program {MAIN.decode()}")
    written = rig.root / f"program-{container.sequence}"
    written.write_text(program)
    written.chmod(0o644)
    add_resource(context, "program", written)
    add_resource(context, LINK, archive(rig.root, is_enabled), type=pb.ARCHIVE, visibility=pb.PRIVATE)
    kind = ContainerType.APPLICATION_MASTER if container == MASTER else ContainerType.TASK
    await rig.start(container, context, container_type=kind, **token)
    await rig.tracker.until_running(container)
    if program == LISTENS:
        await eventually((work_dir(rig, container) / "ready").exists)
    return work_dir(rig, container)


async def beats(rig: Rig, count: int) -> None:
    wanted = len(rig.tracker.heartbeats) + count
    await rig.tracker.until(lambda: len(rig.tracker.heartbeats) >= wanted)


def heard(directory: Path) -> int:
    path = directory / "heard"
    return len(path.read_text().splitlines()) if path.exists() else 0


async def test_executor_is_told_once_and_goes_on_until_it_ends_by_itself(rig: Rig) -> None:
    directory = await runs(rig, EXECUTOR)
    rig.tracker.on_notice = [EXECUTOR, container_id(99)]
    await eventually(lambda: heard(directory) == 1)
    await beats(rig, 4)
    rig.tracker.on_notice = []
    await beats(rig, 2)
    rig.tracker.on_notice = [EXECUTOR]
    await beats(rig, 4)
    assert heard(directory) == 1
    status = rig.tracker.last_status(EXECUTOR)
    assert status is not None
    assert status.state == pb.C_RUNNING
    assert "The ResourceManager preempts it: SIGPWR to pid" in status.diagnostics
    await rig.stop(EXECUTOR)


async def test_one_that_does_not_listen_yet_is_told_when_it_does(rig: Rig) -> None:
    directory = await runs(rig, EXECUTOR, program=LATER)
    rig.tracker.on_notice = [EXECUTOR]
    await beats(rig, 4)
    assert heard(directory) == 0
    (directory / "listen").touch()
    await eventually(lambda: heard(directory) == 1)
    await rig.stop(EXECUTOR)


async def test_who_did_not_ask_and_masters_hear_nothing(rig: Rig) -> None:
    silent, master = await runs(rig, OTHER, is_enabled=False), await runs(rig, MASTER)
    directory = await runs(rig, EXECUTOR)
    rig.tracker.on_notice = [OTHER, MASTER, EXECUTOR]
    await eventually(lambda: heard(directory) == 1)
    await beats(rig, 4)
    assert (heard(silent), heard(master)) == (0, 0)
    for container in (EXECUTOR, OTHER, MASTER):
        await rig.stop(container)


async def test_queue_asks_for_it_unless_the_submitter_says_no(rig: Rig) -> None:
    asked = await runs(rig, EXECUTOR, is_enabled=None, shuffle=BY_QUEUE)
    refused = await runs(rig, OTHER, is_enabled=False, shuffle=BY_QUEUE)
    silent = await runs(rig, FURTHER, is_enabled=None)
    rig.tracker.on_notice = [OTHER, FURTHER, EXECUTOR]
    await eventually(lambda: heard(asked) == 1)
    await beats(rig, 4)
    assert (heard(refused), heard(silent)) == (0, 0)
    for container in (EXECUTOR, OTHER, FURTHER):
        await rig.stop(container)


async def test_what_was_put_in_the_files_place_is_not_read(rig: Rig) -> None:
    """The file of another application, which asks, behind a link of this one's own making."""
    asks = await runs(rig, EXECUTOR)
    directory = await runs(rig, OTHER, is_enabled=False)
    file = (directory / LINK).resolve() / FILE
    file.unlink()
    file.symlink_to((asks / LINK).resolve() / FILE)
    rig.tracker.on_notice = [OTHER, EXECUTOR]
    await eventually(lambda: heard(asks) == 1)
    await beats(rig, 4)
    assert heard(directory) == 0
    for container in (EXECUTOR, OTHER):
        await rig.stop(container)
