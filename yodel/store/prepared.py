"""Statements of a commit, compiled once to the driver's SQL.

SQLAlchemy binds parameters and makes a context anew for each execution of a statement, which took twice as long as
SQLite itself with its sync; a string goes to the driver as it is.  Values are processed by the columns' types, as
SQLAlchemy does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import ClauseElement, Connection, CursorResult, Dialect

from yodel.store.values import Values

Processor = Callable[[Any], Any]


class Prepared:
    """A statement of one dialect whose parameters are named by the keys of ``Values``; an insert wants every column."""

    def __init__(self, statement: ClauseElement, dialect: Dialect) -> None:
        compiled = statement.compile(dialect=dialect)
        self._sql = str(compiled)
        names: Sequence[str] = compiled.positiontup or ()  # type: ignore[attr-defined]
        binds = compiled.binds  # type: ignore[attr-defined]
        self._constants = {name: binds[name].effective_value for name in names if not binds[name].required}
        self._parameters: list[tuple[str, Processor | None]] = [
            (name, binds[name].type.dialect_impl(dialect).bind_processor(dialect)) for name in names
        ]

    def execute(self, connection: Connection, rows: Sequence[Values]) -> CursorResult[Any]:
        """Run it once a row, as one prepared statement.

        Raises:
            KeyError: a row lacks a parameter.
        """
        return connection.exec_driver_sql(self._sql, [self._bound(row) for row in rows])

    def _bound(self, row: Values) -> tuple[Any, ...]:
        given = {**self._constants, **row} if self._constants else row
        return tuple([given[name] if process is None else process(given[name]) for name, process in self._parameters])
