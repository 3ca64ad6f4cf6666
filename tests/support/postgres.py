"""A real PostgreSQL for tests: in a container when a Docker engine answers, else the distribution's own binaries.

Import the fixture ``postgres_server`` into a conftest.py, or use ``running_postgres`` as a context manager.  The server
keeps its data in a temporary folder, listens on loopback, and does not sync to disk: nothing in it is kept.
PostgreSQL refuses to run as root, so as root it is run under another account.
"""

from __future__ import annotations

import contextlib
import importlib
import itertools
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import psycopg
import pytest
from psycopg import sql

from tests.support.ports import free_port

importlib.import_module("asyncpg")
"""Before any test runs: a finalizer that imports something in the middle of this import would break it (CPython's issue
106176), and every test after it."""

HOW_TO_INSTALL = "install the server binaries: apt-get install postgresql (any version from 13 on)"
IMAGE = "postgres:17-alpine"
ACCOUNTS = ("postgres", "nobody")
STEP_TIMEOUT_S = 600
START_ATTEMPTS_MAX = 3  # a port that was free a moment ago may be taken


@dataclass(slots=True, kw_only=True)
class PostgresServer:
    """A running server."""

    host: str
    port: int
    user: str
    password: str
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def url(self, database: str) -> str:
        """Return the URL for SQLAlchemy with asyncpg."""
        return f"postgresql+asyncpg://{self.user}:{self.password}@{self.host}:{self.port}/{database}"

    def new_database(self, *, template: str = "template0") -> str:
        """Make a database and return its name; nobody may be connected to the template."""
        name = f"test_{next(self._numbers)}"
        self.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(template)))
        return name

    def execute(self, statement: sql.Composed, database: str = "postgres") -> None:
        """Run one statement outside a transaction."""
        with self.connect(database) as connection:
            connection.execute(statement)

    def connect(self, database: str) -> psycopg.Connection[tuple[object, ...]]:
        """A connection in autocommit mode."""
        return psycopg.connect(
            host=self.host,
            port=self.port,
            user=self.user,
            password=self.password,
            dbname=database,
            autocommit=True,
            connect_timeout=10,
        )


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """One server for the whole run."""
    with running_postgres() as server:
        yield server


@contextlib.contextmanager
def running_postgres() -> Iterator[PostgresServer]:
    """Start a server, stop it at the end.  Fails, and says what to install, when there is no way to."""
    with contextlib.ExitStack() as stack:
        server = _in_a_container(stack) if _docker_answers() else None
        yield server or stack.enter_context(_from_binaries())


# --- Docker --------------------------------------------------------------------------------------------------------


def _docker_answers() -> bool:
    from docker.client import DockerClient
    from docker.errors import DockerException

    try:
        client = DockerClient.from_env(timeout=5)
    except DockerException:
        return False
    try:
        return bool(client.ping())
    except (DockerException, OSError):
        return False
    finally:
        client.close()


def _in_a_container(stack: contextlib.ExitStack) -> PostgresServer | None:
    """None when the engine has no image to start and cannot get one."""
    from docker.errors import DockerException
    from testcontainers.community.postgres import PostgresContainer

    container = PostgresContainer(IMAGE, username="test", password="test", dbname="postgres")
    try:
        stack.enter_context(container)
    except DockerException:
        return None
    return PostgresServer(
        host=container.get_container_host_ip(),
        port=int(container.get_exposed_port(5432)),
        user="test",
        password="test",
    )


# --- binaries ------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _from_binaries() -> Iterator[PostgresServer]:
    with mortal_postgres() as mortal:
        yield mortal.server


@dataclass(frozen=True, slots=True, kw_only=True)
class MortalPostgres:
    """One that can be killed and started again, and keeps what it has said to have written."""

    server: PostgresServer
    binaries: Path
    folder: Path
    account: pwd.struct_passwd | None

    def kill(self) -> None:
        """SIGKILL for all its processes at once, as when its container is killed."""
        parent = psutil.Process(int((self.folder / "data" / "postmaster.pid").read_text().split()[0]))
        processes = [parent, *parent.children(recursive=True)]
        for process in processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(processes, timeout=STEP_TIMEOUT_S)

    def start_again(self) -> None:
        """Start again on the same port; returns when it has recovered and answers."""
        _launch(self.binaries, self.folder, self.account, self.server.port, is_durable=True)


@contextlib.contextmanager
def mortal_postgres(*, is_durable: bool = False) -> Iterator[MortalPostgres]:
    """Start a PostgreSQL from its binaries.  ``is_durable``: what was committed outlives a SIGKILL, though not the
    machine."""
    binaries = _binaries()
    account = _account()
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))
    try:
        if account is not None:
            os.chown(folder, account.pw_uid, account.pw_gid)
        port = _start(binaries, folder, account, is_durable=is_durable)
        server = PostgresServer(host="127.0.0.1", port=port, user="test", password="test")
        try:
            yield MortalPostgres(server=server, binaries=binaries, folder=folder, account=account)
        finally:
            _run(account, binaries / "pg_ctl", "stop", "-w", "-m", "immediate", "-D", str(folder / "data"))
    finally:
        shutil.rmtree(folder)


def _binaries() -> Path:
    """The folder with initdb, postgres and pg_ctl, of the newest version there is."""
    versions = Path("/usr/lib/postgresql").glob("*/bin")
    folders = sorted(versions, key=lambda p: float(p.parent.name), reverse=True)
    on_path = shutil.which("initdb")
    if on_path is not None:
        folders.insert(0, Path(on_path).resolve().parent)
    for folder in folders:
        if all((folder / name).exists() for name in ("initdb", "postgres", "pg_ctl")):
            return folder
    pytest.fail(f"No Docker engine answers and no PostgreSQL is installed; {HOW_TO_INSTALL}", pytrace=False)


def _account() -> pwd.struct_passwd | None:
    """Whom to run the server as: ourselves (None), unless we are root."""
    if os.geteuid() != 0:
        return None
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    return next(known[name] for name in ACCOUNTS if name in known)


def _start(binaries: Path, folder: Path, account: pwd.struct_passwd | None, *, is_durable: bool) -> int:
    """Make the cluster and start the server; returns its port."""
    data = folder / "data"
    _run(
        account,
        binaries / "initdb",
        *("-D", str(data), "-U", "test", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"),
    )
    failure: subprocess.CalledProcessError | None = None
    for _ in range(START_ATTEMPTS_MAX):
        port = free_port()
        try:
            _launch(binaries, folder, account, port, is_durable=is_durable)
            return port
        except subprocess.CalledProcessError as error:
            failure = error
    log = (folder / "log").read_text(errors="replace")
    pytest.fail(f"PostgreSQL did not start: {failure}\n{log}", pytrace=False)


def _launch(binaries: Path, folder: Path, account: pwd.struct_passwd | None, port: int, *, is_durable: bool) -> None:
    options = (
        f"-c listen_addresses=127.0.0.1 -p {port} -k {folder} -c fsync=off"
        f" -c synchronous_commit={'on' if is_durable else 'off'}"
        " -c full_page_writes=off -c shared_buffers=16MB -c max_connections=40"
    )
    where = ("-D", str(folder / "data"), "-l", str(folder / "log"))
    _run(account, binaries / "pg_ctl", "start", "-w", *where, "-o", options)


def _run(account: pwd.struct_passwd | None, program: Path, *arguments: str) -> None:
    user, group = (None, None) if account is None else (account.pw_uid, account.pw_gid)
    subprocess.run(
        [str(program), *arguments],
        check=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,  # the server inherits it: a pipe would stay open as long as it runs
        stderr=subprocess.DEVNULL,
        timeout=STEP_TIMEOUT_S,
        cwd="/",
        user=user,
        group=group,
        extra_groups=None if account is None else [],
    )
