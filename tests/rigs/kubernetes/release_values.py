"""The chart is installed with the rig's values and what is known only then, or with a file of somebody's own."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.rigs.kubernetes.images import RigImages

ROOT = Path(__file__).resolve().parents[3]
RIG_VALUES = Path(__file__).resolve().parent / "rig.values.yaml"
LOCAL_FILES = "file:///"
Values = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A user of the machine, with the same ids in containers."""

    name: str
    uid: int
    gid: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The cluster and what is installed there.

    ``folder`` is on the nodes, and for the client's configuration on this machine.  ``address``: where a client
    reaches NodePorts; empty: the first node's.  ``properties``: further ones of Hadoop's files, FILE:NAME=VALUE, for
    containers and clients.  ``own_values`` instead of the rig's: a cluster of somebody's own, without ``images``.
    """

    kubeconfig: Path
    helm: Path
    folder: Path
    images: RigImages | None = None
    kubectl: Path = ROOT / ".venv" / "tools" / "kubectl"
    address: str = ""
    default_fs: str = LOCAL_FILES
    properties: Sequence[str] = ()
    own_values: Path | None = None


def values(target: Target, users: Sequence[Account]) -> Values:
    """All that differs from the chart's own.  A file of somebody's own wins over what is added to it."""
    known = [{"name": user.name, "uid": user.uid, "gid": user.gid} for user in users]
    base = yaml.safe_load((target.own_values or RIG_VALUES).read_text())
    said: Values = {"users": {"accounts": known}, "containers": {}}
    if target.own_values is not None:
        return _merged(said, base)
    assert target.images is not None, "the rig's nodes pull nothing"
    said |= _image_values(target.images)
    said |= {"hostPaths": _host_paths(target.folder), "resourceManager": {"publicHost": target.address}}
    said["nodeAgent"] = {"env": _node_folders(target.folder)}
    said["hadoop"] = {"defaultFs": target.default_fs, "properties": [*base["hadoop"]["properties"], *target.properties]}
    if target.default_fs != LOCAL_FILES:
        said["hadoop"]["remoteAppLogDir"] = f"{target.default_fs}/tmp/logs"
    said["containers"]["image"] = target.images.hadoop_runtime.name
    return _merged(base, said)


def _image_values(images: RigImages) -> Values:
    named = {"resourceManager": images.resource_manager, "nodeAgent": images.node_agent, "postgres": images.postgres}
    return {"images": {key: {"repository": image.repository, "tag": image.tag} for key, image in named.items()}}


def _host_paths(folder: Path) -> Values:
    single = {name: str(folder / name.lower()) for name in ("handover", "state", "hadoopConf")}
    return {"local": [str(folder / "local")], "logs": [str(folder / "logs")], **single}


def _node_folders(folder: Path) -> list[dict[str, str]]:
    """Several nodes on one machine: docs/kubernetes.md."""
    node = "$(YODEL_NM_KUBERNETES_NODE_NAME)"
    return [
        {"name": "YODEL_NM_LOCAL_DIRS", "value": json.dumps([f"{folder}/local/{node}"])},
        {"name": "YODEL_NM_LOG_DIRS", "value": json.dumps([f"{folder}/logs/{node}"])},
        {"name": "YODEL_NM_STATE_DIR", "value": f"{folder}/state/{node}"},
    ]


def _merged(lower: Mapping[str, Any], upper: Mapping[str, Any]) -> Values:
    """Merge as helm merges values: maps are, all else is replaced."""
    result = dict(lower)
    for key, value in upper.items():
        below = result.get(key)
        result[key] = _merged(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return result
