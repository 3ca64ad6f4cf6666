"""An agent that dies between any two steps of bringing logs away: each log is published exactly once, none is lost."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from nm_plugin.host.users import OsUser
from nm_plugin.logs.uploading.journal import LogContext
from tests.support.log_rig import Crash, InProcess, LogRig, Steps
from tests.support.node_agent import APPLICATION, container_id, eventually
from yodel.hadoop_pb import yarn_protos_pb2 as pb

WORKER, OTHER = container_id(2), container_id(3)
STEPS_MAX = 200
ROLLED = LogContext(
    user="alice", context=pb.LogAggregationContextProto(rolled_logs_include_pattern="rolled").SerializeToString()
)
PLAIN = LogContext(user="alice")


@pytest.fixture
def folder() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="yodel-logs-"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


def rig_in(path: Path, format: str, roll_interval_s: float) -> LogRig:
    path.mkdir()
    user = OsUser(name="alice", uid=os.geteuid(), gid=os.getegid())
    rig = LogRig(root=path, user=user, format=format, roll_interval_s=roll_interval_s)
    rig.write(WORKER, "stdout", b"of the worker")
    rig.write(OTHER, "stdout", b"of the other", disk=1)
    return rig


EXPECTED = [(str(WORKER), "stdout", b"of the worker"), (str(OTHER), "stdout", b"of the other")]


async def first_life(rig: LogRig, steps: Steps, context: LogContext) -> None:
    async with rig.aggregator(InProcess(steps), steps) as aggregator:
        for container in (WORKER, OTHER):
            await aggregator.started(container, False, context)
        if context is ROLLED:
            path = rig.log_dirs[0] / str(APPLICATION) / str(WORKER) / "rolled.1"
            await eventually(lambda: not path.exists())
        for container in (WORKER, OTHER):
            await aggregator.container_finished(container, 0)
        await aggregator.application_finished(APPLICATION)
        await eventually(lambda: not aggregator.applications())


async def second_life(rig: LogRig) -> None:
    """The container manager still knows the containers, and says all again that it had not said to the end."""
    async with rig.aggregator() as aggregator:
        await aggregator.resume({APPLICATION: {WORKER: 0, OTHER: 0}})
        await aggregator.application_finished(APPLICATION)
        await eventually(lambda: not aggregator.applications())


@pytest.mark.parametrize(
    ("format", "roll_interval_s", "context"),
    [("tfile", -1.0, PLAIN), ("ifile", -1.0, PLAIN), ("tfile", 0.01, ROLLED), ("ifile", 0.01, ROLLED)],
)
async def test_every_log_is_published_once_whenever_the_agent_dies(
    folder: Path, format: str, roll_interval_s: float, context: LogContext
) -> None:
    is_rolled = context is ROLLED
    expected = sorted([*EXPECTED, *([(str(WORKER), "rolled.1", b"rolled")] if is_rolled else [])])
    for last in range(STEPS_MAX):
        rig = rig_in(folder / f"{last}", format, roll_interval_s)
        if is_rolled:
            rig.write(WORKER, "rolled.1", b"rolled")
        steps = Steps(last=last)
        died = False
        try:
            await first_life(rig, steps, context)
        except BaseExceptionGroup as group:
            _, others = group.split(Crash)
            assert others is None, others
            died = True
        except Crash:
            died = True
        if died and list((rig.root / "state" / "logs").glob("application_*")):
            await second_life(rig)
        begun = steps.taken > 2  # before that the containers were not accepted
        if begun:
            assert rig.published(APPLICATION) == expected, f"died at step {last}"
            assert not any(path.name.endswith(".tmp") for path in rig.remote_dir(APPLICATION).iterdir())
            with contextlib.suppress(FileNotFoundError):
                assert not any(any(directory.iterdir()) for directory in rig.log_dirs)
        if not died:
            return
    pytest.fail(f"more than {STEPS_MAX} steps")
