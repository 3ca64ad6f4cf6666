"""Settings become the rules of the web side."""

from __future__ import annotations

import socket
from dataclasses import replace
from pathlib import Path

import pytest

from yodel.domain.cross_origin import CrossOriginRules
from yodel.errors import InvalidValue
from yodel.rm_api.door.csrf import CsrfRules
from yodel.rm_api.door.services import CallerRules, CookieRules, DoorRules
from yodel.rm_api.hadoop.services import HadoopRules
from yodel.rm_api.hadoop.wire.cluster import ClusterFacts
from yodel.rm_api.proxy.origin import ProxiedOrigin
from yodel.rm_api.proxy.services import ProxyRules
from yodel.rm_api.server import LIMITS
from yodel.settings.web import WebSettings
from yodel.wiring.web_rules import connection_limits, with_rules
from yodel.wiring.web_side import WebRules

DOOR = DoorRules(callers=CallerRules(login_user="yarn"), cookies=CookieRules(cookie_secret=b"made"))
RULES = WebRules(
    web_address="rm:8088",
    facts=ClusterFacts(cluster_id=1, started_ms=1),
    door=DOOR,
    hadoop=HadoopRules(),
    proxy=ProxyRules(),
)


def test_defaults_change_nothing() -> None:
    rules = with_rules(RULES, WebSettings())
    browsers = replace(rules.door.browsers, host_names=DOOR.browsers.host_names)
    assert replace(rules, door=replace(rules.door, browsers=browsers)) == RULES


def test_own_names_and_those_that_are_set_are_known() -> None:
    known = with_rules(RULES, WebSettings(host_names=("yarn.example.com", ".apps"))).door.browsers.host_names
    assert all(map(known.knows, (socket.gethostname(), "yarn.example.com:80", "a.apps")))
    assert not known.knows("example.com")


def test_rules_are_there_when_they_are_switched_on() -> None:
    web = WebSettings(csrf_enabled=True, cross_origin_enabled=True, frames_enabled=False, authentication="kerberos")
    door = with_rules(RULES, web).door
    assert (door.browsers.csrf, door.browsers.cross_origin) == (CsrfRules(), CrossOriginRules())
    inside = WebSettings.model_validate({"admin_networks": ["10.0.0.0/8", "::1/128"]})
    assert [str(network) for network in with_rules(RULES, inside).door.admin_networks] == ["10.0.0.0/8", "::1/128"]
    assert (door.browsers.frame_options, door.callers.authentication) == ("", "kerberos")


def test_the_administrator_s_token_is_read_and_never_shown(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("0123456789abcdef\n")
    rules = with_rules(RULES, WebSettings(admin_token_file=file))
    assert rules.door.callers.admin_token == b"0123456789abcdef"
    assert "0123456789" not in repr(rules)
    file.write_text("short")
    with pytest.raises(InvalidValue, match=r"web\.admin_token_file: '5 bytes'"):
        with_rules(RULES, WebSettings(admin_token_file=file))


def test_connections_are_as_many_as_is_set() -> None:
    limits = connection_limits(WebSettings(connections_max=20, connections_per_address_max=10))
    assert (limits.connections_max, limits.per_address_max) == (20, 10)
    assert connection_limits(WebSettings()) == LIMITS


def test_secret_of_other_daemons_is_taken_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_bytes(b"hadoop\n")
    assert with_rules(RULES, WebSettings(signature_secret_file=file)).door.cookies.cookie_secret == b"hadoop\n"


@pytest.mark.parametrize("content", [None, b"", b"x" * (64 * 1024 + 1)])
def test_secret_that_is_none_is_refused(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "secret"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InvalidValue, match="signature_secret_file"):
        with_rules(RULES, WebSettings(signature_secret_file=file))


def test_applications_pages_have_an_origin_of_their_own_where_callers_prove_who_they_are() -> None:
    assert with_rules(RULES, WebSettings()).proxy.proxied is None
    kerberos = WebSettings(authentication="kerberos")
    assert with_rules(RULES, kerberos).proxy.proxied == ProxiedOrigin(port=8089)
    assert with_rules(RULES, WebSettings(authentication="kerberos", proxied_origin="shared")).proxy.proxied is None
    named = WebSettings(proxied_origin="own", proxied_port=8088, proxied_address="pages.example:443")
    assert with_rules(RULES, named).proxy.proxied == ProxiedOrigin(port=8088, address="pages.example:443")


@pytest.mark.parametrize("address", ["", "rm:9000", "localhost"])
def test_origin_that_is_the_resource_managers_own_is_refused(address: str) -> None:
    web = WebSettings(proxied_origin="own", proxied_port=8088, proxied_address=address)
    with pytest.raises(InvalidValue, match="a host name of its own"):
        with_rules(RULES, web)
