"""Checks the regular expressions of a submission before anything of it is stored.

They are Java's, and matched on the nodes when the application may long be over: one that cannot be matched is refused
now.
"""

from __future__ import annotations

from yodel.domain.java_patterns import LENGTH_MAX, PatternRefused, to_regex
from yodel.errors import InvalidValue
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.pb_convert.texts import text

_FIELDS = {
    "include_pattern": "log-include-pattern",
    "exclude_pattern": "log-exclude-pattern",
    "rolled_logs_include_pattern": "rolled-log-include-pattern",
    "rolled_logs_exclude_pattern": "rolled-log-exclude-pattern",
}
"""Fields of LogAggregationContextProto, and what the REST API calls them."""


def require_patterns(context: pb.ApplicationSubmissionContextProto) -> None:
    """Judge the patterns of log aggregation and of the master's PATTERN resources.

    Raises:
        InvalidValue: names the field, what is wrong and where.
    """
    logs = context.log_aggregation_context
    for name, field in _FIELDS.items():
        if logs.HasField(name):  # the defaults in the protobuf definition are not what Hadoop's records answer
            _require(field, text(field, getattr(logs, name)))
    patterns = {
        entry.value.pattern: entry.key
        for entry in context.am_container_spec.localResources
        if entry.value.type == pb.PATTERN and entry.value.pattern
    }
    length = sum(map(len, patterns))
    if length > LENGTH_MAX:  # they are read while others wait; MapReduce has one, of 19 characters
        raise InvalidValue("localResources", f"patterns of {length} characters", f"at most {LENGTH_MAX} together")
    for pattern, link in patterns.items():
        field = f"pattern of local resource {link[:80]!r}"
        _require(field, text(field, pattern))


def _require(field: str, pattern: str) -> None:
    try:
        to_regex(pattern)
    except PatternRefused as error:
        raise InvalidValue(field, pattern[:200], error.expected) from None
