"""Readers of aggregated logs: whose rights, how many, how long, and what a caller hears."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.types import Message

from nm_plugin.host.users import FileThreads, OsUser
from nm_plugin.logs.jobs import Job, Recall
from nm_plugin.logs.layout import RemoteLayout
from nm_plugin.logs.reading import recalls
from nm_plugin.logs.reading.recalls import Recalled, RecalledText, Recalls
from nm_plugin.logs.viewers import Viewer
from nm_plugin.logs.worker_pool import JobFailed
from tests.support.node_agent import FakeUsers, container_id, eventually
from yodel.domain.ids import NodeId
from yodel.errors import Unavailable
from yodel.hadoop_http.errors import RestError

ASKED = Recalled(
    container_id=container_id(2),
    owner="alice",
    viewer=Viewer(name="carol", admin_acl="admin"),
    node_id=NodeId("node-1", 8041),
)


class Scripted:
    """A worker that answers what it is told to; an exception is raised, None hangs."""

    def __init__(self, *answers: Any) -> None:
        self.answers, self.jobs, self.users, self.open = answers, list[Job](), list[OsUser | None](), 0

    async def run(self, job: Job, user: OsUser | None, credentials: bytes = b"") -> Any:
        return (await anext(self.stream(job, user)))["done"]

    async def stream(self, job: Job, user: OsUser | None, credentials: bytes = b"") -> AsyncGenerator[Any, None]:
        self.jobs.append(job)
        self.users.append(user)
        self.open += 1
        try:
            for answer in self.answers:
                if answer is None:
                    await asyncio.Event().wait()
                if isinstance(answer, Exception):
                    raise answer
                yield answer
        finally:
            self.open -= 1


def done(outcome: str, *files: Any) -> dict[str, Any]:
    return {"done": {"outcome": outcome, "files": list(files)}}


@pytest.fixture
def made(threads: FileThreads, alice: OsUser, open_path: Path) -> Callable[[Scripted], Recalls]:
    layout = RemoteLayout(root=f"file://{open_path}", suffix="logs", format="tfile")
    return lambda workers: Recalls(layout, FakeUsers({"alice": alice}), threads, workers)


async def test_the_owner_reads_what_the_viewer_asked_for(made: Callable[[Scripted], Recalls], alice: OsUser) -> None:
    workers = Scripted(done("found", {"file": "node-1_8041", "logs": [["stdout", 5, 1]]}))
    assert await made(workers).listed(ASKED) == [{"file": "node-1_8041", "logs": [["stdout", 5, 1]]}]
    assert workers.users == [alice]
    (job,) = workers.jobs
    assert isinstance(job, Recall)
    assert (job.viewer, job.owner, job.node_file) == (ASKED.viewer, "alice", "node-1_8041")
    assert job.directories == ("alice", "bucket-logs-tfile", "0007", str(ASKED.container_id.application_id))


async def test_text_is_passed_on_and_its_reader_ended(made: Callable[[Scripted], Recalls]) -> None:
    workers = Scripted(b"head", b"lines", done("found"))
    parts = await made(workers).text(ASKED, "stdout", -5)
    assert [part async for part in parts] == [b"head", b"lines"]
    assert workers.open == 0
    left = await made(workers).text(ASKED, "stdout")
    assert workers.open == 1
    await left.aclose()
    assert workers.open == 0


@pytest.mark.parametrize(
    ("outcome", "status", "words"),
    [
        ("forbidden", 403, r"User \[carol\] is not authorized to view the logs for application application_"),
        ("missing", 404, "Can not find any aggregated log of alice's container container_"),
    ],
)
async def test_refusals_come_before_the_first_byte(
    made: Callable[[Scripted], Recalls], outcome: str, status: int, words: str
) -> None:
    workers = Scripted(done(outcome))
    for asking in (made(workers).listed(ASKED), made(workers).text(ASKED, "stdout")):
        with pytest.raises(RestError, match=words) as refused:
            await asking
        assert refused.value.status == status
    assert workers.open == 0


async def test_owner_whom_the_node_does_not_know_has_no_logs(made: Callable[[Scripted], Recalls]) -> None:
    workers = Scripted()
    asked = Recalled(container_id=ASKED.container_id, owner="../alice", viewer=ASKED.viewer, node_id=ASKED.node_id)
    with pytest.raises(RestError) as refused:
        await made(workers).listed(asked)
    assert (refused.value.status, workers.jobs) == (404, [])


async def test_failure_is_told_without_its_insides(made: Callable[[Scripted], Recalls]) -> None:
    with pytest.raises(Unavailable, match=r"container_\S+ cannot be read now$"):
        await made(Scripted(JobFailed("OSError: /secret/path"))).listed(ASKED)


async def test_failure_in_the_middle_ends_the_text(made: Callable[[Scripted], Recalls]) -> None:
    parts = await made(Scripted(b"head", JobFailed("gone"))).text(ASKED, "stdout")
    assert [part async for part in parts] == [b"head"]


async def test_no_turn_in_time_is_unavailable(
    made: Callable[[Scripted], Recalls], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recalls, "FIRST_WORD_S", 0.0)
    workers = Scripted(None)
    for asking in (made(workers).listed(ASKED), made(workers).text(ASKED, "stdout")):
        with pytest.raises(Unavailable, match="Too many"):
            await asking
    assert workers.open == 0


async def test_behind_too_many_nobody_waits(made: Callable[[Scripted], Recalls]) -> None:
    workers = Scripted(None)
    reading = made(workers)
    async with asyncio.TaskGroup() as group:
        waiting = [group.create_task(reading.listed(ASKED)) for _ in range(recalls.WAITING_MAX)]
        await eventually(lambda: workers.open == recalls.WAITING_MAX)
        with pytest.raises(Unavailable, match="Too many"):
            await reading.text(ASKED, "stdout")
        for task in waiting:
            task.cancel()
    workers.answers = (done("found"),)
    assert await reading.listed(ASKED) == []


async def test_caller_that_reads_too_slowly_is_cut_off(
    made: Callable[[Scripted], Recalls], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recalls, "READ_S", 0.0)
    workers = Scripted(b"head", b"lines", done("found"))
    answer = RecalledText(await made(workers).text(ASKED, "stdout"), "text/plain")

    async def stuck(_: Message) -> None:
        await asyncio.Event().wait()

    async def silent() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    await answer({"type": "http", "asgi": {"spec_version": "2.4"}}, silent, stuck)
    assert workers.open == 0
