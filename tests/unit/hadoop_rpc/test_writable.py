"""Writables against known vectors."""

import pytest

from yodel.errors import InvalidValue
from yodel.hadoop_rpc.writable import (
    Credentials,
    WireToken,
    decode_vint,
    encode_credentials,
    encode_token,
    encode_vint,
    parse_credentials,
    parse_token,
)

VINTS = {
    0: "00",
    1: "01",
    127: "7f",
    128: "8f80",
    255: "8fff",
    256: "8e0100",
    300: "8e012c",
    65535: "8effff",
    -1: "ff",
    -112: "90",
    -113: "8770",
    -128: "877f",
    2**40: "8a010000000000",
}
TOKEN = WireToken(
    identifier=bytes.fromhex("01020304"),
    password=b"secretsecretsecret12",
    kind="YARN_AM_RM_TOKEN",
    service="10.0.0.1:8030",
)
CREDENTIALS = Credentials(tokens=((b"am", TOKEN),), secrets=((b"k", b"\x09\x08"),))
WRITABLE = bytes.fromhex(
    "48445453000102616d0401020304147365637265747365637265747365637265743132105941524e5f414d5f524d5f544f4b454e"
    "0d31302e302e302e313a3830333001016b020908"
)
PROTOBUF = bytes.fromhex(
    "48445453014e0a430a02616d123d0a0401020304121473656372657473656372657473656372657431321a105941524e5f414d5f"
    "524d5f544f4b454e220d31302e302e302e313a3830333012070a016b1a020908"
)


@pytest.mark.parametrize(("value", "encoded"), VINTS.items())
def test_vint_matches_hadoop(value: int, encoded: str) -> None:
    assert encode_vint(value).hex() == encoded
    assert decode_vint(bytes.fromhex(encoded)) == (value, len(encoded) // 2)


def test_credentials_match_hadoop_in_both_versions() -> None:
    assert encode_credentials(CREDENTIALS) == WRITABLE
    assert parse_credentials(WRITABLE) == CREDENTIALS
    assert parse_credentials(PROTOBUF) == CREDENTIALS


def test_token_round_trips() -> None:
    assert parse_token(encode_token(TOKEN)) == TOKEN


def test_undecodable_kind_survives() -> None:
    data = encode_token(TOKEN).replace(b"YARN_AM_RM_TOKEN", b"YARN\xff\xfeAM\x80M_TOKEN")
    assert encode_token(parse_token(data)) == data


def test_undecodable_protobuf_strings_survive() -> None:
    parsed = parse_credentials(PROTOBUF.replace(b"\x02am", b"\x02\xffm").replace(b"YARN_AM", b"YARN\xffAM"))
    assert parsed.tokens[0][0] == b"\xffm"
    assert b"YARN\xffAM_RM_TOKEN" in encode_credentials(parsed)


def test_password_is_in_no_repr() -> None:
    assert "secretsecret" not in repr(CREDENTIALS)
    assert "\\x09\\x08" not in repr(CREDENTIALS)


@pytest.mark.parametrize("cut", range(len(WRITABLE)))
def test_cut_stream_is_refused_without_naming_its_content(cut: int) -> None:
    with pytest.raises(InvalidValue) as caught:
        parse_credentials(WRITABLE[:cut])
    assert "secretsecret" not in str(caught.value)


@pytest.mark.parametrize(
    "data",
    [
        b"HDTS\x02\x00\x00",
        b"HDTS\x00" + encode_vint(10_001),
        b"HDTS\x00" + encode_vint(-1),
        b"HDTS\x00" + encode_vint(1) + encode_vint(-5),
        b"HDTS\x00" + encode_vint(1) + encode_vint(2**62),
        b"HDTS\x01\x05abc",
        b"HDTS\x01\x03\xff\xff\xff",
        b"",
    ],
)
def test_nonsense_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidValue):
        parse_credentials(data)


def test_token_with_trailing_bytes_is_refused() -> None:
    with pytest.raises(InvalidValue):
        parse_token(encode_token(TOKEN) + b"x")
