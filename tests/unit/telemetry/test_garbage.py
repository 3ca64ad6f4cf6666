"""Garbage is collected when it has grown old, and what stays is left alone."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import weakref
from collections.abc import Iterator

import pytest

from yodel.telemetry import garbage


class Knot:
    """Refers to itself: only a collection frees it."""

    def __init__(self) -> None:
        self.self = self


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*before)


def _grow_old() -> list[list[object]]:
    return [[object(), [number]] for number in range(8_000 * garbage.OLD_ROUNDS_MAX)]


def test_interpreter_never_collects_everything_by_itself() -> None:
    garbage.take_over()
    full_before = gc.get_stats()[2]["collections"]
    kept = [_grow_old() for _ in range(5)]
    assert gc.get_stats()[2]["collections"] == full_before
    assert kept


def test_what_has_grown_old_is_collected_and_set_aside() -> None:
    garbage.take_over()
    assert not garbage.look()
    frozen_before = gc.get_freeze_count()
    knot = weakref.ref(Knot())
    kept = _grow_old()
    assert garbage.look()
    assert knot() is None
    assert gc.get_freeze_count() >= frozen_before + len(kept)
    assert not garbage.look()


def test_what_is_set_aside_is_freed_when_nobody_refers_to_it() -> None:
    class Plain:
        pass

    plain = Plain()
    seen = weakref.ref(plain)
    garbage.take_over()
    del plain
    assert seen() is None


async def test_circles_that_were_set_aside_are_found_in_the_daily_round() -> None:
    knot = Knot()
    seen = weakref.ref(knot)
    garbage.take_over()
    del knot
    garbage.set_aside()
    assert seen() is not None
    day = asyncio.create_task(garbage.run(looks_a_day=1, look_s=0.0))
    for _ in range(5):
        if seen() is not None:
            await asyncio.sleep(0)
    day.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await day
    assert seen() is None
