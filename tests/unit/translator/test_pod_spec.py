from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.support.records import a_container
from yodel.domain.container import Placement
from yodel.domain.resource import Resource
from yodel.domain.states import ContainerType
from yodel.translator.dialects import dialect
from yodel.translator.label_selectors import parse_labels
from yodel.translator.parked_script import SCRIPT
from yodel.translator.placement import StableNodes
from yodel.translator.pod_spec import PodSettings, PosixIdentity, group, manifest

NAME = "application-1700000000000-0001-01-000002"
SETTINGS = PodSettings(
    cluster="prod",
    namespace="jobs",
    image="registry/base:1",
    dialect=dialect("native"),
    handover_dir="/run/yodel",
    host_paths=("/data/local", "/data/logs"),
)
IDENTITY = PosixIdentity(uid=2001, gid=2002, groups=(2003,))


def a_manifest(settings: PodSettings = SETTINGS, identity: PosixIdentity | None = IDENTITY, **changes: Any) -> Any:
    return manifest(a_container(**changes), settings, identity, "pi", "SPARK")


def golden(amounts: dict[str, str]) -> dict[str, Any]:
    """Return the pod that a task of 2048 MiB and 2 vcores becomes, whatever the dialect."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": NAME,
            "namespace": "jobs",
            "labels": {
                "app.kubernetes.io/managed-by": "yodel",
                "yodel.io/cluster": "prod",
                "yodel.io/application": "application_1700000000000_0001",
                "yodel.io/attempt-id": "appattempt_1700000000000_0001_000001",
                "yodel.io/container-id": "container_1700000000000_0001_01_000002",
                "yodel.io/role": "task",
                "yodel.io/user": "alice",
                "yodel.io/queue": "root.default",
            },
            "annotations": {
                "yodel.io/user": "alice",
                "yodel.io/queue": "root.default",
                "yodel.io/capability": "<memory:2048, vCores:2>",
                "yodel.io/priority": "1",
                "yodel.io/application-name": "pi",
                "yodel.io/application-type": "SPARK",
            },
        },
        "spec": {
            "restartPolicy": "Never",
            "schedulerName": "default-scheduler",
            "terminationGracePeriodSeconds": 5,
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "hostNetwork": True,
            "dnsPolicy": "ClusterFirstWithHostNet",
            "securityContext": {
                "seccompProfile": {"type": "RuntimeDefault"},
                "runAsNonRoot": True,
                "runAsUser": 2001,
                "runAsGroup": 2002,
                "supplementalGroups": [2003],
            },
            "containers": [
                {
                    "name": "main",
                    "image": "registry/base:1",
                    "imagePullPolicy": "IfNotPresent",
                    "command": ["/bin/sh", "-c", SCRIPT],
                    "env": [
                        {"name": "YODEL_HANDOVER_DIR", "value": f"/run/yodel/{NAME}"},
                        {"name": "YODEL_CONTAINER_ID", "value": "container_1700000000000_0001_01_000002"},
                        {"name": "YODEL_IMAGE", "value": "registry/base:1"},
                    ],
                    "resources": {"requests": amounts, "limits": amounts},
                    "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
                    "volumeMounts": [
                        {"name": "yodel-handover", "mountPath": f"/run/yodel/{NAME}"},
                        {"name": "host-0", "mountPath": "/data/local"},
                        {"name": "host-1", "mountPath": "/data/logs"},
                    ],
                }
            ],
            "volumes": [
                {
                    "name": "yodel-handover",
                    "hostPath": {"path": f"/run/yodel/{NAME}", "type": "DirectoryOrCreate"},
                },
                {"name": "host-0", "hostPath": {"path": "/data/local", "type": "Directory"}},
                {"name": "host-1", "hostPath": {"path": "/data/logs", "type": "Directory"}},
            ],
        },
    }


def test_golden_manifest_of_the_native_dialect() -> None:
    assert a_manifest() == golden({"cpu": "2000m", "memory": "2048Mi"})


def test_golden_manifest_of_the_koordinator_dialect() -> None:
    wanted = golden({"kubernetes.io/batch-cpu": "2000", "kubernetes.io/batch-memory": "2147483648"})
    wanted["metadata"]["labels"]["koordinator.sh/qosClass"] = "BE"
    wanted["spec"]["priorityClassName"] = "koord-batch"

    assert a_manifest(replace(SETTINGS, dialect=dialect("koordinator"))) == wanted


def test_golden_manifest_of_the_katalyst_dialect() -> None:
    prefix = "resource.katalyst.kubewharf.io/reclaimed"
    wanted = golden({f"{prefix}_millicpu": "2000", f"{prefix}_memory": "2147483648"})
    wanted["metadata"]["annotations"]["katalyst.kubewharf.io/qos_level"] = "reclaimed_cores"

    assert a_manifest(replace(SETTINGS, dialect=dialect("katalyst"))) == wanted


def test_golden_manifest_of_the_volcano_dialect() -> None:
    wanted = golden({"kubernetes.io/batch-cpu": "2000", "kubernetes.io/batch-memory": "2147483648"})
    wanted["metadata"]["annotations"]["volcano.sh/qos-level"] = "BE"

    assert a_manifest(replace(SETTINGS, dialect=dialect("volcano"))) == wanted


def test_every_pod_of_a_queue_with_groups_names_its_applications() -> None:
    group = "application-1700000000000-0001"
    by_label = replace(SETTINGS, dialect=dialect("koordinator"), gang=True)
    by_annotation = replace(SETTINGS, dialect=dialect("volcano"), gang=True)
    for type_ in (ContainerType.TASK, ContainerType.APPLICATION_MASTER):
        labels = a_manifest(by_label, type=type_)["metadata"]["labels"]
        assert labels["pod-group.scheduling.sigs.k8s.io"] == group
        annotations = a_manifest(by_annotation, type=type_)["metadata"]["annotations"]
        assert annotations["scheduling.k8s.io/group-name"] == group


def test_group_that_waits_for_several_leaves_the_application_master_out() -> None:
    settings = replace(SETTINGS, dialect=dialect("volcano"), gang=True, gang_min_member=3)
    am = a_manifest(settings, type=ContainerType.APPLICATION_MASTER)
    assert "scheduling.k8s.io/group-name" not in am["metadata"]["annotations"]
    assert "scheduling.k8s.io/group-name" in a_manifest(settings)["metadata"]["annotations"]


def test_group_that_has_to_be_there_is_the_one_that_the_pod_names() -> None:
    settings = replace(SETTINGS, dialect=dialect("volcano"), gang=True, gang_spec={"queue": "q"})
    found = group(a_container(), settings)
    assert found is not None
    assert found.manifest["metadata"]["name"] == found.name
    assert found.manifest["spec"] == {"queue": "q", "minMember": 1}
    assert a_manifest(settings)["metadata"]["annotations"]["scheduling.k8s.io/group-name"] == found.name


@pytest.mark.parametrize(
    "settings",
    [SETTINGS, replace(SETTINGS, gang=True), replace(SETTINGS, dialect=dialect("volcano"))],
    ids=["neither", "no kind", "not wanted"],
)
def test_no_group_is_needed_where_none_is_wanted_or_known(settings: PodSettings) -> None:
    assert group(a_container(), settings) is None


def test_pull_secrets_and_image_are_as_told() -> None:
    settings = replace(SETTINGS, image_pull_secrets=("regcred",))
    found = manifest(a_container(), settings, IDENTITY, "pi", "SPARK", image="registry/other:2")
    assert found["spec"]["imagePullSecrets"] == [{"name": "regcred"}]
    assert found["spec"]["containers"][0]["image"] == "registry/other:2"


def test_read_only_root_comes_with_an_empty_tmp() -> None:
    settings = replace(SETTINGS, read_only_root=True, ephemeral_storage_limit_mib=512)
    spec = a_manifest(settings)["spec"]
    (main,) = spec["containers"]
    assert main["securityContext"]["readOnlyRootFilesystem"] is True
    assert {"name": "yodel-tmp", "mountPath": "/tmp"} in main["volumeMounts"]
    assert {"name": "yodel-tmp", "emptyDir": {"sizeLimit": "512Mi"}} in spec["volumes"]


def test_tmp_of_the_template_is_used_instead() -> None:
    template = {
        "spec": {
            "volumes": [{"name": "fast", "emptyDir": {"medium": "Memory"}}],
            "containers": [{"name": "main", "volumeMounts": [{"name": "fast", "mountPath": "/tmp"}]}],
        }
    }
    spec = a_manifest(replace(SETTINGS, read_only_root=True, template=template))["spec"]
    assert [m["name"] for m in spec["containers"][0]["volumeMounts"] if m["mountPath"] == "/tmp"] == ["fast"]
    assert "yodel-tmp" not in [volume["name"] for volume in spec["volumes"]]


def test_ephemeral_storage_stands_beside_the_dialects_resources() -> None:
    settings = replace(
        SETTINGS,
        dialect=dialect("koordinator"),
        ephemeral_storage_request_mib=100,
        ephemeral_storage_limit_mib=200,
    )
    resources = a_manifest(settings)["spec"]["containers"][0]["resources"]
    assert resources["requests"]["ephemeral-storage"] == "100Mi"
    assert resources["limits"]["ephemeral-storage"] == "200Mi"
    assert {"cpu", "memory"} & {*resources["requests"], *resources["limits"]} == set()


def test_only_a_user_with_uid_0_runs_as_root() -> None:
    assert a_manifest()["spec"]["securityContext"]["runAsNonRoot"] is True
    root = a_manifest(identity=PosixIdentity(uid=0, gid=0))
    assert root["spec"]["securityContext"]["runAsNonRoot"] is False


def test_template_adds_and_does_not_replace() -> None:
    template = {
        "metadata": {"labels": {"team": "data"}},
        "spec": {
            "tolerations": [{"key": "batch", "operator": "Exists"}],
            "containers": [{"name": "main", "env": [{"name": "TZ", "value": "UTC"}]}],
        },
    }
    found = a_manifest(replace(SETTINGS, template=template))
    wanted = golden({"cpu": "2000m", "memory": "2048Mi"})
    wanted["metadata"]["labels"]["team"] = "data"
    wanted["spec"]["tolerations"] = [{"key": "batch", "operator": "Exists"}]
    wanted["spec"]["containers"][0]["env"].insert(0, {"name": "TZ", "value": "UTC"})
    assert found == wanted


def test_same_row_makes_the_same_bytes() -> None:
    assert json.dumps(a_manifest()) == json.dumps(a_manifest())


def test_am_and_tasks_may_have_priority_classes_of_their_own() -> None:
    settings = replace(
        SETTINGS, dialect=dialect("koordinator"), priority_class_am="am-class", priority_class_task="task-class"
    )
    assert a_manifest(settings)["spec"]["priorityClassName"] == "task-class"
    am = a_manifest(settings, type=ContainerType.APPLICATION_MASTER)
    assert am["spec"]["priorityClassName"] == "am-class"
    assert am["metadata"]["labels"]["yodel.io/role"] == "am"


def test_without_an_identity_the_pod_runs_as_its_image_says() -> None:
    assert a_manifest(identity=None)["spec"]["securityContext"] == {"seccompProfile": {"type": "RuntimeDefault"}}


def test_without_the_hosts_network_dns_is_the_clusters() -> None:
    spec = a_manifest(replace(SETTINGS, host_network=False))["spec"]
    assert (spec["hostNetwork"], spec["dnsPolicy"]) == (False, "ClusterFirst")


AM = ContainerType.APPLICATION_MASTER
NOT_SPOT = StableNodes(requirements=parse_labels("pool in (services,base), !spot"))
EXPRESSIONS = [
    {"key": "pool", "operator": "In", "values": ["base", "services"]},
    {"key": "spot", "operator": "DoesNotExist"},
]


def test_master_prefers_stable_nodes_and_tasks_do_not() -> None:
    settings = replace(SETTINGS, stable_nodes=NOT_SPOT)
    preferred = [{"weight": 50, "preference": {"matchExpressions": EXPRESSIONS}}]
    node = {"preferredDuringSchedulingIgnoredDuringExecution": preferred}
    assert a_manifest(settings, type=AM)["spec"]["affinity"] == {"nodeAffinity": node}
    assert a_manifest(settings) == a_manifest()


def test_master_is_on_stable_nodes_alone_where_they_are_required() -> None:
    settings = replace(SETTINGS, stable_nodes=replace(NOT_SPOT, are_required=True))
    key = "requiredDuringSchedulingIgnoredDuringExecution"
    anywhere = a_manifest(settings, type=AM)["spec"]["affinity"]["nodeAffinity"]
    assert anywhere == {key: {"nodeSelectorTerms": [{"matchExpressions": EXPRESSIONS}]}}
    strict = Placement(racks=("/r1", "/r2"), is_strict=True)
    terms = a_manifest(settings, type=AM, placement=strict)["spec"]["affinity"]["nodeAffinity"][key]
    assert [term["matchExpressions"][1:] for term in terms["nodeSelectorTerms"]] == [EXPRESSIONS]


def test_placement_becomes_affinity_and_node_label_a_selector() -> None:
    spec = a_manifest(placement=Placement(hosts=("node-1",), node_label="gpu"))["spec"]
    assert "nodeAffinity" in spec["affinity"]
    assert spec["nodeSelector"] == {"yodel.io/node-label": "gpu"}


@pytest.mark.parametrize("odd", ['"; rm -rf / #', "a b", "../../etc", "$(id)", "x" * 5000, "naïve\n☃"])
def test_users_words_reach_labels_bent_annotations_whole_and_nothing_else(odd: str) -> None:
    plain = a_manifest()
    found = manifest(
        a_container(user=odd, queue=odd, placement=Placement(node_label=odd, avoid=(odd,))),
        SETTINGS,
        IDENTITY,
        odd,
        odd,
    )

    assert found["metadata"]["name"] == NAME
    spec = dict(found["spec"])
    selector, affinity = spec.pop("nodeSelector", {}), spec.pop("affinity")
    assert spec == plain["spec"]
    assert odd not in json.dumps([selector, affinity, found["metadata"]["labels"]], ensure_ascii=False)
    for value in (*selector.values(), *found["metadata"]["labels"].values()):
        assert len(value) <= 63
        assert value.strip("._-") == value
        assert value.isascii()
    assert all(len(value) <= 4096 for value in found["metadata"]["annotations"].values())


def test_further_resources_are_asked_for_by_name() -> None:
    (main,) = a_manifest(capability=Resource(1024, 1, (("example.com/gpu", 2),)))["spec"]["containers"]
    assert main["resources"]["limits"]["example.com/gpu"] == "2"
    assert main["resources"]["limits"] == main["resources"]["requests"]
