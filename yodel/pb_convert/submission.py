"""ApplicationSubmissionContextProto to a domain Submission, and to the AM's launch context.

The context is kept as it came and read again at launch: what this RM has no opinion of (local resources, commands,
service data, further credentials) reaches the node agent byte for byte.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized

from google.protobuf.message import DecodeError

from yodel.domain.application import Submission
from yodel.domain.resource import Resource
from yodel.domain.shuffle.decision import AddedSetting, completed
from yodel.domain.tokens import Token
from yodel.errors import InvalidValue, Refused
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.hadoop_rpc.writable import Credentials, WireToken, encode_credentials, parse_credentials
from yodel.pb_convert import ids
from yodel.pb_convert.patterns import require_patterns
from yodel.pb_convert.texts import text

ANY = "*"
DEFAULT_QUEUE = "default"
DEFAULT_AM_RESOURCE = Resource(1024, 1)


def submission(context: pb.ApplicationSubmissionContextProto, user: str) -> Submission:
    """Return the submitter's request; rounding and limits are the service's.

    Raises:
        InvalidValue: no launch context, credentials that cannot be read, or a pattern that cannot be matched.
        Refused: a lifetime that is not positive.
    """
    if not context.HasField("am_container_spec"):
        raise InvalidValue("am_container_spec", None, "a ContainerLaunchContext")
    if context.am_container_spec.tokens:
        parse_credentials(context.am_container_spec.tokens)
    require_patterns(context)
    asked = _am_resource(context)
    return Submission(
        name=text("application_name", context.application_name),
        user=user,
        queue=text("queue", context.queue) or DEFAULT_QUEUE,
        application_type=text("applicationType", context.applicationType),
        tags=tuple(text("applicationTags", tag).lower() for tag in context.applicationTags),
        priority=context.priority.priority if context.HasField("priority") else 0,
        max_attempts=context.maxAppAttempts,
        attempt_failures_validity_interval_ms=context.attempt_failures_validity_interval,
        keep_containers_across_attempts=context.keep_containers_across_application_attempts,
        is_unmanaged=context.unmanaged_am,
        am_capability=asked,
        am_asked_capability=asked,
        am_node_label=_am_node_label(context),
        node_label=text("node_label_expression", context.node_label_expression),
        view_acl=_acl(context, pb.APPACCESS_VIEW_APP),
        modify_acl=_acl(context, pb.APPACCESS_MODIFY_APP),
        lifetime_s=_lifetime_s(context),
        context=context.SerializeToString(),
    )


def parse_context(data: bytes) -> pb.ApplicationSubmissionContextProto:
    """Raises InvalidValue."""
    try:
        return pb.ApplicationSubmissionContextProto.FromString(data)
    except DecodeError as error:
        raise InvalidValue("submission context", f"{len(data)} bytes", "ApplicationSubmissionContextProto") from error


def am_launch_context(
    context: bytes, amrm_token: Token, environment: Mapping[str, str], shuffle: Sequence[AddedSetting] = ()
) -> bytes:
    """The AM's ContainerLaunchContextProto: the submitter's, with the AMRM token first and the RM's environment.

    As the real RM does, the token goes in with an empty alias and an empty service (AMLauncher.setupTokens).
    ``shuffle`` are the settings that its queue adds.
    """
    spec = parse_context(context).am_container_spec
    given = parse_credentials(spec.tokens) if spec.tokens else Credentials()
    own = WireToken(
        identifier=amrm_token.identifier, password=amrm_token.password, kind=amrm_token.kind, service=amrm_token.service
    )
    others = tuple((alias, token) for alias, token in given.tokens if alias != b"")
    spec.tokens = encode_credentials(Credentials(tokens=((b"", own), *others), secrets=given.secrets))
    others_given = [entry for entry in spec.environment if entry.key not in environment]
    if len(others_given) < len(spec.environment):  # made anew: taking one out of many looks at all before it
        del spec.environment[:]
        spec.environment.extend(others_given)
    for name, value in environment.items():
        spec.environment.add(key=name, value=value)
    if shuffle:
        spec.command[:] = completed(spec.command, shuffle)
    return spec.SerializeToString()


def launch_of(context: bytes) -> tuple[tuple[str, ...], dict[str, str], tuple[str, ...]]:
    """The command of the AM, item by item, its environment as the submitter gave it, and the links of its resources
    with the paths that they come from."""
    spec = parse_context(context).am_container_spec
    names = tuple(name for entry in spec.localResources for name in (entry.key, entry.value.resource.file))
    return tuple(spec.command), launch_environment(context), names


def launch_environment(context: bytes) -> dict[str, str]:
    """The environment that the submitter gave the AM; the last of a name counts, as in Hadoop's map."""
    return {entry.key: entry.value for entry in parse_context(context).am_container_spec.environment}


def entries_of(context: bytes) -> int:
    """Return the number of entries in the lists and maps of a submission and its launch context."""
    try:
        parsed = parse_context(context)
    except InvalidValue:
        return 0
    spec = parsed.am_container_spec
    lists: tuple[Sized, ...] = (
        *(spec.environment, spec.localResources, spec.service_data, spec.command, spec.application_ACLs),
        *(parsed.am_container_resource_request, parsed.applicationTags, parsed.application_timeouts),
        *(parsed.resource.resource_value_map, parsed.application_scheduling_properties),
    )
    return sum(map(len, lists))


def without_launch(context: bytes) -> bytes:
    """Return the context of an ended application as reports need it, without the launch context."""
    try:
        parsed = parse_context(context)
    except InvalidValue:
        return b""
    kept = pb.ApplicationSubmissionContextProto()
    if parsed.HasField("node_label_expression"):
        kept.node_label_expression = parsed.node_label_expression
    return kept.SerializeToString()


def names_a_label(context: bytes) -> bool:
    """Return True if the submitter set the application's label at all; REST bodies do, with an empty one."""
    try:
        return parse_context(context).HasField("node_label_expression")
    except InvalidValue:
        return False


def log_aggregation_context(context: bytes) -> bytes:
    """The LogAggregationContextProto of a submission; empty when it has none."""
    parsed = parse_context(context)
    if not parsed.HasField("log_aggregation_context"):
        return b""
    return parsed.log_aggregation_context.SerializeToString()


def _am_resource(context: pb.ApplicationSubmissionContextProto) -> Resource:
    """MapReduce and the distributed shell send field 17 only, Spark, Tez and Flink field 9 only."""
    for request in context.am_container_resource_request:
        if request.resource_name == ANY:
            return ids.resource(request.capability)
    if context.HasField("resource"):
        return ids.resource(context.resource)
    return DEFAULT_AM_RESOURCE


def _am_node_label(context: pb.ApplicationSubmissionContextProto) -> str:
    for request in context.am_container_resource_request:
        if request.resource_name == ANY and request.node_label_expression:
            return text("node_label_expression", request.node_label_expression)
    return text("node_label_expression", context.node_label_expression)


def _acl(context: pb.ApplicationSubmissionContextProto, kind: pb.ApplicationAccessTypeProto) -> str:
    for entry in context.am_container_spec.application_ACLs:
        if entry.accessType == kind:
            return text("acl", entry.acl)
    return " "


def asked_priority(context: bytes) -> int:
    """Return the priority in the original submission; 0: it has none, or its context cannot be read."""
    try:
        found = pb.ApplicationSubmissionContextProto.FromString(context)
    except DecodeError:
        return 0
    return found.priority.priority if found.HasField("priority") else 0


def _lifetime_s(context: pb.ApplicationSubmissionContextProto) -> int:
    for entry in context.application_timeouts:
        if entry.application_timeout_type == pb.APP_TIMEOUT_LIFETIME:
            if entry.timeout <= 0:  # RMServerUtils.validateApplicationTimeouts
                raise Refused(f"Invalid application timeout, value={entry.timeout} for type=LIFETIME")
            return entry.timeout
    return -1
