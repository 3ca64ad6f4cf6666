"""Auxiliary services: what a container may ask for by name in ``service_data``, and what tasks are told about it.

Follows ``AuxServices`` of Hadoop's NodeManager.  The set is given by whoever composes the agent and lives as long as
it does: ``start`` comes before the first container is taken, because containers are told the services' metadata.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from nm_plugin.host.tasks import TaskOwner
from yodel.domain.ids import ApplicationId
from yodel.errors import NotFound


class AuxServiceMissing(NotFound):
    """The text is InvalidAuxServiceException's, which clients show."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"The auxService:{name} does not exist")


class AuxService(Protocol):
    """One service."""

    @property
    def metadata(self) -> bytes:
        """Return the metadata for startContainers and NM_AUX_SERVICE_<name>; known once the service has started."""

    async def start(self, tasks: TaskOwner) -> None:
        """Recover, open ports, leave what goes on as tasks.  Raises OSError: it cannot serve, nor can the agent."""

    async def stop(self) -> None:
        """The agent ends and has cancelled the tasks; also called when ``start`` failed or never was."""

    def health(self) -> str:
        """Empty, or what is wrong with it."""

    def check(self, data: bytes) -> None:
        """Raises YodelError: a container with this data is to be refused."""

    async def application_started(self, application_id: ApplicationId, user: str, data: bytes) -> None:
        """A container brought ``data``; repeated with every container of the application."""

    async def application_finished(self, application_id: ApplicationId) -> None:
        """The application is over; unknown ones are ignored."""


class AuxServices:
    """The services of this node, by name."""

    def __init__(self, services: Mapping[str, AuxService]) -> None:
        self._services = dict(services)

    async def start(self, tasks: TaskOwner) -> None:
        """One after the other.  Raises OSError."""
        for service in self._services.values():
            await service.start(tasks)

    async def stop(self) -> None:
        for service in self._services.values():
            await service.stop()

    def health(self) -> dict[str, str]:
        """Return the problem of each unhealthy service by name; empty: all are healthy."""
        return {name: text for name, service in self._services.items() if (text := service.health())}

    def check(self, names: Mapping[str, bytes]) -> None:
        """Raises AuxServiceMissing, and whatever a service has against its data."""
        for name, data in names.items():
            if name not in self._services:
                raise AuxServiceMissing(name)
            self._services[name].check(data)

    def metadata(self) -> dict[str, bytes]:
        return {name: service.metadata for name, service in self._services.items()}

    async def application_started(self, application_id: ApplicationId, user: str, data: Mapping[str, bytes]) -> None:
        """Raises AuxServiceMissing."""
        self.check(data)
        for name, value in data.items():
            await self._services[name].application_started(application_id, user, value)

    async def application_finished(self, application_id: ApplicationId) -> None:
        for service in self._services.values():
            await service.application_finished(application_id)
