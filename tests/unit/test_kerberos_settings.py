"""Kerberos needs some settings and a library; what is missing is named."""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from yodel.errors import InvalidValue
from yodel.host import tickets
from yodel.settings.rm import Settings, load
from yodel.settings.security import SecuritySettings
from yodel.settings.web import WebSettings
from yodel.wiring.checks import Verdict, kerberos_findings, principal_checks
from yodel.wiring.kerberos import kerberos_of

PRINCIPAL = "rm/_HOST@EXAMPLE.COM"


def settings(tmp_path: Path, web: str = "kerberos", **changes: Any) -> Settings:
    fields = {"authentication": "kerberos", "principal": PRINCIPAL, "keytab": tmp_path / "rm.keytab"} | changes
    token_file = fields.pop("node_token_file", tmp_path / "token")
    return Settings(
        node_managers=fields.pop("node_managers", "refused"),
        host="RM.example.com",
        node_token_file=token_file,
        security=SecuritySettings(**fields),
        web=WebSettings.model_validate({"authentication": web}),
    )


def test_nothing_is_asked_of_a_cluster_without_kerberos(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gssapi", None)
    assert kerberos_of(Settings()) is None


@pytest.mark.parametrize(
    ("web", "changes", "words"),
    [
        ("simple", {}, r"Invalid web.authentication: 'simple'; expected \"kerberos\""),
        ("kerberos", {"node_token_file": None}, "Invalid node_token_file: None"),
        ("kerberos", {"node_managers": "network"}, "Invalid node_managers: 'network'"),
        ("kerberos", {"keytab": None}, "Invalid security.keytab: None"),
        (
            "kerberos",
            {"node_manager_principal": "nm@EXAMPLE.COM"},
            "Invalid security.node_manager_principal: 'nm@EXAMPLE.COM'",
        ),
        ("kerberos", {"principal": ""}, "Invalid security.principal: ''"),
        ("kerberos", {"principal": "rm@EXAMPLE.COM"}, "Invalid security.principal: 'rm@EXAMPLE.COM'"),
        ("kerberos", {"principal": "a/b/c@EXAMPLE.COM"}, "Invalid security.principal: 'a/b/c@EXAMPLE.COM'"),
    ],
)
def test_setting_that_is_missing_is_named(tmp_path: Path, web: str, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidValue, match=words):
        kerberos_of(settings(tmp_path, web, **changes))


def test_missing_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gssapi", None)
    with pytest.raises(InvalidValue, match=r"Python package gssapi.*pip install 'yodel\[kerberos\]'"):
        kerberos_of(settings(tmp_path))


@pytest.mark.parametrize("protection", ["integrity", "privacy"])
def test_protection_that_is_not_offered_is_refused_by_name(protection: str) -> None:
    with pytest.raises(ValueError, match="rpc_protection"):
        SecuritySettings.model_validate({"rpc_protection": protection})


def test_settings_of_the_page_are_what_kerberos_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the library is missing with the settings of the page."""
    page = Path(__file__).resolve().parents[2] / "docs" / "kerberos.md"
    (shown,) = re.findall(r"```toml\n(.*?)```", page.read_text(), re.DOTALL)
    file = tmp_path / "rm.toml"
    file.write_text(textwrap.dedent(shown))
    monkeypatch.setitem(sys.modules, "gssapi", None)
    with pytest.raises(InvalidValue, match="Python package gssapi"):
        kerberos_of(load(file))


async def test_rule_that_cannot_be_read_is_refused_at_start_and_by_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No library is needed to read rules."""
    monkeypatch.setattr(tickets, "full_principal", str)
    monkeypatch.setattr(tickets, "default_realm", str)
    secured = settings(tmp_path, auth_to_local="DEFAULT\nRULE:[2:$1](rm@*")
    words = "Invalid security.auth_to_local: '(rm@*'; expected DEFAULT or RULE:[n:format](match)s/from/to/g/L"
    with pytest.raises(InvalidValue, match=re.escape(words)):
        kerberos_of(secured)
    (found,) = await kerberos_findings(secured)
    assert (found.verdict, found.text) == (Verdict.FAILED, words)
    (found,) = [one async for one in principal_checks(secured, "bob@A.ORG")]
    assert (found.verdict, words in found.text) == (Verdict.FAILED, True)
