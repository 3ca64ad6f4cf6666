"""Writables: Hadoop's older serialization, in which tokens and credentials travel.

``WritableUtils`` numbers, ``Text``, ``Token`` and the ``Credentials`` stream (magic ``HDTS``; version 0 is
Writable, 1 is protobuf; readers take both, writers write 0 as Hadoop does).  Tokens and secrets of others are
kept byte for byte: kind and service are text with undecodable bytes escaped, aliases and secrets are bytes.  Refuses
streams over its limits; its errors name no content, because the content is secret.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from google.protobuf.message import DecodeError

from yodel.errors import InvalidValue
from yodel.hadoop_pb.Security_pb2 import CredentialsKVProto, CredentialsProto
from yodel.hadoop_rpc.framing import MIB, MalformedFrame, take_delimited

CREDENTIALS_MAGIC = b"HDTS"
VERSION_WRITABLE, VERSION_PROTOBUF = 0, 1
CREDENTIALS_BYTES_MAX = 16 * MIB
ENTRIES_MAX = 10_000
"""Most tokens, and most secrets, in one stream; real ones hold a few dozen."""

_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class WireToken:
    """``org.apache.hadoop.security.token.Token``."""

    identifier: bytes
    password: bytes = field(repr=False)
    kind: str
    service: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """``org.apache.hadoop.security.Credentials`` in stream order: pairs of alias and token, of alias and secret."""

    tokens: tuple[tuple[bytes, WireToken], ...] = ()
    secrets: tuple[tuple[bytes, bytes], ...] = field(default=(), repr=False)


def parse_credentials(data: bytes) -> Credentials:
    """Read a credentials stream of either version.

    Raises:
        InvalidValue: not credentials, or over the limits.
    """
    if len(data) > CREDENTIALS_BYTES_MAX:
        raise _invalid("credentials", data, f"at most {CREDENTIALS_BYTES_MAX} bytes")
    if data[:4] != CREDENTIALS_MAGIC or len(data) < 5:
        raise _invalid("credentials", data, "a stream that starts with HDTS and a version")
    version = data[4]
    if version == VERSION_WRITABLE:
        return _parse_writable(data)
    if version == VERSION_PROTOBUF:
        return _parse_protobuf(data)
    raise InvalidValue("credentials version", version, "0 (Writable) or 1 (protobuf)")


def encode_credentials(credentials: Credentials) -> bytes:
    """The stream in version 0, which every Hadoop reads."""
    parts = [CREDENTIALS_MAGIC, bytes((VERSION_WRITABLE,)), encode_vint(len(credentials.tokens))]
    for alias, token in credentials.tokens:
        parts += (encode_bytes(alias), encode_token(token))
    parts.append(encode_vint(len(credentials.secrets)))
    for alias, secret in credentials.secrets:
        parts += (encode_bytes(alias), encode_bytes(secret))
    return b"".join(parts)


def encode_token(token: WireToken) -> bytes:
    """A ``Token`` Writable."""
    return b"".join(
        (
            encode_bytes(token.identifier),
            encode_bytes(token.password),
            encode_text(token.kind),
            encode_text(token.service),
        )
    )


def parse_token(data: bytes) -> WireToken:
    """Read a ``Token`` Writable that fills the data.

    Raises:
        InvalidValue: malformed, or followed by something.
    """
    reader = Reader(data, "token")
    token = _read_token(reader)
    reader.expect_end()
    return token


def encode_vint(value: int) -> bytes:
    """``WritableUtils.writeVInt`` and ``writeVLong``: one byte for -112 to 127, else a marker and big-endian bytes."""
    if not _INT64_MIN <= value <= _INT64_MAX:
        raise InvalidValue("vint", value, "a signed 64-bit number")
    if -112 <= value <= 127:
        return struct.pack("b", value)
    magnitude = value if value >= 0 else ~value
    size = (magnitude.bit_length() + 7) // 8
    marker = -112 - size if value >= 0 else -120 - size
    return struct.pack("b", marker) + magnitude.to_bytes(size, "big")


def decode_vint(data: bytes, position: int = 0) -> tuple[int, int]:
    """The number at a position and the position after it.

    Raises:
        InvalidValue: the data ends inside it.
    """
    if position >= len(data):
        raise _invalid("vint", data, "more bytes")
    (first,) = struct.unpack_from("b", data, position)
    position += 1
    if first >= -112:
        return first, position
    size = -(first + 112) if first >= -120 else -(first + 120)
    end = position + size
    if end > len(data):
        raise _invalid("vint", data, "more bytes")
    magnitude = int.from_bytes(data[position:end], "big")
    value = magnitude if first >= -120 else ~magnitude
    if not _INT64_MIN <= value <= _INT64_MAX:
        raise _invalid("vint", data, "a signed 64-bit number")
    return value, end


def encode_bytes(data: bytes) -> bytes:
    """A vint length and the bytes."""
    return encode_vint(len(data)) + data


def encode_text(text: str) -> bytes:
    """``Text``; escaped undecodable bytes become what they were."""
    return encode_bytes(text.encode("utf-8", "surrogateescape"))


class Reader:
    """Reads Writables one after another; ``what`` is the word for errors."""

    __slots__ = ("_data", "_position", "_what")

    def __init__(self, data: bytes, what: str, position: int = 0) -> None:
        self._data, self._what, self._position = data, what, position

    def vint(self) -> int:
        value, self._position = decode_vint(self._data, self._position)
        return value

    def count(self) -> int:
        """The number of entries that follow."""
        value = self.vint()
        if not 0 <= value <= ENTRIES_MAX:
            raise InvalidValue(f"{self._what} count", value, f"0 to {ENTRIES_MAX}")
        return value

    def bytes_(self) -> bytes:
        length = self.vint()
        end = self._position + length
        if length < 0 or end > len(self._data):
            raise _invalid(self._what, self._data, "lengths inside the data")
        taken = self._data[self._position : end]
        self._position = end
        return taken

    def text(self) -> str:
        return self.bytes_().decode("utf-8", "surrogateescape")

    def expect_end(self) -> None:
        if self._position != len(self._data):
            raise _invalid(self._what, self._data, "no trailing bytes")


def _read_token(reader: Reader) -> WireToken:
    identifier, password = reader.bytes_(), reader.bytes_()
    return WireToken(identifier=identifier, password=password, kind=reader.text(), service=reader.text())


def _parse_writable(data: bytes) -> Credentials:
    # Bytes after the secrets are ignored as in Hadoop: the RM passes a buffer that may be longer than the stream.
    reader = Reader(data, "credentials", position=5)
    tokens = tuple((reader.bytes_(), _read_token(reader)) for _ in range(reader.count()))
    secrets = tuple((reader.bytes_(), reader.bytes_()) for _ in range(reader.count()))
    return Credentials(tokens=tokens, secrets=secrets)


def _parse_protobuf(data: bytes) -> Credentials:
    try:
        body, _ = take_delimited(data, 5)
        message = CredentialsProto.FromString(body)
    except (MalformedFrame, DecodeError, UnicodeDecodeError):
        raise _invalid("credentials", data, "a delimited CredentialsProto") from None
    if len(message.tokens) > ENTRIES_MAX or len(message.secrets) > ENTRIES_MAX:
        raise InvalidValue("credentials count", len(message.tokens) + len(message.secrets), f"0 to {ENTRIES_MAX}")
    return Credentials(
        tokens=tuple(_token_pair(entry) for entry in message.tokens),
        secrets=tuple((_raw(entry.alias), entry.secret) for entry in message.secrets),
    )


def _token_pair(entry: CredentialsKVProto) -> tuple[bytes, WireToken]:
    token = entry.token
    return _raw(entry.alias), WireToken(
        identifier=token.identifier, password=token.password, kind=_escaped(token.kind), service=_escaped(token.service)
    )


def _raw(value: str | bytes) -> bytes:
    """Protobuf's Python hands out undecodable strings as bytes."""
    return value.encode() if isinstance(value, str) else value


def _escaped(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("utf-8", "surrogateescape")


def _invalid(what: str, data: bytes, expected: str) -> InvalidValue:
    return InvalidValue(what, f"<{len(data)} bytes>", expected)
