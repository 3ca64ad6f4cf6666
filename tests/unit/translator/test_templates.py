"""Rules of merging, one test each, and what a template is refused for."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from yodel.errors import InvalidValue
from yodel.translator import templates

RESERVED = ("/run/yodel", "/data/local")


def of_main(**fields: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "main", **fields}]}}


def checked(template: dict[str, Any], taken: tuple[str, ...] = ()) -> None:
    templates.check(template, "pod_template", RESERVED, taken)


# --- merging


def test_a_value_that_we_set_wins_and_one_that_only_the_template_sets_is_kept() -> None:
    theirs = {"spec": {"runtimeClassName": "kata", "hostNetwork": True, "serviceAccountName": "batch"}}
    ours = {"spec": {"hostNetwork": False}}
    assert templates.merge(theirs, ours) == {
        "spec": {"hostNetwork": False, "runtimeClassName": "kata", "serviceAccountName": "batch"}
    }


@pytest.mark.parametrize(
    "path", [("metadata", "labels"), ("metadata", "annotations"), ("spec", "nodeSelector"), ("spec", "securityContext")]
)
def test_tables_are_merged_field_by_field(path: tuple[str, str]) -> None:
    outer, inner = path
    theirs, ours = {outer: {inner: {"a": "theirs", "b": "theirs"}}}, {outer: {inner: {"b": "ours", "c": "ours"}}}
    assert templates.merge(theirs, ours)[outer][inner] == {"a": "theirs", "b": "ours", "c": "ours"}


def test_volumes_are_merged_by_name_ours_last() -> None:
    theirs = {"spec": {"volumes": [{"name": "a", "emptyDir": {}}, {"name": "b", "emptyDir": {}}]}}
    ours = {"spec": {"volumes": [{"name": "b", "hostPath": {"path": "/x"}}]}}
    assert templates.merge(theirs, ours)["spec"]["volumes"] == [
        {"name": "a", "emptyDir": {}},
        {"name": "b", "hostPath": {"path": "/x"}},
    ]


def test_environment_is_merged_by_name_ours_last() -> None:
    theirs = of_main(env=[{"name": "A", "value": "1"}, {"name": "B", "value": "1"}])
    ours = of_main(env=[{"name": "B", "value": "2"}])
    (main,) = templates.merge(theirs, ours)["spec"]["containers"]
    assert main["env"] == [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]


def test_mounts_are_merged_by_path_ours_last() -> None:
    theirs = of_main(volumeMounts=[{"name": "a", "mountPath": "/a"}, {"name": "a", "mountPath": "/b"}])
    ours = of_main(volumeMounts=[{"name": "z", "mountPath": "/b"}])
    (main,) = templates.merge(theirs, ours)["spec"]["containers"]
    assert main["volumeMounts"] == [{"name": "a", "mountPath": "/a"}, {"name": "z", "mountPath": "/b"}]


def test_container_that_is_not_ours_does_not_come_in() -> None:
    theirs = {"spec": {"containers": [{"name": "sidecar", "image": "x"}]}}
    assert templates.merge(theirs, of_main(image="y")) == of_main(image="y")


def test_supplemental_groups_are_the_union() -> None:
    theirs = {"spec": {"securityContext": {"supplementalGroups": [5, 6]}}}
    ours = {"spec": {"securityContext": {"supplementalGroups": [6, 7]}}}
    assert templates.merge(theirs, ours)["spec"]["securityContext"]["supplementalGroups"] == [6, 7, 5]


@pytest.mark.parametrize("name", ["tolerations", "topologySpreadConstraints", "hostAliases"])
def test_other_lists_are_the_templates_followed_by_ours(name: str) -> None:
    theirs, ours = {"spec": {name: [{"key": "a"}]}}, {"spec": {name: [{"key": "b"}]}}
    assert templates.merge(theirs, ours)["spec"][name] == [{"key": "a"}, {"key": "b"}]


def node_affinity(*terms: dict[str, Any], preferred: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    node = {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)},
        "preferredDuringSchedulingIgnoredDuringExecution": list(preferred),
    }
    return {"spec": {"affinity": {"nodeAffinity": node}}}


def test_required_terms_of_nodes_are_combined_each_with_each() -> None:
    theirs = node_affinity({"matchExpressions": ["disk"]}, {"matchExpressions": ["ssd"]})
    ours = node_affinity({"matchExpressions": ["host"], "matchFields": ["open"]})
    merged = templates.merge(theirs, ours)["spec"]["affinity"]["nodeAffinity"]
    assert merged["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"] == [
        {"matchExpressions": ["disk", "host"], "matchFields": ["open"]},
        {"matchExpressions": ["ssd", "host"], "matchFields": ["open"]},
    ]


def test_preferences_and_pod_affinity_are_appended() -> None:
    theirs = node_affinity({"matchExpressions": ["a"]}, preferred=({"weight": 1},))
    theirs["spec"]["affinity"]["podAntiAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": ["x"]}
    ours = node_affinity({"matchExpressions": ["b"]}, preferred=({"weight": 2},))
    ours["spec"]["affinity"]["podAntiAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": ["y"]}
    merged = templates.merge(theirs, ours)["spec"]["affinity"]
    preferred = merged["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    assert preferred == [{"weight": 1}, {"weight": 2}]
    assert merged["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] == ["x", "y"]


def test_merging_changes_neither() -> None:
    theirs, ours = node_affinity({"matchFields": ["a"]}), node_affinity({"matchFields": ["b"]})
    before = copy.deepcopy((theirs, ours))
    templates.merge(theirs, ours)
    assert (theirs, ours) == before


def test_without_a_template_the_pod_is_ours() -> None:
    ours = of_main(image="x")
    assert templates.merge({}, ours) == ours


# --- checking

WHOLE: dict[str, Any] = {
    "metadata": {"labels": {"team": "data"}, "annotations": {"example.com/cost": "7"}},
    "spec": {
        "affinity": {"nodeAffinity": {}},
        "dnsConfig": {"options": []},
        "hostAliases": [{"ip": "10.0.0.1", "hostnames": ["nn"]}],
        "nodeSelector": {"disk": "ssd"},
        "runtimeClassName": "kata",
        "securityContext": {"fsGroup": 1000, "supplementalGroups": [2000]},
        "serviceAccountName": "batch",
        "tolerations": [{"key": "batch", "operator": "Exists"}],
        "topologySpreadConstraints": [{"maxSkew": 1}],
        "volumes": [
            {"name": "conf", "configMap": {"name": "hadoop-conf"}},
            {"name": "data", "hostPath": {"path": "/d"}},
        ],
        "containers": [
            {
                "name": "main",
                "env": [{"name": "TZ", "value": "UTC"}],
                "volumeMounts": [{"name": "conf", "mountPath": "/etc/hadoop"}],
                "securityContext": {"seLinuxOptions": {"level": "s0"}},
            }
        ],
    },
}


def test_all_that_is_allowed_passes() -> None:
    checked(WHOLE)
    checked({})


@pytest.mark.parametrize(
    ("template", "place", "expected"),
    [
        ({"kind": "Pod"}, "pod_template.kind", "one of metadata, spec"),
        ({"metadata": {"name": "x"}}, "pod_template.metadata.name", "one of annotations, labels"),
        ({"metadata": {"labels": {"yodel.io/role": "am"}}}, "labels.yodel.io/role", "neither Yodel nor the dialect"),
        ({"metadata": {"labels": {"tag.yodel.io/zk": ""}}}, "labels.tag.yodel.io/zk", "neither Yodel nor the dialect"),
        (
            {"metadata": {"labels": {"app.kubernetes.io/managed-by": "x"}}},
            "managed-by",
            "neither Yodel nor the dialect",
        ),
        ({"metadata": {"labels": {"koordinator.sh/qosClass": "LS"}}}, "qosClass", "neither Yodel nor the dialect"),
        ({"metadata": {"labels": {"n": 1}}}, "metadata.labels.n", "a text"),
        ({"spec": []}, "pod_template.spec", "a table"),
        ({"spec": {"hostPID": True}}, "spec.hostPID", "one of affinity, containers"),
        ({"spec": {"initContainers": []}}, "spec.initContainers", "one of affinity, containers"),
        ({"spec": {"restartPolicy": "Always"}}, "spec.restartPolicy", "one of affinity, containers"),
        ({"spec": {"automountServiceAccountToken": True}}, "automountServiceAccountToken", "one of affinity"),
        ({"spec": {"hostNetwork": False}}, "spec.hostNetwork", "the queue's setting network"),
        ({"spec": {"schedulerName": "x"}}, "spec.schedulerName", "the queue's setting scheduler_name"),
        ({"spec": {"nodeSelector": {"yodel.io/node-label": "x"}}}, "nodeSelector", "neither Yodel nor the dialect"),
        ({"spec": {"tolerations": {}}}, "spec.tolerations", "a list"),
        ({"spec": {"tolerations": ["x"]}}, "spec.tolerations[0]", "a table"),
        ({"spec": {"securityContext": {"runAsUser": 0}}}, "securityContext.runAsUser", "one of appArmorProfile"),
        ({"spec": {"volumes": [{"name": "yodel-handover"}]}}, "volumes[0].name", "neither 'yodel-' nor 'host-'"),
        ({"spec": {"volumes": [{"name": "host-0"}]}}, "volumes[0].name", "neither 'yodel-' nor 'host-'"),
        (
            {"spec": {"volumes": [{"name": "t", "projected": {"sources": [{"serviceAccountToken": {}}]}}]}},
            "volumes[0].projected.sources[0]",
            "no service account's token",
        ),
        ({"spec": {"containers": [{"name": "side"}]}}, "spec.containers", "one container, 'main'"),
        ({"spec": {"containers": [{"name": "main"}, {"name": "b"}]}}, "spec.containers", "one container"),
        (of_main(command=["x"]), "containers[0].command", "one of env, name"),
        (of_main(image="x"), "containers[0].image", "the queue's setting image"),
        (of_main(resources={}), "containers[0].resources", "the queue's setting dialect"),
        (of_main(securityContext={"privileged": True}), "securityContext.privileged", "one of appArmorProfile"),
        (of_main(securityContext={"capabilities": {}}), "securityContext.capabilities", "one of appArmorProfile"),
        (of_main(env=[{"name": "YODEL_HANDOVER_DIR"}]), "env[0].name", "does not begin with 'YODEL_'"),
        (of_main(volumeMounts=[{"name": "x", "mountPath": "/x"}]), "volumeMounts[0].name", "template's own volumes"),
        (node_affinity(), "nodeSelectorTerms", "at least one term"),
    ],
)
def test_refusal_names_place_and_expectation(template: dict[str, Any], place: str, expected: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        checked(template, taken=("koordinator.sh/qosClass",))
    assert place in caught.value.field
    assert expected in str(caught.value)


@pytest.mark.parametrize("path", ["/", "/run", "/run/yodel", "/run/yodel/x", "/data", "/data/local/y"])
def test_nothing_is_mounted_over_the_hand_over(path: str) -> None:
    template = of_main(volumeMounts=[{"name": "v", "mountPath": path}])
    template["spec"]["volumes"] = [{"name": "v", "emptyDir": {}}]
    with pytest.raises(InvalidValue, match="neither above nor below"):
        checked(template)


@pytest.mark.parametrize("path", ["tmp", "/a/../run/yodel", "/a//b", "/a/", "", None, 5])
def test_mount_path_is_absolute_and_plain(path: object) -> None:
    template = of_main(volumeMounts=[{"name": "v", "mountPath": path}])
    template["spec"]["volumes"] = [{"name": "v", "emptyDir": {}}]
    with pytest.raises(InvalidValue, match="an absolute path"):
        checked(template)


def test_huge_template_is_refused() -> None:
    with pytest.raises(InvalidValue, match="at most 65536 bytes"):
        checked({"metadata": {"annotations": {"a": "x" * 70_000}}})
