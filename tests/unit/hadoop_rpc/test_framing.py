"""Frames, byte by byte."""

import tracemalloc

import pytest

from yodel.hadoop_pb.RpcHeader_pb2 import RpcResponseHeaderProto, RpcSaslProto
from yodel.hadoop_rpc import faults
from yodel.hadoop_rpc.faults import RemoteFault, RpcErrorCode
from yodel.hadoop_rpc.framing import (
    CALL_ID_SASL,
    MIB,
    FrameBuffer,
    FrameTooLarge,
    MalformedFrame,
    encode_varint,
    fault_frame,
    frame,
    parse,
    success_frame,
    take_delimited,
)

CLIENT_ID = bytes.fromhex("dc9d09b49ee04510bf0fd6918fb9c678")


def test_success_matches_a_recorded_answer() -> None:
    """Recorded from a real Hadoop 3.5.0: the header of a NodeManager's answer to call 73."""
    recorded = bytes.fromhex("1a084910001809 3a10".replace(" ", "")) + CLIENT_ID + bytes.fromhex("4000")
    answer = success_frame(73, CLIENT_ID, 0, b"")
    assert answer == len(recorded + b"\0").to_bytes(4, "big") + recorded + b"\0"


def test_negative_call_id_is_its_complement() -> None:
    """Recorded from a real Hadoop 3.5.0: the header of a SASL answer."""
    assert success_frame(CALL_ID_SASL, b"", -1, b"").hex()[8:] == "0e08dfffffff0f100018093a00400100"


def test_fault_has_no_body() -> None:
    data = fault_frame(7, CLIENT_ID, 2, RemoteFault(faults.YARN_EXCEPTION, "n\udcffo"))
    raw, end = take_delimited(data[4:], 0)
    header = RpcResponseHeaderProto.FromString(raw)
    assert end == len(data) - 4
    assert header.status == RpcResponseHeaderProto.ERROR
    assert (header.callId, header.retryCount, header.clientId) == (7, 2, CLIENT_ID)
    assert (header.exceptionClassName, header.errorMsg) == (faults.YARN_EXCEPTION, "n?o")
    assert header.errorDetail == RpcErrorCode.ERROR_APPLICATION


def test_buffer_gives_whole_frames_only() -> None:
    buffer = FrameBuffer()
    data = frame(b"abc", b"") + frame(b"")
    frames = []
    for byte in data:
        buffer += bytes((byte,))
        taken = buffer.take_frame(100)
        if taken is not None:
            frames.append(taken)
    assert frames == [b"\x03abc\x00", b"\x00"]
    assert len(buffer) == 0


@pytest.mark.parametrize("length", [b"\x00\x00\x00\x65", b"\xff\xff\xff\xff", b"\x80\x00\x00\x00"])
def test_length_over_the_limit_is_refused_at_once(length: bytes) -> None:
    buffer = FrameBuffer()
    buffer += length
    with pytest.raises(FrameTooLarge):
        buffer.take_frame(100)


@pytest.mark.parametrize("value", [0, 127, 128, 300, 2**28])
def test_delimited_round_trips(value: int) -> None:
    size = min(value, 70_000)
    assert take_delimited(encode_varint(size) + bytes(size) + b"rest", 0)[1] == len(encode_varint(size)) + size
    assert encode_varint(value)[-1] < 0x80


@pytest.mark.parametrize("data", [b"", b"\x80", b"\x05abc", b"\x80\x80\x80\x80\x80\x01", b"\xff\xff\xff\xff\x0f"])
def test_bad_length_is_malformed(data: bytes) -> None:
    with pytest.raises(MalformedFrame):
        take_delimited(data, 0)


def test_message_without_its_required_field_is_malformed() -> None:
    with pytest.raises(MalformedFrame):
        parse(RpcSaslProto, b"")


def test_long_answer_is_copied_once() -> None:
    """Each copy of a long answer keeps everybody else waiting."""
    body = bytes(8 * MIB)
    tracemalloc.start()
    try:
        success_frame(1, CLIENT_ID, 0, body)
        assert tracemalloc.get_traced_memory()[1] < 9 * MIB
    finally:
        tracemalloc.stop()
