"""SchedulingRequestProto and PlacementConstraintProto to values, and rejected requests back.

What cannot be kept is refused here, with what it is: node attributes (no node has any), DELAYED_OR (which Hadoop's
scheduler does not take either), and what breaks a limit.
"""

from __future__ import annotations

from collections.abc import Iterable

from yodel.domain import constraints
from yodel.domain.ask_book import AskKey, SchedulingAsk
from yodel.domain.constraints import AllOf, AnyOf, Constraint, Namespace, NamespaceKind, Scope, Single, TagTarget
from yodel.domain.ids import ApplicationId
from yodel.domain.states import ExecutionType
from yodel.errors import InvalidResourceRequest, InvalidValue
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.pb_convert import ids
from yodel.pb_convert.texts import text
from yodel.telemetry.further_limits import CONSTRAINT_CHILDREN, CONSTRAINT_DEPTH, CONSTRAINT_TAGS
from yodel.telemetry.limit import Limit
from yodel.telemetry.limits import REFUSALS

CHILDREN_MAX = 100
"""Constraints within one AND or OR."""
DEPTH_MAX = 10
COUNT_MAX = 2**31 - 1
PARTITION_KEY = "yarn_node_partition/"  # PlacementConstraints.NODE_PARTITION
_TAG = pb.PlacementConstraintTargetProto.ALLOCATION_TAG
ONLY_GUARANTEED = "Only GUARANTEED execution type is supported."
NO_SIZING = "No ResourceSizing found in the scheduling request, please double check"
NEGATIVE = "numAllocation in ResourceSizing field must be >= 0, updating schedulingRequest failed."


def scheduling_ask(message: pb.SchedulingRequestProto) -> SchedulingAsk:
    """Return the ask as SingleConstraintAppPlacementAllocator takes it.  Raises InvalidValue,
    InvalidResourceRequest."""
    if not message.HasField("resourceSizing"):
        raise InvalidResourceRequest(NO_SIZING)
    sizing, type_ = message.resourceSizing, ExecutionType(message.executionType.execution_type)
    if type_ is not ExecutionType.GUARANTEED:
        raise InvalidResourceRequest(ONLY_GUARANTEED)
    if sizing.numAllocations < 0:
        raise InvalidResourceRequest(NEGATIVE)
    key = AskKey(message.priority.priority, message.allocationRequestId, type_, ids.resource(sizing.resources))
    has_constraint = message.HasField("placementConstraint")
    return SchedulingAsk(
        key=key,
        count=sizing.numAllocations,
        tags=_tags("allocationTags", message.allocationTags),
        constraint=constraint(message.placementConstraint) if has_constraint else None,
        message=message.SerializeToString(deterministic=True),
    )


def registered(entry: pb.PlacementConstraintMapEntryProto) -> tuple[tuple[str, ...], Constraint]:
    """Raises InvalidResourceRequest, InvalidValue."""
    return _tags("allocation_tags", entry.allocation_tags), constraint(entry.placement_constraint)


def rejected_pb(message: bytes, *, is_for_constraint: bool) -> pb.RejectedSchedulingRequestProto:
    reason = pb.RRP_COULD_NOT_PLACE_ON_NODE if is_for_constraint else pb.RRP_COULD_NOT_SCHEDULE_ON_NODE
    request = pb.SchedulingRequestProto.FromString(message)
    return pb.RejectedSchedulingRequestProto(reason=reason, request=request)


def constraint(message: pb.PlacementConstraintProto, depth: int = 1) -> Constraint:
    """Raises InvalidResourceRequest, InvalidValue."""
    if depth > DEPTH_MAX:
        raise _refused("Placement constraints are nested too deep", CONSTRAINT_DEPTH, depth, DEPTH_MAX)
    if message.HasField("simpleConstraint"):
        return _single(message.simpleConstraint)
    composite = message.compositeConstraint
    kind = composite.compositeType
    if kind == pb.CompositePlacementConstraintProto.DELAYED_OR:
        raise InvalidResourceRequest("Unsupported type of constraint: DelayedOr")
    if not composite.childConstraints:
        raise InvalidResourceRequest(f"A composite placement constraint has 1 to {CHILDREN_MAX} children")
    if (count := len(composite.childConstraints)) > CHILDREN_MAX:
        raise _refused("Too many children of a placement constraint", CONSTRAINT_CHILDREN, count, CHILDREN_MAX)
    children = tuple(constraint(child, depth + 1) for child in composite.childConstraints)
    return AllOf(children) if kind == pb.CompositePlacementConstraintProto.AND else AnyOf(children)


def _single(message: pb.SimplePlacementConstraintProto) -> Single:
    maximum = message.maxCardinality
    if message.minCardinality < 0 or maximum < 0 or message.minCardinality > maximum:
        raise InvalidResourceRequest(f"Cardinalities of a constraint are 0 <= {message.minCardinality} <= {maximum}")
    try:
        scope = Scope(message.scope.lower())
    except ValueError as error:
        raise InvalidResourceRequest(f"Unsupported scope of a placement constraint: {message.scope!r}") from error
    partitions = [e for e in message.targetExpressions if e.targetType != _TAG]
    targets = tuple(
        TagTarget(tag, _namespace(expression.targetKey))
        for expression in message.targetExpressions
        if expression.targetType == _TAG
        for tag in _tags("targetValues", expression.targetValues)
    )
    return Single(
        scope=scope,
        minimum=message.minCardinality,
        maximum=None if maximum == COUNT_MAX else maximum,
        targets=targets,
        partition=_partition(partitions) if partitions else None,
    )


def _partition(expressions: list[pb.PlacementConstraintTargetProto]) -> str:
    """The one node label that is asked for.  Everything else about nodes is an attribute."""
    for expression in expressions:
        is_attribute = expression.targetType == pb.PlacementConstraintTargetProto.NODE_ATTRIBUTE
        if not is_attribute or expression.targetKey != PARTITION_KEY:
            raise InvalidResourceRequest(
                f"Node attributes are not supported in placement constraints: {expression.targetKey[:80]}"
            )
    values = [text("targetValues", value) for expression in expressions for value in expression.targetValues]
    if len(values) > 1:
        raise InvalidResourceRequest(
            "Inside one targetExpression, we only support affinity to at most one node partition now"
        )
    return values[0] if values else ""


def _namespace(key: str) -> Namespace:
    """TargetApplicationsNamespace.parse: ``kind`` or ``kind/value``."""
    if not key:
        return Namespace()
    prefix, _, value = text("targetKey", key).partition("/")
    try:
        kind = NamespaceKind(prefix)
    except ValueError as error:
        valid = ",".join(kind.value for kind in NamespaceKind)
        raise InvalidResourceRequest(f"Invalid namespace prefix: {prefix}, valid values are: {valid}") from error
    has_value = kind in (NamespaceKind.APP_ID, NamespaceKind.APP_TAG)
    if has_value and not value:
        what = "ID" if kind is NamespaceKind.APP_ID else "tag"
        raise InvalidResourceRequest(f"Missing the application {what} in the namespace string: {key}")
    if kind is NamespaceKind.APP_ID:
        try:
            value = str(ApplicationId.parse(value))
        except InvalidValue as error:
            raise InvalidResourceRequest(f"Invalid application ID for {prefix}: {value}") from error
    return Namespace(kind, value if has_value else "")


def _tags(field: str, values: Iterable[str]) -> tuple[str, ...]:
    found = tuple(dict.fromkeys(text(field, value, constraints.TAG_LENGTH_MAX) for value in values))
    if len(found) > constraints.TAGS_MAX:
        raise _refused(f"{field} has too many allocation tags", CONSTRAINT_TAGS, len(found), constraints.TAGS_MAX)
    return found


def _refused(what: str, limit: Limit, value: int, maximum: int) -> InvalidResourceRequest:
    REFUSALS.tell(limit, caller="an ApplicationMaster", value=value, maximum=maximum)
    return InvalidResourceRequest(f"{what}: {limit.words(value, maximum)}")
