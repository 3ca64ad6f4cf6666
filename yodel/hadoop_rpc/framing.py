"""Frames: how Hadoop RPC cuts a byte stream, and how answers and requests are put together.

    request   int32 length, delim(RpcRequestHeaderProto), delim(RequestHeaderProto), delim(message)
    answer    int32 length, delim(RpcResponseHeaderProto), delim(message)         (an error has no message)

``delim(m)`` is a varint byte length and the bytes.  Follows ``org.apache.hadoop.ipc.Server`` and ``Client``, version 9.
Refuses frames longer than the limit it is given before it has buffered them.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import TypeVar

from google.protobuf.message import DecodeError, Message

from yodel.errors import YodelError
from yodel.hadoop_pb.ProtobufRpcEngine2_pb2 import RequestHeaderProto
from yodel.hadoop_pb.RpcHeader_pb2 import RPC_PROTOCOL_BUFFER, RpcRequestHeaderProto, RpcResponseHeaderProto
from yodel.hadoop_rpc.faults import RemoteFault

M = TypeVar("M", bound=Message)

MAGIC = b"hrpc"
RPC_VERSION = 9
PREFACE_BYTES = 7
AUTH_SIMPLE, AUTH_SASL = 0x00, 0xDF

# Reserved call ids, org.apache.hadoop.ipc.RpcConstants and SaslRpcServer.AuthProtocol.
CALL_ID_AUTHORIZATION_FAILED = -1
CALL_ID_INVALID = -2
CALL_ID_CONTEXT = -3
CALL_ID_PING = -4
CALL_ID_SASL = -33

MIB = 1024 * 1024
FRAME_BYTES_MAX = 64 * MIB
"""The most bytes of an answer, and of a request where a port has no limit; half of Hadoop's ipc.maximum.data.length."""
CLIENT_ID_BYTES_MAX = 64
HEADER_BYTES_MAX = 16 * 1024
"""The most bytes of each of a frame's two headers; a real one has some hundred, with a caller context below 1,000."""

_INT32 = struct.Struct(">i")
_LAST_BYTE = tuple(bytes((value,)) for value in range(0x80))
_EARLIER_BYTE = tuple(bytes((value | 0x80,)) for value in range(0x80))
_CALL_ID = bytes((RpcResponseHeaderProto.CALLID_FIELD_NUMBER << 3,))
"""The first bytes of an answer's header."""
ANSWER_HEADERS = 1024
_SUCCESS = RpcResponseHeaderProto.SUCCESS
_ERROR = RpcResponseHeaderProto.ERROR
_FATAL = RpcResponseHeaderProto.FATAL
FINAL_PACKET = RpcRequestHeaderProto.RPC_FINAL_PACKET


class FrameTooLarge(YodelError):
    """A frame's length is negative or over the limit."""

    def __init__(self, length_bytes: int, limit_bytes: int) -> None:
        self.length_bytes, self.limit_bytes = length_bytes, limit_bytes
        super().__init__(
            f"Requested data length {length_bytes} is longer than maximum configured RPC length {limit_bytes}"
            if self.is_over_limit
            else f"Unexpected data length {length_bytes}"
        )

    @property
    def is_over_limit(self) -> bool:
        """Else it is nonsense."""
        return self.length_bytes >= 0


class MalformedFrame(YodelError):
    """A frame's inside is not what the format says."""


class FrameBuffer(bytearray):
    """Collects reads and gives out whole frames.  Holds at most one frame over its limit plus one read."""

    __slots__ = ()

    def take(self, size_bytes: int) -> bytes | None:
        """The next bytes, or None while there are too few."""
        if len(self) < size_bytes:
            return None
        taken = bytes(self[:size_bytes])
        del self[:size_bytes]
        return taken

    def take_frame(self, limit_bytes: int) -> bytes | None:
        """The next frame without its length, or None while it is incomplete.

        Raises:
            FrameTooLarge: as soon as the length has arrived.
        """
        if len(self) < 4:
            return None
        (length,) = _INT32.unpack_from(self)
        if not 0 <= length <= limit_bytes:
            raise FrameTooLarge(length, limit_bytes)
        end = 4 + length
        if len(self) < end:
            return None
        frame = bytes(memoryview(self)[4:end])
        del self[:end]  # cheap: a bytearray forgets its front without moving the rest
        return frame


def encode_varint(value: int) -> bytes:
    """A protobuf varint of a non-negative number."""
    encoded = b""
    while value >= 0x80:
        encoded += _EARLIER_BYTE[value & 0x7F]
        value >>= 7
    return encoded + _LAST_BYTE[value]


def take_delimited(data: bytes, position: int, bytes_max: int = FRAME_BYTES_MAX) -> tuple[bytes, int]:
    """The length-delimited bytes at a position, and the position after them.

    Raises:
        MalformedFrame: the length is cut, longer than five bytes, over ``bytes_max``, or points past the end.
    """
    length = shift = 0
    while True:
        if position >= len(data) or shift > 28:
            raise MalformedFrame("a length is cut or too long")
        byte = data[position]
        position += 1
        length |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
    end = position + length
    if end > len(data):
        raise MalformedFrame("a length points past the end of the frame")
    if length > bytes_max:
        raise MalformedFrame(f"a length of {length} bytes, at most {bytes_max}")
    return data[position:end], end


def frame(*parts: bytes) -> bytes:
    """One frame of length-delimited parts.  The last one may be long: it is copied once."""
    before = last = b""
    for part in parts:
        before += last + encode_varint(len(part))
        last = part
    return b"".join((_INT32.pack(len(before) + len(last)), before, last))


def success_frame(call_id: int, client_id: bytes, retry_count: int, body: bytes) -> bytes:
    """The answer of a call that succeeded; ``body`` is the serialized response message (empty is one byte on the wire).

    ``callId`` is unsigned in answers: a negative one is its 32-bit two's complement.
    """
    header = _CALL_ID + encode_varint(call_id & 0xFFFFFFFF) + _after_call_id(client_id, retry_count)
    return frame(header, body)


@lru_cache(ANSWER_HEADERS)
def _after_call_id(client_id: bytes, retry_count: int) -> bytes:
    """The header of a client's answers from its second field on, which all of them share."""
    header = RpcResponseHeaderProto(
        status=_SUCCESS, serverIpcVersionNum=RPC_VERSION, clientId=client_id, retryCount=retry_count
    )
    return header.SerializePartialToString()


def fault_frame(call_id: int, client_id: bytes, retry_count: int, fault: RemoteFault) -> bytes:
    """The answer of a call, or of a connection, that failed."""
    header = RpcResponseHeaderProto(
        callId=call_id & 0xFFFFFFFF,
        status=_FATAL if fault.fatal else _ERROR,
        serverIpcVersionNum=RPC_VERSION,
        exceptionClassName=fault.java_class,
        # A message may hold text from outside; lone surrogates cannot be encoded.
        errorMsg=fault.message.encode("utf-8", "replace").decode("utf-8"),
        errorDetail=RpcResponseHeaderProto.RpcErrorCodeProto.Name(fault.code),
        clientId=client_id,
        retryCount=retry_count,
    )
    return frame(header.SerializeToString())


def request_header(call_id: int, client_id: bytes, retry_count: int) -> bytes:
    """A serialized ``RpcRequestHeaderProto``."""
    return RpcRequestHeaderProto(
        rpcKind=RPC_PROTOCOL_BUFFER,
        rpcOp=FINAL_PACKET,
        callId=call_id,
        clientId=client_id,
        retryCount=retry_count,
    ).SerializeToString()


def call_frame(
    *, call_id: int, client_id: bytes, retry_count: int, protocol: str, version: int, method: str, body: bytes
) -> bytes:
    """A request as a client sends it."""
    header = RequestHeaderProto(
        methodName=method, declaringClassProtocolName=protocol, clientProtocolVersion=version
    ).SerializeToString()
    return frame(request_header(call_id, client_id, retry_count), header, body)


def out_of_band_frame(call_id: int, client_id: bytes, message: Message | None = None) -> bytes:
    """A connection context, SASL or ping frame as a client sends it."""
    header = request_header(call_id, client_id, -1)
    return frame(header) if message is None else frame(header, message.SerializeToString())


def parse(kind: type[M], data: bytes) -> M:
    """Parse a message.  Python's parser does not mind missing required fields; Java's does, and so do we.

    Raises:
        MalformedFrame: the bytes are no such message.
    """
    try:
        message = kind.FromString(data)
    except (DecodeError, UnicodeDecodeError) as error:
        raise MalformedFrame(f"not a {kind.DESCRIPTOR.name}") from error
    if not message.IsInitialized():
        raise MalformedFrame(f"a {kind.DESCRIPTOR.name} without its required fields")
    return message


def text(value: str | bytes) -> str:
    """A string field as text: proto2 does not check strings, and Python hands out undecodable ones as bytes.

    Raises:
        MalformedFrame: not UTF-8.
    """
    if isinstance(value, str):
        return value
    raise MalformedFrame("a string is not UTF-8")
