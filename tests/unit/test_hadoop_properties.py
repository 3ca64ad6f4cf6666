"""Settings under Hadoop's names."""

from __future__ import annotations

from pathlib import Path

from yodel.settings.hadoop_properties import properties
from yodel.settings.rm import Settings
from yodel.settings.security import SecuritySettings
from yodel.settings.web import WebSettings


def settings(**changes: object) -> Settings:
    fields: dict[str, object] = {"store_url": "sqlite:///a-secret-path.db", "host": "rm.example"}
    return Settings.model_validate({**fields, **changes})


def test_addresses_and_amounts() -> None:
    shown = properties(settings(client_port=18032, maximum_allocation_mib=4096))
    assert shown["yarn.resourcemanager.hostname"] == "rm.example"
    assert shown["yarn.resourcemanager.address"] == "rm.example:18032"
    assert shown["yarn.resourcemanager.webapp.address"] == "rm.example:8088"
    assert shown["yarn.scheduler.maximum-allocation-mb"] == "4096"
    assert shown["yarn.am.liveness-monitor.expiry-interval-ms"] == "600000"
    assert properties(settings(host="::1"))["yarn.resourcemanager.address"] == "[::1]:8032"


def test_flags_and_lists() -> None:
    shown = properties(settings(acl_enable=True, web=WebSettings(csrf_methods_to_ignore=("GET", "HEAD"))))
    assert (shown["yarn.acl.enable"], shown["yarn.log-aggregation-enable"]) == ("true", "false")
    assert shown["yarn.resourcemanager.webapp.rest-csrf.methods-to-ignore"] == "GET,HEAD"
    assert shown["hadoop.http.authentication.type"] == "simple"


def test_browsers_that_foreign_pages_are_kept_from() -> None:
    name = "yarn.resourcemanager.webapp.rest-csrf.browser-useragents-regex"
    assert properties(settings())[name] == "^Mozilla.*,^Opera.*"
    assert properties(settings(web=WebSettings(csrf_browsers=("^Lynx.*",))))[name] == "^Lynx.*"


def test_filters_are_those_in_force() -> None:
    name = "hadoop.http.filter.initializers"
    always = (
        "org.apache.hadoop.yarn.server.security.http.RMAuthenticationFilterInitializer,"
        "org.apache.hadoop.http.lib.StaticUserWebFilter"
    )
    closed, opened = properties(settings()), properties(settings(web=WebSettings(cross_origin_enabled=True)))
    assert (closed[name], closed["hadoop.http.cross-origin.enabled"]) == (always, "false")
    assert opened[name] == f"org.apache.hadoop.security.HttpCrossOriginFilterInitializer,{always}"
    assert opened["hadoop.http.cross-origin.enabled"] == "true"


def test_kerberos_on_the_web_is_no_kerberos_on_other_ports() -> None:
    shown = properties(settings(web=WebSettings(authentication="kerberos")))
    assert shown["hadoop.http.authentication.type"] == "kerberos"
    assert shown["hadoop.security.authentication"] == "simple"


def test_kerberos_is_shown_as_clients_have_to_set_it() -> None:
    security = SecuritySettings(authentication="kerberos", principal="rm/_HOST@EXAMPLE.COM", auth_to_local="DEFAULT/L")
    shown = properties(settings(security=security))
    assert shown["hadoop.security.authentication"] == "kerberos"
    assert shown["hadoop.security.auth_to_local"] == "DEFAULT/L"
    assert shown["hadoop.rpc.protection"] == "authentication"
    assert shown["yarn.resourcemanager.principal"] == "rm/_HOST@EXAMPLE.COM"


def test_what_is_not_set_is_left_out() -> None:
    assert "yarn.resourcemanager.nodes.include-path" not in properties(settings())
    listed = properties(settings(nodes_include_path=Path("/etc/hosts.include")))
    assert listed["yarn.resourcemanager.nodes.include-path"] == "/etc/hosts.include"


def test_nothing_else_is_shown() -> None:
    shown = properties(settings(proxy_users={"hadoop.proxyuser.knox.hosts": "*"}))
    assert shown["hadoop.proxyuser.knox.hosts"] == "*"
    assert list(shown) == sorted(shown)
    assert all(name.startswith(("yarn.", "hadoop.", "fs.")) for name in shown)
    assert not any("secret" in text for text in (*shown, *shown.values()))
