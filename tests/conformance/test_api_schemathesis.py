"""schemathesis on ``/api/v1``, served for real: no 500, nothing that its own description does not say.

One check is left out: that whatever fits the schema is accepted.  A cursor is opaque, so its schema says that it is a
text; made-up ones are refused, and so are names of queues that are not there.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import seeds
from tests.support.api_rows import fill
from tests.support.rest_world import rest_world
from yodel.rm_api.server import serve

ENDLESS = "/events/stream"
START_TIMEOUT_S, RUN_TIMEOUT_S = 30.0, 480.0
CONFIGURATION = """
[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 405, 406, 409, 413, 415, 422, 428, 429]
"""
"""Answers that say that a request is wrong: schemathesis does not think of 413, which is for too long a body."""
LINE_CHARACTERS_MAX = 400
"""The most characters of a line of its output: a body may be long."""


class Served:
    """The API on a port, in a thread with a loop of its own: schemathesis is another process and waits for answers."""

    def __init__(self) -> None:
        self.port = 0
        self._is_up, self._is_over = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="api")

    def __enter__(self) -> Served:
        self._thread.start()
        assert self._is_up.wait(START_TIMEOUT_S)
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join(START_TIMEOUT_S)

    async def _serve(self) -> None:
        async with rest_world(static_user="alice", may_static_user_write=True) as world:
            await fill(world)
            server, self.port = await serve(world.app, "127.0.0.1", 0)
            self._is_up.set()
            await asyncio.to_thread(self._is_over.wait)
            await server.stop()


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with Served() as made:
        yield made


@pytest.mark.drawn("schemathesis")
@pytest.mark.parametrize("seed", seeds.tried("schemathesis"))
def test_no_request_gets_what_the_description_does_not_say(served: Served, tmp_path: Path, seed: int) -> None:
    (tmp_path / "schemathesis.toml").write_text(CONFIGURATION)
    done = subprocess.run(
        [
            str(Path(sys.executable).parent / "schemathesis"),
            *("run", f"http://127.0.0.1:{served.port}/api/openapi.json"),
            *("--exclude-path", ENDLESS, "--exclude-checks", "positive_data_acceptance"),
            *("--max-examples", "100", "--request-timeout", "10", "--seed", str(seed)),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=RUN_TIMEOUT_S,
    )
    said = "\n".join(line[:LINE_CHARACTERS_MAX] for line in done.stdout.splitlines())
    assert done.returncode == 0, said[-8000:] + done.stderr[-2000:]
