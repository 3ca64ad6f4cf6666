"""Lists the containers that run on this node, as they are bounded."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from nm_plugin.capacity.own_pods import Owner
from nm_plugin.container.life import Container, State
from nm_plugin.host.users import Accounts
from nm_plugin.launch.survivors import Marks
from yodel.domain.ids import ContainerId
from yodel.errors import YodelError


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """A running container as it is bounded."""

    container_id: ContainerId
    owner: Owner
    memory_mib: int
    vcores: int
    is_master: bool = False


class RunningBatch:
    """Lists the containers that run, each with its user; one whose user is gone is left out.

    A container that has not changed is not looked up again.
    """

    def __init__(self, containers: Callable[[], Iterable[Container]], accounts: Accounts) -> None:
        self._containers, self._accounts = containers, accounts
        self._known: dict[ContainerId, tuple[Container, Batch]] = {}

    async def __call__(self) -> list[Batch]:
        running = [one for one in self._containers() if one.state is State.RUNNING and one.local_dir]
        before, self._known = self._known, {}
        uids: dict[str, int | None] = {}
        for container in running:
            known = before.get(container.container_id)
            if known is None or known[0] is not container:
                if container.user not in uids:
                    uids[container.user] = await self._uid(container.user)
                uid = uids[container.user]
                if uid is None:
                    continue
                known = container, _batch(container, uid)
            self._known[container.container_id] = known
        return [batch for _, batch in self._known.values()]

    async def _uid(self, user: str) -> int | None:
        try:
            return (await self._accounts.lookup(user)).uid
        except YodelError:
            return None


def _batch(container: Container, uid: int) -> Batch:
    marks = Marks(container.container_id, Path(container.local_dir).parent)
    return Batch(
        container_id=container.container_id,
        owner=Owner(marks=marks, user_uid=uid),
        memory_mib=container.resource.memory_mib,
        vcores=container.resource.vcores,
        is_master=container.is_master,
    )
