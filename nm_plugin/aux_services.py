"""Auxiliary services: what a container may ask for by name in ``service_data``, and what tasks are told about it.

Follows ``AuxServices`` of Hadoop's NodeManager.  The set is given by whoever composes the agent; it is empty until the
shuffle services exist.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

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
        """What startContainers answers and NM_AUX_SERVICE_<name> holds."""

    async def application_started(self, application_id: ApplicationId, user: str, data: bytes) -> None:
        """A container brought ``data``; repeated with every container of the application."""

    async def application_finished(self, application_id: ApplicationId) -> None:
        """The application is over; unknown ones are ignored."""


class AuxServices:
    """The services of this node, by name."""

    def __init__(self, services: Mapping[str, AuxService]) -> None:
        self._services = dict(services)

    def check(self, names: Mapping[str, bytes]) -> None:
        """Raises AuxServiceMissing."""
        for name in names:
            if name not in self._services:
                raise AuxServiceMissing(name)

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
