"""Spark's external shuffle service runs as an auxiliary service: a JVM next to the agent.

    [aux_services.spark_shuffle]
    class_path = ["/opt/spark/jars/*"]
    port = 7337

It runs ``org.apache.spark.deploy.ExternalShuffleService``, Spark's own stand-alone main, of whatever Spark the class
path holds.  Executors find it by ``spark.shuffle.service.port`` of their own configuration and register with the
folders that hold their files; the name (``spark.shuffle.service.name``) only says that the service is here, its
metadata is empty.
It keeps its list of executors in a database, so that they may go, and it may be started again, while files stay.

Refuses: applications with ``spark.authenticate``, whose secret comes in the service data: the stand-alone service knows
one secret for all.  And to run as root: it opens files at paths that executors name (decision 0014).
"""

from __future__ import annotations

import os
import pwd
import shutil
from dataclasses import dataclass
from pathlib import Path

import structlog

from nm_plugin.aux.side_process import ProcessUser, SideProcess, SideProgram
from nm_plugin.host.tasks import TaskOwner
from nm_plugin.settings import SparkShuffle
from yodel.domain.ids import ApplicationId
from yodel.errors import InvalidValue, NotSupported

MAIN_CLASS = "org.apache.spark.deploy.ExternalShuffleService"
START_WAIT_S = 30.0
ENVIRONMENT_NAMES = ("PATH", "LANG", "TZ", "LD_LIBRARY_PATH")


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkShufflePaths:
    """Folders and the Java home ("" for the ``java`` on the path)."""

    state_dir: Path
    local_dirs: tuple[Path, ...]
    java_home: str


class SparkShuffleService:
    """The service and its process."""

    def __init__(self, name: str, settings: SparkShuffle, places: SparkShufflePaths) -> None:
        self._name, self._settings, self._places = name, settings, places
        self._process: SideProcess | None = None
        self._log = structlog.get_logger(__name__)

    @property
    def metadata(self) -> bytes:
        """YarnShuffleService.getMetaData: empty."""
        return b""

    def check(self, data: bytes) -> None:
        """Raises NotSupported: the application authenticates its executors."""
        if data:
            raise NotSupported(
                f"The auxService:{self._name} does not support spark.authenticate; run with "
                "spark.shuffle.service.enabled=false"
            )

    async def start(self, tasks: TaskOwner) -> None:
        """Waits until it answers, but not for ever: jobs that do not use it can run without.

        Raises:
            InvalidValue: no such account, root, or no Java.
            OSError: its folders cannot be made.
        """
        program = prepared(self._name, self._settings, self._places)
        self._process = SideProcess(program)
        tasks.create_task(self._process.run(), name=f"aux-{self._name}")
        if not await self._process.wait_until_well(START_WAIT_S):
            self._log.error("aux_service_not_up", name=self._name, trouble=self._process.trouble)

    async def stop(self) -> None:
        """Its task has ended the process."""

    def health(self) -> str:
        return "has not been started" if self._process is None else self._process.trouble

    async def application_started(self, application_id: ApplicationId, user: str, data: bytes) -> None:
        """Executors register themselves."""

    async def application_finished(self, application_id: ApplicationId) -> None:
        """The agent removes the files; the service forgets the executors only when its database is removed."""


def prepared(name: str, settings: SparkShuffle, places: SparkShufflePaths) -> SideProgram:
    """The program, with the folders it needs made.  Raises InvalidValue or OSError."""
    user = service_user(settings.user)
    state_dir = places.state_dir / "aux"
    state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Not below the state dir: its own user could not get there.
    base = places.local_dirs[0] / "aux"
    base.mkdir(mode=0o755, parents=True, exist_ok=True)
    directory = base / name
    directory.mkdir(mode=0o700, exist_ok=True)
    if user is not None:
        os.chown(directory, user.uid, user.gid, follow_symlinks=False)
    environment = {key: os.environ[key] for key in ENVIRONMENT_NAMES if key in os.environ}
    return SideProgram(
        name=name,
        command=command(settings, java(places.java_home), directory, places.local_dirs),
        environment=environment,
        directory=directory,
        log_file=state_dir / f"{name}.log",
        pid_file=state_dir / f"{name}.pid",
        port=settings.port,
        user=user,
    )


def command(settings: SparkShuffle, java_path: str, directory: Path, local_dirs: tuple[Path, ...]) -> tuple[str, ...]:
    """The command line; it holds no secret, for every user can see it.

    ``spark.local.dir`` names first where the database of executors is, then what executors may name: Spark 4 refuses
    folders that are not below one of them.
    """
    conf = {
        **settings.conf,
        "spark.shuffle.service.enabled": "true",
        "spark.shuffle.service.port": str(settings.port),
        "spark.local.dir": ",".join(map(str, (directory, *(path / "usercache" for path in local_dirs)))),
    }
    return (
        java_path,
        f"-Xmx{settings.memory_mib}m",
        f"-XX:MaxDirectMemorySize={settings.memory_mib}m",
        "-XX:+ExitOnOutOfMemoryError",
        *(f"-D{name}={value}" for name, value in sorted(conf.items())),
        "-cp",
        ":".join(settings.class_path),
        MAIN_CLASS,
    )


def service_user(name: str) -> ProcessUser | None:
    """None: the agent's own user.

    The agent's group comes on top of the account's, because the folders of users are 0710 with that group.

    Raises:
        InvalidValue: an agent that is root and no account, an unknown one or root's.
    """
    if os.geteuid() != 0:
        if name:
            raise InvalidValue("aux service user", name, "none, when the agent is not root")
        return None
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        raise InvalidValue("aux service user", name, "an account of this machine") from None
    if entry.pw_uid == 0:
        raise InvalidValue("aux service user", name, "not root: the service opens files that jobs name")
    groups = {*os.getgrouplist(name, entry.pw_gid), os.getegid()}
    return ProcessUser(uid=entry.pw_uid, gid=entry.pw_gid, groups=tuple(sorted(groups)))


def java(java_home: str) -> str:
    """Raises InvalidValue: there is none."""
    found = str(Path(java_home) / "bin" / "java") if java_home else shutil.which("java")
    if found is None or not os.access(found, os.X_OK):
        raise InvalidValue("java_home", java_home, "a Java runtime, or java on the path")
    return found
