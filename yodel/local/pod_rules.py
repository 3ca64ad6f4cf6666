"""Applies the API server's rules to a pod before it is stored: defaults, validation and permitted updates.

Follows ``pkg/apis/core/v1/defaults.go`` and ``validation.go`` for the fields that this cluster acts on; other fields
are kept as they are.  Refused here although a real server takes it: a restartPolicy other than Never (the process
kubelet does not restart), and generateName.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from yodel.errors import InvalidValue
from yodel.local.statuses import Json, StatusCause, forbidden, invalid
from yodel.translator.quantities import parse_milli

NAME_LENGTH_MAX = 253
LABEL_LENGTH_MAX = 63
CONTAINERS_MAX = 20
ANNOTATIONS_BYTES_MAX = 256 * 1024  # apimachinery TotalAnnotationSizeLimitB

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_QUALIFIED = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_LABEL_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
_ENV_NAME = re.compile(r"[ -<>-~]+")
_SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_LABEL_TEXT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
# resource.ErrFormatWrong
_QUANTITY_TEXT = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_MUTABLE_SPEC = frozenset({"activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds"})


def check_pod(pod: Json) -> None:
    """Raises ApiError (422) with one cause per wrong field."""
    causes = [*metadata_causes(pod["metadata"]), *_spec_causes(pod.get("spec"))]
    if causes:
        raise invalid("Pod", str(pod["metadata"].get("name", "")), causes)


def check_pod_update(old: Json, new: Json) -> None:
    """Raises ApiError (422) when the spec changes otherwise than a pod's spec may."""
    if _frozen_spec(old["spec"]) != _frozen_spec(new.get("spec") or {}):
        text = (
            "Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"
            "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
            "`spec.tolerations` (only additions to existing tolerations),"
            "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
        )
        cause = StatusCause(field="spec", reason="FieldValueForbidden", message=text)
        raise invalid("Pod", old["metadata"]["name"], [cause])


def resized_spec(old: Json, new: Json) -> Json:
    """The spec after ``pods/resize``: what changes are cpu and memory of containers, and nothing else.

    Raises ApiError (422).  The process kubelet enforces no limits, so a resize is done once it is stored.
    """
    causes: list[StatusCause] = []
    containers: list[Json] = []
    given = {c.get("name"): c.get("resources") or {} for c in (new.get("spec") or {}).get("containers") or []}
    for n, container in enumerate(old["spec"]["containers"]):
        resources = given.get(container["name"], container["resources"])
        field = f"spec.containers[{n}].resources"
        causes += _resource_causes(resources, field)
        if _others(resources) != _others(container["resources"]):
            causes.append(
                StatusCause(
                    field="spec",
                    reason="FieldValueForbidden",
                    message="Forbidden: only cpu and memory resources are mutable",
                )
            )
        containers.append({**container, "resources": resources})
    if causes:
        raise invalid("Pod", old["metadata"]["name"], causes)
    return {**old["spec"], "containers": containers}


def _others(resources: Json) -> Json:
    """Amounts other than cpu and memory."""
    return {
        side: {name: value for name, value in (resources.get(side) or {}).items() if name not in ("cpu", "memory")}
        for side in ("limits", "requests")
    }


def _frozen_spec(spec: Json) -> Json:
    containers = [{**container, "image": ""} for container in spec.get("containers") or []]
    return {**{key: value for key, value in spec.items() if key not in _MUTABLE_SPEC}, "containers": containers}


def priority(pod: Json, classes: Mapping[str, int]) -> int:
    """Return the result of the priority admission plugin, of classes by name; without one it is 0, because none is the
    default.

    Raises ApiError (403).
    """
    spec, name = pod["spec"], str(pod["metadata"].get("name", ""))
    class_name, given = spec.get("priorityClassName") or "", spec.get("priority")
    if class_name and class_name not in classes:
        raise forbidden("pods", name, f"no PriorityClass with name {class_name} was found")
    found = classes[class_name] if class_name else 0
    if given not in (None, found):
        text = (
            f"the integer value of priority ({given}) must not be provided in pod spec; priority admission controller "
            f"computed {found} from the given PriorityClass name"
        )
        raise forbidden("pods", name, text)
    return found


def with_defaults(pod: Json, priority: int) -> Json:
    """The pod as it is stored at creation; ``pod`` has passed ``check_pod``."""
    containers = [_container_with_defaults(container) for container in pod["spec"]["containers"]]
    spec = {
        "dnsPolicy": "ClusterFirst",
        "enableServiceLinks": True,
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
        **{key: value for key, value in pod["spec"].items() if value is not None},
        "priority": priority,
        "containers": containers,
    }
    return {**pod, "spec": spec, "status": {"phase": "Pending", "qosClass": _qos_class(containers)}}


def _container_with_defaults(container: Json) -> Json:
    resources = container.get("resources") or {}
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    whole = {**resources, **({"requests": {**limits, **requests}} if limits or requests else {})}
    image = str(container["image"])
    tagged = ":" in image.rpartition("/")[2] and not image.endswith(":latest")
    return {
        "imagePullPolicy": "IfNotPresent" if tagged or "@" in image else "Always",
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        **container,
        "resources": whole,
    }


def _qos_class(containers: list[Json]) -> str:
    guaranteed, best_effort = True, True
    for container in containers:
        requests = container["resources"].get("requests") or {}
        limits = container["resources"].get("limits") or {}
        for name in ("cpu", "memory"):
            best_effort = best_effort and name not in requests and name not in limits
            guaranteed = guaranteed and name in limits and requests.get(name) == limits[name]
    if best_effort:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"


def metadata_causes(metadata: Mapping[str, Any], *, field: str = "metadata") -> Iterator[StatusCause]:
    """Name, labels and annotations of any object."""
    name = metadata.get("name")
    if not name:
        yield StatusCause(
            field=f"{field}.name",
            reason="FieldValueRequired",
            message="Required value: name or generateName is required (generateName is not supported here)",
        )
    elif not isinstance(name, str) or len(name) > NAME_LENGTH_MAX or not _SUBDOMAIN.fullmatch(name):
        yield _wrong(f"{field}.name", name, _SUBDOMAIN_TEXT)
    for key, value in (metadata.get("labels") or {}).items():
        if not _is_qualified(key):
            yield _wrong(f"{field}.labels", key, "name part must consist of alphanumeric characters, '-', '_' or '.'")
        if not isinstance(value, str) or len(value) > LABEL_LENGTH_MAX or not _LABEL_VALUE.fullmatch(value):
            yield _wrong(f"{field}.labels", value, "a valid label must be an empty string or consist of alphanumerics")
    annotations = metadata.get("annotations") or {}
    for key in annotations:
        if not _is_qualified(key):
            yield _wrong(f"{field}.annotations", key, "name part must consist of alphanumeric characters")
    if sum(len(str(key)) + len(str(value)) for key, value in annotations.items()) > ANNOTATIONS_BYTES_MAX:
        text = f"Too long: may not be more than {ANNOTATIONS_BYTES_MAX} bytes"
        yield StatusCause(field=f"{field}.annotations", reason="FieldValueTooLong", message=text)


def _is_qualified(key: object) -> bool:
    if not isinstance(key, str):
        return False
    prefix, slash, name = key.rpartition("/")
    if slash and (not _SUBDOMAIN.fullmatch(prefix.lower()) or len(prefix) > NAME_LENGTH_MAX):
        return False
    return len(name) <= LABEL_LENGTH_MAX and _QUALIFIED.fullmatch(name) is not None


def _spec_causes(spec: Any) -> Iterator[StatusCause]:
    if not isinstance(spec, dict):
        yield _required("spec")
        return
    containers = spec.get("containers")
    if not isinstance(containers, list) or not containers:
        yield _required("spec.containers")
        containers = []
    if len(containers) > CONTAINERS_MAX:
        text = f"Too many: {len(containers)}: must have at most {CONTAINERS_MAX} items"
        yield StatusCause(field="spec.containers", reason="FieldValueTooMany", message=text)
    seen: set[str] = set()
    for index, container in enumerate(containers):
        yield from _container_causes(container, f"spec.containers[{index}]", seen)
    if spec.get("initContainers"):
        text = "Forbidden: init containers are not supported by the local cluster"
        yield StatusCause(field="spec.initContainers", reason="FieldValueForbidden", message=text)
    if spec.get("restartPolicy", "Always") != "Never":
        yield StatusCause(
            field="spec.restartPolicy",
            reason="FieldValueNotSupported",
            message=f'Unsupported value: "{spec.get("restartPolicy", "Always")}": supported values: "Never" '
            "(the local cluster runs containers as processes and never restarts them)",
        )
    for name in ("terminationGracePeriodSeconds", "activeDeadlineSeconds"):
        value = spec.get(name)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
            yield _wrong(f"spec.{name}", value, "must be greater than or equal to 0")
    yield from _volume_causes(spec, containers)


def _volume_causes(spec: Json, containers: list[Any]) -> Iterator[StatusCause]:
    names = [volume.get("name") for volume in spec.get("volumes") or []]
    for index, name in enumerate(names):
        if not isinstance(name, str) or len(name) > LABEL_LENGTH_MAX or not _LABEL.fullmatch(name):
            yield _wrong(f"spec.volumes[{index}].name", name, _LABEL_TEXT)
        elif name in names[:index]:
            yield _duplicate(f"spec.volumes[{index}].name", name)
    for index, container in enumerate(containers):
        for at, mount in enumerate((container.get("volumeMounts") if isinstance(container, dict) else None) or []):
            if mount.get("name") not in names:
                field = f"spec.containers[{index}].volumeMounts[{at}].name"
                text = f'Not found: "{mount.get("name")}"'
                yield StatusCause(field=field, reason="FieldValueNotFound", message=text)


def _container_causes(container: Any, field: str, seen: set[str]) -> Iterator[StatusCause]:
    if not isinstance(container, dict):
        yield _required(field)
        return
    name = container.get("name")
    if not name:
        yield _required(f"{field}.name")
    elif not isinstance(name, str) or len(name) > LABEL_LENGTH_MAX or not _LABEL.fullmatch(name):
        yield _wrong(f"{field}.name", name, _LABEL_TEXT)
    elif name in seen:
        yield _duplicate(f"{field}.name", name)
    else:
        seen.add(name)
    if not container.get("image"):
        yield _required(f"{field}.image")
    for index, variable in enumerate(container.get("env") or []):
        variable_name = variable.get("name") if isinstance(variable, dict) else None
        if not variable_name:
            yield _required(f"{field}.env[{index}].name")
        elif not isinstance(variable_name, str) or not _ENV_NAME.fullmatch(variable_name):
            yield _wrong(f"{field}.env[{index}].name", variable_name, "a valid environment variable name is expected")
    yield from _resource_causes(container.get("resources") or {}, f"{field}.resources")


def _resource_causes(resources: Json, field: str) -> Iterator[StatusCause]:
    parsed: dict[str, dict[str, int]] = {"limits": {}, "requests": {}}
    for side, amounts in parsed.items():
        for name, value in (resources.get(side) or {}).items():
            path = f"{field}.{side}[{name}]"
            try:
                amounts[name] = parse_milli(value)
            except InvalidValue:
                yield _wrong(path, value, _QUANTITY_TEXT)
                continue
            if amounts[name] < 0:
                yield _wrong(path, value, "must be greater than or equal to 0")
            elif "/" in name and amounts[name] % 1000:
                yield _wrong(path, value, "must be an integer")
            elif "/" not in name and not _is_standard(name):
                yield _wrong(path, name, "must be a standard resource for containers")
    for name, request in parsed["requests"].items():
        limit = parsed["limits"].get(name)
        if limit is not None and request > limit:
            shown = resources["requests"][name]
            yield _wrong(f"{field}.requests", shown, f"must be less than or equal to {name} limit of {_text(limit)}")


def _is_standard(name: str) -> bool:
    return name in ("cpu", "memory", "ephemeral-storage") or name.startswith("hugepages-")


def _text(milli: int) -> str:
    return str(milli // 1000) if milli % 1000 == 0 else f"{milli}m"


def _required(field: str) -> StatusCause:
    return StatusCause(field=field, reason="FieldValueRequired", message="Required value")


def _wrong(field: str, value: object, expected: str) -> StatusCause:
    shown = f'"{value}"' if isinstance(value, str) else str(value)
    return StatusCause(field=field, reason="FieldValueInvalid", message=f"Invalid value: {shown}: {expected}")


def _duplicate(field: str, value: str) -> StatusCause:
    return StatusCause(field=field, reason="FieldValueDuplicate", message=f'Duplicate value: "{value}"')
