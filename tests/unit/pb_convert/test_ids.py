from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import records
from yodel.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId, NodeId
from yodel.domain.resource import Resource
from yodel.errors import InvalidValue
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.pb_convert import ids

int64 = st.integers(-(2**63), 2**63 - 1)
ATTEMPT = ApplicationAttemptId(ApplicationId(1_700_000_000_000, 7), 1)


@given(records.application_ids, records.attempt_ids, records.container_ids)
def test_identifiers_come_back_as_they_went(
    application_id: ApplicationId, attempt_id: ApplicationAttemptId, container_id: ContainerId
) -> None:
    assert ids.application_id(ids.application_id_pb(application_id)) == application_id
    assert ids.attempt_id(ids.attempt_id_pb(attempt_id)) == attempt_id
    assert ids.container_id(ids.container_id_pb(container_id)) == container_id


def test_container_ids_as_a_real_hadoop_writes_them() -> None:
    container_id = ContainerId.of(ATTEMPT, 2, epoch=3)
    message = ids.container_id_pb(container_id)
    assert message.id == 3298534883330
    assert message.app_id == message.app_attempt_id.application_id  # for readers of Hadoop 2
    assert str(container_id) == "container_e03_1700000000000_0007_01_000002"


def test_node_id_comes_back_as_it_went() -> None:
    assert ids.node_id(ids.node_id_pb(NodeId("h1", 8041))) == NodeId("h1", 8041)


@pytest.mark.parametrize(
    ("host", "port"), [("", 1), ("::1", 1), ("h" * 254, 1), ("h", 0), ("h", 65536), ("h", -1), ("h:1", 1)]
)
def test_node_id_that_tokens_could_not_name_is_refused(host: str, port: int) -> None:
    with pytest.raises(InvalidValue):
        ids.node_id(pb.NodeIdProto(host=host, port=port))


resources = st.builds(
    Resource,
    int64,
    st.integers(-(2**31), 2**31 - 1),
    st.dictionaries(st.sampled_from(["gpu", "fpga", "example.com/x"]), int64, max_size=3).map(
        lambda d: tuple(sorted(d.items()))
    ),
)


@given(resources)
def test_resources_come_back_as_they_went(resource: Resource) -> None:
    assert ids.resource(ids.resource_pb(resource)) == resource


def test_resource_is_written_twice_once_in_fields_and_once_in_the_map() -> None:
    message = ids.resource_pb(Resource(2048, 2, (("gpu", 1),)))
    assert (message.memory, message.virtual_cores) == (2048, 2)
    assert [(e.key, e.value, e.units) for e in message.resource_value_map] == [
        ("memory-mb", 2048, "Mi"),
        ("vcores", 2, ""),
        ("gpu", 1, ""),
    ]


def test_fields_count_for_memory_and_cores_and_the_map_for_the_rest() -> None:
    message = pb.ResourceProto(memory=1024, virtual_cores=1)
    for key, value in (("memory-mb", 9), ("vcores", 9), ("gpu", 2)):
        message.resource_value_map.add(key=key, value=value)
    assert ids.resource(message) == Resource(1024, 1, (("gpu", 2),))


def test_resource_with_too_many_types_is_refused() -> None:
    message = pb.ResourceProto(memory=1)
    for n in range(65):
        message.resource_value_map.add(key=f"type-{n}", value=1)
    with pytest.raises(InvalidValue, match="at most 64"):
        ids.resource(message)


def test_resource_types_are_named_by_short_texts() -> None:
    message = pb.ResourceProto(memory=1, virtual_cores=1)
    message.resource_value_map.add(key="x" * 317, value=1)
    assert ids.resource(message).extras == (("x" * 317, 1),)
    message.resource_value_map.add(key="x" * 318, value=1)
    with pytest.raises(InvalidValue, match=r"Resource\.key"):
        ids.resource(message)


def test_resource_type_whose_name_is_no_text_is_refused() -> None:
    """Two of them: texts and bytes cannot be sorted."""
    message = pb.ResourceProto.FromString(
        b"\x08\x01\x10\x01" + b"".join(b"\x1a\x05\x0a\x01" + key + b"\x10\x01" for key in (b"a", b"\xff"))
    )
    with pytest.raises(InvalidValue, match=r"Resource\.key"):
        ids.resource(message)
