"""Stacks, the log level, logs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import structlog

from tests.support.rest_world import RestWorld, rest_world
from yodel.telemetry import logs


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = structlog.get_config()
    logs.configure()
    yield
    structlog.configure(**before)


async def test_stacks_name_threads_and_tasks_and_no_file(world: RestWorld) -> None:
    answer = await world.client.get("/stacks")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/plain; charset=utf-8")
    assert answer.text.startswith("Process Thread Dump: \n")
    assert "(MainThread):\n  State: RUNNABLE\n" in answer.text
    assert "yodel.services.writer.engine.Engine.run(" in answer.text
    assert "/" not in answer.text.replace("Process Thread Dump", "")


async def test_as_many_dumps_as_asked_for(world: RestWorld) -> None:
    assert (await world.get("/jstack/3")).text.count("Process Thread Dump: ") == 3
    for count in ("0", "11", "many", "-1", "9" * 5000, "00020", "00099"):
        assert (await world.get(f"/jstack/{count}")).status_code == 400


async def test_level_is_shown_to_everybody_and_changed_by_administrators(world: RestWorld) -> None:
    shown = await world.client.get("/logLevel?log=yodel")
    assert "<!-- OUTPUT -->Effective Level: <b>INFO</b><br />" in shown.text
    refused = await world.client.get("/logLevel?log=yodel&level=DEBUG&user.name=bob")
    assert (refused.status_code, logs.level()) == (403, "info")
    world.client.cookies.clear()
    changed = await world.client.get("/logLevel?log=yodel&level=debug&user.name=admin")
    assert "<!-- OUTPUT -->Setting Level to DEBUG ...<br />" in changed.text
    assert logs.level() == "debug"


async def test_level_that_is_none_changes_nothing(world: RestWorld) -> None:
    answer = await world.client.get("/logLevel?log=%3Cb%3E&level=%3Ci%3E&user.name=admin")
    assert "Bad Level : <b>&lt;i&gt;</b>" in answer.text
    assert "Submitted Class Name: <b>&lt;b&gt;</b>" in answer.text
    assert logs.level() == "info"
    assert "Results" not in (await world.client.get("/logLevel")).text


@pytest.fixture
async def with_logs(tmp_path: Path) -> AsyncIterator[RestWorld]:
    directory = tmp_path / "logs"
    (directory / "old").mkdir(parents=True)
    (directory / "rm.log").write_text("<script>started</script>")
    (tmp_path / "secret").write_text("classified")
    (directory / "link").symlink_to(tmp_path / "secret")
    async with rest_world(log_dir=directory) as world:
        yield world


async def test_logs_are_listed_and_read_by_administrators(with_logs: RestWorld) -> None:
    for path in ("/logs", "/logs/"):
        listed = await with_logs.client.get(f"{path}?user.name=admin")
        assert '<a href="/logs/rm.log">rm.log</a>' in listed.text
        assert '<a href="/logs/old/">old/</a>' in listed.text
    read = await with_logs.client.get("/logs/rm.log?user.name=admin")
    assert (read.text, read.headers["content-type"]) == ("<script>started</script>", "text/plain;charset=utf-8")
    with_logs.client.cookies.clear()
    assert (await with_logs.client.get("/logs/rm.log?user.name=bob")).status_code == 403


@pytest.mark.parametrize("path", ["link", "..%2fsecret", "%2e%2e/secret", "old/..%2f..%2fsecret", "none", "a%00b"])
async def test_nothing_outside_is_read(with_logs: RestWorld, path: str) -> None:
    answer = await with_logs.client.get(f"/logs/{path}?user.name=admin")
    assert answer.status_code == 404
    assert "classified" not in answer.text


async def test_without_a_directory_there_are_no_logs(world: RestWorld) -> None:
    assert (await world.client.get("/logs/?user.name=admin")).status_code == 404
