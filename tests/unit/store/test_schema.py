"""Waiting for somebody else's migration."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from yodel.errors import Unavailable
from yodel.store import schema


async def test_tables_at_head_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    async def at_head(url: str) -> tuple[str | None, str]:
        return "0007", "0007"

    monkeypatch.setattr(schema, "current_and_head", at_head)
    assert await schema.wait_for_head("x", 1) == "0007"


async def test_silence_and_old_tables_are_waited_out(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[str | Unavailable | None] = [Unavailable("no database"), None, "0001", "0002"]

    async def look(url: str) -> tuple[str | None, str]:
        answer = answers.pop(0)
        if isinstance(answer, Unavailable):
            raise answer
        return answer, "0002"

    monkeypatch.setattr(schema, "current_and_head", look)
    monkeypatch.setattr(schema, "WAIT_POLL_S", 0.0)
    assert await schema.wait_for_head("x", 60) == "0002"
    assert answers == []


@pytest.mark.parametrize(
    ("found", "said"), [(Unavailable("nobody listens"), "nobody listens"), (None, "tables are at nothing, not yet")]
)
async def test_the_last_look_is_told_when_time_is_up(
    monkeypatch: pytest.MonkeyPatch, found: Unavailable | None, said: str
) -> None:
    async def look(url: str) -> tuple[str | None, str]:
        await asyncio.sleep(0)
        if found is not None:
            raise found
        return None, "0001"

    monkeypatch.setattr(schema, "current_and_head", look)
    monkeypatch.setattr(schema, "WAIT_POLL_S", 0.0)
    with pytest.raises(Unavailable, match=said):
        await schema.wait_for_head("x", 0.01)


async def test_an_empty_file_of_sqlite_is_not_at_head(tmp_path: Path) -> None:
    assert await schema.current_and_head(f"sqlite+aiosqlite:///{tmp_path / 'rm.db'}") == (None, schema.HEAD_REVISION)
