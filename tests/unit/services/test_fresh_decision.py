"""Looks for those who ask: one when the last is old, none before, and nobody waits for ever."""

from __future__ import annotations

import asyncio

from tests.support.fakes import FakeClock
from yodel.domain.allocation.demands import Decision
from yodel.ports.store import ClusterIdentity
from yodel.services.scheduling.fresh_decision import FRESH_MS, FreshDecision
from yodel.services.writer.state import ClusterState

NOTHING = Decision(plans=(), take_backs=())


def fresh_decision() -> tuple[FreshDecision, ClusterState, FakeClock, list[str]]:
    state, clock, woken = (
        ClusterState(ClusterIdentity(cluster_timestamp_ms=1, epoch=0, application_sequence=0)),
        FakeClock(),
        list[str](),
    )
    return FreshDecision(state, clock, lambda: woken.append("woken")), state, clock, woken


async def test_fresh_look_wakes_nobody() -> None:
    made, state, clock, woken = fresh_decision()
    state.reasons.explain_decision(NOTHING, clock.now_ms())
    clock.advance(FRESH_MS / 1000)
    await made.wait()
    assert woken == []


async def test_who_asks_after_a_second_waits_for_the_next_look_with_all_others() -> None:
    made, state, clock, woken = fresh_decision()
    askers = [asyncio.create_task(made.wait()) for _ in range(3)]
    await asyncio.sleep(0)
    assert woken == ["woken"] * 3
    assert not any(asker.done() for asker in askers)
    state.reasons.explain_decision(NOTHING, clock.now_ms())
    made.made()
    await asyncio.gather(*askers)
    await made.wait()
    assert woken == ["woken"] * 3


async def test_busy_scheduler_is_not_waited_for_longer_than_half_a_second() -> None:
    made, *_ = fresh_decision()
    async with asyncio.timeout(60):
        await made.wait()
