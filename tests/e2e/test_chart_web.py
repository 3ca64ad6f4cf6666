"""Helm renders the values for pages: the port of applications' pages is open where it is used, and only there."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

import yodel.settings.rm
from tests.e2e.chart import Object, one, rendered

KERBEROS = {"resourceManager": {"settings": {"web": {"authentication": "kerberos"}}}}
BY_SETTING = {"resourceManager": {"settings": {"web": {"proxied_origin": "own", "proxied_port": 9000}}}}


def beside_the_web_port(objects: list[Object]) -> list[set[int]]:
    """Return what is open beside 8088, in each place where that is open to those who read pages."""
    rules = one(objects, "NetworkPolicy", "yodel-rm")["ingress"]
    listed = [{port["port"] for port in rule["ports"]} for rule in rules]
    (rm,) = one(objects, "Deployment", "yodel-rm")["template"]["spec"]["containers"]
    listed.append({port["containerPort"] for port in rm["ports"]})
    listed.append({port["hostPort"] for port in rm["ports"] if "hostPort" in port})
    listed += [{port["port"] for port in o["spec"]["ports"]} for o in objects if o["kind"] == "Service"]
    known = {8030, 8031, 8032, 8033, 8087, 8088}
    return [ports - known for ports in listed if {8088, 8032} <= ports]


@pytest.mark.parametrize("outside", ["none", "NodePort", "LoadBalancer", "HostPort"])
@pytest.mark.parametrize(
    ("values", "port"),
    [
        ({}, None),
        ({"web": {"proxiedOrigin": "own"}}, 8089),
        ({"web": {"proxiedOrigin": "own"}, "service": {"ports": {"proxied": 8088}}}, None),
        ({"web": {"proxiedOrigin": "shared"}, **KERBEROS}, None),
        (KERBEROS, 8089),
        (BY_SETTING, 9000),
    ],
)
def test_port_of_applications_pages_is_open_where_it_is_used(
    tmp_path: Path, values: dict[str, Any], port: int | None, outside: str
) -> None:
    given = {**values, "external": {"type": outside}, "networkPolicy": {"clients": [{"podSelector": {}}]}}
    given["networkPolicy"]["nodeCidrs"] = ["10.0.0.0/8"]
    objects = rendered(tmp_path, given)
    found = beside_the_web_port(objects)
    assert found == [set() if port is None else {port}] * (4 if outside == "none" else 5)
    if port is not None:
        assert tomllib.loads(one(objects, "ConfigMap", "yodel-rm")["rm.toml"])["web"]["proxied_port"] == port


def test_names_reach_the_settings(tmp_path: Path) -> None:
    web = {"hostNames": ["rm.example"], "proxiedAddress": "pages.example", "proxiedOrigin": "own"}
    data = one(rendered(tmp_path, {"web": web}), "ConfigMap", "yodel-rm")
    (tmp_path / "rm.toml").write_text(data["rm.toml"])
    settings = yodel.settings.rm.load(tmp_path / "rm.toml").web
    assert (settings.host_names, settings.proxied_address) == (("rm.example",), "pages.example")
    assert (settings.proxied_origin, settings.proxied_port) == ("own", 8089)
