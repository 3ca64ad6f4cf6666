"""The values that the chart is installed with on the rig, before helm has seen them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

import yodel.settings.rm
from tests.rigs.kubernetes.images import Image, RigImages
from tests.rigs.kubernetes.layout import SERVICE_NETWORK, node_address
from tests.rigs.kubernetes.release_values import Account, Target, values
from tests.unit.test_deploy_chart import SCHEMA, mistakes
from yodel.translator.client_config import FILES
from yodel.translator.dialects import DIALECTS

ALICE = Account(name="yodel-alice", uid=2001, gid=2002)
FOLDER = Path("/var/lib/yodel-rig/yodel")


def image(name: str) -> Image:
    return Image(name=f"localhost/yodel/{name}:0123456789ab", archive=Path("x.tar"), digest="sha256:0")


IMAGES = RigImages(
    pause=image("pause"),
    environment=image("environment"),
    resource_manager=image("rm"),
    node_agent=image("node-agent"),
    hadoop_runtime=image("hadoop-runtime"),
    postgres=image("postgres"),
)


def target(**changed: Any) -> Target:
    known: dict[str, Any] = {
        "kubeconfig": Path("admin.conf"),
        "helm": Path("helm"),
        "folder": FOLDER,
        "images": IMAGES,
        "address": node_address(1),
        "default_fs": "hdfs://10.89.0.1:8020",
    }
    return Target(**known | changed)


@pytest.fixture
def rig() -> dict[str, Any]:
    return values(target(properties=["mapred-site.xml:mapreduce.jobhistory.address=10.89.0.1:10020"]), [ALICE])


def test_the_chart_takes_them(rig: dict[str, Any]) -> None:
    assert mistakes(rig, SCHEMA) == []


def test_images_are_the_rigs(rig: dict[str, Any]) -> None:
    assert rig["images"]["resourceManager"] == {"repository": "localhost/yodel/rm", "tag": "0123456789ab"}
    assert rig["images"]["nodeAgent"]["repository"] == "localhost/yodel/node-agent"
    assert rig["images"]["postgres"]["repository"] == "localhost/yodel/postgres"
    assert rig["containers"]["image"] == "localhost/yodel/hadoop-runtime:0123456789ab"


def test_users_have_the_machines_ids(rig: dict[str, Any]) -> None:
    assert rig["users"]["accounts"] == [{"name": "yodel-alice", "uid": 2001, "gid": 2002}]


def test_every_node_has_folders_of_its_own_below_the_mounted_ones(rig: dict[str, Any]) -> None:
    said = {variable["name"]: variable["value"] for variable in rig["nodeAgent"]["env"]}
    node = "$(YODEL_NM_KUBERNETES_NODE_NAME)"
    paths = rig["hostPaths"]
    assert json.loads(said["YODEL_NM_LOCAL_DIRS"]) == [f"{paths['local'][0]}/{node}"]
    assert json.loads(said["YODEL_NM_LOG_DIRS"]) == [f"{paths['logs'][0]}/{node}"]
    assert said["YODEL_NM_STATE_DIR"] == f"{paths['state']}/{node}"
    folders = [*paths["local"], *paths["logs"], paths["handover"], paths["state"], paths["hadoopConf"]]
    assert len(set(folders)) == 5
    assert all(Path(path).is_relative_to(FOLDER) for path in folders)


def test_nothing_has_to_be_resolved(rig: dict[str, Any]) -> None:
    prefix = SERVICE_NETWORK.removesuffix(".0/16")
    assert rig["service"]["clusterIP"].startswith(prefix)
    assert rig["nodeAgent"]["resourceManagerHost"] == rig["service"]["clusterIP"]
    assert rig["resourceManager"]["publicHost"] == "10.89.0.11"
    before = Path(__file__).resolve().parents[2] / "rigs" / "kubernetes" / "before.yaml"
    service = next(one for one in yaml.safe_load_all(before.read_text()) if one["kind"] == "Service")
    assert service["spec"]["clusterIP"].startswith(prefix)
    assert service["spec"]["clusterIP"] != rig["service"]["clusterIP"]


def test_properties_are_added_to_the_rigs_own(rig: dict[str, Any]) -> None:
    properties = rig["hadoop"]["properties"]
    assert properties[-1] == "mapred-site.xml:mapreduce.jobhistory.address=10.89.0.1:10020"
    assert "core-site.xml:dfs.replication=1" in properties
    assert all(text.partition(":")[0] in FILES for text in properties)


def test_logs_are_aggregated_only_where_nodes_share_a_file_system(rig: dict[str, Any]) -> None:
    assert rig["hadoop"]["remoteAppLogDir"] == "hdfs://10.89.0.1:8020/tmp/logs"
    alone = values(target(default_fs="file:///"), [ALICE])["hadoop"]
    assert "remoteAppLogDir" not in alone
    assert alone["defaultFs"] == "file:///"


def test_settings_and_queues_are_ones_there_are(rig: dict[str, Any]) -> None:
    said = rig["resourceManager"]["settings"]
    settings = yodel.settings.rm.Settings(**said)
    assert set(settings.queue_settings) <= {f"root.{name}" for name in settings.queues}
    dialects = {queue.dialect for queue in settings.queue_settings.values()} - {None}
    assert dialects <= set(DIALECTS)
    assert {"native", "katalyst", "volcano"} <= dialects
    assert any(queue.placement == "bind" for queue in settings.queue_settings.values())


def test_a_cluster_of_ones_own_is_told_nothing_but_users(tmp_path: Path) -> None:
    own = tmp_path / "values.yaml"
    own.write_text("containers: {image: registry.example/hadoop:1}\ndatabase: {url: postgresql+asyncpg://x}\n")
    assert values(target(images=None, own_values=own), [ALICE]) == {
        "containers": {"image": "registry.example/hadoop:1"},
        "database": {"url": "postgresql+asyncpg://x"},
        "users": {"accounts": [{"name": "yodel-alice", "uid": 2001, "gid": 2002}]},
    }


def test_a_file_of_ones_own_may_name_other_users(tmp_path: Path) -> None:
    own = tmp_path / "values.yaml"
    own.write_text("users: {accounts: [], existingConfigMap: people}\n")
    assert values(target(own_values=own), [ALICE])["users"] == {"accounts": [], "existingConfigMap": "people"}
