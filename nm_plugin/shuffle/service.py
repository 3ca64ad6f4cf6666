"""``mapreduce_shuffle`` as an auxiliary service: the registered jobs, the files, and the server between them.

Follows ``ShuffleHandler``: the job's id is made of the application's (Tez puts another text into the token), the secret
is the password of the token in the service data, and data that cannot be read is logged and costs only this
application's shuffle.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import structlog

from nm_plugin.host.tasks import TaskOwner
from nm_plugin.host.users import FileThreads, OsUser, UserDatabase
from nm_plugin.shuffle.fetch import FetchRequest, check_maps, job_id, unknown_job
from nm_plugin.shuffle.hashes import verified_reply
from nm_plugin.shuffle.jobs import JOBS_MAX, Job, JobStore
from nm_plugin.shuffle.map_output import JobFiles, MapOutputs, MapOutputUnreadable
from nm_plugin.shuffle.server import FetchAnswer, ShuffleLimits, ShuffleServer
from nm_plugin.shuffle.spill_index import IndexCache
from yodel.domain.ids import ApplicationId
from yodel.errors import InvalidValue, YodelError


@dataclass(frozen=True, slots=True, kw_only=True)
class ShuffleSettings:
    """``port`` 0 takes the port of the last run, or any free one."""

    bind_host: str
    port: int
    threads: int
    index_cache_bytes: int
    limits: ShuffleLimits


class MapReduceShuffle:
    """Methods are for the event loop's thread."""

    def __init__(
        self, settings: ShuffleSettings, local_dirs: Sequence[Path], state_dir: Path, users: UserDatabase
    ) -> None:
        self._settings, self._users = settings, users
        self._store = JobStore(state_dir / "shuffle")
        self._threads = FileThreads(settings.threads, name="shuffle", to_its_end=True)
        self._lookers = FileThreads(1, name="shuffle-look", to_its_end=True)
        self._cache = IndexCache(settings.index_cache_bytes)
        self._local_dirs = tuple(local_dirs)
        self._jobs: dict[str, Job] = {}
        self._os_users: dict[str, OsUser] = {}
        self._server = ShuffleServer(settings.limits, self._lookers, self._threads, self._answer)
        self._port = 0
        self._log = structlog.get_logger(__name__)

    @property
    def metadata(self) -> bytes:
        """The port as ``ShuffleHandler.serializeMetaData`` writes it."""
        return struct.pack(">i", self._port)

    @property
    def server(self) -> ShuffleServer:
        return self._server

    def check(self, data: bytes) -> None:
        """Anything goes, as in Hadoop: see ``application_started``."""

    async def start(self, tasks: TaskOwner) -> None:
        """Recover, listen, serve.  Raises OSError: the port is taken."""
        for job in await self._threads.run(self._store.load):
            self._jobs[job_id(job.application_id)] = job
        self._port = await self._listen()
        tasks.create_task(self._server.run(), name="shuffle")
        self._log.info("shuffle_started", port=self._port, jobs=len(self._jobs))

    async def stop(self) -> None:
        """Close the server; call it once the tasks have ended."""
        self._server.close()
        self._lookers.close()
        self._threads.close()

    def health(self) -> str:
        return ""

    async def application_started(self, application_id: ApplicationId, user: str, data: bytes) -> None:
        """Register, on disk first.  Data that is no token is logged (``ShuffleHandler.initializeApplication``)."""
        try:
            job = Job.from_service_data(application_id, user, data)
        except InvalidValue as error:
            self._log.error("shuffle_data_unreadable", application=str(application_id), reason=str(error))
            return
        name = job_id(application_id)
        if self._jobs.get(name) == job:
            return
        if name not in self._jobs and len(self._jobs) >= JOBS_MAX:
            self._log.error("shuffle_job_refused", application=str(application_id), jobs=len(self._jobs))
            return
        try:
            await self._threads.run(self._store.save, job)
        except OSError as error:
            # Serving now and not after a restart is better than not serving.
            self._log.error("shuffle_job_not_saved", application=str(application_id), reason=str(error))
        self._jobs[name] = job
        self._os_users.pop(name, None)

    async def application_finished(self, application_id: ApplicationId) -> None:
        name = job_id(application_id)
        if self._jobs.pop(name, None) is None:
            return
        self._os_users.pop(name, None)
        self._cache.forget_job(name)
        await self._threads.run(self._store.remove, application_id)

    async def _listen(self) -> int:
        host, wanted = self._settings.bind_host, self._settings.port
        if wanted:
            return self._server.listen(host, wanted)
        last = await self._threads.run(self._store.last_port)
        try:
            port = self._server.listen(host, last)
        except OSError:
            port = self._server.listen(host, 0)
        await self._threads.run(self._store.save_port, port)
        return port

    async def _answer(self, fetch: FetchRequest, port: int) -> FetchAnswer:
        """Raises HttpRefusal or MapOutputUnreadable."""
        job = self._jobs.get(fetch.job)
        if job is None:
            raise unknown_job(fetch.job)
        reply_hash = verified_reply(job.secret, port, fetch.target, fetch.url_hash)
        check_maps(fetch, job.application_id)
        files = JobFiles(application_id=job.application_id, job=fetch.job, user=await self._os_user(fetch.job, job))
        outputs = MapOutputs(files, self._local_dirs, self._cache)
        return FetchAnswer(reply_hash=reply_hash, outputs=outputs, maps=fetch.maps, reduce=fetch.reduce)

    async def _os_user(self, name: str, job: Job) -> OsUser:
        """Asked for once a job.  Raises MapOutputUnreadable: the node does not know the user any more."""
        user = self._os_users.get(name)
        if user is None:
            try:
                user = await self._threads.run(self._users.lookup, job.user)
            except YodelError as error:
                raise MapOutputUnreadable(str(error)) from error
            if name in self._jobs:
                self._os_users[name] = user
        return user
