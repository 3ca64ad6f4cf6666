from __future__ import annotations

from typing import Any

import pytest

from yodel.local.container_launch import CannotRun, ContainerLaunch, expand, host_paths, launch_of
from yodel.local.statuses import Json


def a_pod(container: Json, **spec: Any) -> Json:
    metadata = {"name": "p", "namespace": "default", "uid": "u-1", "labels": {"app": "x"}}
    whole = {"name": "main", "image": "i", "command": ["run"], **container}
    return {"metadata": metadata, "spec": {"nodeName": "n1", "containers": [whole], **spec}}


def launched(container: Json, **spec: Any) -> ContainerLaunch:
    pod = a_pod(container, **spec)
    return launch_of(pod, pod["spec"]["containers"][0], address="127.0.0.2")


def test_references_expand_as_the_kubelet_expands_them() -> None:
    variables = {"A": "1"}
    assert expand("$(A) $$(A) $(B) $A $", variables) == "1 $(A) $(B) $A $"


def test_command_args_and_environment() -> None:
    env = [
        {"name": "A", "value": "1"},
        {"name": "B", "value": "$(A)2"},
        {"name": "EMPTY"},
        {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
        {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        {"name": "APP", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['app']"}}},
        {"name": "YODEL_POD_UID", "value": "forged"},
    ]
    launch = launched({"command": ["run", "$(B)"], "args": ["$(NODE)"], "env": env})
    assert launch.argv == ("run", "12", "n1")
    expected = {"A": "1", "B": "12", "EMPTY": "", "NODE": "n1", "IP": "127.0.0.2", "APP": "x", "YODEL_POD_UID": "u-1"}
    assert {name: launch.environment[name] for name in expected} == expected
    assert set(launch.environment) - set(expected) == {"PATH", "HOME", "HOSTNAME"}


def test_container_identity_overrides_the_pods() -> None:
    launch = launched(
        {"securityContext": {"runAsUser": 7}},
        securityContext={"runAsUser": 1, "runAsGroup": 2, "supplementalGroups": [3], "fsGroup": 4},
    )
    assert (launch.identity.user, launch.identity.group, launch.identity.extra_groups) == (7, 2, (3, 4))


@pytest.mark.parametrize(
    "container",
    [
        {"command": []},
        {"workingDir": "relative"},
        {"envFrom": [{}]},
        {"env": [{"name": "A", "valueFrom": {"secretKeyRef": {}}}]},
        {"securityContext": {"runAsUser": 0, "runAsNonRoot": True}},
        {"args": ["a\0b"]},
    ],
)
def test_what_cannot_run_says_so(container: Json) -> None:
    with pytest.raises(CannotRun) as refusal:
        launched(container)
    assert refusal.value.reason == "CreateContainerConfigError"


def test_host_paths_need_the_same_path_inside() -> None:
    volumes = [{"name": "v", "hostPath": {"path": "/data/x", "type": "Directory"}}]
    same = a_pod({"volumeMounts": [{"name": "v", "mountPath": "/data/x/"}]}, volumes=volumes)
    assert [(path.path, path.kind) for path in host_paths(same)] == [("/data/x", "Directory")]
    below = a_pod({"volumeMounts": [{"name": "v", "mountPath": "/data/x/y", "subPath": "y"}]}, volumes=volumes)
    assert len(host_paths(below)) == 1
    other = a_pod({"volumeMounts": [{"name": "v", "mountPath": "/inside"}]}, volumes=volumes)
    with pytest.raises(CannotRun, match="mountPath /inside"):
        host_paths(other)


@pytest.mark.parametrize("volume", [{"emptyDir": {}}, {"hostPath": {"path": "/a/../b"}}, {"hostPath": {"path": "x"}}])
def test_other_volumes_are_refused(volume: Json) -> None:
    with pytest.raises(CannotRun) as refusal:
        host_paths(a_pod({}, volumes=[{"name": "v", **volume}]))
    assert refusal.value.reason == "FailedMount"
