"""The command line: what its help teaches, its exit statuses, and the words of its refusals."""

from __future__ import annotations

import asyncio
import os
import re
import resource
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import httpx2
import pytest
import typer
from typer.testing import CliRunner

from tests.support.audit_lines import logs_as_before
from yodel import __version__, cli
from yodel.client import api
from yodel.errors import InvalidValue, Refused
from yodel.serving.open_files import WANTED
from yodel.settings.rm import Settings
from yodel.wiring import checks
from yodel.wiring.checks import Finding, Verdict

COMMANDS = ("local", "serve", "migrate", "client-config", "check", "version")
RUNNER = CliRunner(env={"TERM": "dumb", "COLUMNS": "200"})


@pytest.fixture(autouse=True)
def _logs_as_before() -> Iterator[None]:
    """Commands set logging up for a whole process."""
    with logs_as_before():
        yield


def test_help_lists_the_commands_and_says_where_to_begin() -> None:
    said = RUNNER.invoke(cli.app, ["--help"]).output
    assert all(command in said for command in COMMANDS)
    assert "yodel local --dir" in said
    assert "local-kubernetes" not in said


@pytest.mark.parametrize("command", COMMANDS)
def test_every_commands_help_has_an_example(command: str) -> None:
    result = RUNNER.invoke(cli.app, [command, "--help"])
    assert result.exit_code == 0
    assert "Example" in result.output
    assert f"yodel {command}" in result.output


def _all(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield path
    for name, below in getattr(command, "commands", {}).items():
        if not below.hidden:
            yield from _all(below, (*path, name))


@pytest.mark.parametrize("words", list(_all(typer.main.get_command(cli.app))), ids=" ".join)
def test_help_shows_no_type_of_python(words: tuple[str, ...]) -> None:
    result = RUNNER.invoke(cli.app, [*words, "--help"])
    assert (result.exit_code, re.findall(r"<(?:str|bool|int|float|list)\b", result.output)) == (0, [])


def test_no_command_shows_the_help() -> None:
    assert "Usage" in RUNNER.invoke(cli.app, []).output


@pytest.mark.parametrize("asked", ["version", "--version"])
def test_version_is_the_packages(asked: str) -> None:
    assert RUNNER.invoke(cli.app, [asked]).output.startswith(f"yodel {__version__} (Python ")


def test_local_refuses_before_it_touches_anything(tmp_path: Path) -> None:
    result = RUNNER.invoke(cli.app, ["local", "--dir", str(tmp_path / "x"), "--nodes", "0"])
    assert result.exit_code == 2
    assert "Invalid --nodes: 0; expected 1 to 50" in result.output
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("command", ["serve", "migrate", "check", "client-config --host rm"])
def test_unreadable_configuration_is_one_line(tmp_path: Path, command: str) -> None:
    result = RUNNER.invoke(cli.app, [*command.split(), "--config", str(tmp_path / "none.toml")])
    assert result.exit_code == 2
    assert result.output.startswith("error: Invalid --config")
    assert "Traceback" not in result.output


def test_served_process_may_open_as_many_files_as_it_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[int] = []
    monkeypatch.setattr(cli, "_run", lambda _: found.append(resource.getrlimit(resource.RLIMIT_NOFILE)[0]))
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, limits[1]))
    try:
        assert RUNNER.invoke(cli.app, ["serve"]).exit_code == 0
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert found == [min(WANTED, limits[1])]


def test_every_wrong_setting_gets_its_line(tmp_path: Path) -> None:
    (tmp_path / "rm.toml").write_text('client_port = 70000\nam_share = "x"\nclientport = 1\n')
    result = RUNNER.invoke(cli.app, ["serve", "--config", str(tmp_path / "rm.toml")])
    assert result.exit_code == 2
    assert [line.split(":")[-2].split()[-1] for line in result.output.splitlines()[:1]] == ["client_port"]
    assert all(name in result.output for name in ("client_port", "am_share", "clientport"))


def test_migrate_makes_the_tables_and_a_second_one_finds_nothing_to_do(tmp_path: Path) -> None:
    url = f"sqlite+aiosqlite:///{tmp_path / 'rm.db'}"
    first = RUNNER.invoke(cli.app, ["migrate", "--store-url", url])
    second = RUNNER.invoke(cli.app, ["migrate", "--store-url", url])
    assert (first.exit_code, second.exit_code) == (0, 0)
    assert first.output.startswith("applied ")
    assert second.output.startswith("up to date")


def test_migrate_can_wait_for_another(tmp_path: Path) -> None:
    url = f"sqlite+aiosqlite:///{tmp_path / 'rm.db'}"
    assert RUNNER.invoke(cli.app, ["migrate", "--store-url", url]).exit_code == 0
    waited = RUNNER.invoke(cli.app, ["migrate", "--store-url", url, "--wait-s", "5"])
    assert (waited.exit_code, waited.output.split()[:3]) == (0, ["up", "to", "date"])


def test_migrate_can_wait_for_a_database_and_says_what_it_waited_for(tmp_path: Path) -> None:
    url = f"sqlite+aiosqlite:///{tmp_path / 'rm.db'}"
    there = RUNNER.invoke(cli.app, ["migrate", "--store-url", url, "--database-wait-s", "5"])
    assert (there.exit_code, there.output.split()[0]) == (0, "applied")
    nobody = "postgresql+asyncpg://nobody@127.0.0.1:1/none"
    absent = RUNNER.invoke(cli.app, ["migrate", "--store-url", nobody, "--database-wait-s", "1"])
    assert absent.exit_code != 0
    assert absent.output.startswith("waiting for the database: ")


def test_client_configuration_is_printed_with_the_settings_ports(tmp_path: Path) -> None:
    (tmp_path / "rm.toml").write_text("client_port = 18032\nmaximum_allocation_mib = 2048\n")
    options = ["--host", "rm.example", "--config", str(tmp_path / "rm.toml"), "--webapp-port", "30088"]
    said = RUNNER.invoke(cli.app, ["client-config", *options]).output
    assert [f"==> {name} <==" in said for name in ("core-site.xml", "yarn-site.xml", "mapred-site.xml")] == [True] * 3
    assert "<value>rm.example:18032</value>" in said
    assert "<value>rm.example:30088</value>" in said
    assert "<value>2048</value>" in said


def test_client_configuration_is_written_as_a_directory(tmp_path: Path) -> None:
    options = ["--host", "rm", "--dir", str(tmp_path / "conf"), "--property", "core-site.xml:fs.defaultFS=hdfs://nn"]
    result = RUNNER.invoke(cli.app, ["client-config", *options])
    assert result.output == f"export HADOOP_CONF_DIR={tmp_path / 'conf'}\n"
    assert "<value>hdfs://nn</value>" in (tmp_path / "conf" / "core-site.xml").read_text()
    assert "<value>rm:8032</value>" in (tmp_path / "conf" / "yarn-site.xml").read_text()


def test_client_configuration_is_printed_file_by_file() -> None:
    said = RUNNER.invoke(cli.app, ["client-config", "--host", "rm", "--only", "yarn-site.xml"]).output
    names = [p.findtext("name") for p in ElementTree.fromstring(said.encode()).findall("property")]
    assert "yarn.resourcemanager.address" in names


@pytest.mark.parametrize("more", [["--only", "hive-site.xml"], ["--only", "yarn-site.xml", "--dir", "x"]])
def test_only_is_one_file_and_printed(more: list[str]) -> None:
    result = RUNNER.invoke(cli.app, ["client-config", "--host", "rm", *more])
    assert result.exit_code == 2
    assert "expected one of core-site.xml, yarn-site.xml, mapred-site.xml" in result.output


def test_a_property_of_no_file_is_one_line() -> None:
    result = RUNNER.invoke(cli.app, ["client-config", "--host", "rm", "--property", "x=y"])
    assert (result.exit_code, result.output.count("\n")) == (2, 1)
    assert "FILE:NAME=VALUE" in result.output


def test_migrate_explains_a_bad_url() -> None:
    result = RUNNER.invoke(cli.app, ["migrate", "--store-url", "mysql://x"])
    assert result.exit_code == 2
    assert "sqlite+aiosqlite://" in result.output


@pytest.mark.parametrize(("verdict", "status"), [(Verdict.OK, 0), (Verdict.WARNING, 0), (Verdict.FAILED, 1)])
def test_check_fails_only_for_what_stands_in_the_way(
    monkeypatch: pytest.MonkeyPatch, verdict: Verdict, status: int
) -> None:
    async def found(settings: object, *, is_running: bool) -> AsyncIterator[Finding]:
        yield Finding(name="java", verdict=verdict, text="said [so]")

    monkeypatch.setattr(checks, "run_checks", found)
    result = RUNNER.invoke(cli.app, ["check"])
    assert result.exit_code == status
    assert "java: said [so]" in result.output


def test_check_names_nodes_where_limits_may_be_left(monkeypatch: pytest.MonkeyPatch) -> None:
    async def found(settings: object, *, is_running: bool) -> AsyncIterator[Finding]:
        yield Finding(name="java", verdict=Verdict.OK, text="there")

    nodes = [{"kubernetes_node": name, "undo_lines": lines} for name, lines in (("n1", ["x"]), ("n2", []))]
    others = {"others_pods": 3, "others_nodes": 2}
    answer = httpx2.Response(200, json={"limits": {"node_list": nodes, **others}})
    transport = httpx2.MockTransport(lambda request: answer)
    monkeypatch.setattr(checks, "run_checks", found)
    monkeypatch.setattr(api, "RmClient", partial(api.RmClient, transport=transport))
    output = RUNNER.invoke(cli.app, ["check"]).output
    assert "limits of batch pods may remain on nodes (1) whose agent does not report: n1; yodel" in output
    assert "3 best-effort pods that are not Yodel's, on nodes (2), share the quota" in output
    nodes[0]["undo_lines"] = []
    answer = httpx2.Response(200, json={"limits": {"node_list": nodes, "others_pods": 0, "others_nodes": 0}})
    output = RUNNER.invoke(cli.app, ["check"]).output
    assert "agents report for every node" in output
    assert "quota" not in output


def test_the_installed_settings_are_meant_where_none_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The settings are found as in the ResourceManager's pod; ``--dir`` is about none."""
    asked: list[tuple[str, bool]] = []

    async def found(settings: Settings, *, is_running: bool) -> AsyncIterator[Finding]:
        asked.append((settings.cluster_name, is_running))
        yield Finding(name="java", verdict=Verdict.OK, text="there")

    monkeypatch.setattr(checks, "run_checks", found)
    monkeypatch.setattr(cli, "INSTALLED_CONFIG", tmp_path / "rm.toml")
    monkeypatch.delenv("YODEL_SERVER", raising=False)
    assert RUNNER.invoke(cli.app, ["check"]).exit_code == 0
    (tmp_path / "rm.toml").write_text('cluster_name = "installed"\n')
    assert RUNNER.invoke(cli.app, ["check"]).exit_code == 0
    (tmp_path / "other.toml").write_text('cluster_name = "other"\n')
    assert RUNNER.invoke(cli.app, ["check", "--config", str(tmp_path / "other.toml")]).exit_code == 0
    answer = httpx2.Response(200, json={"limits": {"node_list": [], "others_pods": 0, "others_nodes": 0}})
    monkeypatch.setattr(api, "RmClient", partial(api.RmClient, transport=httpx2.MockTransport(lambda _: answer)))
    assert RUNNER.invoke(cli.app, ["check"]).exit_code == 0
    monkeypatch.setenv("YODEL_SERVER", "http://elsewhere:8088")
    assert RUNNER.invoke(cli.app, ["check"]).exit_code == 0
    names = ["yodel", "installed", "other", "installed", "installed"]
    assert asked == list(zip(names, [False, False, False, True, False], strict=True))
    assert RUNNER.invoke(cli.app, ["check", "--dir", str(tmp_path / "local")]).exit_code == 0


def test_check_of_a_principal_shows_user_rule_and_account(tmp_path: Path) -> None:
    config = tmp_path / "rm.toml"
    config.write_text(
        'user_mode = "os"\n[security]\nprincipal = "rm/h@A.ORG"\n'
        'auth_to_local = "RULE:[1:$1@$0](.*@B\\\\.ORG)s/@.*//"\n'
        "[user_ids.bob]\nuid = 5000\ngid = 5001\n"
    )

    def checked(principal: str) -> tuple[int, str]:
        result = RUNNER.invoke(cli.app, ["check", "--config", str(config), "--principal", principal])
        return result.exit_code, result.output

    status, output = checked("bob@B.ORG")
    assert status == 0
    assert r"bob@B.ORG is the user bob, by the rule RULE:[1:$1@$0](.*@B\.ORG)s/@.*//" in output
    assert "containers of bob run with uid 5000 and gid 5001" in output
    status, output = checked("nobody-of-this-name@B.ORG")
    assert status == 1
    assert "User nobody-of-this-name not found" in output
    assert "security.auth_to_local" in output
    status, output = checked("bob@C.ORG")
    assert status == 1
    assert "bob@C.ORG is nobody: " in output
    assert "No rules applied to bob@C.ORG" in output
    result = RUNNER.invoke(cli.app, ["check", "--dir", str(tmp_path / "local"), "--principal", "bob@B.ORG"])
    assert result.exit_code == 2


def test_check_of_a_directory_is_for_yodel_local(tmp_path: Path) -> None:
    result = RUNNER.invoke(cli.app, ["check", "--dir", str(tmp_path / "local")])
    assert result.exit_code == 0
    assert "standard ports" in result.output
    assert "kubernetes" not in result.output


def test_check_takes_one_of_its_two_ways(tmp_path: Path) -> None:
    result = RUNNER.invoke(cli.app, ["check", "--dir", str(tmp_path), "--config", str(tmp_path / "rm.toml")])
    assert result.exit_code == 2
    assert "expected only one of them" in result.output


@pytest.mark.parametrize(
    ("error", "status"), [(InvalidValue("--dir", "x", "y"), 2), (Refused("taken"), 1), (OSError("full"), 1)]
)
def test_expected_failure_is_one_line_and_a_status(
    error: Exception, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    async def fail() -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(fail_inside())

    async def fail_inside() -> None:
        raise error

    with pytest.raises(typer.Exit) as caught:
        cli._run(fail)
    assert caught.value.exit_code == status
    assert capsys.readouterr().err == f"error: {error}\n"


async def test_bug_beside_an_expected_failure_is_not_hidden() -> None:
    async def fail() -> None:
        raise BaseExceptionGroup("both", [Refused("x"), ZeroDivisionError()])

    with pytest.raises(BaseExceptionGroup):
        await cli._unwrapped(fail())


def test_readiness_is_told_once_and_the_pipe_closed() -> None:
    read_fd, write_fd = os.pipe()
    cli._say_ready(write_fd)
    cli._say_ready(None)
    with os.fdopen(read_fd, "rb") as pipe:
        assert pipe.read() == b"ready\n"


def test_help_loads_none_of_the_heavy_parts() -> None:
    """``yodel local`` starts this program twice more: what it imports is paid three times."""
    code = "import sys, yodel.cli; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    heavy = {"sqlalchemy", "kubernetes", "fastapi", "uvicorn", "alembic", "pydantic", "aiohttp", "cryptography"}
    assert heavy.isdisjoint(loaded.stdout.split())
