"""Helm renders the values for Kerberos: settings, keytab and krb5.conf reach the ResourceManager and nobody else.  The
installed chart serves clients with tickets.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import yodel.settings.rm
from tests.conformance.secured import PROPERTY, blocks_of_page
from tests.conformance.spark_submit import CLI, Result, Submission
from tests.e2e.chart import one, rendered
from tests.e2e.kube_cluster import KubeCluster
from tests.support.hadoop_jars import client_jars
from tests.support.hdfs import configuration_xml
from tests.support.java import java_home
from tests.support.kdc import REALM, Kdc, running_kdc

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


@pytest.fixture(scope="module")
def kdc(cluster: KubeCluster) -> Iterator[Kdc]:
    """Run a KDC on this machine, and the chart's ResourceManager with one of its keytabs, as docs/kerberos.md says."""
    names = ("--namespace", cluster.namespace)
    with running_kdc() as kdc:
        keytab = kdc.keytab(f"rm/{cluster.state.rest_url.removeprefix('http://').partition(':')[0]}")
        kdc.keytab("alice")
        cluster.kubectl("create", "secret", "generic", "rm-keytab", f"--from-file=rm.keytab={keytab}", *names)
        cluster.kubectl("create", "configmap", "krb5", f"--from-file=krb5.conf={kdc.krb5_conf}", *names)
        try:
            principal = f"kerberos.principal=rm/_HOST@{REALM}"
            cluster.upgrade(principal, "kerberos.keytabSecret=rm-keytab", "kerberos.krb5ConfigMap=krb5", is_open=False)
            yield kdc
        finally:
            cluster.upgrade("kerberos.keytabSecret=")
            cluster.kubectl("delete", "secret/rm-keytab", "configmap/krb5", *names)


def node_list(cluster: KubeCluster, kdc: Kdc, folder: Path, ticket: Mapping[str, str]) -> Result:
    """Run ``yarn node -list`` with the configuration of docs/kerberos.md."""
    (folder / "core-site.xml").write_text(configuration_xml(dict(PROPERTY.findall(blocks_of_page("xml")[0]))))
    (folder / "yarn-site.xml").write_text((cluster.hadoop_conf_dir / "yarn-site.xml").read_text())
    java = [f"{java_home()}/bin/java", "-Xmx256m", f"-Djava.security.krb5.conf={kdc.krb5_conf}"]
    patience = "-Dyarn.resourcemanager.connect.max-wait.ms=10000"  # a client that is refused tries again for so long
    command = [*java, "-cp", f"{folder}:{client_jars('3.5')}/*", f"{CLI}NodeCLI", patience, "-list"]
    return Submission(command, {**os.environ, **ticket}).result()


def test_client_with_a_ticket_is_served_by_the_chart_and_one_without_is_refused(
    cluster: KubeCluster, kdc: Kdc, tmp_path: Path
) -> None:
    served = node_list(cluster, kdc, tmp_path, kdc.login("alice", kdc.directory / "alice.keytab"))
    assert (served.returncode, f"Total Nodes:{cluster.state.nodes}" in served.stdout) == (0, True), served.text
    refused = node_list(cluster, kdc, tmp_path, kdc.environment)
    assert refused.returncode != 0
    assert "Client cannot authenticate via:[TOKEN, KERBEROS]" in refused.text
