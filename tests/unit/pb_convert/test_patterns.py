"""Patterns of a submission: what Java refuses, and what is not supported."""

from __future__ import annotations

import pytest

from yodel.errors import InvalidValue
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.pb_convert.submission import submission

FIELDS = ("include_pattern", "exclude_pattern", "rolled_logs_include_pattern", "rolled_logs_exclude_pattern")
NOT_SUPPORTED = r"std\X"


def submit(resources: dict[str, str] | None = None, **logs: str) -> None:
    context = pb.ApplicationSubmissionContextProto()
    context.am_container_spec.command.append("true")
    context.log_aggregation_context.CopyFrom(pb.LogAggregationContextProto(**logs))
    for link, pattern in (resources or {}).items():
        context.am_container_spec.localResources.add(
            key=link, value=pb.LocalResourceProto(type=pb.PATTERN, pattern=pattern)
        )
    submission(context, "alice")


@pytest.mark.parametrize("field", FIELDS)
def test_log_pattern_that_java_refuses_is_refused_by_the_name_of_its_field(field: str) -> None:
    submit(**{field: r"std\p{Lower}+"})
    submit(**{field: ""})
    name = field.replace("logs_", "").removesuffix("_pattern").replace("rolled_", "rolled-log-")
    name = f"{name}-pattern" if name.startswith("rolled") else f"log-{name}-pattern"
    with pytest.raises(InvalidValue, match=rf"{name}: 'std\(out'.*Unclosed group near index 7"):
        submit(**{field: "std(out"})


@pytest.mark.parametrize("field", FIELDS)
def test_pattern_that_is_not_supported_is_refused_with_its_place(field: str) -> None:
    with pytest.raises(InvalidValue, match=r"-pattern: 'std.*escape sequence near index 3"):
        submit(**{field: NOT_SUPPORTED})


def test_patterns_of_resources() -> None:
    submit({"job.jar": r"(?:classes/|lib/).*", "more.jar": r".*\.class"})
    with pytest.raises(InvalidValue, match=r"local resource 'job.jar'.*Dangling meta character"):
        submit({"job.jar": "*.class"})
    with pytest.raises(InvalidValue, match=r"local resource 'more.jar'.*near index 3"):
        submit({"job.jar": "lib/.*", "more.jar": NOT_SUPPORTED})
    several = {str(number): f"{number}" * 128 for number in range(8)}
    submit({**several, "the first again": several["0"]})
    with pytest.raises(InvalidValue, match=r"patterns of 1026 characters.*at most 1024 together"):
        submit({**several, "9": "99"})
