"""REST bodies to submission contexts."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from tests.support.at_once import submission, submission_context
from yodel.domain.ids import ApplicationId
from yodel.domain.resource import Resource
from yodel.errors import InvalidValue
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.hadoop_rpc.writable import WireToken, encode_token, parse_credentials
from yodel.pb_convert.rest_submission import (
    ROOT,
    STEP,
    InvalidApplicationId,
    submission_in_turns,
)

ID = "application_1700000000000_0001"
TOKEN = WireToken(identifier=b"\xfb\xff\xfe", password=b"secret", kind="HDFS_DELEGATION_TOKEN", service="nn:8020")


def context(**changes: Any) -> pb.ApplicationSubmissionContextProto:
    return submission_context({"application-id": ID, **changes})[1]


def spec(**changes: Any) -> pb.ContainerLaunchContextProto:
    return context(**{"am-container-spec": changes}).am_container_spec


def test_least_body_has_hadoops_defaults() -> None:
    application_id, found = submission_context({"application-id": ID})
    assert application_id == ApplicationId(1700000000000, 1)
    assert (found.application_name, found.queue, found.applicationType) == ("", "default", "")
    assert (found.maxAppAttempts, found.attempt_failures_validity_interval) == (0, -1)
    assert found.cancel_tokens_when_complete
    assert found.HasField("am_container_spec")
    assert found.priority.priority == -1
    assert not found.am_container_resource_request


def test_whole_body_is_read() -> None:
    found = context(
        **{
            "application-name": "pi",
            "queue": "root.etl",
            "priority": 3,
            "unmanaged-AM": True,
            "cancel-tokens-when-complete": False,
            "max-app-attempts": 2,
            "resource": {"memory": 2048, "vCores": 2},
            "application-type": "SPARK",
            "keep-containers-across-application-attempts": True,
            "application-tags": {"tag": ["a", "b"]},
            "app-node-label-expression": "ssd",
            "log-aggregation-context": {"log-include-pattern": "std.*", "rolled-log-exclude-pattern": "x"},
            "attempt-failures-validity-interval": 60_000,
            "reservation-id": "reservation_17_0003",
        }
    )
    assert (found.application_name, found.queue, found.priority.priority) == ("pi", "root.etl", 3)
    assert (found.unmanaged_am, found.cancel_tokens_when_complete, found.maxAppAttempts) == (True, False, 2)
    assert (found.resource.memory, found.resource.virtual_cores) == (2048, 2)
    assert (found.applicationType, list(found.applicationTags)) == ("SPARK", ["a", "b"])
    assert (found.keep_containers_across_application_attempts, found.node_label_expression) == (True, "ssd")
    assert found.log_aggregation_context.include_pattern == "std.*"
    assert found.log_aggregation_context.rolled_logs_exclude_pattern == "x"
    assert found.attempt_failures_validity_interval == 60_000
    assert (found.reservation_id.cluster_timestamp, found.reservation_id.id) == (17, 3)


def test_submission_is_in_the_callers_name() -> None:
    application_id, found = submission({"application-id": ID, "resource": {"memory": 300, "vCores": 2}}, "alice")
    assert (str(application_id), found.user, found.am_asked_capability) == (ID, "alice", Resource(300, 2))


def test_root_element_must_not_be_there() -> None:
    with pytest.raises(InvalidApplicationId, match=r"^Could not parse application id $"):
        submission_context({ROOT: {"application-id": ID}})


def test_unknown_fields_are_passed_over() -> None:
    assert context(**{"am-black-listing-requests": {"disable-failure-threshold": 1}, "bogus": [1]}) == context()


def test_numbers_and_booleans_may_be_text() -> None:
    found = context(**{"resource": {"memory": "512", "vCores": " 2 "}, "unmanaged-AM": "TRUE", "max-app-attempts": "1"})
    assert (found.resource.memory, found.resource.virtual_cores) == (512, 2)
    assert (found.unmanaged_am, found.maxAppAttempts) == (True, 1)


@pytest.mark.parametrize("value", [None, ""])
def test_empty_values_are_defaults(value: object) -> None:
    names = ("queue", "resource", "am-container-spec", "application-tags", "priority", "unmanaged-AM")
    assert context(**dict.fromkeys(names, value)).queue == "default"


def test_one_entry_may_come_without_its_list() -> None:
    entry = {"key": "A", "value": "1"}
    assert spec(environment={"entry": entry}) == spec(environment={"entry": [entry]})
    assert [(e.key, e.value) for e in spec(environment={"entry": entry}).environment] == [("A", "1")]
    assert list(spec(commands={"command": ["a", "b"]}).command) == ["a", "b"]
    assert list(spec(commands={"command": "a"}).command) == ["a"]
    assert list(context(**{"application-tags": {"tag": "a"}}).applicationTags) == ["a"]


def resource(uri: str, **changes: Any) -> pb.LocalResourceProto:
    value = {"resource": uri, "type": "FILE", "visibility": "PRIVATE", "size": 5, "timestamp": 7, **changes}
    (entry,) = spec(**{"local-resources": {"entry": [{"key": "link", "value": value}]}}).localResources
    assert entry.key == "link"
    return entry.value


@pytest.mark.parametrize(
    ("uri", "parts"),
    [
        ("hdfs://nn:8020/a/b", ("hdfs", "nn", 8020, "/a/b", "")),
        ("hdfs://NameService1/a", ("hdfs", "NameService1", -1, "/a", "")),
        ("file:///tmp/a%20b", ("file", "", -1, "/tmp/a b", "")),
        ("file:/tmp/a", ("file", "", -1, "/tmp/a", "")),
        ("/tmp/a", ("", "", -1, "/tmp/a", "")),
        ("s3a://key@bucket/x", ("s3a", "bucket", -1, "/x", "key")),
        ("hdfs://nn:8020/a#link", ("hdfs", "nn", 8020, "/a", "")),
    ],
)
def test_resource_uri_becomes_url_parts(uri: str, parts: tuple[str, str, int, str, str]) -> None:
    url = resource(uri).resource
    assert (url.scheme, url.host, url.port, url.file, url.userInfo) == parts


def test_local_resource_is_read() -> None:
    found = resource("file:///a", type="pattern", visibility="Public", size="12", pattern="lib/.*")
    assert (found.type, found.visibility) == (pb.PATTERN, pb.PUBLIC)
    assert (found.size, found.timestamp, found.pattern) == (12, 7, "lib/.*")
    assert not resource("file:///a").HasField("pattern")


@pytest.mark.parametrize("encode", [base64.urlsafe_b64encode, base64.b64encode])
@pytest.mark.parametrize("padding", ["=", ""])
def test_credentials_become_a_stream(encode: Any, padding: str) -> None:
    def text(data: bytes) -> str:
        encoded: str = encode(data).decode()
        return encoded if padding else encoded.rstrip("=")

    found = spec(
        credentials={
            "tokens": {"entry": {"key": "hdfs", "value": text(encode_token(TOKEN))}},
            "secrets": {"entry": [{"key": "s", "value": text(b"\xff\xfb\xfe1")}]},
        },
    )
    credentials = parse_credentials(found.tokens)
    assert credentials.tokens == ((b"hdfs", TOKEN),)
    assert credentials.secrets == ((b"s", b"\xff\xfb\xfe1"),)


def test_no_credentials_are_no_stream() -> None:
    assert not spec(credentials={"tokens": {}, "secrets": ""}).HasField("tokens")


def test_service_data_and_acls_are_read() -> None:
    found = spec(
        **{
            "service-data": {"entry": {"key": "mapreduce_shuffle", "value": "AAEC"}},
            "application-acls": {"entry": [{"key": "VIEW_APP", "value": "u1 g1"}, {"key": "MODIFY_APP", "value": " "}]},
        }
    )
    assert [(e.key, e.value) for e in found.service_data] == [("mapreduce_shuffle", b"\x00\x01\x02")]
    acls = [(e.accessType, e.acl) for e in found.application_ACLs]
    assert acls == [(pb.APPACCESS_VIEW_APP, "u1 g1"), (pb.APPACCESS_MODIFY_APP, " ")]


def test_extensions_of_the_rpc_are_read() -> None:
    gpu = {"resourceInformation": [{"name": "yarn.io/gpu", "value": 1}, {"name": "memory-mb", "value": 9}]}
    capability = {"memory": 512, "vCores": 1, "resourceInformations": gpu}
    found = context(
        **{
            "application-timeouts": {"entry": {"key": "LIFETIME", "value": "60"}},
            "am-container-node-label-expression": "ssd",
            "am-container-resource-requests": [{"capability": capability, "resourceName": "*"}],
        }
    )
    assert [(e.application_timeout_type, e.timeout) for e in found.application_timeouts] == [
        (pb.APP_TIMEOUT_LIFETIME, 60)
    ]
    (request,) = found.am_container_resource_request
    assert (request.resource_name, request.node_label_expression, request.capability.memory) == ("*", "ssd", 512)
    assert [(i.key, i.value) for i in request.capability.resource_value_map] == [("yarn.io/gpu", 1)]


def test_whole_request_for_the_am_is_kept() -> None:
    execution = {"executionType": "OPPORTUNISTIC", "enforceExecutionType": "true"}
    read_over = {"allocationTags": ["a", "b"], "placementConstraint": "notin,node,a"}
    body = {"allocationRequestId": "-7", "executionTypeRequest": execution, **read_over}
    (request,) = context(**{"am-container-resource-requests": body}).am_container_resource_request
    assert (request.allocation_request_id, request.execution_type_request.execution_type) == (-7, pb.OPPORTUNISTIC)
    assert request.execution_type_request.enforce_execution_type


def test_request_that_says_nothing_of_its_execution_says_nothing() -> None:
    body = {"executionTypeRequest": "", "allocationTags": {"allocationTag": ""}}
    (request,) = context(**{"am-container-resource-requests": [body]}).am_container_resource_request
    assert not request.HasField("execution_type_request")
    assert not request.HasField("allocation_request_id")


@pytest.mark.parametrize(
    ("request_fields", "message"),
    [
        ({"allocationRequestId": 2**63}, "Invalid allocationRequestId: .*; expected a whole number"),
        ({"executionTypeRequest": "GUARANTEED"}, "Invalid executionTypeRequest: 'text'; expected an object"),
        ({"executionTypeRequest": {"executionType": "BEST"}}, "one of GUARANTEED, OPPORTUNISTIC"),
        ({"executionTypeRequest": {"enforceExecutionType": 1}}, "Invalid enforceExecutionType"),
        ({"allocationTags": [{}]}, "Invalid allocationTags: 'an object'; expected text"),
        ({"placementConstraint": {}}, "Invalid placementConstraint"),
    ],
)
def test_what_a_request_for_the_am_cannot_mean_is_refused(request_fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        context(**{"am-container-resource-requests": [request_fields]})


def test_label_of_the_am_is_kept_without_requests() -> None:
    found = context(**{"am-container-node-label-expression": "ssd", "resource": {"memory": 512, "vCores": 1}})
    (request,) = found.am_container_resource_request
    assert (request.node_label_expression, request.capability.memory) == ("ssd", 512)


@pytest.mark.parametrize(
    "value", ["nope", "application_1", 7, None, ["x"], "application_1_9999999999", "application_1_0001 "]
)
def test_bad_id_is_refused_in_hadoops_words(value: object) -> None:
    with pytest.raises(InvalidApplicationId, match=r"^Could not parse application id "):
        submission_context({"application-id": value})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"priority": "high"}, "Invalid priority: 'high'; expected a whole number"),
        ({"priority": 1.5}, "Invalid priority"),
        ({"priority": True}, "Invalid priority"),
        ({"max-app-attempts": 2**31}, "Invalid max-app-attempts"),
        ({"resource": {"memory": float("inf")}}, "Invalid memory"),
        ({"unmanaged-AM": 1}, "expected true or false"),
        ({"application-name": {"a": 1}}, "Invalid application-name: 'an object'; expected text"),
        ({"am-container-spec": "x"}, "Invalid am-container-spec: 'text'; expected an object"),
        ({"am-container-spec": {"environment": {"entry": ["x"]}}}, "environment.entry"),
        ({"am-container-spec": {"environment": {"entry": [{"value": "x"}]}}}, "objects with key and value"),
        ({"am-container-spec": {"environment": {"entry": [{"key": "x"}] * 10_001}}}, "at most 10000"),
        ({"am-container-spec": {"application-acls": {"entry": {"key": "OWN", "value": ""}}}}, "one of VIEW_APP"),
        ({"am-container-spec": {"local-resources": {"entry": {"key": "l", "value": 1}}}}, r"local-resources\[l\]"),
        ({"am-container-spec": {"local-resources": {"entry": {"key": "l", "value": {}}}}}, "a URI with a path"),
        ({"reservation-id": "x"}, "Invalid reservation-id"),
        ({"application-timeouts": {"entry": {"key": "LUNCH", "value": 1}}}, "one of LIFETIME"),
    ],
)
def test_error_names_field_value_and_expectation(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        context(**changes)


@pytest.mark.parametrize("uri", ["hdfs://nn:port/x", "hdfs://[::1/x", "hdfs://nn"])
def test_bad_uri_is_refused(uri: str) -> None:
    with pytest.raises(InvalidValue, match=r"local-resources\[link\]\.resource"):
        resource(uri)


@pytest.mark.parametrize("part", ["tokens", "secrets"])
def test_error_of_a_secret_does_not_show_it(part: str) -> None:
    with pytest.raises(InvalidValue, match="alias") as raised:
        spec(credentials={part: {"entry": {"key": "alias", "value": "hunter2-*"}}})
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize("name", ["environment", "local-resources"])
def test_long_lists_are_read_in_steps(name: str) -> None:
    value = {"resource": "file:///x"} if name == "local-resources" else "v"
    entries = [{"key": f"k{number}", "value": value} for number in range(5 * STEP)]
    body = {"application-id": "application_1700000000000_0007", "am-container-spec": {name: {"entry": entries}}}
    steps = list(submission_in_turns(body, "alice"))
    assert len(steps) > 5
    assert steps[-1] == submission(body, "alice")
    assert not any(steps[:-1])
