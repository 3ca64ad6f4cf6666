"""The JSON body of ``POST /ws/v1/cluster/apps`` to an ApplicationSubmissionContextProto (RMWebAppUtil, DAO classes).

As tolerant as Hadoop, and a little more: an ``entry`` may be one object or a list, numbers may be strings, fields
nobody knows are passed over.  As in Hadoop, the root element that XML has must not be there.  Read beyond Hadoop's own
DAO: ``application-timeouts``, ``am-container-resource-requests`` and ``resource.resourceInformations``, which exist in
the RPC's context.  Refuses what cannot be meant, naming field, value and what was expected; values of secrets are never
named.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

from yodel.domain.application import Submission
from yodel.domain.ids import ApplicationId
from yodel.errors import InvalidValue
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.hadoop_rpc.writable import Credentials, WireToken, encode_credentials, parse_token
from yodel.pb_convert import ids
from yodel.pb_convert.submission import submission as submission_of
from yodel.telemetry.limits import REFUSALS, SUBMISSION_ENTRIES

ROOT = "application-submission-context"
ENTRIES_MAX = 10_000
"""Entries of one map; the largest real ones are Spark's local resources, some hundreds.  ``submission_entries_max``,
for all lists together, is at most this."""
INT32_MAX, INT64_MAX = 2**31 - 1, 2**63 - 1
_RESERVATION = re.compile(r"reservation_0*(\d{1,19})_0*(\d{1,19})", re.ASCII)
_TYPES = {"FILE": pb.FILE, "ARCHIVE": pb.ARCHIVE, "PATTERN": pb.PATTERN}
_VISIBILITIES = {"PUBLIC": pb.PUBLIC, "PRIVATE": pb.PRIVATE, "APPLICATION": pb.APPLICATION}
_ACCESS_TYPES = {"VIEW_APP": pb.APPACCESS_VIEW_APP, "MODIFY_APP": pb.APPACCESS_MODIFY_APP}
_TIMEOUT_TYPES = {"LIFETIME": pb.APP_TIMEOUT_LIFETIME}
_EXECUTION_TYPES = {"GUARANTEED": pb.GUARANTEED, "OPPORTUNISTIC": pb.OPPORTUNISTIC}

Json = Mapping[str, Any]
T = TypeVar("T")
STEP = 200
"""Entries that are read in one go: three milliseconds where each is a local resource."""


class InvalidApplicationId(InvalidValue):
    """RMWebServices' own words."""

    def __init__(self, value: object) -> None:
        super().__init__("application-id", value, "application_<cluster timestamp>_<number>")
        self.args = (f"Could not parse application id {value}",)


class InvalidCredentials(InvalidValue):
    """RMWebAppUtil.createCredentials; which token is meant is told, what it holds is not."""

    def __init__(self, error: InvalidValue) -> None:
        super().__init__(error.field, error.value, error.expected)
        self.args = (f"Could not parse credentials data; exception message = {error}",)


class InvalidReservationId(InvalidValue):
    """Hadoop has several answers to it, by what exactly is wrong: ``text`` is what came."""

    def __init__(self, text: str) -> None:
        super().__init__("reservation-id", text[:64], "reservation_<cluster timestamp>_<number>")
        self.text = text


def submission_in_turns(body: Json, user: str) -> Iterator[tuple[ApplicationId, Submission] | None]:
    """Parse a submission in a user's name, in steps of milliseconds: yields None after each, and the result at last.

    Raises:
        InvalidApplicationId: missing or malformed.
        InvalidValue: another field is.
    """
    for found in context_in_turns(body):
        yield None
        if found is not None:
            yield found[0], submission_of(found[1], user)


def context_in_turns(body: Json) -> Iterator[tuple[ApplicationId, pb.ApplicationSubmissionContextProto] | None]:
    """Return the context that a client of the RPC would have sent, in steps of milliseconds.  Raises likewise."""
    fields = body
    application_id = _application_id(fields.get("application-id"))
    context = pb.ApplicationSubmissionContextProto(
        application_id=ids.application_id_pb(application_id),
        application_name=_text(fields, "application-name"),
        queue=_text(fields, "queue") or "default",
        applicationType=_text(fields, "application-type"),
        cancel_tokens_when_complete=_boolean(fields, "cancel-tokens-when-complete", True),
        unmanaged_am=_boolean(fields, "unmanaged-AM", False),
        maxAppAttempts=_integer(fields, "max-app-attempts", 0, INT32_MAX),
        keep_containers_across_application_attempts=_boolean(
            fields, "keep-containers-across-application-attempts", False
        ),
        applicationTags=_strings(fields.get("application-tags"), "tag", "application-tags"),
        attempt_failures_validity_interval=_integer(fields, "attempt-failures-validity-interval", -1, INT64_MAX),
        node_label_expression=_text(fields, "app-node-label-expression"),
    )
    # The bean's own default: such an application has priority -1, where one by RPC without a priority has 0.
    context.priority.priority = _integer(fields, "priority", -1, INT32_MAX)
    yield from _fill_launch_context(context.am_container_spec, _object(fields, "am-container-spec"))
    context.resource.CopyFrom(_resource(_object(fields, "resource"), "resource"))
    _add_am_requests(context, fields)
    _add_rest(context, fields)
    yield application_id, context


def _fill_launch_context(found: pb.ContainerLaunchContextProto, spec: Json) -> Iterator[None]:
    """A step for each STEP entries."""
    found.SetInParent()
    found.command.extend(_strings(spec.get("commands"), "command", "am-container-spec.commands"))
    yield
    for number, (link, value) in enumerate(_entries(spec, "local-resources"), start=1):
        found.localResources.add(key=link, value=_local_resource(link, value))
        if number % STEP == 0:
            yield
    for number, (name, value) in enumerate(_entries(spec, "environment"), start=1):
        found.environment.add(key=name, value=_as_text(value, f"environment[{name}]"))
        if number % STEP == 0:
            yield
    yield
    for name, value in _entries(spec, "service-data"):
        found.service_data.add(key=name, value=_decoded(value, f"service-data[{name}]"))
    for name, value in _entries(spec, "application-acls"):
        kind = _one_of(_ACCESS_TYPES, name, "application-acls key")
        found.application_ACLs.add(accessType=kind, acl=_as_text(value, f"application-acls[{name}]"))
    tokens = _credentials(_object(spec, "credentials"))
    if tokens:
        found.tokens = tokens
    yield


def _local_resource(link: str, value: Any) -> pb.LocalResourceProto:
    where = f"local-resources[{link}]"
    if not isinstance(value, Mapping):
        raise InvalidValue(where, _shown(value), "an object with resource, type, visibility, size and timestamp")
    found = pb.LocalResourceProto(
        resource=_url(_as_text(value.get("resource"), f"{where}.resource"), f"{where}.resource"),
        size=_integer(value, "size", -1, INT64_MAX),
        timestamp=_integer(value, "timestamp", -1, INT64_MAX),
        type=_one_of(_TYPES, value.get("type", "FILE"), f"{where}.type"),
        visibility=_one_of(_VISIBILITIES, value.get("visibility", "APPLICATION"), f"{where}.visibility"),
    )
    pattern = _text(value, "pattern")
    if pattern:
        found.pattern = pattern
    return found


def _url(text: str, where: str) -> pb.URLProto:
    """URL.fromURI: the path is decoded, an absent port is -1."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise InvalidValue(where, text[:200], "a URI") from error
    if not parts.path:
        raise InvalidValue(where, text[:200], "a URI with a path")
    url = pb.URLProto(port=-1 if port is None else port, file=unquote(parts.path))
    if parts.scheme:
        url.scheme = parts.scheme
    if parts.hostname:
        # urlsplit lowers the host; name services of HDFS and buckets may be written in capitals.
        authority = parts.netloc.rpartition("@")[2]
        url.host = authority if port is None else authority.rpartition(":")[0]
    user_info = parts.netloc.rpartition("@")[0]
    if user_info:
        url.userInfo = unquote(user_info)
    return url


def _credentials(fields: Json) -> bytes:
    """Tokens and secrets as a credentials stream; empty when there are none."""
    tokens = tuple((alias.encode(), _token(alias, value)) for alias, value in _entries(fields, "tokens"))
    secrets = tuple(
        (alias.encode(), _decoded(value, f"secrets[{alias}]")) for alias, value in _entries(fields, "secrets")
    )
    return encode_credentials(Credentials(tokens=tokens, secrets=secrets)) if tokens or secrets else b""


def _token(alias: str, value: Any) -> WireToken:
    try:
        return parse_token(_decoded(value, f"tokens[{alias}]"))
    except InvalidValue as error:
        raise InvalidCredentials(error) from error


def _resource(fields: Json, where: str) -> pb.ResourceProto:
    """``memory`` in MiB and ``vCores``; other types by name in resourceInformations."""
    memory = _integer(fields, "memory", 0, INT64_MAX)
    vcores = _integer(fields, "vCores", 0, INT32_MAX)
    found = pb.ResourceProto(memory=memory, virtual_cores=vcores)
    infos = _object(fields, "resourceInformations").get("resourceInformation", ())
    for info in _as_list(infos):
        if not isinstance(info, Mapping):
            raise InvalidValue(f"{where}.resourceInformations", _shown(info), "objects with name and value")
        name = _as_text(info.get("name"), f"{where}.resourceInformations.name")
        if name not in ("memory-mb", "vcores"):
            units = _text(info, "units")
            found.resource_value_map.add(key=name, value=_integer(info, "value", 0, INT64_MAX), units=units)
    return found


def _add_am_requests(context: pb.ApplicationSubmissionContextProto, fields: Json) -> None:
    """The AM's label and, as an extension, its resource requests."""
    label = _text(fields, "am-container-node-label-expression")
    requests = _as_list(fields.get("am-container-resource-requests") or ())
    for request in requests:
        if not isinstance(request, Mapping):
            raise InvalidValue("am-container-resource-requests", _shown(request), "objects")
        _read_over(request)
        found = context.am_container_resource_request.add(
            priority=pb.PriorityProto(priority=_integer(request, "priority", 0, INT32_MAX)),
            resource_name=_text(request, "resourceName") or _text(request, "resource-name") or "*",
            capability=_resource(_object(request, "capability"), "capability"),
            num_containers=_integer(request, "numContainers", 1, INT32_MAX),
            relax_locality=_boolean(request, "relaxLocality", True),
            node_label_expression=_text(request, "nodeLabelExpression") or label,
        )
        allocation_request_id = _integer(request, "allocationRequestId", 0, INT64_MAX)
        if allocation_request_id:
            found.allocation_request_id = allocation_request_id
        execution = _object(request, "executionTypeRequest")
        if execution:  # kept as it came; an ApplicationMaster is guaranteed whatever it says (RMAppManager)
            kind = execution.get("executionType") or "GUARANTEED"
            found.execution_type_request.execution_type = _one_of(_EXECUTION_TYPES, kind, "executionType")
            found.execution_type_request.enforce_execution_type = _boolean(execution, "enforceExecutionType", False)
    if label and not requests:
        context.am_container_resource_request.add(
            priority=pb.PriorityProto(priority=0),
            resource_name="*",
            capability=context.resource,
            num_containers=1,
            node_label_expression=label,
        )


def _read_over(request: Json) -> None:
    """Read and ignore the SchedulingRequests in a ResourceRequestInfo, as RMWebAppUtil does.

    There is no other container that an ApplicationMaster could be near to.  Raises InvalidValue if a value is not a
    text.
    """
    _strings(request.get("allocationTags"), "allocationTag", "allocationTags")
    _text(request, "placementConstraint")


def _add_rest(context: pb.ApplicationSubmissionContextProto, fields: Json) -> None:
    """Log aggregation, reservation, timeouts."""
    logs = _object(fields, "log-aggregation-context")
    if logs:
        context.log_aggregation_context.CopyFrom(
            pb.LogAggregationContextProto(
                include_pattern=_text(logs, "log-include-pattern"),
                exclude_pattern=_text(logs, "log-exclude-pattern"),
                rolled_logs_include_pattern=_text(logs, "rolled-log-include-pattern"),
                rolled_logs_exclude_pattern=_text(logs, "rolled-log-exclude-pattern"),
                log_aggregation_policy_class_name=_text(logs, "log-aggregation-policy-class-name"),
                log_aggregation_policy_parameters=_text(logs, "log-aggregation-policy-parameters"),
            )
        )
    reservation = _text(fields, "reservation-id")
    if reservation:
        match = _RESERVATION.fullmatch(reservation)
        if match is None:
            raise InvalidReservationId(reservation)
        context.reservation_id.cluster_timestamp, context.reservation_id.id = int(match[1]), int(match[2])
    for kind, value in _entries(fields, "application-timeouts"):
        timeout_type = _one_of(_TIMEOUT_TYPES, kind, "application-timeouts key")
        timeout_s = _integer({"timeout": value}, "timeout", 0, INT64_MAX)
        context.application_timeouts.add(application_timeout_type=timeout_type, timeout=timeout_s)


def _application_id(value: Any) -> ApplicationId:
    if not isinstance(value, str):
        raise InvalidApplicationId("" if value is None else _shown(value))
    try:
        found = ApplicationId.parse(value)
    except InvalidValue as error:
        raise InvalidApplicationId(value[:128]) from error
    if found.sequence > INT32_MAX or found.cluster_timestamp_ms > INT64_MAX:
        raise InvalidApplicationId(value[:128])
    return found


def _entries(fields: Json, name: str) -> Iterator[tuple[str, Any]]:
    """A JAXB map: ``{"entry": [{"key": …, "value": …}]}``, one entry perhaps without the list."""
    entries = _as_list(_object(fields, name).get("entry") or ())
    if len(entries) > ENTRIES_MAX:
        raise _too_many(name, len(entries), "entries")
    for entry in entries:
        if not isinstance(entry, Mapping) or "key" not in entry:
            raise InvalidValue(f"{name}.entry", _kind(entry), "objects with key and value")
        yield _as_text(entry["key"], f"{name}.entry.key"), entry.get("value", "")


def _strings(value: Any, inner: str, where: str) -> list[str]:
    """``{"tag": ["a", "b"]}``, ``{"tag": "a"}``, or the bare list or string."""
    found = value.get(inner) if isinstance(value, Mapping) else value
    items = _as_list(found if found is not None else ())
    if len(items) > ENTRIES_MAX:
        raise _too_many(where, len(items), "items")
    return [_as_text(item, where) for item in items]


def _too_many(where: str, count: int, what: str) -> InvalidValue:
    """More in one list than the service takes of all together: told before anything is built of it."""
    REFUSALS.tell(SUBMISSION_ENTRIES, caller="REST", value=count, maximum=ENTRIES_MAX)
    return InvalidValue(where, f"{count} {what}", f"at most {ENTRIES_MAX} ({SUBMISSION_ENTRIES.setting})")


def _object(fields: Json, name: str) -> Json:
    """An inner object; absent, null and the empty text of older writers are an empty one."""
    value = fields.get(name)
    if value is None or value == "":
        return {}
    if not isinstance(value, Mapping):
        raise InvalidValue(name, _kind(value), "an object")
    return value


def _text(fields: Json, name: str) -> str:
    value = fields.get(name)
    return "" if value is None else _as_text(value, name)


def _as_text(value: Any, where: str) -> str:
    """Scalars as text; a null inside a map is the empty text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, (str, int, float)):
        raise InvalidValue(where, _kind(value), "text")
    return str(value)


def _integer(fields: Json, name: str, default: int, most: int) -> int:
    value = fields.get(name)
    if value is None or value == "":
        return default
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and value == value // 1
    is_numeric = isinstance(value, str) and re.fullmatch(r"\s*[+-]?\d{1,20}\s*", value, re.ASCII) is not None
    number = int(value) if is_number or is_numeric else None
    if number is None or not -most - 1 <= number <= most:
        raise InvalidValue(name, _shown(value), f"a whole number from {-most - 1} to {most}")
    return number


def _boolean(fields: Json, name: str, default: bool) -> bool:
    value = fields.get(name)
    if value is None or value == "":
        return default
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    if not isinstance(value, bool):
        raise InvalidValue(name, _shown(value), "true or false")
    return value


def _one_of(names: Mapping[str, Any], value: Any, where: str) -> Any:
    found = names.get(value.strip().upper()) if isinstance(value, str) else None
    if found is None:
        raise InvalidValue(where, _shown(value), f"one of {', '.join(names)}")
    return found


def _decoded(value: Any, where: str) -> bytes:
    """Base64 of either alphabet, padded or not.  The value is a secret: no error shows it."""
    if not isinstance(value, str):
        raise InvalidValue(where, _kind(value), "base64 text")
    plain = value.strip().replace("+", "-").replace("/", "_").rstrip("=")
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise InvalidValue(where, f"<{len(value)} characters>", "base64 text") from None


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _shown(value: Any) -> str:
    return str(value)[:80] if isinstance(value, (str, int, float)) else _kind(value)


def _kind(value: Any) -> str:
    """The kind of a value instead of itself, where it may hold anything."""
    names = {dict: "an object", list: "a list", str: "text", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")
