"""The set of auxiliary services, with a service that keeps a diary."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest

from nm_plugin.aux.services import AuxServiceMissing, AuxServices
from nm_plugin.host.tasks import TaskOwner
from yodel.domain.ids import ApplicationId
from yodel.errors import NotSupported

APPLICATION = ApplicationId(1700000000000, 7)


@dataclass
class Diary:
    """Refuses data that starts with ``no``."""

    trouble: str = ""
    entries: list[str] = field(default_factory=list)

    @property
    def metadata(self) -> bytes:
        return b"meta"

    async def start(self, tasks: TaskOwner) -> None:
        self.entries.append("start")

    async def stop(self) -> None:
        self.entries.append("stop")

    def health(self) -> str:
        return self.trouble

    def check(self, data: bytes) -> None:
        if data.startswith(b"no"):
            raise NotSupported("not this")

    async def application_started(self, application_id: ApplicationId, user: str, data: bytes) -> None:
        self.entries.append(f"{application_id} {user} {data.decode()}")

    async def application_finished(self, application_id: ApplicationId) -> None:
        self.entries.append(f"{application_id} finished")


async def test_life_of_a_service() -> None:
    diary, other = Diary(), Diary()
    services = AuxServices({"diary": diary, "other": other})
    async with asyncio.TaskGroup() as group:
        await services.start(TaskOwner(group))
    await services.application_started(APPLICATION, "alice", {"diary": b"data"})
    await services.application_finished(APPLICATION)
    await services.stop()
    told = [f"{APPLICATION} alice data"]
    assert diary.entries == ["start", *told, f"{APPLICATION} finished", "stop"]
    assert other.entries == ["start", f"{APPLICATION} finished", "stop"]
    assert services.metadata() == {"diary": b"meta", "other": b"meta"}


async def test_unknown_service_is_named_and_nobody_is_told() -> None:
    diary = Diary()
    services = AuxServices({"diary": diary})
    with pytest.raises(AuxServiceMissing, match="The auxService:shuffle does not exist"):
        await services.application_started(APPLICATION, "alice", {"diary": b"", "shuffle": b""})
    assert diary.entries == []


def test_service_may_refuse_data() -> None:
    services = AuxServices({"diary": Diary()})
    services.check({"diary": b"yes"})
    with pytest.raises(NotSupported, match="not this"):
        services.check({"diary": b"no"})


def test_only_trouble_is_reported() -> None:
    services = AuxServices({"well": Diary(), "ill": Diary(trouble="port 7337 stopped answering")})
    assert services.health() == {"ill": "port 7337 stopped answering"}
