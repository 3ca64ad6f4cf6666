"""Large bodies are worked through a few at a time, and every caller's in turn."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator

import pytest

from tests.support.rest_world import RestWorld
from yodel.errors import Unavailable
from yodel.rm_api.door import body_turns
from yodel.rm_api.door.body_room import SMALL_BYTES, BodyRoom
from yodel.rm_api.door.body_turns import AT_ONCE, BodyTurns

LARGE, ID = 80, "application_1514764800000_0001"


async def test_callers_have_their_turns_one_after_the_other() -> None:
    turns, order = BodyTurns(1), list[str]()

    async def body(caller: str) -> None:
        async with turns.turn(caller):
            order.append(caller)
            await asyncio.sleep(0)

    await asyncio.gather(*map(body, ["mallory"] * 5 + ["alice", "bob", "alice"]))
    assert order == ["mallory", "mallory", "alice", "bob", "mallory", "alice", "mallory", "mallory"]


async def test_no_more_than_so_many_at_once_and_all_in_the_end() -> None:
    turns, now, most, done = BodyTurns(3), 0, 0, 0

    async def body(number: int) -> None:
        nonlocal now, most, done
        with contextlib.suppress(RuntimeError):
            async with turns.turn(str(number % 4)):
                now, most = now + 1, max(most, now + 1)
                try:
                    await asyncio.sleep(0)
                    done += 1
                    if number % 5 == 0:
                        raise RuntimeError
                finally:
                    now -= 1

    for _ in range(2):
        tasks = [asyncio.create_task(body(number)) for number in range(40)]
        await asyncio.sleep(0)
        tasks[2].cancel()  # one that has a turn, one that waits, and one whose turn just came
        tasks[20].cancel()
        await asyncio.sleep(0)
        tasks[3].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    assert (now, most) == (0, 3)
    async with turns.turn("a"), turns.turn("b"), turns.turn("c"):
        pass
    assert done >= 70


async def test_who_waits_for_too_long_is_told_to_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_turns, "WAIT_S", 0.01)
    turns = BodyTurns(1)
    async with turns.turn("mallory"):
        with pytest.raises(Unavailable, match="Too many large requests"):
            async with turns.turn("alice"):
                raise AssertionError("there was no turn")
    async with turns.turn("alice"):
        pass


class CountedTurns(BodyTurns):
    """The most that were at work at a time."""

    def __init__(self) -> None:
        super().__init__()
        self.at_work = self.most = self.all = 0

    @contextlib.asynccontextmanager
    async def turn(self, caller: str) -> AsyncIterator[None]:
        async with super().turn(caller):
            self.at_work, self.all = self.at_work + 1, self.all + 1
            self.most = max(self.most, self.at_work)
            try:
                yield
            finally:
                self.at_work -= 1


@pytest.mark.parametrize("kind", ["json", "xml"])
async def test_large_submissions_are_worked_through_a_few_at_a_time_and_small_ones_at_once(
    world: RestWorld, kind: str
) -> None:
    turns = world.app.state.door.body_turns = CountedTurns()
    entries = [{"key": f"V{number}", "value": "x" * 20} for number in range(2000)]
    large = json.dumps({"application-id": ID, "am-container-spec": {"environment": {"entry": entries}}}).encode()
    if kind == "xml":
        lines = "".join(f"<entry><key>{e['key']}</key><value>{e['value']}</value></entry>" for e in entries)
        spec = f"<am-container-spec><environment>{lines}</environment></am-container-spec>"
        root = "application-submission-context"
        large = f"<{root}><application-id>{ID}</application-id>{spec}</{root}>".encode()
    assert len(large) > SMALL_BYTES

    async def submitted(body: bytes) -> int:
        headers = {"Content-Type": f"application/{kind}"}
        path = "/ws/v1/cluster/apps?user.name=mallory"
        return (await world.client.post(path, content=body, headers=headers)).status_code

    flood = [asyncio.create_task(submitted(large)) for _ in range(LARGE)]
    await asyncio.sleep(0)
    assert await submitted(large[:100]) == 400
    assert sum(task.done() for task in flood) < LARGE / 2, "a small one waited for the large ones"
    assert {*await asyncio.gather(*flood)} == {202}
    assert (turns.most, turns.all, turns.at_work) == (AT_ONCE, LARGE, 0)


async def test_room_is_held_while_a_body_waits_for_its_turn(world: RestWorld) -> None:
    room = world.app.state.door.body_room = BodyRoom(100_000, 0)
    turns = world.app.state.door.body_turns = BodyTurns(1)
    large = b"{" + b" " * 90_000 + b"}"
    path, headers = "/ws/v1/cluster/apps?user.name=alice", {"Content-Type": "application/json"}
    async with turns.turn("mallory"):
        waiting = asyncio.create_task(world.client.post(path, content=large, headers=headers))
        for _ in range(1000):
            if turns.waiting_count:
                break
            await asyncio.sleep(0)
        assert turns.waiting_count == 1
        with room.reading() as hold, pytest.raises(Unavailable):
            hold(20_000)
    assert (await waiting).status_code == 400
    with room.reading() as hold:
        hold(100_000)
