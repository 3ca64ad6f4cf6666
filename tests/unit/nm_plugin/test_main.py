"""Starting a node agent: what is settled before it runs."""

from __future__ import annotations

import json
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
import typer

from nm_plugin import __main__ as program
from nm_plugin.settings import Settings
from tests.support.audit_lines import logs_as_before
from yodel.serving.open_files import WANTED


@pytest.fixture(autouse=True)
def _logs_as_before() -> Iterator[None]:
    with logs_as_before():
        yield


def test_the_host_is_the_address_in_the_named_network(monkeypatch: pytest.MonkeyPatch) -> None:
    served: list[Settings] = []

    async def serve(settings: Settings) -> None:
        served.append(settings)

    monkeypatch.setattr(program, "serve", serve)
    program.run(None, ["host=elsewhere", "host_cidr=127.0.0.0/8"])
    assert [settings.host for settings in served] == ["127.0.0.1"]


def test_a_network_without_an_address_here_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as ended:
        program.run(None, ["host_cidr=198.51.100.0/24"])
    assert ended.value.exit_code == program.EXIT_MISCONFIGURED
    assert capsys.readouterr().err.startswith("error: Invalid host_cidr")


def test_a_secret_that_cannot_be_used_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "secret").write_text("short\n")
    with pytest.raises(typer.Exit) as ended:
        program.run(None, [f"node_token_file={tmp_path / 'secret'}"])
    assert ended.value.exit_code == program.EXIT_MISCONFIGURED
    error = capsys.readouterr().err
    assert "node_token_file" in error
    assert "16 to 4096 bytes" in error
    assert "short" not in error


def test_agent_may_open_as_many_files_as_it_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[int] = []

    async def serve(_: Settings) -> None:
        found.append(resource.getrlimit(resource.RLIMIT_NOFILE)[0])

    monkeypatch.setattr(program, "serve", serve)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, limits[1]))
    try:
        program.run(None, ["host=x"])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert found == [min(WANTED, limits[1])]


def test_agent_logs_in_the_form_and_from_the_level_of_its_settings(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def serve(_: Settings) -> None:
        structlog.get_logger("x").info("hidden")
        structlog.get_logger("x").warning("shown", n=1)

    monkeypatch.setattr(program, "serve", serve)
    program.run(None, ["host=x", "log_level=warning"])
    (line,) = capsys.readouterr().err.splitlines()
    assert (json.loads(line)["event"], json.loads(line)["level"]) == ("shown", "warning")
