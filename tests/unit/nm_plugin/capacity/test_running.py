"""Which containers are bounded."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace

import pytest_asyncio

from nm_plugin.capacity.running import RunningBatch
from nm_plugin.container.life import Container, State
from nm_plugin.host.users import Accounts, FileThreads, OsUser
from tests.support.node_agent import container_id
from yodel.domain.ids import ContainerId
from yodel.domain.resource import Resource
from yodel.errors import InvalidValue


@dataclass
class Users:
    """Counts who was looked up; a user may come later."""

    uids: dict[str, int]
    asked: list[str] = field(default_factory=list)

    def lookup(self, name: str) -> OsUser:
        self.asked.append(name)
        if name not in self.uids:
            raise InvalidValue("user", name, "a user of this node")
        return OsUser(name=name, uid=self.uids[name], gid=1)


def _container(number: int, user: str, state: State = State.RUNNING) -> Container:
    found = container_id(number)
    return Container(container_id=found, user=user, resource=Resource(64, 2), state=state, local_dir=f"/l/a/{found}")


@pytest_asyncio.fixture
async def threads() -> AsyncIterator[FileThreads]:
    made = FileThreads(1)
    yield made
    made.close()


async def test_running_containers_are_looked_up_once_and_again_when_they_have_changed(threads: FileThreads) -> None:
    users = Users({"alice": 7})
    there = [
        replace(_container(1, "alice"), is_master=True),
        _container(2, "alice"),
        _container(3, "bob"),
        _container(4, "alice", State.LOCALIZING),
    ]
    running = RunningBatch(lambda: there, Accounts(users, threads))

    async def found() -> dict[ContainerId, tuple[int, int, int, bool]]:
        return {
            one.container_id: (one.owner.user_uid, one.memory_mib, one.vcores, one.is_master) for one in await running()
        }

    first = {container_id(1): (7, 64, 2, True), container_id(2): (7, 64, 2, False)}
    assert await found() == first
    assert users.asked == ["alice", "bob"], "each user once"
    users.asked.clear()
    assert await found() == first
    assert users.asked == ["bob"], "who was not found is asked for again"
    users.uids["bob"] = 8
    there[1:3] = [replace(there[2], resource=Resource(128, 4))]
    assert await found() == {container_id(1): (7, 64, 2, True), container_id(3): (8, 128, 4, False)}
