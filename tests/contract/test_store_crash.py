"""A writer that is killed in the middle of its commits loses none that was acknowledged and tears none."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path

from tests.support.store_writer import commit_number
from yodel.domain.queues.queue import default_queues
from yodel.ports.store import Snapshot
from yodel.store.sql_store import SqlStore

ROOT = Path(__file__).parents[2]
ROUNDS = 4
COMMITS_A_ROUND = 25


def acknowledged_until_killed(url: str) -> int:
    """Run a writer, kill -9 it right after an acknowledgement (the next commit is on its way); the last number said."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.support.store_writer", url], stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as writer:
        assert writer.stdout is not None
        lines = list(itertools.islice(writer.stdout, COMMITS_A_ROUND))
        writer.kill()
        lines += writer.stdout.readlines()
    assert len(lines) >= COMMITS_A_ROUND
    return int(lines[-1])


async def read(url: str) -> Snapshot:
    store = SqlStore(url)
    snapshot = await store.open(now_ms=1, default_queues=default_queues())
    await store.close()
    return snapshot


async def test_killed_writer_loses_no_acknowledged_commit_and_tears_none(sql_url: str) -> None:
    for _ in range(ROUNDS):
        acknowledged = acknowledged_until_killed(sql_url)
        snapshot = await read(sql_url)

        written = snapshot.identity.application_sequence
        assert acknowledged <= written <= acknowledged + 1
        found = [*snapshot.applications, *snapshot.attempts, *snapshot.containers]
        expected = [row for number in range(1, written + 1) for row in commit_number(number).rows]
        assert len(found) == len(expected)
        assert set(found) == set(expected)
        assert list(snapshot.master_keys) == list(commit_number(written).master_keys)
