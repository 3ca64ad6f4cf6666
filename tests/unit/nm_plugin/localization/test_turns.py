"""Downloads take turns by user."""

from __future__ import annotations

import asyncio
import random

from nm_plugin.localization.turns import LocalizationTurn, LocalizationTurns


def _asked(turns: LocalizationTurns, *users: str) -> LocalizationTurn:
    turn = turns.turn()
    for user in users:
        turn.ask(user)
    return turn


async def _has_come(turn: LocalizationTurn) -> bool:
    coming = asyncio.ensure_future(turn.come())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    is_done = coming.done()
    coming.cancel()
    return is_done


async def _count(turns: list[LocalizationTurn]) -> int:
    return sum([await _has_come(turn) for turn in turns])


async def test_a_user_has_no_more_than_are_left_for_others() -> None:
    turns = LocalizationTurns(8)
    alice = [_asked(turns, "alice") for _ in range(9)]
    assert await _count(alice) == 4
    bob = [_asked(turns, "bob") for _ in range(9)]
    assert (await _count(alice), await _count(bob)) == (4, 2)
    others = [_asked(turns, user) for user in ("carol", "dave", "erin")]
    assert [await _has_come(turn) for turn in others] == [True, True, False]
    alice[0].end()
    alice[0].end()
    assert await _has_come(others[2]), "who has none goes before who has some"
    assert (await _count(alice), await _count(bob)) == (4, 2)


async def test_a_single_one_is_served_one_after_the_other() -> None:
    turns = LocalizationTurns(1)
    waiting = [_asked(turns, "alice") for _ in range(3)]
    for turn in waiting:
        assert await _has_come(turn)
        turn.end()


async def test_whose_turn_ends_before_it_came_is_passed_over_and_forgotten() -> None:
    turns = LocalizationTurns(2)
    first, never, second = (_asked(turns, "alice", "bob") for _ in range(3))
    never.end()
    first.end()
    second.end()
    later = _asked(turns, "alice")
    assert await _has_come(later)
    assert turns._waiting == {}


async def test_every_turn_comes_whatever_ends_when() -> None:
    """Every turn comes with any number of users and of turns at a time, of one user or wanted by several."""
    chance = random.Random(41)
    for _ in range(200):
        turns = LocalizationTurns(chance.randint(1, 6))
        users = [f"user-{number}" for number in range(chance.randint(1, 5))]
        waiting = [_asked(turns, *chance.sample(users, chance.randint(1, len(users)))) for _ in range(20)]
        while waiting:
            chance.shuffle(waiting)
            come = [turn for turn in waiting if turn._granted.done()]
            assert come, "somebody has his turn as long as anybody waits"
            for turn in [come[0], *chance.sample(waiting, min(2, len(waiting)))]:
                turn.end()
                if turn in waiting:
                    waiting.remove(turn)
        assert (turns._held, turns._waiting) == ({}, {})
