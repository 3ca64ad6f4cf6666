"""A release uses the tables that serve it, and waits for somebody else's migration."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from yodel.errors import Unavailable
from yodel.store import schema
from yodel.store.errors import SchemaNotAtHead
from yodel.store.schema import Schema


@pytest.fixture(autouse=True)
def release(monkeypatch: pytest.MonkeyPatch) -> None:
    """The release that was made for 0005."""
    monkeypatch.setattr(schema, "HEAD_REVISION", "0005")


def looks(monkeypatch: pytest.MonkeyPatch, *answers: Schema | Unavailable) -> list[Schema | Unavailable]:
    """Answers of a database, the last one for ever; returns what is left of them."""
    left = list(answers)

    async def look(url: str) -> Schema:
        await asyncio.sleep(0)
        answer = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(answer, Unavailable):
            raise answer
        return answer

    monkeypatch.setattr(schema, "look", look)
    monkeypatch.setattr(schema, "WAIT_POLL_S", 0.0)
    return left


@pytest.mark.parametrize(
    ("current", "oldest_head", "is_usable", "is_behind"),
    [
        (None, None, False, True),
        ("0001", None, False, True),
        ("0004", "0002", False, True),
        ("0005", "0002", True, False),
        ("0005", "0005", True, False),
        ("0006", "0002", True, False),
        ("0006", "0005", True, False),
        ("0006", "0006", False, False),
        ("0010", "0005", True, False),
        ("0010", "0009", False, False),
        ("0006", None, False, False),
    ],
)
def test_a_release_uses_its_own_tables_and_those_that_still_serve_it(
    current: str | None, oldest_head: str | None, is_usable: bool, is_behind: bool
) -> None:
    found = Schema(current, oldest_head)
    assert (found.is_usable, found.is_behind) == (is_usable, is_behind)


@pytest.mark.parametrize("current", ["0005", "0006"])
async def test_tables_that_can_be_used_are_not_waited_for(monkeypatch: pytest.MonkeyPatch, current: str) -> None:
    looks(monkeypatch, Schema(current, "0005"))
    assert await schema.wait_until_usable("x", 1) == current


async def test_silence_and_old_tables_are_waited_out(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = (Schema("0005", "0002"), Unavailable("never asked"))
    left = looks(monkeypatch, Unavailable("no database"), Schema(None, None), Schema("0004", "0002"), *ends)
    assert await schema.wait_until_usable("x", 60) == "0005"
    assert len(left) == 1


async def test_tables_that_are_too_new_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    looks(monkeypatch, Schema("0007", "0006"))
    with pytest.raises(SchemaNotAtHead, match=r"at version 0007, for releases from 0006 on.*needs 0005.*newer release"):
        await schema.wait_until_usable("x", 60)


@pytest.mark.parametrize("current", ["0005", "0006", "0007"])
async def test_tables_that_are_newer_are_not_migrated(monkeypatch: pytest.MonkeyPatch, current: str) -> None:
    looks(monkeypatch, Schema(current, "0006"))
    assert await schema.migrate_if_behind("no database at all") == []


@pytest.mark.parametrize(
    ("found", "said"),
    [(Unavailable("nobody listens"), "nobody listens"), (Schema(None, None), "its tables are at nothing, not yet")],
)
async def test_the_last_look_is_told_when_time_is_up(
    monkeypatch: pytest.MonkeyPatch, found: Unavailable | Schema, said: str
) -> None:
    looks(monkeypatch, found)
    with pytest.raises(Unavailable, match=said):
        await schema.wait_until_usable("x", 0.01)


async def test_a_database_that_comes_late_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    left = looks(monkeypatch, Unavailable("nobody listens"), Unavailable("it starts"), Schema(None, None))
    said: list[str] = []
    await schema.wait_for_answer("x", 60, said.append)
    assert (left, said) == ([Schema(None, None)], ["waiting for the database: nobody listens"])


async def test_a_database_that_never_comes_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    looks(monkeypatch, Unavailable("nobody listens"))
    with pytest.raises(Unavailable, match=r"did not answer within 0\.01 s: nobody listens"):
        await schema.wait_for_answer("x", 0.01, print)


async def test_an_empty_file_of_sqlite_has_nothing(tmp_path: Path) -> None:
    assert await schema.look(f"sqlite+aiosqlite:///{tmp_path / 'rm.db'}") == Schema(None, None)
