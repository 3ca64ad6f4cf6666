"""The lease as a row of PostgreSQL, on connections of its own: a long commit does not hold up a renewal.

Each statement is a transaction of its own, so that no process that stops can hold the row; and each compares and sets
by the database's clock, so that the clocks of those who ask do not matter.
"""

from __future__ import annotations

import secrets
import socket

from sqlalchemy import BigInteger, ColumnElement, Connection, cast, extract, func, literal, or_, select, text, update
from sqlalchemy.dialects import postgresql
from sqlalchemy.ext.asyncio import AsyncConnection

from yodel.store import tables
from yodel.store.engine import answering, parsed_url, postgres_engine
from yodel.store.errors import LeadLost
from yodel.store.leadership import RENEWALS_MAX, LeaseTimes
from yodel.store.schema import require_usable

HOST_LENGTH_MAX = 32
CLOSE_TIMEOUT_S = 2.0
ANSWERS_TO_A_CLAIM = 4
"""A claim may last as long as this many answers: connecting, two statements, and at first a look at the schema."""
LEADER_PREFIX = "yodel leader "
"""The beginning of the name by which PostgreSQL knows a leader's connections; the holder follows."""

_row = tables.leadership.c
_CUT_OFF = text(
    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database()"
    " AND usename = current_user AND application_name LIKE :leaders AND application_name <> :ours"
)


def new_holder() -> str:
    """A name that no other process has, and that tells a reader where it is: a pod's host name is the pod's name."""
    return f"{socket.gethostname()[:HOST_LENGTH_MAX]}/{secrets.token_hex(4)}"


class SqlLease:
    """See ``yodel.store.leadership.Lease``.  No connection is made before the first claim.

    Raises:
        InvalidValue: the URL is not one of the kinds served.
    """

    def __init__(self, url: str, holder: str, times: LeaseTimes) -> None:
        engine = postgres_engine(parsed_url(url), times.answer_s, times.answer_s, connections=RENEWALS_MAX)
        self._engine = engine.execution_options(isolation_level="AUTOCOMMIT")
        self._holder, self._times = holder, times
        self._is_known = False

    async def claim(self) -> str:
        """Raises SchemaNotAtHead beside what the protocol says."""
        async with (
            answering("report the leader", ANSWERS_TO_A_CLAIM * self._times.answer_s),
            self._engine.connect() as connection,
        ):
            if not self._is_known:
                await connection.run_sync(require_usable)
                await _make_row(connection)
                self._is_known = True
            taken = await connection.scalar(
                update(tables.leadership)
                .where(or_(_row.expires_ms <= _now_ms(), _row.holder == self._holder))
                .values(holder=self._holder, expires_ms=_in_ms(self._times.lease_s), successor_until_ms=0)
                .returning(_row.holder)
            )
            if taken is not None:
                return str(taken)
            await connection.execute(
                update(tables.leadership).values(successor_until_ms=_in_ms(self._times.successor_s))
            )
            return str(await connection.scalar(select(_row.holder)))

    async def renew(self) -> bool | None:
        async with answering("renew the lease", self._times.answer_s), self._engine.connect() as connection:
            has_successor: bool | None = await connection.scalar(
                update(tables.leadership)
                .where(_row.holder == self._holder)
                .values(expires_ms=_in_ms(self._times.lease_s))
                .returning(_row.successor_until_ms > _now_ms())
            )
            return has_successor

    async def release(self) -> None:
        async with answering("release the lease", self._times.answer_s), self._engine.connect() as connection:
            await connection.execute(
                update(tables.leadership).where(_row.holder == self._holder).values(holder="", expires_ms=0)
            )

    async def close(self) -> None:
        async with answering("close", CLOSE_TIMEOUT_S):
            await self._engine.dispose()


def cut_off_others(connection: Connection, holder: str) -> None:
    """End the connections of those who led before: one that stopped in the middle of a commit holds its rows.

    Only connections of our own database user, which may always be ended.
    """
    connection.execute(_CUT_OFF, {"leaders": f"{LEADER_PREFIX}%", "ours": f"{LEADER_PREFIX}{holder}"})


def require_lease(connection: Connection, holder: str) -> None:
    """Within the transaction that takes the store over, after it has locked the identity.

    Raises:
        LeadLost: the lease is another's by now, or has ended.
    """
    is_ours = select(literal(1)).where(_row.holder == holder, _row.expires_ms > _now_ms())
    if connection.scalar(is_ours) is None:
        raise LeadLost(holder)


async def _make_row(connection: AsyncConnection) -> None:
    first = postgresql.insert(tables.leadership).values(
        id=tables.IDENTITY_ROW, holder="", expires_ms=0, successor_until_ms=0
    )
    await connection.execute(first.on_conflict_do_nothing())


def _now_ms() -> ColumnElement[int]:
    """Return the time of the statement, not of its transaction's beginning."""
    return cast(extract("epoch", func.clock_timestamp()) * 1000, BigInteger)


def _in_ms(seconds: float) -> ColumnElement[int]:
    return _now_ms() + literal(round(seconds * 1000), BigInteger)
