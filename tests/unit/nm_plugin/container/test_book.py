"""The book of containers: each once, not too many, and on disk before anybody acts on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from nm_plugin.container.book import ContainerBook
from nm_plugin.container.life import CleanedUp, Container, Effect, KillRequested, Started, State
from nm_plugin.container.records import Records
from nm_plugin.host.users import FileThreads
from tests.support.node_agent import APPLICATION, container_id
from yodel.domain.resource import Resource
from yodel.errors import Refused

KILL = KillRequested(exit_status=-105, diagnostics="")


def new(sequence: int) -> Container:
    return Container(container_id=container_id(sequence), user="alice", resource=Resource(1, 1))


@pytest.fixture
def records(tmp_path: Path) -> Records:
    return Records(tmp_path)


@pytest.fixture
def book(records: Records, threads: FileThreads) -> ContainerBook:
    return ContainerBook(records, threads, 2)


async def test_record_is_there_when_the_effects_are_handed_out(book: ContainerBook, records: Records) -> None:
    book.take(new(2))
    applied = await book.apply(container_id(2), Started())
    assert applied is not None
    before, step = applied
    assert (before.state, step.entity.state, step.effects) == (State.NEW, State.LOCALIZING, (Effect.LOCALIZE,))
    assert records.containers() == [step.entity] == list(book.of(APPLICATION))
    await book.change(container_id(2), log_dir="/g")
    assert [one.log_dir for one in records.containers()] == ["/g"]


async def test_nobody_reads_of_a_step_that_an_agent_which_dies_now_would_forget(
    book: ContainerBook, records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    save, seen = Records.save_container, list[tuple[State, str]]()

    def look_and_save(store: Records, container: Container) -> None:
        seen.extend((one.state, one.log_dir) for one in book.all())
        save(store, container)

    monkeypatch.setattr(Records, "save_container", look_and_save)
    book.take(new(2))
    await book.apply(container_id(2), Started())
    await book.change(container_id(2), log_dir="/g")
    assert seen == [(State.NEW, ""), (State.LOCALIZING, "")]


async def test_next_agent_knows_them(book: ContainerBook, records: Records, threads: FileThreads) -> None:
    book.take(new(2))
    await book.apply(container_id(2), Started())
    other = ContainerBook(records, threads, 2)
    await other.recover()
    assert other.all() == book.all()


async def test_full_node_takes_no_more(book: ContainerBook) -> None:
    book.take(new(2))
    book.take(new(3))
    with pytest.raises(Refused, match="knows 2 containers already"):
        book.take(new(4))
    await book.apply(container_id(3), KILL)
    book.take(new(4))  # what has ended and is still known takes no place
    with pytest.raises(Refused, match="knows 2 containers already"):
        book.take(new(5))


async def test_acknowledged_is_forgotten_once_it_is_cleaned_up(book: ContainerBook, records: Records) -> None:
    book.take(new(2))
    for event in (Started(), KILL):
        await book.apply(container_id(2), event)
    await book.acknowledge(container_id(2))
    await book.forget_acknowledged(container_id(2))
    assert book.get(container_id(2)) is not None  # it is still being killed
    book.take(new(3))
    await book.apply(container_id(3), KILL)
    await book.acknowledge(container_id(3))
    assert (book.get(container_id(3)), book.was_stopped_recently(container_id(3))) == (None, True)
    assert [one.container_id for one in records.containers()] == [container_id(2)]
    assert await book.apply(container_id(3), CleanedUp()) is None


async def test_full_disk_costs_the_record_only(
    book: ContainerBook, records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(container: Container) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(records, "save_container", full)
    book.take(new(2))
    applied = await book.apply(container_id(2), Started())
    assert applied is not None
    assert applied[1].effects == (Effect.LOCALIZE,)
