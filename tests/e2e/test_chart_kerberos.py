"""Helm renders the values for Kerberos: settings, keytab and krb5.conf reach the ResourceManager and nobody else."""

from __future__ import annotations

from pathlib import Path

import pytest

import yodel.settings.rm
from tests.e2e.chart import one, rendered

KERBEROS = {"keytabSecret": "rm-keytab", "principal": "rm/_HOST@EXAMPLE.COM", "krb5ConfigMap": "krb5"}


def test_keytab_and_configuration_reach_the_resource_manager(tmp_path: Path) -> None:
    objects = rendered(tmp_path, {"kerberos": KERBEROS})
    (tmp_path / "rm.toml").write_text(one(objects, "ConfigMap", "yodel-rm")["rm.toml"])
    settings = yodel.settings.rm.load(tmp_path / "rm.toml")
    assert (settings.security.authentication, settings.web.authentication) == ("kerberos", "kerberos")
    assert settings.security.principal == "rm/_HOST@EXAMPLE.COM"
    assert (settings.host.endswith(".svc"), settings.node_managers) == (True, "refused")
    pod = one(objects, "Deployment", "yodel-rm")["template"]["spec"]
    (rm,) = pod["containers"]
    mounts = {mount["name"]: mount["mountPath"] for mount in rm["volumeMounts"]}
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    assert str(settings.security.keytab) == f"{mounts['keytab']}/rm.keytab"
    assert volumes["keytab"]["secret"]["secretName"] == "rm-keytab"
    variables = {variable["name"]: variable.get("value") for variable in rm["env"]}
    assert variables["KRB5_CONFIG"] == f"{mounts['krb5']}/krb5.conf"
    assert volumes["krb5"]["configMap"]["name"] == "krb5"
    assert variables["KRB5RCACHEDIR"] in mounts.values()
    others = [str(found) for found in objects if found["kind"] != "Deployment"]
    assert not any("rm-keytab" in text for text in others)


def test_nothing_of_it_is_there_without_it(tmp_path: Path) -> None:
    assert "KRB5" not in str(rendered(tmp_path, {}))


@pytest.mark.parametrize("missing", ["principal", "krb5ConfigMap"])
def test_values_that_belong_together_are_named(tmp_path: Path, missing: str) -> None:
    with pytest.raises(AssertionError, match="kerberos: with keytabSecret, expected principal and krb5ConfigMap too"):
        rendered(tmp_path, {"kerberos": {**KERBEROS, missing: ""}})
