"""The book of containers: each once, not too many, and on disk before anybody acts on it."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from nm_plugin.container import book as book_module
from nm_plugin.container.book import ContainerBook
from nm_plugin.container.life import (
    CleanedUp,
    Container,
    ContainerEffect,
    Exited,
    KillRequested,
    LifeState,
    Localized,
    Started,
)
from nm_plugin.container.records import Records
from nm_plugin.host.users import FileThreads
from tests.support.node_agent import APPLICATION, container_id
from yodel.domain.resource import Resource
from yodel.errors import Refused

KILL = KillRequested(exit_status=-105, diagnostics="")


async def _nobody(user: str) -> None:
    return None


class Slow:
    """Saves that do not end before they may; ``states`` are what was saved."""

    def __init__(self, records: Records, monkeypatch: pytest.MonkeyPatch) -> None:
        self.may_end, self.states = threading.Event(), list[LifeState]()
        save = records.save_container

        def wait_and_save(container: Container) -> None:
            assert self.may_end.wait(60)
            self.states.append(container.state)
            save(container)

        monkeypatch.setattr(records, "save_container", wait_and_save)


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
    assert (before.state, step.entity.state, step.effects) == (
        LifeState.NEW,
        LifeState.LOCALIZING,
        (ContainerEffect.LOCALIZE,),
    )
    assert records.containers() == [step.entity] == list(book.of(APPLICATION))
    await book.change(container_id(2), log_dir="/g")
    assert [one.log_dir for one in records.containers()] == ["/g"]


async def test_nobody_reads_of_a_step_that_an_agent_which_dies_now_would_forget(
    book: ContainerBook, records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    save, seen = Records.save_container, list[tuple[LifeState, str]]()

    def look_and_save(store: Records, container: Container) -> None:
        seen.extend((one.state, one.log_dir) for one in book.all())
        save(store, container)

    monkeypatch.setattr(Records, "save_container", look_and_save)
    book.take(new(2))
    await book.apply(container_id(2), Started())
    await book.change(container_id(2), log_dir="/g")
    assert seen == [(LifeState.NEW, ""), (LifeState.LOCALIZING, "")]


async def test_next_agent_knows_them(book: ContainerBook, records: Records, threads: FileThreads) -> None:
    book.take(new(2))
    await book.apply(container_id(2), Started())
    other = ContainerBook(records, threads, 2)
    await other.recover(_nobody)
    assert other.all() == book.all()


async def test_whose_a_container_is_that_an_older_agent_started_is_asked_once_and_kept(
    records: Records, threads: FileThreads
) -> None:
    asked = list[str]()

    async def uid_of(user: str) -> int:
        asked.append(user)
        return 7

    for number, changes in enumerate(({}, {"user_uid": 8}, {"state": LifeState.DONE}), start=2):
        records.save_container(replace(new(number), **changes))  # type: ignore[arg-type]
    book = ContainerBook(records, threads, 9)
    await book.recover(uid_of)
    assert asked == ["alice"]
    assert [one.user_uid for one in book.all()] == [one.user_uid for one in records.containers()] == [7, 8, None]


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
    assert applied[1].effects == (ContainerEffect.LOCALIZE,)


async def test_the_record_of_a_kill_is_there_when_the_kill_is_handed_out(book: ContainerBook, records: Records) -> None:
    book.take(new(2))
    await book.apply(container_id(2), Started())
    applied = await book.apply(container_id(2), KILL)
    assert applied is not None
    assert applied[1].effects == (ContainerEffect.TERMINATE,)
    assert [(one.state, one.exit_status) for one in records.containers()] == [(LifeState.KILLING, -105)]


async def test_a_kill_waits_a_while_for_its_record_and_is_recorded_all_the_same(
    book: ContainerBook, records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(book_module, "KILL_RECORD_WAIT_S", 0.05)
    book.take(new(2))
    await book.apply(container_id(2), Started())
    slow = Slow(records, monkeypatch)
    applied = await book.apply(container_id(2), KILL)
    assert applied is not None
    assert applied[1].effects == (ContainerEffect.TERMINATE,)
    assert [one.state for one in book.all()] == [LifeState.KILLING]
    assert [one.state for one in records.containers()] == [LifeState.LOCALIZING]
    ended = asyncio.create_task(book.apply(container_id(2), Exited(exit_status=137)))
    slow.may_end.set()
    assert await ended is not None
    assert slow.states == [LifeState.KILLING, LifeState.DONE], "one after the other, or an older one would be the last"
    assert [(one.state, one.exit_status) for one in records.containers()] == [(LifeState.DONE, -105)]


async def test_a_kill_overtakes_a_step_that_is_being_saved_and_what_would_have_followed(
    book: ContainerBook, records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(book_module, "KILL_RECORD_WAIT_S", 0.05)
    book.take(new(2))
    await book.apply(container_id(2), Started())
    await book.change(container_id(2), local_dir="/l")
    slow = Slow(records, monkeypatch)
    localized = asyncio.create_task(book.apply(container_id(2), Localized()))
    changed = asyncio.create_task(book.change(container_id(2), log_dir="/g"))
    noted = asyncio.create_task(book.note(container_id(2), "noted"))
    await asyncio.sleep(0)
    applied = await book.apply(container_id(2), replace(KILL, diagnostics="killed, "))
    assert applied is not None
    before, step = applied
    assert (before.state, step.effects) == (LifeState.SCHEDULED, (ContainerEffect.TERMINATE,)), (
        "it goes on from what was decided"
    )
    slow.may_end.set()
    overtaken = await localized
    assert overtaken is not None
    assert overtaken[1].effects == (), "nothing is launched any more"
    await changed
    await noted
    (told,) = book.all()
    assert told.diagnostics == "killed, noted"
    assert (told.state, told.local_dir, told.log_dir, told.exit_status) == (LifeState.KILLING, "/l", "/g", -105)
    assert records.containers() == [told]
    assert (book.counts.launched, book.counts.killed) == (1, 0)


async def test_who_ended_by_itself_before_the_kill_was_recorded_is_not_ended_again(
    book: ContainerBook, records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(book_module, "KILL_RECORD_WAIT_S", 60)
    book.take(new(2))
    await book.apply(container_id(2), Started())
    slow = Slow(records, monkeypatch)
    changed = asyncio.create_task(book.change(container_id(2), log_dir="/g"))
    await asyncio.sleep(0)
    ended = asyncio.create_task(book.apply(container_id(2), Exited(exit_status=0)))
    await asyncio.sleep(0)
    killed = asyncio.create_task(book.apply(container_id(2), KILL))
    await asyncio.sleep(0)
    slow.may_end.set()
    await changed
    steps = [await ended, await killed]
    assert [step[1].effects for step in steps if step is not None] == [
        (ContainerEffect.REPORT, ContainerEffect.CLEAN_UP),
        (),
    ]
    assert [(one.state, one.exit_status) for one in records.containers()] == [(LifeState.DONE, -105)]


async def test_a_kill_that_is_saved_late_does_not_bring_back_what_was_forgotten(
    book: ContainerBook, records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(book_module, "KILL_RECORD_WAIT_S", 0.05)
    book.take(new(2))
    slow = Slow(records, monkeypatch)
    await book.apply(container_id(2), KILL)
    assert [one.state for one in book.all()] == [LifeState.DONE]
    gone = asyncio.create_task(book.acknowledge(container_id(2)))
    await asyncio.sleep(0)
    slow.may_end.set()
    await gone
    assert (book.all(), records.containers()) == ((), [])
