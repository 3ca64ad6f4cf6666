"""Request and reply hashes.  Expected values were computed by Hadoop 3.5.0's SecureShuffleUtils."""

from __future__ import annotations

import pytest

from nm_plugin.shuffle.fetch import HttpRefusal
from nm_plugin.shuffle.hashes import url_hash, verified_reply

TARGET = (
    "/mapOutput?job=job_1700000000000_0007&reduce=3&map=attempt_1700000000000_0007_m_000000_0,"
    "attempt_1700000000000_0007_m_000001_0"
)
OF_8_BYTES = ("X7MgRpliR/JAOQ0rQbSBQpHzwEU=", "DHLTDR/VIlS7q8B2px85VVFrd7Y=")
OF_20_BYTES = ("TOrjYTPyfESiPpugTbtIVnbVqLE=", "ci22/ITYCGmLouRfp+p81KEA8ec=")


def secret(size: int) -> bytes:
    return bytes((index * 7 + 1) & 0xFF for index in range(size))


@pytest.mark.parametrize(("size", "hashes"), [(8, OF_8_BYTES), (20, OF_20_BYTES)])
def test_hashes_are_hadoops(size: int, hashes: tuple[str, str]) -> None:
    assert url_hash(secret(size), 13562, TARGET) == hashes[0]
    assert verified_reply(secret(size), 13562, TARGET, hashes[0]) == hashes[1]


@pytest.mark.parametrize(
    "received",
    ["", "AAAA", OF_20_BYTES[0], OF_8_BYTES[0][:-1], OF_8_BYTES[0] + "=", "é" * 28, "A" * 100_000, "\x00"],
)
def test_wrong_hash_is_401(received: str) -> None:
    with pytest.raises(HttpRefusal, match="401 Verification of the hashReply failed"):
        verified_reply(secret(8), 13562, TARGET, received)


def test_missing_hash_is_401() -> None:
    with pytest.raises(HttpRefusal, match="401 fetcher cannot be authenticated"):
        verified_reply(secret(8), 13562, TARGET, None)


@pytest.mark.parametrize(("port", "target"), [(13563, TARGET), (13562, TARGET.replace("reduce=3", "reduce=4"))])
def test_hash_is_of_this_port_and_target(port: int, target: str) -> None:
    with pytest.raises(HttpRefusal):
        verified_reply(secret(8), port, target, OF_8_BYTES[0])
