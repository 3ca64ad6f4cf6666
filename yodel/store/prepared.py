"""Statements of a commit, compiled once to the driver's SQL.

SQLAlchemy binds parameters and makes a context anew for each execution of a statement, which took twice as long as
SQLite itself with its sync; here they go to the driver's cursor.  Values are processed by the columns' types, as
SQLAlchemy does.  Rows are inserted several at a time: for each execution ``sqlite3`` gives up the interpreter's lock
twice, and has to wait for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

from sqlalchemy import JSON, ClauseElement, Connection, Dialect, Table, bindparam
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError
from sqlalchemy.types import TypeEngine

from yodel.store.values import Values

Processor = Callable[[Any], Any]
ROWS_A_STATEMENT = 16
"""Rows of one insert; the widest has 45 variables, where both databases allow 32,766 a statement."""


class Prepared:
    """A statement of one dialect whose parameters are named by the keys of ``Values``."""

    def __init__(self, statement: ClauseElement, dialect: Dialect) -> None:
        compiled = statement.compile(dialect=dialect)
        self._sql = str(compiled)
        names: Sequence[str] = compiled.positiontup or ()  # type: ignore[attr-defined]
        binds = compiled.binds  # type: ignore[attr-defined]
        self._constants = {name: binds[name].effective_value for name in names if not binds[name].required}
        self._parameters: list[tuple[str, Processor | None]] = [
            (name, _processor(binds[name].type, dialect)) for name in names
        ]

    def execute(self, connection: Connection, rows: Sequence[Values]) -> int:
        """Run it once a row, as one prepared statement; return how many rows the last was of.

        Raises:
            KeyError: a row lacks a parameter.
        """
        return run_on_driver(connection, self._sql, [self._bound(row) for row in rows])

    def _bound(self, row: Values) -> tuple[Any, ...]:
        given = {**self._constants, **row} if self._constants else row
        return tuple([given[name] if process is None else process(given[name]) for name, process in self._parameters])


class PreparedUpsert:
    """Inserts whole rows of a table, or replaces every column of those that are there.  Of rows with one key the last
    stays."""

    def __init__(self, table: Table[Any], dialect: Dialect) -> None:
        self._table, self._dialect = table, dialect
        self._keys = [column.name for column in table.primary_key]
        self._columns: list[tuple[str, Processor | None]] = [
            (column.name, _processor(column.type, dialect)) for column in table.c
        ]
        self._sql_by_count: dict[int, str] = {}

    def execute(self, connection: Connection, rows: Sequence[Values]) -> None:
        """Write the rows, ``ROWS_A_STATEMENT`` at a time.

        Raises:
            KeyError: a row lacks a column.
        """
        last = {tuple([row[key] for key in self._keys]): row for row in rows}
        bound = [
            [row[name] if process is None else process(row[name]) for name, process in self._columns]
            for row in last.values()
        ]
        rest = len(bound) % ROWS_A_STATEMENT
        for count, some in ((ROWS_A_STATEMENT, bound[rest:]), (rest, bound[:rest])):
            if some:
                slices = (some[start : start + count] for start in range(0, len(some), count))
                run_on_driver(connection, self._sql(count), [tuple(chain.from_iterable(one)) for one in slices])

    def _sql(self, count: int) -> str:
        found = self._sql_by_count.get(count)
        if found is None:
            found = self._sql_by_count[count] = str(self._statement(count).compile(dialect=self._dialect))
        return found

    def _statement(self, count: int) -> ClauseElement:
        insert = sqlite.insert if self._dialect.name == "sqlite" else postgresql.insert
        statement = insert(self._table).values(
            [{c.name: bindparam(f"{c.name}_{row}", type_=c.type) for c in self._table.c} for row in range(count)]
        )
        replaced = {c.name: statement.excluded[c.name] for c in self._table.c if c.name not in self._keys}
        return statement.on_conflict_do_update(index_elements=self._keys, set_=replaced)


def run_on_driver(connection: Connection, sql: str, parameters: Sequence[tuple[Any, ...]]) -> int:
    """Run a statement once for each tuple on the driver's cursor, and return the cursor's count of rows.

    For each execution SQLAlchemy makes a context and a result, which take twice as long as a small statement.  What
    fails is told, and what was interrupted is let go of, as by ``Connection.exec_driver_sql``.

    Raises:
        sqlalchemy.exc.DBAPIError: the driver's error.
    """
    cursor = connection.connection.cursor()
    try:
        if len(parameters) == 1:
            cursor.execute(sql, parameters[0])
        else:
            cursor.executemany(sql, parameters)
        return cursor.rowcount
    except BaseException as error:
        dialect, of_driver = connection.dialect, connection.dialect.loaded_dbapi.Error
        if not isinstance(error, of_driver) or dialect.is_disconnect(error, connection.connection, cursor):
            connection.invalidate(error)  # nobody knows how far it got
        if not isinstance(error, of_driver):
            raise
        raise DBAPIError.instance(None, None, error, of_driver, hide_parameters=True, dialect=dialect) from error
    finally:
        cursor.close()


def _processor(kind: TypeEngine[Any], dialect: Dialect) -> Processor | None:
    process: Processor | None = kind.dialect_impl(dialect).bind_processor(dialect)
    if process is None or not isinstance(kind, JSON):
        return process
    empty = process([])  # as most lists of a row are: what makes their text costs as much as ten columns
    return lambda value: empty if value == [] else process(value)
