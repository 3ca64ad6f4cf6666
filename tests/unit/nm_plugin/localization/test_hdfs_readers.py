"""Reader processes: real ones, that are asked for what is not there."""

from __future__ import annotations

import asyncio
import json
import struct
import tempfile
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nm_plugin.host.users import FileThreads, OsUser
from nm_plugin.localization import hdfs_readers
from nm_plugin.localization.hdfs_readers import HdfsReader, HdfsReaders

TOKENS = b"HDTS\x00\x00\x00 and more"


@pytest.fixture
async def readers(threads: FileThreads) -> AsyncIterator[HdfsReaders]:
    made = HdfsReaders(threads, None)
    yield made
    await made.close()


async def ask(reader: HdfsReader) -> dict[str, Any]:
    with tempfile.TemporaryFile() as file:
        reader.ask("nothing://host/no/such", "private", file.fileno())
        async with asyncio.timeout(60):
            (size,) = struct.unpack(">I", await reader.stdout.readexactly(4))
            answer: dict[str, Any] = json.loads(await reader.stdout.readexactly(size))
            return answer


def content_and_rights(name: str) -> tuple[bytes, int, int] | None:
    path = Path(name)
    if not path.exists():
        return None
    return path.read_bytes(), path.stat().st_uid, path.stat().st_mode & 0o777


async def test_one_that_served_serves_again_and_only_for_the_same(readers: HdfsReaders, agent_user: OsUser) -> None:
    first = await readers.take(agent_user, b"")
    assert (await ask(first))["error"]
    readers.give_back(first)
    other_user = await readers.take(replace(agent_user, name="other"), b"")
    other_tokens = await readers.take(agent_user, TOKENS)
    again = await readers.take(agent_user, b"")
    assert again is first
    assert len({first.process.pid, other_user.process.pid, other_tokens.process.pid}) == 3
    assert (await ask(again))["error"]
    for reader in (other_user, other_tokens, again):
        await reader.close()
        assert reader.process.returncode is not None


async def test_tokens_are_the_users_alone_and_gone_with_the_process(readers: HdfsReaders, alice: OsUser) -> None:
    reader = await readers.take(alice, TOKENS)
    assert reader.token_file is not None
    path = reader.token_file
    assert content_and_rights(path) == (TOKENS, alice.uid, 0o600)
    assert str(TOKENS) not in repr(reader)
    await reader.close()
    assert content_and_rights(path) is None


async def test_idle_ones_end_after_a_while_and_are_few(
    readers: HdfsReaders, agent_user: OsUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hdfs_readers, "IDLE_S", 0.05)
    monkeypatch.setattr(hdfs_readers, "IDLE_MAX", 1)
    one, two = await readers.take(agent_user, b""), await readers.take(agent_user, b"")
    readers.give_back(one)
    readers.give_back(two)
    async with asyncio.timeout(60):
        await asyncio.gather(one.process.wait(), two.process.wait())
    fresh = await readers.take(agent_user, b"")
    assert fresh not in (one, two)
    await fresh.close()


async def test_process_ends_with_the_other_end_of_its_socket(readers: HdfsReaders, agent_user: OsUser) -> None:
    """The other end of the socket closes, as it does when the agent is killed."""
    reader = await readers.take(agent_user, b"")
    reader.requests.close()
    async with asyncio.timeout(60):
        assert await reader.process.wait() == 0
    await reader.close()
