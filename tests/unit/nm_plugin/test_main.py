"""Starting a node agent: what is settled before it runs."""

from __future__ import annotations

import pytest
import typer

from nm_plugin import __main__ as program
from nm_plugin.settings import Settings


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
    assert capsys.readouterr().err.startswith("Invalid host_cidr")
