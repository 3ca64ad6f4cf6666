"""One making serves all who asked before it began, and all who ask until something changes."""

from __future__ import annotations

import asyncio

import pytest

from yodel.rm_api.hadoop import shared_answers
from yodel.rm_api.hadoop.shared_answers import Made, SharedAnswers


class Maker:
    """Makes answers that say how many were made before, when it is let."""

    def __init__(self) -> None:
        self.version, self.made = 1, 0
        self.may_go_on = asyncio.Event()
        self.may_go_on.set()
        self.error: Exception | None = None
        self.shared = SharedAnswers(lambda: (self.version,))

    async def make(self) -> Made:
        self.made += 1
        number = self.made
        await self.may_go_on.wait()
        if self.error is not None:
            raise self.error
        return Made([b"%d" % number], "text/plain")

    async def ask(self, form: str = "json") -> bytes:
        return b"".join((await self.shared.of(form, self.make)).pieces)

    def asked(self) -> asyncio.Task[bytes]:
        return asyncio.create_task(self.ask())


async def turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_answer_is_made_again_when_something_has_changed() -> None:
    maker = Maker()
    assert [await maker.ask() for _ in range(3)] == [b"1"] * 3
    maker.version += 1
    assert [await maker.ask() for _ in range(2)] == [b"2"] * 2
    assert await maker.ask("xml") == b"3"
    assert await maker.ask() == b"2"


async def test_what_changes_while_it_is_made_may_be_missing_so_it_is_not_kept() -> None:
    maker = Maker()
    maker.may_go_on.clear()
    first = maker.asked()
    await turns()
    maker.version += 1
    maker.may_go_on.set()
    assert await first == b"1"
    assert await maker.ask() == b"2"


async def test_who_asks_meanwhile_shares_the_next() -> None:
    """The first one began before they asked, and something changes all the time."""
    maker = Maker()
    maker.may_go_on.clear()
    first = maker.asked()
    await turns()
    others = [maker.asked() for _ in range(10)]
    await turns()
    maker.version += 1
    maker.may_go_on.set()
    assert await first == b"1"
    assert await asyncio.gather(*others) == [b"2"] * 10
    assert maker.made == 2


async def test_who_waits_does_not_depend_on_who_asked_first() -> None:
    maker = Maker()
    maker.may_go_on.clear()
    first = maker.asked()
    await turns()
    second = maker.asked()
    await turns()
    first.cancel()
    await turns()
    assert not second.done()
    maker.may_go_on.set()
    assert await second == b"1"


async def test_failure_is_told_and_not_kept() -> None:
    maker = Maker()
    maker.error = RuntimeError("no")
    with pytest.raises(RuntimeError):
        await maker.ask()
    maker.error = None
    assert await maker.ask() == b"2"


async def test_what_is_too_long_is_made_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_answers, "KEPT_BYTES_MAX", 0)
    maker = Maker()
    assert [await maker.ask() for _ in range(3)] == [b"1", b"2", b"3"]
