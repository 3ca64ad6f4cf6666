"""A container row to the manifest of its parked pod.

The manifest is a function of the row, of settings and of the nodes that are closed at the moment: creating it again
after a crash makes the same pod, kept from the nodes that are closed by then.
Nothing a user submits reaches it but the user's name, the queue and the sizes; paths, images and identities are the
operator's.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from yodel.domain.container import Container
from yodel.domain.ids import pod_name
from yodel.translator import names
from yodel.translator.dialects import Dialect, quantities
from yodel.translator.parked_script import SCRIPT
from yodel.translator.placement import affinity

HANDOVER_VOLUME = "yodel-handover"


@dataclass(frozen=True, slots=True, kw_only=True)
class PosixIdentity:
    """The operating system's user a container runs as on every node."""

    uid: int
    gid: int
    groups: Sequence[int] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PodSettings:
    """The operator's choices.  ``host_paths`` are mounted at the same path in pod and host: local and log dirs."""

    cluster: str
    namespace: str
    image: str
    dialect: Dialect
    handover_dir: str
    host_paths: tuple[str, ...]
    milli_per_vcore: int = 1000
    scheduler_name: str = "default-scheduler"
    priority_class_am: str = ""
    priority_class_task: str = ""
    grace_s: int = 5
    host_network: bool = True


def manifest(
    container: Container,
    settings: PodSettings,
    identity: PosixIdentity | None,
    application_name: str,
    application_type: str,
    closed_nodes: Collection[str] = (),
) -> dict[str, Any]:
    """The pod as JSON.  ``identity`` None means "as the node's own unprivileged user": one-user set-ups only."""
    name = pod_name(container.id)
    handover = f"{settings.handover_dir}/{name}"
    spec: dict[str, Any] = {
        "restartPolicy": "Never",
        "schedulerName": settings.scheduler_name,
        "terminationGracePeriodSeconds": settings.grace_s,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "hostNetwork": settings.host_network,
        "dnsPolicy": "ClusterFirstWithHostNet" if settings.host_network else "ClusterFirst",
        "containers": [_main(container, settings, handover)],
        "volumes": _volumes(settings, handover),
    }
    if identity is not None:
        spec["securityContext"] = _security(identity)
    own_class = settings.priority_class_am if container.is_am else settings.priority_class_task
    if own_class or settings.dialect.priority_class_name:
        spec["priorityClassName"] = own_class or settings.dialect.priority_class_name
    preferred = affinity(container.placement, closed_nodes)
    if preferred:
        spec["affinity"] = preferred
    if container.placement.node_label:
        spec["nodeSelector"] = {names.PREFIX + "node-label": names.label_value(container.placement.node_label)}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": settings.namespace,
            "labels": {**settings.dialect.labels, **names.labels(container, settings.cluster)},
            "annotations": names.annotations(container, application_name, application_type),
        },
        "spec": spec,
    }


def _main(container: Container, settings: PodSettings, handover: str) -> dict[str, Any]:
    amounts = quantities(settings.dialect, container.capability, settings.milli_per_vcore)
    mounts = [{"name": HANDOVER_VOLUME, "mountPath": handover}]
    mounts += [{"name": f"host-{i}", "mountPath": path} for i, path in enumerate(settings.host_paths)]
    return {
        "name": "main",
        "image": settings.image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["/bin/sh", "-c", SCRIPT],
        "env": [
            {"name": "YODEL_HANDOVER_DIR", "value": handover},
            {"name": "YODEL_CONTAINER_ID", "value": str(container.id)},
        ],
        "resources": {"requests": amounts, "limits": amounts},
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "volumeMounts": mounts,
    }


def _volumes(settings: PodSettings, handover: str) -> list[dict[str, Any]]:
    volumes = [{"name": HANDOVER_VOLUME, "hostPath": {"path": handover, "type": "DirectoryOrCreate"}}]
    volumes += [
        {"name": f"host-{i}", "hostPath": {"path": path, "type": "Directory"}}
        for i, path in enumerate(settings.host_paths)
    ]
    return volumes


def _security(identity: PosixIdentity) -> dict[str, Any]:
    return {
        "runAsUser": identity.uid,
        "runAsGroup": identity.gid,
        "supplementalGroups": list(identity.groups),
    }
