"""The command line on a web side in memory that lives as long as the test."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import partial

import httpx2
import pytest
import structlog.testing
from typer.testing import CliRunner, Result

from tests.support.rest_world import RestWorld, rest_world
from yodel import cli
from yodel.client import api
from yodel.local import running


class Served:
    """The world in a loop of its own; ``user`` calls."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.user = "admin"
        self.world: RestWorld
        self._is_up, self._end = threading.Event(), asyncio.Event()
        self.thread = threading.Thread(target=self.loop.run_until_complete, args=(self._serve(),))

    async def _serve(self) -> None:
        async with rest_world() as self.world:
            self._is_up.set()
            await self._end.wait()

    def start(self) -> None:
        self.thread.start()
        assert self._is_up.wait(30)

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self._end.set)
        self.thread.join(30)

    async def __call__(self, request: httpx2.Request) -> httpx2.Response:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._answer(request), self.loop))

    async def _answer(self, request: httpx2.Request) -> httpx2.Response:
        answer = await httpx2.ASGITransport(app=self.world.app).handle_async_request(request)
        headers = {name: value for name, value in answer.headers.items() if name in ("content-type", "etag")}
        return httpx2.Response(answer.status_code, headers=headers, content=await answer.aread())

    def run(self, *words: str, stdin: str | None = None) -> Result:
        """A command below ``yodel queue``."""
        return self.invoke("queue", *words, stdin=stdin)

    def invoke(self, *words: str, stdin: str | None = None) -> Result:
        runner = CliRunner(env={"TERM": "dumb", "COLUMNS": "200", "HADOOP_USER_NAME": self.user})
        return runner.invoke(cli.app, [*words], input=stdin)

    def await_on_loop(self, work: Coroutine[object, object, object]) -> None:
        asyncio.run_coroutine_threadsafe(work, self.loop).result(30)

    def on_loop(self, work: Callable[[], object]) -> None:
        """Call something where the world lives."""

        async def call() -> None:
            work()

        self.await_on_loop(call())

    def done(self, *words: str, stdin: str | None = None) -> list[list[str]]:
        result = self.run(*words, stdin=stdin)
        assert result.exit_code == 0, result.output
        return [line.split("\t") for line in result.stdout.splitlines()]

    @property
    def version(self) -> int:
        return self.world.rm.scheduler_conf.version

    @property
    def capacities(self) -> dict[str, float]:
        queues = self.world.rm.state.queues
        return {path.removeprefix("root."): queue.capacity_percent for path, queue in queues.items() if queue.is_leaf}


@contextmanager
def serving_world(monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    made = Served()
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    monkeypatch.setattr(running, "running_locals", list)
    monkeypatch.setattr(api, "RmClient", partial(api.RmClient, transport=httpx2.MockTransport(made)))
    with structlog.testing.capture_logs():  # a server's log is elsewhere
        made.start()
        yield made
        made.stop()
