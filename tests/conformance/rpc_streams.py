"""Streams of frames to try a server with: recorded and made sessions, damaged by a draw."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from tests.conformance.recorded_rpc import recording
from tests.support.records import CLUSTER_TIMESTAMP_MS
from yodel.hadoop_pb import applicationclient_protocol_pb2 as client_pb
from yodel.hadoop_pb import resourcemanager_administration_protocol_pb2 as admin_pb
from yodel.hadoop_rpc.client_connection import ClientConnection, ClientIdentity
from yodel.hadoop_rpc.framing import FrameBuffer, call_frame
from yodel.rm_rpc.admin_protocol import NAME as ADMIN_NAME
from yodel.rm_rpc.client_protocol import NAME as CLIENT_NAME

FRAMES_A_SESSION_MAX = 60
SHARES_RIGHT = (0.5, 0.8, 0.95, 0.99)
BEFORE_OPEN_BYTES_MAX, OPEN_BYTES_MAX, READ_BYTES = 64 * 1024, 256 * 1024, 32 * 1024
GREEDY_BYTES = 2 * (OPEN_BYTES_MAX + READ_BYTES)
"""More than may be buffered in any state, so that the assertion on that is met by what could break it."""
LARGEST_SEED_FRAME_BYTES = 4096
MESSAGE_DEPTH_MAX = 4
CALLER = ClientIdentity(client_id=b"c" * 16, protocol="", user="alice")


@dataclass(frozen=True, slots=True)
class Session:
    """A recorded opening and its frames, lengths included."""

    preface: bytes
    nonce: str
    frames: list[bytes] = field(repr=False)


def made_sessions() -> list[Session]:
    """A caller of every method of the client and administration ports, without authentication."""
    sessions = []
    for name, service in (
        (CLIENT_NAME, client_pb.DESCRIPTOR.services_by_name["ApplicationClientProtocolService"]),
        (ADMIN_NAME, admin_pb.DESCRIPTOR.services_by_name["ResourceManagerAdministrationProtocolService"]),
    ):
        machine = ClientConnection(identity=replace(CALLER, protocol=name), cnonce="c" * 20)
        stream = machine.connect()
        opening = len(stream) - 7
        frames = [stream[7:]] if opening else []
        for number, method in enumerate(service.methods):
            body = a_request(GetMessageClass(method.input_type), random.Random(number)).SerializeToString()
            frames.append(
                call_frame(
                    call_id=number,
                    client_id=CALLER.client_id,
                    retry_count=0,
                    protocol=name,
                    version=1,
                    method=method.name,
                    body=body[:LARGEST_SEED_FRAME_BYTES],
                )
            )
        sessions.append(Session(stream[:7], "no nonce", frames))
    return sessions


def a_request(kind: type[Message], draw: random.Random, depth: int = 0) -> Message:
    """A message with fields filled in at random; what is required is always there."""
    message = kind()
    for field_of in message.DESCRIPTOR.fields:
        is_required = field_of.is_required
        if not is_required and (depth >= MESSAGE_DEPTH_MAX or draw.random() < 0.3):
            continue
        values = [_value(field_of, draw, depth) for _ in range(draw.randrange(3))] or [_value(field_of, draw, depth)]
        if field_of.is_repeated:
            getattr(message, field_of.name).extend(values)
        elif field_of.message_type is not None:
            getattr(message, field_of.name).CopyFrom(values[0])
        else:
            setattr(message, field_of.name, values[0])
    return message


def _value(field_of: FieldDescriptor, draw: random.Random, depth: int) -> Any:
    if field_of.message_type is not None:
        return a_request(GetMessageClass(field_of.message_type), draw, depth + 1)
    if field_of.enum_type is not None:
        return draw.choice(field_of.enum_type.values).number
    kind = field_of.cpp_type
    if kind == FieldDescriptor.CPPTYPE_STRING:
        words = ("", "root.default", "node-1", "*", "alice", "\0", "x" * 300, "\u2603", "1s", "node-1:8041", "/rack")
        text = draw.choice(words)
        return text.encode() if field_of.type == FieldDescriptor.TYPE_BYTES else text
    if kind == FieldDescriptor.CPPTYPE_BOOL:
        return draw.random() < 0.5
    if kind in (FieldDescriptor.CPPTYPE_FLOAT, FieldDescriptor.CPPTYPE_DOUBLE):
        return draw.choice([0.0, 0.5, -1.0, float("nan"), float("inf")])
    if kind in (FieldDescriptor.CPPTYPE_UINT32, FieldDescriptor.CPPTYPE_UINT64):
        return draw.choice([0, 1, 1024, (1 << 32) - 1])
    is_long = kind == FieldDescriptor.CPPTYPE_INT64
    return draw.choice([0, 1, 2, -1, 1024, CLUSTER_TIMESTAMP_MS if is_long else 3, (1 << (63 if is_long else 31)) - 1])


def recorded_sessions() -> list[Session]:
    sessions = made_sessions()
    for name in ("cli-list", "spark-4-pi-cluster"):
        for connection in recording(name).connections:
            stream = connection.stream
            buffer = FrameBuffer()
            buffer += stream[7:]
            frames = []
            while (frame := buffer.take_frame(1 << 26)) is not None:
                if len(frame) <= LARGEST_SEED_FRAME_BYTES:
                    frames.append(len(frame).to_bytes(4, "big") + frame)
            sessions.append(Session(stream[:7], connection.nonce, frames))
    return sessions


class Fuzzer:
    """Draws client streams: recorded frames, damaged, out of order, or plain noise."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._sessions = recorded_sessions()

    def stream(self) -> tuple[Session, list[bytes]]:
        """A session, and what one client makes of it, read by read: a preface and frames, right at first.

        How much is damaged is drawn for each client, so that damage is met in every state.
        """
        draw = self._random
        session = draw.choice(self._sessions)
        right = draw.choice(SHARES_RIGHT)
        words = [session.preface if draw.random() < 0.9 else self._damaged(session.preface)]
        words += (self._frame(session, number, right) for number in range(draw.randrange(1, FRAMES_A_SESSION_MAX)))
        if draw.random() < 0.2:  # reads that end where no frame ends
            cuts = [draw.randrange(1, 40) for _ in words]
            words = [part for word, cut in zip(words, cuts, strict=True) for part in (word[:cut], word[cut:])]
        if draw.random() < 0.02:  # a frame that is announced, large or not too large, and never ends
            at = draw.randrange(1, len(words) + 1)
            length = draw.choice((BEFORE_OPEN_BYTES_MAX, OPEN_BYTES_MAX, 1 << 30)) + draw.choice((0, 1))
            words[at:] = [length.to_bytes(4, "big"), *[bytes(READ_BYTES)] * (GREEDY_BYTES // READ_BYTES)]
        return session, words

    def _frame(self, session: Session, number: int, right: float) -> bytes:
        draw = self._random
        if draw.random() < right:
            # After the opening (SASL, context) the calls go round and round.
            opening = 2 if session.preface[-1] else 1
            if number >= len(session.frames):
                number = opening + number % max(1, len(session.frames) - opening - 1)
            return session.frames[min(number, len(session.frames) - 1)]
        chance = draw.random()
        if chance < 0.75:
            return self._damaged(session.frames[number % len(session.frames)])
        if chance < 0.85:
            return draw.choice(draw.choice(self._sessions).frames)
        if chance < 0.95:
            noise = draw.randbytes(draw.randrange(64))
            return len(noise).to_bytes(4, "big") + noise
        return draw.randbytes(draw.randrange(1, 64))

    def _damaged(self, frame: bytes) -> bytes:
        draw = self._random
        data = bytearray(frame)
        for _ in range(draw.randrange(1, 4)):
            # The length stays right most of the time, else nothing after it would be looked at.
            first = 4 if len(data) > 4 and draw.random() < 0.9 else 0
            if first < len(data):
                data[draw.randrange(first, len(data))] = draw.randrange(256)
        if draw.random() < 0.1:
            del data[draw.randrange(len(data)) :]
        return bytes(data)
