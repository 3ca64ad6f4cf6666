"""Housekeeping removes old things: with the real book, cache and pods of an empty node, and logs of several ages."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import Any, cast

import pytest

from nm_plugin.container import book as book_module
from nm_plugin.container.book import ContainerBook
from nm_plugin.container.life import CleanedUp, Container, KillRequested
from nm_plugin.container.records import Records
from nm_plugin.host.users import Accounts, FileThreads
from nm_plugin.launch.parked import EMPTY_AGE_S, ParkedPods
from nm_plugin.node.housekeeping import Housekeeping, HousekeepingSettings
from tests.support.node_agent import APPLICATION, FakeUsers, container_id, eventually
from yodel.domain.resource import Resource
from yodel.errors import Refused


class CountedCache:
    """Counts how often it was asked to make room."""

    asked = 0

    async def evict(self, users: object) -> int:
        self.asked += 1
        return 0


async def test_what_is_old_goes_and_what_is_needed_stays(
    open_path: Path, users: FakeUsers, threads: FileThreads, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs, pods = open_path / "logs", open_path / "pods"
    old, fresh, known = (logs / name for name in ("application_1_0001", "application_1_0002", str(APPLICATION)))
    for path in (old, fresh, known):
        (path / "container").mkdir(parents=True)
    unused, young = pods / "application-1-0001-c", pods / "application-1-0002-c"
    for path in (unused, young):
        path.mkdir(parents=True)
    long_ago = time.time() - EMPTY_AGE_S - 60
    for path in (old / "container", old, known / "container", known, unused):
        os.utime(path, (long_ago, long_ago))
    book = ContainerBook(Records(open_path / "state"), threads, 9)
    await ended_and_acknowledged(book)
    monkeypatch.setattr(book_module, "RECENTLY_STOPPED_S", 0)
    cache = CountedCache()
    keeping = Housekeeping(
        HousekeepingSettings(interval_s=0.001, log_retain_s=60, log_dirs=(logs,)),
        book=book,
        cache=cast(Any, cache),
        pods=ParkedPods(pods, threads, threads, threads),
        accounts=Accounts(users, threads),
        needed=lambda: {APPLICATION},
    )
    task = asyncio.create_task(keeping.keep())
    await eventually(lambda: cache.asked > 1)
    task.cancel()
    assert [path.exists() for path in (old, fresh, known, unused, young)] == [False, True, True, False, True]
    assert not book.was_stopped_recently(container_id(2))


async def ended_and_acknowledged(book: ContainerBook) -> None:
    container = Container(container_id=container_id(2), user="alice", resource=Resource(1, 1))
    book.take(container)
    with pytest.raises(Refused, match="already is running"):
        book.take(container)
    await book.apply(container.container_id, KillRequested(exit_status=-105, diagnostics=""))
    await book.apply(container.container_id, CleanedUp())
    await book.acknowledge(container.container_id)
    assert book.get(container.container_id) is None
    assert book.was_stopped_recently(container.container_id)
