"""Statements that are compiled once bind what SQLAlchemy would have bound."""

from __future__ import annotations

import asyncio
import sqlite3
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import (
    JSON,
    Column,
    Connection,
    Integer,
    MetaData,
    Table,
    bindparam,
    case,
    create_engine,
    select,
    update,
)
from sqlalchemy.exc import DBAPIError, IntegrityError

from yodel.store.columns import AnyText
from yodel.store.prepared import ROWS_A_STATEMENT, Prepared, PreparedUpsert

TABLE: Table[Any] = Table(
    "things",
    MetaData(),
    Column("id", Integer, primary_key=True),
    Column("text", AnyText()),
    Column("list", JSON()),
)
ROWS = [{"id": 1, "text": "a\x00", "list": ["x"]}, {"id": 2, "text": None, "list": []}]


@pytest.fixture
def connection() -> Connection:
    connection = create_engine("sqlite://").connect()
    TABLE.create(connection)
    return connection


def read(connection: Connection) -> list[dict[str, Any]]:
    return [dict(row) for row in connection.execute(select(TABLE).order_by(TABLE.c.id)).mappings()]


def test_values_are_processed_by_their_columns_types(connection: Connection) -> None:
    Prepared(TABLE.insert(), connection.dialect).execute(connection, ROWS)
    assert read(connection) == ROWS


def test_a_parameter_may_stand_twice_and_beside_a_constant(connection: Connection) -> None:
    Prepared(TABLE.insert(), connection.dialect).execute(connection, ROWS)
    least = bindparam("least", type_=Integer())
    raised = update(TABLE).values(id=case((TABLE.c.id < least, least + 5), else_=TABLE.c.id)).where(TABLE.c.id > 1)
    assert Prepared(raised, connection.dialect).execute(connection, [{"least": 3}]) == 1
    assert [row["id"] for row in read(connection)] == [1, 8]


def test_a_row_without_a_parameter_is_an_error(connection: Connection) -> None:
    with pytest.raises(KeyError, match="list"):
        Prepared(TABLE.insert(), connection.dialect).execute(connection, [{"id": 1, "text": ""}])
    assert read(connection) == []


def test_error_of_the_driver_is_sqlalchemys_and_the_connection_stays(connection: Connection) -> None:
    insert = Prepared(TABLE.insert(), connection.dialect)
    insert.execute(connection, ROWS)
    with pytest.raises(IntegrityError, match="UNIQUE"):
        insert.execute(connection, ROWS[:1])
    assert read(connection) == ROWS


@pytest.mark.parametrize(
    ("error", "is_let_go"),
    [
        (asyncio.CancelledError(), True),
        (sqlite3.ProgrammingError("Cannot operate on a closed database."), True),
        (sqlite3.OperationalError("database is locked"), False),
    ],
)
def test_connection_that_was_lost_or_interrupted_is_let_go(
    connection: Connection, monkeypatch: pytest.MonkeyPatch, error: BaseException, is_let_go: bool
) -> None:
    def execute(*_: object) -> None:
        raise error

    cursor = SimpleNamespace(execute=execute, close=lambda: None)
    monkeypatch.setattr(type(connection.connection), "cursor", lambda _: cursor)
    with pytest.raises((DBAPIError, asyncio.CancelledError)) as raised:
        Prepared(TABLE.insert(), connection.dialect).execute(connection, ROWS[:1])
    assert error in (raised.value, raised.value.__cause__)
    assert connection.invalidated is is_let_go


@pytest.mark.parametrize("count", [1, ROWS_A_STATEMENT - 1, ROWS_A_STATEMENT, 2 * ROWS_A_STATEMENT + 3])
def test_whole_rows_are_written_several_at_a_time(connection: Connection, count: int) -> None:
    """``sqlite3`` gives up the interpreter's lock each time that it runs a statement, for one row or for sixteen."""
    run: list[str] = []
    assert connection.connection.dbapi_connection is not None
    connection.connection.dbapi_connection.set_trace_callback(run.append)
    rows = [{"id": number, "text": f"\x00{number}", "list": [number]} for number in range(count)]
    PreparedUpsert(TABLE, connection.dialect).execute(connection, rows)
    assert len([statement for statement in run if statement.startswith("INSERT")]) == -(-count // ROWS_A_STATEMENT)
    assert read(connection) == rows


def test_of_rows_with_one_key_the_last_stays(connection: Connection) -> None:
    upsert = PreparedUpsert(TABLE, connection.dialect)
    upsert.execute(connection, ROWS)
    upsert.execute(connection, [{**ROWS[0], "text": "old"}, {**ROWS[0], "text": None, "list": ["new"]}])
    assert read(connection) == [{"id": 1, "text": None, "list": ["new"]}, ROWS[1]]
