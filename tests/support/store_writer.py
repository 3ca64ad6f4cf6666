"""A process that writes to a store until it is killed: ``python -m tests.support.store_writer URL``.

Commit number n is application n with an attempt and three containers, and replaces the master key.  The number is
printed once the store has answered, and not before.
"""

from __future__ import annotations

import asyncio
import itertools
import sys

from tests.support.records import a_container, an_application, an_attempt
from yodel.domain.queues.queue import default_queues
from yodel.domain.tokens import MasterKey
from yodel.ports.store import Commit
from yodel.store.sql_store import SqlStore

CONTAINERS = 3


def commit_number(number: int) -> Commit:
    """All or nothing of this must be found later."""
    containers = [a_container(number, container=index) for index in range(1, CONTAINERS + 1)]
    return Commit(
        rows=[an_application(number), an_attempt(number), *containers],
        master_keys=[("amrm", MasterKey(key_id=1, secret=str(number).encode()))],
        application_sequence=number,
    )


async def write_until_killed(url: str) -> None:
    """Continue after what is there."""
    store = SqlStore(url)
    snapshot = await store.open(now_ms=1, default_queues=default_queues())
    for number in itertools.count(snapshot.identity.application_sequence + 1):
        await store.commit(commit_number(number))
        print(number, flush=True)


if __name__ == "__main__":
    asyncio.run(write_until_killed(sys.argv[1]))
