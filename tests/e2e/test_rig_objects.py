"""Helm renders the rig's values: objects that fit what the rig puts beside them."""

from __future__ import annotations

import json
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import nm_plugin.settings
import yodel.settings.rm
from tests.rigs.kubernetes.cluster import binaries
from tests.rigs.kubernetes.images import build_images
from tests.rigs.kubernetes.install import BEFORE, CHART, NAMESPACE, RELEASE
from tests.rigs.kubernetes.layout import HOST_ADDRESS, node_address
from tests.rigs.kubernetes.release_values import Account, Target, values

HELM_TIMEOUT_S = 60
CONTAINERS = "yodel-containers"
Object = dict[str, Any]


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Target:
    return Target(
        kubeconfig=Path("unused"),
        helm=binaries("helm") / "helm",
        folder=tmp_path_factory.mktemp("nodes"),
        images=build_images(),
        address=node_address(1),
        default_fs=f"hdfs://{HOST_ADDRESS}:8020",
    )


@pytest.fixture(scope="module")
def objects(target: Target) -> list[Object]:
    file = target.folder / "values.yaml"
    file.write_text(json.dumps(values(target, [Account(name="yodel-alice", uid=2001, gid=2001)])))
    options = [RELEASE, str(CHART), "--namespace", NAMESPACE, "--values", str(file)]
    subprocess.run([target.helm, "lint", str(CHART), "--values", str(file)], check=True, timeout=HELM_TIMEOUT_S)
    done = subprocess.run(
        [target.helm, "template", *options], check=True, timeout=HELM_TIMEOUT_S, stdout=subprocess.PIPE, text=True
    )
    return [found for found in yaml.safe_load_all(done.stdout) if found]


def one(objects: list[Object], kind: str, ending: str = "") -> Object:
    (found,) = (o for o in objects if o["kind"] == kind and o["metadata"]["name"].endswith(ending))
    return found


def before(kind: str) -> Object:
    return next(found for found in yaml.safe_load_all(BEFORE.read_text()) if found["kind"] == kind)


def pods(objects: list[Object]) -> Iterator[tuple[Object, Object]]:
    for found in objects:
        if "template" in found.get("spec", {}):
            yield found, found["spec"]["template"]["spec"]


def test_all_images_are_made_here(objects: list[Object], target: Target) -> None:
    assert target.images is not None
    known = {image.name for image in target.images.all}
    for _, pod in pods(objects):
        assert {container["image"] for container in [*pod.get("initContainers", []), *pod["containers"]]} <= known


def test_only_what_needs_its_node_is_outside_the_restricted_namespace(objects: list[Object]) -> None:
    levels = {
        found["metadata"]["name"]: found["metadata"]["labels"]["pod-security.kubernetes.io/enforce"]
        for found in (before("Namespace"), one(objects, "Namespace"))
    }
    assert levels == {NAMESPACE: "restricted", CONTAINERS: "privileged"}
    outside = [w["kind"] for w, _ in pods(objects) if levels[w["metadata"]["namespace"]] != "restricted"]
    assert outside == ["DaemonSet"]


def test_the_resource_manager_takes_its_settings(objects: list[Object], tmp_path: Path) -> None:
    (tmp_path / "rm.toml").write_text(one(objects, "ConfigMap", "-rm")["data"]["rm.toml"])
    settings = yodel.settings.rm.load(tmp_path / "rm.toml")
    assert (settings.host, settings.webapp_port, settings.namespace) == (node_address(1), 30088, CONTAINERS)
    assert settings.log_aggregation_enable


def test_node_agents_keep_apart_what_they_write(objects: list[Object], target: Target) -> None:
    given = tomllib.loads(one(objects, "ConfigMap", "-node-agent")["data"]["nm.toml"])
    (agent,) = one(objects, "DaemonSet")["spec"]["template"]["spec"]["containers"]
    said: dict[str, Any] = {}
    for name in ("node1", "node2"):
        variables = {v["name"]: v["value"] for v in agent["env"] if "value" in v}
        said[name] = {key: text.replace("$(YODEL_NM_KUBERNETES_NODE_NAME)", name) for key, text in variables.items()}
    # Each node has its own root below them.
    shared = {"YODEL_NM_CGROUP_MOUNT", "YODEL_NM_CGROUP_WRITABLE"}
    assert {key for key in said["node1"] if said["node1"][key] == said["node2"][key]} == shared
    names = [variable["name"] for variable in agent["env"]]
    assert names.index("YODEL_NM_KUBERNETES_NODE_NAME") < names.index("YODEL_NM_LOCAL_DIRS")
    settings = nm_plugin.settings.Settings(
        **{
            **given,
            "user_mode": "single",
            "local_dirs": json.loads(said["node1"]["YODEL_NM_LOCAL_DIRS"]),
            "log_dirs": json.loads(said["node1"]["YODEL_NM_LOG_DIRS"]),
            "state_dir": said["node1"]["YODEL_NM_STATE_DIR"],
        }
    )
    for path in (*settings.local_dirs, *settings.log_dirs, settings.state_dir, settings.handover_dir):
        assert Path(path).is_relative_to(target.folder)


def test_nobody_has_to_resolve_a_name(objects: list[Object]) -> None:
    address = next(o for o in objects if o["kind"] == "Service" and o["metadata"]["name"] == RELEASE)["spec"][
        "clusterIP"
    ]
    given = tomllib.loads(one(objects, "ConfigMap", "-node-agent")["data"]["nm.toml"])
    assert given["resource_tracker_host"] == address
    (conf,) = one(objects, "DaemonSet")["spec"]["template"]["spec"]["initContainers"]
    assert f"--host={address}" in conf["args"]
    assert not any(".svc" in argument for argument in conf["args"])


def test_the_database_is_at_the_address_that_was_made_for_it(objects: list[Object]) -> None:
    workload = one(objects, "StatefulSet")
    template = workload["spec"]["template"]
    service, volume = before("Service"), before("PersistentVolume")
    assert service["spec"]["selector"].items() <= template["metadata"]["labels"].items()
    (container,) = template["spec"]["containers"]
    assert service["spec"]["ports"][0]["targetPort"] in [port["name"] for port in container["ports"]]
    (claim,) = workload["spec"]["volumeClaimTemplates"]
    assert volume["spec"]["storageClassName"] == claim["spec"]["storageClassName"]
    name = f"{claim['metadata']['name']}-{workload['metadata']['name']}-0"
    assert volume["spec"]["claimRef"] == {"namespace": NAMESPACE, "name": name}


def test_clients_outside_find_every_port(objects: list[Object]) -> None:
    spec = one(objects, "Service", "-external")["spec"]
    ports = {port["name"]: port["nodePort"] for port in spec["ports"]}
    assert (spec["type"], ports) == (
        "NodePort",
        {"client": 30032, "scheduler": 30030, "webapp": 30088, "admin": 30033},
    )
