"""The operator's pod template for a queue, and how it is merged with what the hand-over needs.

A template is part of a Kubernetes pod, in Kubernetes' words.  Its fields are a closed list (``check``): what the
hand-over, the dialect or another setting decides is refused when the queue is configured, never dropped in silence when
a pod is made.  The rules of ``merge``, decided in docs/decisions/0032-pod-templates.md:

1. a value that we set wins; one that only the template sets is kept;
2. tables are merged field by field: labels, annotations, nodeSelector, securityContext;
3. lists of named things are merged by name, ours last: volumes and env by ``name``, volumeMounts by ``mountPath``;
4. supplementalGroups are the union of both;
5. other lists are the template's followed by ours: tolerations, topologySpreadConstraints, hostAliases;
6. of affinity both must hold: required terms of nodes are combined each with each, all else is appended.

A submitter has no part in this: there is no field of a submission that becomes a template.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Collection, Mapping
from typing import Any

from yodel.errors import InvalidValue

Json = Any
"""A value as JSON has it; Kubernetes checks what is below the fields that are named here."""
Path = tuple[str, ...]

TEMPLATE_BYTES_MAX = 65_536
MAIN = "main"
RESERVED_PREFIX = "yodel.io/"
RESERVED_LABEL = "app.kubernetes.io/managed-by"
_RESERVED_VOLUME = re.compile(r"yodel-.*|host-[0-9]+")
_RESERVED_ENV = "YODEL_"

_POD = frozenset({"metadata", "spec"})
_METADATA = frozenset({"labels", "annotations"})
_SPEC = frozenset(
    {
        "affinity",
        "containers",
        "dnsConfig",
        "hostAliases",
        "nodeSelector",
        "runtimeClassName",
        "securityContext",
        "serviceAccountName",
        "tolerations",
        "topologySpreadConstraints",
        "volumes",
    }
)
_CONTAINER = frozenset({"env", "name", "securityContext", "volumeMounts"})
_POD_SECURITY = frozenset({"appArmorProfile", "fsGroup", "fsGroupChangePolicy", "seLinuxOptions", "supplementalGroups"})
_CONTAINER_SECURITY = frozenset({"appArmorProfile", "seLinuxOptions"})
_TABLES = frozenset({"affinity", "dnsConfig", "nodeSelector", "securityContext"})
_LISTS = frozenset({"containers", "hostAliases", "tolerations", "topologySpreadConstraints", "volumes"})
_HAS_A_SETTING = {
    "hostNetwork": "network",
    "image": "image",
    "imagePullSecrets": "image_pull_secrets",
    "priorityClassName": "priority_class_am and priority_class_task",
    "readOnlyRootFilesystem": "read_only_root",
    "resources": "dialect and ephemeral_storage_limit_mib",
    "schedulerName": "scheduler_name",
    "terminationGracePeriodSeconds": "termination_grace_period_s",
}

_KEY_OF: Mapping[Path, str] = {
    ("spec", "containers"): "name",
    ("spec", "containers", "env"): "name",
    ("spec", "containers", "volumeMounts"): "mountPath",
    ("spec", "volumes"): "name",
}
_UNION: Path = ("spec", "securityContext", "supplementalGroups")
_NODE_TERMS: Path = (
    "spec",
    "affinity",
    "nodeAffinity",
    "requiredDuringSchedulingIgnoredDuringExecution",
    "nodeSelectorTerms",
)


def merge(template: Mapping[str, Json], ours: Mapping[str, Json]) -> dict[str, Json]:
    """The pod.  ``template`` has passed ``check``; neither is changed."""
    return _tables(template, ours, ())


def _tables(theirs: Mapping[str, Json], ours: Mapping[str, Json], path: Path) -> dict[str, Json]:
    both = {key: _merged(theirs[key], ours[key], (*path, key)) for key in ours if key in theirs}
    return {**ours, **{key: value for key, value in theirs.items() if key not in ours}, **both}


def _merged(theirs: Json, ours: Json, path: Path) -> Json:
    if isinstance(theirs, Mapping) and isinstance(ours, Mapping):
        return _tables(theirs, ours, path)
    if not (isinstance(theirs, list) and isinstance(ours, list)):
        return ours
    if path in _KEY_OF:
        return _by_key(theirs, ours, path)
    if path == _UNION:
        return [*ours, *(group for group in theirs if group not in ours)]
    if path == _NODE_TERMS:
        return [_both_hold(one, other) for one in theirs for other in ours]
    return [*theirs, *ours]


def _by_key(theirs: list[Json], ours: list[Json], path: Path) -> list[Json]:
    key = _KEY_OF[path]
    given = {item[key]: item for item in theirs}
    if path == ("spec", "containers"):
        return [_tables(given.get(item[key], {}), item, path) for item in ours]
    own = {item[key] for item in ours}
    return [*(item for item in theirs if item[key] not in own), *ours]


def _both_hold(one: Mapping[str, Json], other: Mapping[str, Json]) -> dict[str, Json]:
    """Expressions within a term must all hold."""
    parts = ("matchExpressions", "matchFields")
    joined = {part: [*(one.get(part) or []), *(other.get(part) or [])] for part in parts}
    return {part: found for part, found in joined.items() if found}


def check(template: Mapping[str, Json], field: str, reserved_paths: Collection[str], taken: Collection[str]) -> None:
    """Refuse what may not be in a template.

    ``reserved_paths`` are the hand-over's directories, ``taken`` the keys of the dialect's labels and annotations.

    Raises:
        InvalidValue: names the place below ``field``, what is there and what was expected.
    """
    size = len(json.dumps(template, default=str))
    if size > TEMPLATE_BYTES_MAX:
        raise InvalidValue(field, f"{size} bytes", f"at most {TEMPLATE_BYTES_MAX} bytes")
    _closed(template, _POD, field)
    metadata, spec = _table(template, "metadata", field), _table(template, "spec", field)
    _closed(metadata, _METADATA, f"{field}.metadata")
    _closed(spec, _SPEC, f"{field}.spec")
    for part in sorted(_METADATA):
        _check_keys(_texts(metadata, part, f"{field}.metadata"), f"{field}.metadata.{part}", taken)
    _check_spec(spec, f"{field}.spec", reserved_paths)


def _check_spec(spec: Mapping[str, Json], field: str, reserved_paths: Collection[str]) -> None:
    for name in sorted(_TABLES):
        _table(spec, name, field)
    _check_keys(_texts(spec, "nodeSelector", field), f"{field}.nodeSelector", ())
    for name in sorted(_LISTS):
        for at, item in enumerate(_list(spec, name, field)):
            _is_table(item, f"{field}.{name}[{at}]")
    terms: Json = spec
    for name in _NODE_TERMS[1:-1]:
        terms = _table(terms, name, field)
    for at, term in enumerate(_list(terms, _NODE_TERMS[-1], field)):
        _is_table(term, f"{field}.{'.'.join(_NODE_TERMS[1:])}[{at}]")
    if terms.get(_NODE_TERMS[-1]) == []:
        raise InvalidValue(f"{field}.{'.'.join(_NODE_TERMS[1:])}", [], "at least one term")
    _closed(_table(spec, "securityContext", field), _POD_SECURITY, f"{field}.securityContext")
    volumes = _list(spec, "volumes", field)
    for at, volume in enumerate(volumes):
        _check_volume(volume, f"{field}.volumes[{at}]")
    containers = _list(spec, "containers", field)
    if [container.get("name") for container in containers] not in ([], [MAIN]):
        found = [container.get("name") for container in containers]
        raise InvalidValue(f"{field}.containers", found, f"one container, {MAIN!r}: another would outlive it")
    for container in containers:
        _check_container(container, f"{field}.containers[0]", reserved_paths, {volume["name"] for volume in volumes})


def _check_volume(volume: Mapping[str, Json], field: str) -> None:
    name = volume.get("name")
    if not isinstance(name, str) or not name or _RESERVED_VOLUME.fullmatch(name):
        raise InvalidValue(f"{field}.name", name, "a name that begins with neither 'yodel-' nor 'host-'")
    for at, source in enumerate((volume.get("projected") or {}).get("sources") or []):
        if isinstance(source, Mapping) and "serviceAccountToken" in source:
            place = f"{field}.projected.sources[{at}]"
            raise InvalidValue(
                place, "serviceAccountToken", "no service account's token: users' programs could read it"
            )


def _check_container(
    container: Mapping[str, Json], field: str, reserved_paths: Collection[str], volumes: Collection[str]
) -> None:
    _closed(container, _CONTAINER, field)
    _closed(_table(container, "securityContext", field), _CONTAINER_SECURITY, f"{field}.securityContext")
    for at, entry in enumerate(_list(container, "env", field)):
        name = _is_table(entry, f"{field}.env[{at}]").get("name")
        if not isinstance(name, str) or not name or name.startswith(_RESERVED_ENV):
            raise InvalidValue(f"{field}.env[{at}].name", name, f"a name that does not begin with {_RESERVED_ENV!r}")
    for at, mount in enumerate(_list(container, "volumeMounts", field)):
        place = f"{field}.volumeMounts[{at}]"
        if _is_table(mount, place).get("name") not in volumes:
            raise InvalidValue(f"{place}.name", mount.get("name"), "one of the template's own volumes")
        _check_mount_path(mount.get("mountPath"), f"{place}.mountPath", reserved_paths)


def _check_mount_path(path: Json, field: str, reserved_paths: Collection[str]) -> None:
    if not isinstance(path, str) or not path.startswith("/") or path != posixpath.normpath(path):
        raise InvalidValue(field, path, "an absolute path without '..', '//' or a '/' at its end")
    for reserved in reserved_paths:
        if posixpath.commonpath((path, reserved)) in (path, posixpath.normpath(reserved)):
            raise InvalidValue(field, path, f"a path neither above nor below {reserved}, which the hand-over needs")


def _check_keys(entries: Mapping[str, str], field: str, taken: Collection[str]) -> None:
    for key in entries:
        if _is_ours(key) or key == RESERVED_LABEL or key in taken:
            raise InvalidValue(f"{field}.{key}", entries[key], "a key that neither Yodel nor the dialect sets")


def _is_ours(key: str) -> bool:
    """Below our domain or one of its subdomains: tags and slots of containers have their own."""
    domain = key.partition("/")[0] + "/"
    return domain == RESERVED_PREFIX or domain.endswith("." + RESERVED_PREFIX)


def _closed(found: Mapping[str, Json], allowed: Collection[str], field: str) -> None:
    for key in found:
        if key in _HAS_A_SETTING and key not in allowed:
            raise InvalidValue(f"{field}.{key}", found[key], f"the queue's setting {_HAS_A_SETTING[key]} instead")
        if key not in allowed:
            raise InvalidValue(f"{field}.{key}", found[key], "one of " + ", ".join(sorted(allowed)))


def _texts(found: Mapping[str, Json], key: str, field: str) -> Mapping[str, str]:
    entries = _table(found, key, field)
    for name, value in entries.items():
        if not isinstance(value, str):
            raise InvalidValue(f"{field}.{key}.{name}", value, "a text")
    return entries


def _table(found: Mapping[str, Json], key: str, field: str) -> Mapping[str, Json]:
    return _is_table(found.get(key, {}), f"{field}.{key}")


def _is_table(value: Json, field: str) -> Mapping[str, Json]:
    if not isinstance(value, Mapping):
        raise InvalidValue(field, value, "a table")
    return value


def _list(found: Mapping[str, Json], key: str, field: str) -> list[Json]:
    value = found.get(key, [])
    if not isinstance(value, list):
        raise InvalidValue(f"{field}.{key}", value, "a list")
    return value
