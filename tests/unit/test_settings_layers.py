"""Mistakes in settings: one line, with the file and the place in it, or the variable; for both programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import nm_plugin.settings
import yodel.settings.rm
from nm_plugin import __main__ as agent
from tests.support.audit_lines import logs_as_before
from yodel import cli
from yodel.errors import InvalidValue
from yodel.settings.layers import InvalidSettings

Load = Callable[..., object]
LOADS = (yodel.settings.rm.load, nm_plugin.settings.load)
SYNTAX = (
    (b"host = \n", "TOML: Invalid value (at line 1, column 8)"),
    (b'host = "a"\n\nhost = "b"\n', "TOML: Cannot overwrite a value (at line 3, column 11)"),
    (b'host = "a"\nx = [1,\n 2', "TOML: Unclosed array (at line 3, column 3)"),
    (b'a = "b"\nhost = "\xff"\n', "TOML in UTF-8 (not so at line 2)"),
)


@pytest.fixture(autouse=True)
def _logs_as_before() -> Iterator[None]:
    """Commands set logging up for a whole process, with the streams of their runner."""
    with logs_as_before():
        yield


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize(("text", "expected"), SYNTAX)
def test_file_that_is_no_toml_is_named_with_the_place(tmp_path: Path, load: Load, text: bytes, expected: str) -> None:
    file = tmp_path / "given.toml"
    file.write_bytes(text)
    with pytest.raises(InvalidValue) as caught:
        load(file)
    assert str(caught.value) == f"Invalid --config: '{file}'; expected {expected}"


@pytest.mark.parametrize("load", LOADS)
def test_what_is_no_file_is_named(tmp_path: Path, load: Load) -> None:
    for wrong, why in ((tmp_path, "Is a directory"), (tmp_path / "none", "No such file or directory")):
        with pytest.raises(InvalidValue) as caught:
            load(wrong)
        assert str(caught.value) == f"Invalid --config: '{wrong}'; expected a readable TOML file ({why})"


@pytest.mark.parametrize(
    ("load", "name", "value"),
    [
        (yodel.settings.rm.load, "YODEL_WEB", "{"),
        (yodel.settings.rm.load, "YODEL_HOST_PATHS", "/data"),
        (nm_plugin.settings.load, "YODEL_NM_LOCAL_DIRS", "/data/1,/data/2"),
    ],
)
def test_variable_that_is_no_json_is_named(monkeypatch: pytest.MonkeyPatch, load: Load, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(InvalidValue) as caught:
        load(None)
    assert str(caught.value).startswith(
        f"""Invalid {name}: '{value}'; expected JSON, such as ["a", "b"] or {{"a": 1}} ("""
    )


def test_several_mistakes_are_a_line_each_and_of_several_settings_together_no_value_is_shown() -> None:
    with pytest.raises(InvalidSettings) as caught:
        nm_plugin.settings.load(None, {"rpc_port": 70_000, "http_prot": 1})
    assert [line.split(";")[0] for line in str(caught.value).splitlines()] == [
        "Invalid rpc_port: 70000",
        "Invalid http_prot: there is no such setting",
    ]
    services = {"spark_shuffle": {"class_path": ["/x"]}}
    with pytest.raises(InvalidSettings) as caught:
        nm_plugin.settings.load(None, {"user_mode": "os", "aux_services": services})
    assert str(caught.value).startswith("Invalid settings: aux_services need a user")


def test_both_programs_say_it_in_one_line_and_exit_with_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "given.toml"
    file.write_text("host = \n")
    line = f"error: Invalid --config: '{file}'; expected TOML: Invalid value (at line 1, column 8)\n"
    for command in ("serve", "check", "migrate", "client-config --host x"):
        result = CliRunner().invoke(cli.app, [*command.split(), "--config", str(file)])
        assert (result.exit_code, result.stdout, result.stderr) == (2, "", line)
    with pytest.raises(typer.Exit) as raised:
        agent.run(file)
    assert (raised.value.exit_code, capsys.readouterr().err) == (2, line)
