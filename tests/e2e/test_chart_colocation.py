"""What helm makes of ``colocation.enabled``: a Job before an uninstall that administers with a token of its own, and a
ResourceManager that lets it in.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tests.e2e.chart import Object, one, rendered

TOKEN_FILE = "/etc/yodel/administration/admin-token"
CLIENTS = {"networkPolicy": {"clients": [{"podSelector": {}}], "nodeCidrs": ["10.0.0.0/8"]}}


def mounted(pod: Object) -> dict[str, str]:
    """Secrets by where they are mounted."""
    secrets = {one["name"]: one["secret"]["secretName"] for one in pod["volumes"] if "secret" in one}
    (container,) = pod["containers"]
    return {one["mountPath"]: secrets[one["name"]] for one in container["volumeMounts"] if one["name"] in secrets}


def enabled(folder: Path, **values: object) -> list[Object]:
    return rendered(folder, {**CLIENTS, "colocation": {"enabled": True, **values}})


def off_job(objects: list[Object]) -> Object:
    (job,) = (found for found in objects if found["metadata"]["name"] == "yodel-colocation-off")
    return job


@pytest.mark.parametrize("secret", ["", "my-token"])
def test_a_job_before_an_uninstall_has_the_token_that_the_resource_manager_takes(tmp_path: Path, secret: str) -> None:
    objects = enabled(tmp_path, adminTokenSecret=secret, uninstallWaitSeconds=30)
    job = off_job(objects)
    notes = job["metadata"]["annotations"]
    assert (notes["helm.sh/hook"], notes["helm.sh/hook-delete-policy"]) == ("pre-delete", "before-hook-creation")
    pod = job["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["args"][0].startswith("yodel colocation off --now --grace-period 30 --wait 45 ")
    assert container["args"][0].endswith("|| true"), "it never fails an uninstall"
    name = secret or "yodel-admin-token"
    assert mounted(pod) == {str(Path(TOKEN_FILE).parent): name}
    variables = {one["name"]: one["value"] for one in container["env"]}
    assert variables["YODEL_TOKEN_FILE"] == TOKEN_FILE
    assert variables["YODEL_SERVER"].endswith(":8088")

    manager = one(objects, "Deployment", "yodel-rm")["template"]["spec"]
    assert mounted(manager)[str(Path(TOKEN_FILE).parent)] == name
    assert tomllib.loads(one(objects, "ConfigMap", "yodel-rm")["rm.toml"])["web"]["admin_token_file"] == TOKEN_FILE
    made = {found["metadata"]["name"] for found in objects if found["kind"] == "Secret"}
    assert ("yodel-admin-token" in made) == (not secret)
    labels = job["spec"]["template"]["metadata"]["labels"]
    rules = one(objects, "NetworkPolicy", "yodel-rm")["ingress"]
    assert [rule["ports"] for rule in rules if {"podSelector": {"matchLabels": labels}} in rule.get("from", [])] == [
        [{"port": 8088, "protocol": "TCP"}]
    ]


def test_what_still_runs_on_lent_capacity_is_left_alone_where_it_is_said_so(tmp_path: Path) -> None:
    job = off_job(enabled(tmp_path, uninstallNow=False))
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert container["args"][0].startswith("yodel colocation off --wait 60 --reason ")


def test_without_colocation_there_is_no_job_and_no_token(tmp_path: Path) -> None:
    objects = rendered(tmp_path, CLIENTS)
    assert not [found for found in objects if "colocation-off" in found["metadata"]["name"]]
    assert not [found for found in objects if "admin-token" in found["metadata"]["name"]]
    assert "admin_token_file" not in one(objects, "ConfigMap", "yodel-rm")["rm.toml"]
