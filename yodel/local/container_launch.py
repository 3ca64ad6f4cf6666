"""Translates a pod's specification into argv, environment, directory and user.  Pure but for look-ups.

Follows the kubelet: ``$(VAR)`` is expanded in command, args and env from variables defined before, ``$$`` is a literal
dollar.  The image is not used, so a container without a command cannot run; volumes are directories of this machine, so
a mount must have the same path inside and outside.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from yodel.errors import YodelError
from yodel.local.statuses import Json

POD_UID_VARIABLE = "YODEL_POD_UID"
DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_REFERENCE = re.compile(r"\$(\$|\(([^()]*)\))")


class CannotRun(YodelError):
    """A container cannot be started as its pod says; ``reason`` is the waiting state's word."""

    def __init__(self, reason: str, message: str) -> None:
        self.reason, self.message = reason, message
        super().__init__(f"{reason}: {message}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessIdentity:
    """Numeric user and groups; None means those of this process."""

    user: int | None = None
    group: int | None = None
    extra_groups: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerLaunch:
    """Everything needed to execute one container."""

    container: str
    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(repr=False)
    directory: str
    identity: ProcessIdentity


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPath:
    """A volume: a path of this machine and the type that it must have ("" means unchecked)."""

    volume: str
    path: str
    kind: str


def launch_of(pod: Json, container: Json, *, address: str) -> ContainerLaunch:
    """``address`` is the node's, which is also the pod's.  Raises CannotRun."""
    environment = _environment(pod, container, address)
    command = [*(container.get("command") or [])]
    if not command:
        text = f"the image {container['image']} is not used on this machine: the container must give its command"
        raise CannotRun("CreateContainerConfigError", text)
    argv = tuple(expand(str(word), environment) for word in [*command, *(container.get("args") or [])])
    directory = container.get("workingDir") or "/"
    if not directory.startswith("/") or any("\0" in text for text in (*argv, *environment.values(), directory)):
        raise CannotRun("CreateContainerConfigError", "workingDir must be absolute and no text may hold a NUL")
    return ContainerLaunch(
        container=container["name"],
        argv=argv,
        environment={
            "PATH": DEFAULT_PATH,
            "HOME": "/",
            "HOSTNAME": pod["metadata"]["name"],
            **environment,
            POD_UID_VARIABLE: pod["metadata"]["uid"],
        },
        directory=directory,
        identity=_identity(pod, container),
    )


def expand(text: str, variables: Mapping[str, str]) -> str:
    """``$(NAME)`` by its value, ``$$`` by ``$``; an unknown reference stays as it is."""

    def replacement(match: re.Match[str]) -> str:
        if match[1] == "$":
            return "$"
        return variables.get(match[2], match[0])

    return _REFERENCE.sub(replacement, text)


def host_paths(pod: Json) -> list[HostPath]:
    """The pod's volumes, checked against the containers' mounts.  Raises CannotRun."""
    volumes: dict[str, HostPath] = {}
    for volume in pod["spec"].get("volumes") or []:
        source = volume.get("hostPath")
        if source is None:
            kinds = ", ".join(sorted(key for key in volume if key != "name")) or "emptyDir"
            text = f'volume "{volume["name"]}": {kinds} is not supported on this machine, only hostPath'
            raise CannotRun("FailedMount", text)
        path = source.get("path") or ""
        if not path.startswith("/") or ".." in path.split("/"):
            raise CannotRun("FailedMount", f'volume "{volume["name"]}": {path!r} is not an absolute path without ".."')
        volumes[volume["name"]] = HostPath(volume=volume["name"], path=path, kind=source.get("type") or "")
    for container in pod["spec"]["containers"]:
        for mount in container.get("volumeMounts") or []:
            _check_mount(mount, volumes[mount["name"]])
    return list(volumes.values())


def _check_mount(mount: Json, volume: HostPath) -> None:
    inside = mount.get("mountPath") or ""
    outside = volume.path.rstrip("/") + ("/" + mount["subPath"].strip("/") if mount.get("subPath") else "")
    if inside.rstrip("/") != outside:
        text = f"mountPath {inside} must be the path on the host, {outside}: processes are not confined"
        raise CannotRun("FailedMount", f'volume "{volume.volume}": {text}')


def _environment(pod: Json, container: Json, address: str) -> dict[str, str]:
    variables: dict[str, str] = {}
    for entry in container.get("env") or []:
        if "valueFrom" in entry:
            variables[entry["name"]] = _field(pod, container, entry, address)
        else:
            variables[entry["name"]] = expand(str(entry.get("value") or ""), variables)
    if container.get("envFrom"):
        raise CannotRun("CreateContainerConfigError", "envFrom is not supported on this machine")
    return variables


def _field(pod: Json, container: Json, entry: Json, address: str) -> str:
    reference = entry["valueFrom"] or {}
    path = (reference.get("fieldRef") or {}).get("fieldPath", "")
    metadata, spec = pod["metadata"], pod["spec"]
    known: Mapping[str, str] = {
        "metadata.name": metadata["name"],
        "metadata.namespace": metadata["namespace"],
        "metadata.uid": metadata["uid"],
        "spec.nodeName": spec.get("nodeName", ""),
        "spec.serviceAccountName": spec.get("serviceAccountName", ""),
        "status.podIP": address,
        "status.podIPs": address,
        "status.hostIP": address,
        "status.hostIPs": address,
    }
    if path in known:
        return known[path]
    match = re.fullmatch(r"metadata\.(labels|annotations)\['([^']*)'\]", path)
    if match:
        return str((metadata.get(match[1]) or {}).get(match[2], ""))
    text = f"env {entry['name']}: only a fieldRef to metadata, spec.nodeName or the addresses is supported"
    raise CannotRun("CreateContainerConfigError", text)


def _identity(pod: Json, container: Json) -> ProcessIdentity:
    whole: Json = pod["spec"].get("securityContext") or {}
    own: Json = {**whole, **(container.get("securityContext") or {})}
    user, group = own.get("runAsUser"), own.get("runAsGroup")
    if own.get("runAsNonRoot") and user == 0:
        raise CannotRun("CreateContainerConfigError", "container's runAsUser breaks non-root policy")
    extra = [*(whole.get("supplementalGroups") or [])]
    if whole.get("fsGroup") is not None:
        extra.append(whole["fsGroup"])
    for number in (user, group, *extra):
        if number is not None and (not isinstance(number, int) or number < 0):
            raise CannotRun("CreateContainerConfigError", f"{number!r} is not a user or group number")
    return ProcessIdentity(user=user, group=group, extra_groups=tuple(extra))
