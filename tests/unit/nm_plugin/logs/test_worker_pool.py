"""Publisher processes: real ones, as users, with what goes wrong."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from nm_plugin.host.users import FileThreads, OsUser
from nm_plugin.logs.jobs import Expire, MakeRoot, Publish, decode, encode
from nm_plugin.logs.worker_pool import JobFailed, JobRefused, WorkerPool


@pytest.fixture
def workers(threads: FileThreads) -> WorkerPool:
    return WorkerPool(threads=threads, config_dir=None, slots=asyncio.Semaphore(1))


def publish(root: Path, **changes: Any) -> Publish:
    values: dict[str, Any] = {
        "root": f"file://{root}/remote",
        "directories": ("alice", "application_1_0001"),
        "file_name": "host_1",
        "node": "host:1",
        "node_file": "host_1",
        "format": "tfile",
        "compression": "gz",
        "application": "application_1_0001",
        "owner": "alice",
        "acls": {},
        "log_dirs": (f"{root}/logs",),
        "containers": ("container_1_0001_01_000002",),
        "uploaded_ms": 1,
    }
    return Publish(**{**values, **changes})


async def test_the_user_owns_what_its_process_makes(open_path: Path, alice: OsUser, workers: WorkerPool) -> None:
    await workers.run(MakeRoot(root=f"file://{open_path}/remote", group=""), None)
    logs = open_path / "logs" / "application_1_0001" / "container_1_0001_01_000002"
    logs.mkdir(parents=True)
    (logs / "stdout").write_bytes(b"hello")
    os.chmod(logs / "stdout", 0o644)
    for format in ("tfile", "ifile"):
        answer = await workers.run(publish(open_path, format=format, file_name=format), alice)
        assert [name for _, name, _ in answer["uploaded"]] == ["stdout"]
        path = open_path / "remote" / "alice" / "application_1_0001" / format
        assert path.stat().st_uid == alice.uid


async def test_refusals_are_told(open_path: Path, alice: OsUser, workers: WorkerPool) -> None:
    with pytest.raises(JobFailed, match="ftp"):
        await workers.run(Expire(root="ftp://host/x", directories=(), before_ms=0), alice)
    with pytest.raises(JobRefused, match=r"log exclude pattern.*Unclosed group near index 1"):
        await workers.run(publish(open_path, exclude="("), alice)
    (open_path / "remote").write_text("no directory")
    with pytest.raises(JobFailed):
        await workers.run(Expire(root=f"file://{open_path}/remote", directories=("x",), before_ms=0), alice)


async def test_slots_are_free_again_after_a_failure(open_path: Path, alice: OsUser, workers: WorkerPool) -> None:
    for _ in range(2):
        with pytest.raises(JobFailed):
            await workers.run(Expire(root="ftp://host/x", directories=(), before_ms=0), alice)
    assert not workers.slots.locked()


async def test_logs_are_chosen_by_a_process_of_the_process_s(
    open_path: Path, alice: OsUser, workers: WorkerPool
) -> None:
    await workers.run(MakeRoot(root=f"file://{open_path}/remote", group=""), None)
    logs = open_path / "logs" / "application_1_0001" / "container_1_0001_01_000002"
    logs.mkdir(parents=True)
    for name in ("stdout", "stderr", "syslog"):
        (logs / name).write_bytes(b"hello")
        (logs / name).chmod(0o644)
    answer = await workers.run(publish(open_path, include="^s[ty]", exclude=r"\p{Lower}err"), alice)
    assert [name for _, name, _ in answer["uploaded"]] == ["stdout", "syslog"]
    assert not workers.slots.locked()


def test_jobs_survive_the_pipe(open_path: Path) -> None:
    for job in (publish(open_path, already=(("c", "f", 1),)), MakeRoot(root="x", group="g")):
        assert decode(encode(job)) == job
