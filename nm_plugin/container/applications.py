"""The applications that have, or had, containers here and have not been cleaned up yet, and their records on disk."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import structlog

from nm_plugin.container.life import Container
from nm_plugin.container.records import Application, Records
from nm_plugin.host.users import FileThreads
from yodel.domain.ids import ApplicationId

EndOf: TypeAlias = Callable[[Application], Awaitable[None]]
"""The work of one part of the agent when an application is over."""


class Applications:
    """``ends`` are done in this order; after the last one nothing is left of an application, its record included."""

    def __init__(self, records: Records, threads: FileThreads, ends: Sequence[EndOf]) -> None:
        self._records, self._threads, self._ends = records, threads, tuple(ends)
        self._known: dict[ApplicationId, Application] = {}
        self._log = structlog.get_logger(__name__)

    def get(self, application_id: ApplicationId) -> Application | None:
        return self._known.get(application_id)

    def all(self) -> tuple[Application, ...]:
        return tuple(self._known.values())

    async def recover(self) -> None:
        """Read at start what the last agent knew."""
        for application in await self._threads.run(self._records.applications):
            self._known[application.application_id] = application

    async def take(self, container: Container, acls: Mapping[str, str]) -> Application:
        """Add a new container to its application; the first container's ACLs become the application's.  Raises OSError
        if it cannot be recorded."""
        application_id = container.container_id.application_id
        application = self._known.get(application_id)
        if application is None:
            application = Application(application_id=application_id, user=container.user, acls=dict(acls))
            await self._threads.run(self._records.save_application, application)
            application = self._known.setdefault(application_id, application)
        return application

    async def finish(self, application_id: ApplicationId) -> bool:
        """It is over; False when it is not known, or was over already."""
        application = self._known.get(application_id)
        if application is None or application.finished:
            return False
        application = replace(application, finished=True)
        await self._save(application)
        self._known[application_id] = application  # not before: a clean-up may remove what is being saved
        return True

    def give_up(self, application_id: ApplicationId) -> Application:
        """Known no longer: whoever asked cleans up."""
        return self._known.pop(application_id)

    async def clean_up(self, application: Application) -> None:
        for end in self._ends:
            await end(application)
        await self._threads.run(self._records.remove_application, application.application_id)

    async def _save(self, application: Application) -> None:
        """A state disk that is full costs the next life of the agent this record, and nobody anything now."""
        try:
            await self._threads.run(self._records.save_application, application)
        except OSError as error:
            self._log.error("state_not_saved", application=str(application.application_id), reason=str(error))
