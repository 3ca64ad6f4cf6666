from __future__ import annotations

from typing import Any

import pytest

from yodel.domain.resource import Resource
from yodel.domain.tokens import Token
from yodel.errors import InvalidValue
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.hadoop_rpc.writable import Credentials, WireToken, encode_credentials, parse_credentials
from yodel.pb_convert import ids
from yodel.pb_convert.submission import (
    am_launch_context,
    launch_environment,
    log_aggregation_context,
    names_a_label,
    parse_context,
    submission,
)

AMRM = Token(identifier=b"\x01\x02", password=b"p" * 20, kind="YARN_AM_RM_TOKEN", service="")
HDFS = WireToken(identifier=b"\xff\x00", password=b"q" * 20, kind="HDFS_DELEGATION_TOKEN", service="10.0.0.2:8020")
PROTOBUF_CREDENTIALS = bytes.fromhex(
    "48445453014e0a430a02616d123d0a0401020304121473656372657473656372657473656372657431321a105941524e5f414d5f524d5f544f"
    "4b454e220d31302e302e302e313a3830333012070a016b1a020908"
)
"""Format version 1: alias ``am``, a secret ``k``."""


def a_context(**fields: Any) -> pb.ApplicationSubmissionContextProto:
    context = pb.ApplicationSubmissionContextProto(application_name="pi", **fields)
    context.am_container_spec.command.append("java Main")
    return context


def am_request(memory_mib: int, name: str = "*", label: str = "") -> pb.ResourceRequestProto:
    message = pb.ResourceRequestProto(resource_name=name, num_containers=1, node_label_expression=label)
    message.priority.priority = 0
    message.capability.CopyFrom(ids.resource_pb(Resource(memory_mib, 2)))
    return message


def test_size_of_the_am_as_spark_tez_and_flink_send_it() -> None:
    found = submission(a_context(resource=ids.resource_pb(Resource(1408, 1))), "alice")
    assert found.am_asked_capability == Resource(1408, 1)


def test_size_of_the_am_as_mapreduce_and_the_distributed_shell_send_it() -> None:
    requests = [am_request(512, "/rack"), am_request(1536, label="am-nodes")]
    found = submission(a_context(am_container_resource_request=requests), "alice")
    assert found.am_asked_capability == Resource(1536, 2)
    assert found.am_node_label == "am-nodes"


def test_am_request_comes_before_the_older_field() -> None:
    context = a_context(resource=ids.resource_pb(Resource(1, 1)), am_container_resource_request=[am_request(1536)])
    assert submission(context, "alice").am_asked_capability == Resource(1536, 2)


def test_size_that_nobody_sent_is_one_core_and_one_gibibyte() -> None:
    assert submission(a_context(), "alice").am_asked_capability == Resource(1024, 1)


def test_submitter_is_who_was_authenticated_and_the_rest_is_as_sent() -> None:
    context = a_context(
        queue="dev",
        applicationType="SPARK",
        applicationTags=["Etl", "NIGHT"],
        maxAppAttempts=4,
        attempt_failures_validity_interval=1000,
        unmanaged_am=True,
        keep_containers_across_application_attempts=True,
        node_label_expression="gpu",
    )
    context.priority.priority = 3
    context.am_container_spec.application_ACLs.add(accessType=pb.APPACCESS_VIEW_APP, acl="bob staff")
    context.application_timeouts.add(application_timeout_type=pb.APP_TIMEOUT_LIFETIME, timeout=60)
    found = submission(context, "alice")

    assert (found.user, found.name, found.queue, found.application_type) == ("alice", "pi", "dev", "SPARK")
    assert found.tags == ("etl", "night")
    assert (found.priority, found.max_attempts, found.lifetime_s) == (3, 4, 60)
    assert found.attempt_failures_validity_interval_ms == 1000
    assert found.is_unmanaged
    assert found.keep_containers_across_attempts
    assert (found.node_label, found.am_node_label) == ("gpu", "gpu")
    assert (found.view_acl, found.modify_acl) == ("bob staff", " ")
    assert parse_context(found.context) == context


def test_what_is_not_sent_has_yarns_defaults() -> None:
    found = submission(a_context(), "alice")
    assert (found.queue, found.application_type, found.priority) == ("default", "YARN", 0)
    assert (found.lifetime_s, found.attempt_failures_validity_interval_ms) == (-1, -1)


def test_submission_without_a_launch_context_is_refused() -> None:
    with pytest.raises(InvalidValue, match="am_container_spec"):
        submission(pb.ApplicationSubmissionContextProto(application_name="pi"), "alice")


def test_credentials_that_cannot_be_read_are_refused_at_the_submission() -> None:
    context = a_context()
    context.am_container_spec.tokens = b"HDTS\x00\xff\xff"
    with pytest.raises(InvalidValue):
        submission(context, "alice")


def test_garbage_is_no_context() -> None:
    with pytest.raises(InvalidValue):
        parse_context(b"\xff")


# --- the AM's launch context ---------------------------------------------------------------------------------------


def launched(context: pb.ApplicationSubmissionContextProto, **environment: str) -> pb.ContainerLaunchContextProto:
    made = am_launch_context(context.SerializeToString(), AMRM, environment)
    return pb.ContainerLaunchContextProto.FromString(made)


def with_tokens(tokens: bytes) -> pb.ApplicationSubmissionContextProto:
    context = a_context()
    context.am_container_spec.tokens = tokens
    return context


def test_am_token_is_first_with_an_empty_alias_and_service_and_the_others_stay() -> None:
    given = Credentials(tokens=((b"hdfs", HDFS), (b"am", HDFS)), secrets=((b"shuffle", b"\x00\xff"),))
    found = parse_credentials(launched(with_tokens(encode_credentials(given))).tokens)

    (alias, first), *others = found.tokens
    assert (alias, first.service, first.kind) == (b"", "", "YARN_AM_RM_TOKEN")
    assert (first.identifier, first.password) == (AMRM.identifier, AMRM.password)
    assert tuple(others) == given.tokens
    assert found.secrets == given.secrets


def test_credentials_are_written_as_writables_whatever_they_came_as() -> None:
    made = launched(with_tokens(PROTOBUF_CREDENTIALS)).tokens
    assert made.startswith(b"HDTS\x00")
    found = parse_credentials(made)
    assert [alias for alias, _ in found.tokens] == [b"", b"am"]
    assert found.secrets == ((b"k", b"\x09\x08"),)


def test_without_credentials_the_am_token_is_alone() -> None:
    assert len(parse_credentials(launched(a_context()).tokens).tokens) == 1


def test_environment_of_the_rm_replaces_the_submitters() -> None:
    context = a_context()
    context.am_container_spec.environment.add(key="MINE", value="kept")
    context.am_container_spec.environment.add(key="APP_SUBMIT_TIME_ENV", value="forged")
    found = launched(context, APP_SUBMIT_TIME_ENV="123", APPLICATION_WEB_PROXY_BASE="/proxy/x")
    assert sorted((e.key, e.value) for e in found.environment) == [
        ("APPLICATION_WEB_PROXY_BASE", "/proxy/x"),
        ("APP_SUBMIT_TIME_ENV", "123"),
        ("MINE", "kept"),
    ]


def test_environment_of_thousands_of_the_rms_names_is_replaced() -> None:
    sent = pb.ApplicationSubmissionContextProto()
    for number in range(10_000):
        name = f"V{number}" if number < 5_000 else "CONTAINER_ID"
        sent.am_container_spec.environment.add(key=name, value=str(number))
    token = Token(identifier=b"id", password=b"pw", kind="YARN_AM_RM_TOKEN", service="")
    made = am_launch_context(sent.SerializeToString(), token, {"CONTAINER_ID": "mine"})
    found = [(entry.key, entry.value) for entry in pb.ContainerLaunchContextProto.FromString(made).environment]
    assert found == [*((f"V{number}", str(number)) for number in range(5_000)), ("CONTAINER_ID", "mine")]


def test_everything_else_goes_byte_for_byte_even_what_is_unknown() -> None:
    context = a_context()
    spec = context.am_container_spec
    spec.service_data.add(key="mapreduce_shuffle", value=b"\x00\x01\xff")
    local = spec.localResources.add(key="job.jar").value
    local.resource.CopyFrom(pb.URLProto(scheme="hdfs", host="nn", port=8020, file="/job.jar"))
    local.size, local.timestamp = 5, 6
    local.type, local.visibility = pb.FILE, pb.PRIVATE
    unknown = b"\xfa\x3f\x03new"  # field 1023, which this version does not know
    sent = pb.ApplicationSubmissionContextProto.FromString(context.SerializeToString())
    sent.am_container_spec.MergeFromString(unknown)

    made = am_launch_context(sent.SerializeToString(), AMRM, {})
    found = pb.ContainerLaunchContextProto.FromString(made)
    found.ClearField("tokens")

    assert found.SerializeToString() == sent.am_container_spec.SerializeToString()
    assert unknown in made


def test_environment_of_the_submitter_is_read_and_the_last_of_a_name_counts() -> None:
    context = a_context()
    for key, value in (("A", "1"), ("B", ""), ("A", "2")):
        context.am_container_spec.environment.add(key=key, value=value)
    assert launch_environment(context.SerializeToString()) == {"A": "2", "B": ""}


def test_log_aggregation_context_is_passed_on_when_there_is_one() -> None:
    assert log_aggregation_context(a_context().SerializeToString()) == b""
    context = a_context()
    context.log_aggregation_context.include_pattern = "std.*"
    wanted = context.log_aggregation_context.SerializeToString()
    assert log_aggregation_context(context.SerializeToString()) == wanted


@pytest.mark.parametrize(("label", "is_named"), [(None, False), ("", True), ("ssd", True)])
def test_empty_label_is_one_that_was_given(label: str | None, is_named: bool) -> None:
    assert names_a_label(a_context(node_label_expression=label).SerializeToString()) is is_named


def test_context_that_cannot_be_read_names_no_label() -> None:
    assert not names_a_label(b"\xff")
