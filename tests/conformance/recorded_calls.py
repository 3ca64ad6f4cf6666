"""Reads whole RPC sessions recorded from a real Hadoop 3.5.0 (``fixtures/rpc/whole``) as calls with their answers.

The files are as the recording proxy wrote them: reads of a socket in order, so frames come in pieces and together.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from yodel.hadoop_pb import ProtobufRpcEngine2_pb2 as engine_pb
from yodel.hadoop_pb import RpcHeader_pb2 as header_pb
from yodel.hadoop_rpc.framing import take_delimited

WHOLE = Path(__file__).parent / "fixtures" / "rpc" / "whole"
NAMES = tuple(sorted(path.stem for path in WHOLE.glob("*.jsonl")))
CONNECTION_HEADER_BYTES = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCall:
    """One call: its request, and either the answer or the exception's class and first line."""

    protocol: str
    method: str
    request: bytes
    answer: bytes = b""
    fault_class: str = ""
    fault_text: str = ""


@dataclass(slots=True)
class _Stream:
    """Keep what came one way, until it makes a frame."""

    data: bytearray = field(default_factory=bytearray)

    def frames(self, read: bytes) -> Iterator[bytes]:
        self.data += read
        while len(self.data) >= 4:
            end = 4 + int.from_bytes(self.data[:4], "big")
            if len(self.data) < end:
                return
            frame = bytes(self.data[4:end])
            del self.data[:end]
            yield frame


def recorded_calls(name: str, port: str) -> list[RecordedCall]:
    """The calls on one port (``client``, ``am``, ``nm`` or ``admin``), in the order in which they were answered."""
    requests: dict[int, _Stream] = {}
    answers: dict[int, _Stream] = {}
    waiting: dict[tuple[int, int], tuple[engine_pb.RequestHeaderProto, bytes]] = {}
    calls = []
    for line in (WHOLE / f"{name}.jsonl").read_text().splitlines():
        entry = json.loads(line)
        if entry.get("port") != port or entry["ev"] != "data":
            continue
        connection, read = entry["c"], base64.b64decode(entry["b"])
        if entry["d"] == ">":
            if connection not in requests:
                requests[connection], read = _Stream(), read[CONNECTION_HEADER_BYTES:]
            for frame in requests[connection].frames(read):
                _remember(connection, frame, waiting)
        else:
            for frame in answers.setdefault(connection, _Stream()).frames(read):
                calls += _answered(connection, frame, waiting)
    return calls


def _remember(
    connection: int, frame: bytes, waiting: dict[tuple[int, int], tuple[engine_pb.RequestHeaderProto, bytes]]
) -> None:
    head, position = take_delimited(frame, 0)
    header = header_pb.RpcRequestHeaderProto.FromString(head)
    if header.callId < 0:
        return  # the connection's own: SASL, context, ping
    head, position = take_delimited(frame, position)
    request, _ = take_delimited(frame, position)
    waiting[connection, header.callId] = engine_pb.RequestHeaderProto.FromString(head), request


def _answered(
    connection: int, frame: bytes, waiting: dict[tuple[int, int], tuple[engine_pb.RequestHeaderProto, bytes]]
) -> list[RecordedCall]:
    head, position = take_delimited(frame, 0)
    header = header_pb.RpcResponseHeaderProto.FromString(head)
    found = waiting.pop((connection, header.callId), None)
    if found is None:
        return []
    request_header, request = found
    protocol, method = request_header.declaringClassProtocolName, request_header.methodName
    if header.status != header_pb.RpcResponseHeaderProto.SUCCESS:
        text = header.errorMsg.splitlines()[0]
        return [
            RecordedCall(
                protocol=protocol,
                method=method,
                request=request,
                fault_class=header.exceptionClassName,
                fault_text=text,
            )
        ]
    answer, _ = take_delimited(frame, position)
    return [RecordedCall(protocol=protocol, method=method, request=request, answer=answer)]
