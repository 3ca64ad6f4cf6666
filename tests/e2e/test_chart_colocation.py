"""Helm renders ``colocation.enabled``: pods that give way to services, a Job before an uninstall that administers with
a token of its own, and a ResourceManager that lets it in."""

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


@pytest.mark.parametrize("dialect", ["native", "koordinator", "katalyst", "volcano", "offline"])
@pytest.mark.parametrize("enabled", [True, False])
def test_lending_gives_pods_classes_below_services_whatever_the_dialect(
    tmp_path: Path, dialect: str, enabled: bool
) -> None:
    """Otherwise a dialect's own class stays: the engine that made it is there.  What the operator says wins."""
    offline = {"cpu_resource": "example.com/cpu", "memory_resource": "example.com/memory"}
    classes = {"priority_class_am": "yodel-am", "priority_class_task": "yodel-task"}
    values: dict[str, object] = {"containers": {"dialect": dialect}, "colocation": {"enabled": enabled}}
    own = {"resourceManager": {"settings": {"dialects": {"offline": offline}}}}
    assert defaults(tmp_path, {**values, **own}) == (
        classes if enabled or dialect in ("native", "katalyst", "volcano") else {}
    )
    assert defaults(tmp_path, {**values, **own, "priorityClasses": {"use": False}}) == {}
    said = {"queue_defaults": {"priority_class_task": "theirs"}, "dialects": {"offline": offline}}
    found = defaults(tmp_path, {**values, "resourceManager": {"settings": said}})
    assert found["priority_class_task"] == "theirs"


def defaults(folder: Path, values: dict[str, object]) -> dict[str, str]:
    """The PriorityClasses of pods whose queue says nothing of them."""
    settings = tomllib.loads(one(rendered(folder, {**CLIENTS, **values}), "ConfigMap", "yodel-rm")["rm.toml"])
    found = settings.get("queue_defaults", {})
    return {name: found[name] for name in ("priority_class_am", "priority_class_task") if name in found}
