"""A container row to the manifest of its parked pod.

The manifest is a function of the row, of settings and of the nodes that are closed at the moment: creating it again
after a crash makes the same pod, kept from the nodes that are closed by then.
Nothing a user submits reaches it but the user's name, the queue, the sizes, and the name of an image that the queue
allows; paths and identities are the operator's.  What the operator's template for the queue adds is merged in last, by
the rules of ``templates``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from yodel.domain.container import Container
from yodel.domain.ids import dns_name
from yodel.translator import names
from yodel.translator.dialects import Dialect, GangKind, gang_name, gang_object, quantities
from yodel.translator.parked_script import SCRIPT
from yodel.translator.placement import (
    ANY_NODES,
    DEFAULT_LANDMARKS,
    Landmarks,
    StableNodes,
    affinity,
    node_selector,
    tag_labels,
)
from yodel.translator.templates import MAIN, merge

HANDOVER_VOLUME = "yodel-handover"
SCRATCH_VOLUME = "yodel-tmp"
SCRATCH_DIR = "/tmp"


@dataclass(frozen=True, slots=True, kw_only=True)
class PosixIdentity:
    """The operating system's user a container runs as on every node."""

    uid: int
    gid: int
    groups: Sequence[int] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The object that an application's pods name as their group."""

    kind: GangKind
    name: str
    manifest: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PodSettings:
    """The operator's choices for the pods of a queue.  ``host_paths`` are mounted at the same path in pod and host:
    local and log dirs.  ``template`` has passed ``templates.check``."""

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
    images_allowed: tuple[str, ...] = ()
    image_pull_secrets: tuple[str, ...] = ()
    read_only_root: bool = False
    ephemeral_storage_request_mib: int = 0
    ephemeral_storage_limit_mib: int = 0
    gang: bool = False
    gang_min_member: int = 1
    gang_spec: Mapping[str, Any] = field(default_factory=dict)
    placement: Literal["kubernetes", "bind"] = "kubernetes"
    template: Mapping[str, Any] = field(default_factory=dict)
    landmarks: Landmarks = DEFAULT_LANDMARKS
    stable_nodes: StableNodes = ANY_NODES
    """The stable nodes of ApplicationMasters."""
    needs_pod: str = ""
    """The setting of the queue that only a pod can have; empty: a NodeManager may do."""

    @property
    def binds(self) -> bool:
        """The RM chooses the node itself."""
        return self.placement == "bind"


def manifest(
    container: Container,
    settings: PodSettings,
    identity: PosixIdentity | None,
    application_name: str,
    application_type: str,
    closed_nodes: Collection[str] = (),
    image: str = "",
) -> dict[str, Any]:
    """The pod as JSON.  ``identity`` None means "as the node's own unprivileged user": one-user set-ups only;
    ``image`` empty means the queue's."""
    handover = f"{settings.handover_dir}/{dns_name(container.id)}"
    spec: dict[str, Any] = {
        "restartPolicy": "Never",
        "schedulerName": settings.scheduler_name,
        "terminationGracePeriodSeconds": settings.grace_s,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "hostNetwork": settings.host_network,
        "dnsPolicy": "ClusterFirstWithHostNet" if settings.host_network else "ClusterFirst",
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}, **_identity(identity)},
        "containers": [_main(container, settings, handover, image or settings.image)],
        "volumes": _volumes(settings, handover),
    }
    if settings.image_pull_secrets:
        spec["imagePullSecrets"] = [{"name": name} for name in settings.image_pull_secrets]
    own_class = settings.priority_class_am if container.is_am else settings.priority_class_task
    if own_class or settings.dialect.priority_class_name:
        spec["priorityClassName"] = own_class or settings.dialect.priority_class_name
    stable = settings.stable_nodes if container.is_am else ANY_NODES
    wanted = affinity(container.placement, closed_nodes, settings.landmarks, settings.cluster, stable)
    if wanted:
        spec["affinity"] = wanted
    selected = node_selector(container.placement)
    if selected:
        spec["nodeSelector"] = selected
    group_label, group_annotation = _group_names(container, settings)
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": container.pod,
            "namespace": settings.namespace,
            "labels": {
                **settings.dialect.labels,
                **group_label,
                **tag_labels(container),
                **names.labels(container, settings.cluster),
            },
            "annotations": {
                **settings.dialect.annotations,
                **group_annotation,
                **names.annotations(container, application_name, application_type),
                **({names.KEPT_FROM: str(len(closed_nodes))} if closed_nodes else {}),
            },
        },
        "spec": spec,
    }
    return merge(settings.template, pod)


def group(container: Container, settings: PodSettings) -> Group | None:
    """The group that has to be there before the container's pod; None when it needs none.

    A group of more than one leaves the ApplicationMaster out: it would wait for tasks that only itself asks for.
    """
    kind = settings.dialect.gang
    if not settings.gang or kind is None or (container.is_am and settings.gang_min_member > 1):
        return None
    application_id = container.id.application_id
    made = gang_object(
        kind,
        application_id,
        cluster=settings.cluster,
        namespace=settings.namespace,
        min_member=settings.gang_min_member,
        spec=settings.gang_spec,
    )
    return Group(kind=kind, name=gang_name(application_id), manifest=made)


def _main(container: Container, settings: PodSettings, handover: str, image: str) -> dict[str, Any]:
    amounts = quantities(settings.dialect, container.capability, settings.milli_per_vcore)
    mounts = [{"name": HANDOVER_VOLUME, "mountPath": handover}]
    mounts += [{"name": f"host-{i}", "mountPath": path} for i, path in enumerate(settings.host_paths)]
    if _needs_scratch(settings):
        mounts.append({"name": SCRATCH_VOLUME, "mountPath": SCRATCH_DIR})
    security: dict[str, Any] = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    if settings.read_only_root:
        security["readOnlyRootFilesystem"] = True
    return {
        "name": MAIN,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["/bin/sh", "-c", SCRIPT],
        "env": [
            {"name": "YODEL_HANDOVER_DIR", "value": handover},
            {"name": "YODEL_CONTAINER_ID", "value": str(container.id)},
            {"name": "YODEL_IMAGE", "value": image},
        ],
        "resources": {
            "requests": {**amounts, **_disk(settings.ephemeral_storage_request_mib)},
            "limits": {**amounts, **_disk(settings.ephemeral_storage_limit_mib)},
        },
        "securityContext": security,
        "volumeMounts": mounts,
    }


def _volumes(settings: PodSettings, handover: str) -> list[dict[str, Any]]:
    volumes = [{"name": HANDOVER_VOLUME, "hostPath": {"path": handover, "type": "DirectoryOrCreate"}}]
    volumes += [
        {"name": f"host-{i}", "hostPath": {"path": path, "type": "Directory"}}
        for i, path in enumerate(settings.host_paths)
    ]
    if _needs_scratch(settings):
        limit = {"sizeLimit": f"{settings.ephemeral_storage_limit_mib}Mi"}
        volumes.append({"name": SCRATCH_VOLUME, "emptyDir": limit if settings.ephemeral_storage_limit_mib else {}})
    return volumes


def _needs_scratch(settings: PodSettings) -> bool:
    """Java and Python write to /tmp; with a read-only root it is a volume, unless the template has one there."""
    if not settings.read_only_root:
        return False
    containers = settings.template.get("spec", {}).get("containers", [])
    return all(mount["mountPath"] != SCRATCH_DIR for main in containers for mount in main.get("volumeMounts", []))


def _disk(mib: int) -> dict[str, str]:
    return {"ephemeral-storage": f"{mib}Mi"} if mib else {}


def _group_names(container: Container, settings: PodSettings) -> tuple[dict[str, str], dict[str, str]]:
    """Label and annotation that name the pod's group."""
    found = group(container, settings)
    if found is None:
        return {}, {}
    return (
        {found.kind.pod_label: found.name} if found.kind.pod_label else {},
        {found.kind.pod_annotation: found.name} if found.kind.pod_annotation else {},
    )


def _identity(identity: PosixIdentity | None) -> dict[str, Any]:
    if identity is None:
        return {}
    return {
        "runAsNonRoot": identity.uid != 0,
        "runAsUser": identity.uid,
        "runAsGroup": identity.gid,
        "supplementalGroups": list(identity.groups),
    }
