"""Fields are counted as the parser would find them, without building them."""

from __future__ import annotations

import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st

from yodel.hadoop_pb import yarn_server_common_service_protos_pb2 as tracker_msg
from yodel.hadoop_pb import yarn_service_protos_pb2 as msg
from yodel.hadoop_rpc.framing import encode_varint
from yodel.hadoop_rpc.wire_count import STEP_FIELDS, count_fields, count_items, repeated_paths

ALLOCATE = msg.AllocateRequestProto.DESCRIPTOR
ASK = bytes((ALLOCATE.fields_by_name["ask"].number << 3 | 2,))


def counted(data: bytes, fields_max: int = 1_000_000) -> int:
    return [*count_fields(ALLOCATE, data, fields_max)][-1]


def asks(number: int) -> bytes:
    request = msg.AllocateRequestProto(response_id=7, progress=0.5)
    for _ in range(number):
        ask = request.ask.add(resource_name="*", num_containers=300)
        ask.priority.priority = 20
        ask.capability.memory, ask.capability.virtual_cores = 1 << 40, 1
    return request.SerializeToString()


def test_every_field_counts_at_every_depth() -> None:
    # An ask: itself, its name, number, priority with one field, capability with two.
    assert [counted(asks(number)) for number in (0, 1, 100)] == [2, 2 + 8, 2 + 800]


def test_texts_bytes_and_unknown_fields_count_as_one_whatever_is_in_them() -> None:
    unknown = b"\xfa\x3f" + encode_varint(300) + bytes(300)
    tracking_url = bytes((ALLOCATE.fields_by_name["tracking_url"].number << 3 | 2, 4)) + ASK * 4
    assert counted(unknown + tracking_url) == 2
    fixed = b"\xf9\x3f" + bytes(8) + b"\xfd\x3f" + bytes(4) + b"\xf8\x3f" + b"\xff" * 9 + b"\x01"
    assert counted(fixed) == 3
    group = b"\xfb\x3f" + b"\xf8\x3f\x01" + b"\xfc\x3f"
    assert counted(group) == 3


def test_packed_numbers_count_each() -> None:
    kind = msg.GetApplicationsRequestProto.DESCRIPTOR
    states = kind.fields_by_name["application_states"]
    data = bytes((states.number << 3 | 2,)) + encode_varint(9000) + b"\x01" * 9000
    assert [*count_fields(kind, data, 1_000_000)][-1] == 9001
    assert len(msg.GetApplicationsRequestProto.FromString(data).application_states) == 9000


def test_counting_ends_soon_after_the_limit_and_stops_for_breath() -> None:
    data = (ASK + b"\0") * 1_000_000
    steps = [*count_fields(ALLOCATE, data, 12_000)]
    assert steps[-1] == 12_001
    assert steps == [STEP_FIELDS, 2 * STEP_FIELDS, 12_001]


@given(st.binary(max_size=200))
def test_whatever_the_bytes_are_the_count_is_no_less_than_what_the_parser_finds(data: bytes) -> None:
    count = counted(data)
    assert count <= len(data) + 1
    try:
        request = msg.AllocateRequestProto.FromString(data)
    except DecodeError:
        return
    assert count >= count_items(request, repeated_paths(ALLOCATE)) + len(request.ListFields()) - 7


@given(st.integers(0, 50), st.integers(0, 2000))
def test_cut_messages_are_left_to_the_parser(number: int, cut: int) -> None:
    data = asks(number)[:cut]
    assert counted(data) <= counted(asks(number)) + 1


def test_lists_are_found_wherever_they_are_in_no_list() -> None:
    paths = repeated_paths(tracker_msg.NodeHeartbeatRequestProto.DESCRIPTOR)
    assert ("node_status", "containersStatuses") in paths
    assert ("log_aggregation_reports_for_apps",) in paths
    request = tracker_msg.NodeHeartbeatRequestProto()
    assert count_items(request, paths) == 0
    assert not request.HasField("node_status")
    request.node_status.containersStatuses.add()
    request.node_status.containersStatuses.add()
    request.log_aggregation_reports_for_apps.add()
    assert count_items(request, paths) == 3


@pytest.mark.parametrize("data", [b"\x80", b"\xff" * 11, ASK, ASK + b"\x80"])
def test_what_is_cut_ends_the_count(data: bytes) -> None:
    assert counted(data) <= 1
