"""Applications of a node: from their first container to the last thing that is removed."""

from __future__ import annotations

from pathlib import Path

import pytest

from nm_plugin.container.applications import Applications
from nm_plugin.container.life import Container
from nm_plugin.container.records import Application, Records
from nm_plugin.host.users import FileThreads
from tests.support.node_agent import APPLICATION, container_id
from yodel.domain.resource import Resource


def container(sequence: int) -> Container:
    return Container(container_id=container_id(sequence), user="alice", resource=Resource(1, 1))


async def test_first_container_says_who_may_look(tmp_path: Path, threads: FileThreads) -> None:
    records = Records(tmp_path)
    applications = Applications(records, threads, ())
    first = await applications.take(container(2), {"VIEW_APP": "bob"})
    assert await applications.take(container(3), {"VIEW_APP": "*"}) == first
    assert first == Application(application_id=APPLICATION, user="alice", acls={"VIEW_APP": "bob"})
    other = Applications(records, threads, ())
    await other.recover()
    assert other.all() == (first,)


async def test_each_end_is_done_in_turn_and_the_record_goes_last(tmp_path: Path, threads: FileThreads) -> None:
    records, done = Records(tmp_path), []

    async def end(over: Application) -> None:
        done.append((over.finished, len(records.applications())))

    applications = Applications(records, threads, (end, end))
    assert not await applications.finish(APPLICATION)  # unknown
    await applications.take(container(2), {})
    assert await applications.finish(APPLICATION)
    assert not await applications.finish(APPLICATION)  # over already
    assert [one.finished for one in records.applications()] == [True]
    await applications.clean_up(applications.give_up(APPLICATION))
    assert done == [(True, 1), (True, 1)]
    assert (applications.all(), records.applications()) == ((), [])


async def test_a_state_disk_that_refuses_keeps_an_application_from_its_beginning_and_not_from_its_end(
    tmp_path: Path, threads: FileThreads
) -> None:
    records = Records(tmp_path)
    applications = Applications(records, threads, ())
    refusing = tmp_path / "applications" / f"{APPLICATION}.json.tmp"
    refusing.mkdir()
    with pytest.raises(OSError, match="Is a directory"):
        await applications.take(container(2), {})
    assert applications.all() == ()
    refusing.rmdir()
    await applications.take(container(2), {})
    refusing.mkdir()
    assert await applications.finish(APPLICATION)
    assert [one.finished for one in applications.all()] == [True]
