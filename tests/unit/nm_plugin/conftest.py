"""Fixtures of the node agent: an open directory, users without accounts, an agent with a tracker."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import pytest_asyncio
import uvicorn.server

from nm_plugin.host.users import FileThreads, OsUser
from tests.support.fake_tracker import FakeTracker
from tests.support.node_agent import IS_ROOT, FakeUsers, Rig, own_user, running_rig


@pytest.fixture(scope="session")
def alice() -> OsUser:
    return OsUser(name="alice", uid=23001, gid=23001) if IS_ROOT else own_user("alice")


@pytest.fixture(scope="session")
def bob() -> OsUser:
    return OsUser(name="bob", uid=23002, gid=23002) if IS_ROOT else own_user("bob")


@pytest.fixture(scope="session")
def users(alice: OsUser, bob: OsUser) -> FakeUsers:
    return FakeUsers({"alice": alice, "bob": bob})


@pytest.fixture
def open_path() -> Iterator[Path]:
    """A temporary directory that every user may enter (pytest's own may not be)."""
    with open_directory() as path:
        yield path


@pytest.fixture(scope="module")
def module_path() -> Iterator[Path]:
    """The same for an agent that a module's tests only look at."""
    with open_directory() as path:
        yield path


@contextlib.contextmanager
def open_directory() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="yodel-nm-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
async def tracker() -> AsyncIterator[FakeTracker]:
    async with running_tracker() as fake:
        yield fake


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def module_tracker() -> AsyncIterator[FakeTracker]:
    async with running_tracker() as fake:
        yield fake


@contextlib.asynccontextmanager
async def running_tracker() -> AsyncIterator[FakeTracker]:
    fake = FakeTracker()
    await fake.start()
    yield fake
    await fake.stop()


@pytest.fixture
async def rig(open_path: Path, users: FakeUsers, tracker: FakeTracker) -> AsyncIterator[Rig]:
    async with running_rig(open_path, users, tracker) as made:
        yield made


@pytest.fixture
def needs_root() -> None:
    """User separation exists only where the agent is root; the suite is run so."""
    assert IS_ROOT, "run the tests as root"


@pytest.fixture
def threads() -> Iterator[FileThreads]:
    pool = FileThreads(4)
    yield pool
    pool.close()


@pytest.fixture
def agent_user() -> OsUser:
    return own_user("")


@pytest.fixture(scope="session", autouse=True)
def _uvicorn_looks_more_often() -> Iterator[None]:
    """It looks ten times a second whether it has to stop, and waits as long in stopping: 0.2 s for every agent."""

    async def sleep(delay_s: float) -> None:
        await asyncio.sleep(delay_s / 10)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(uvicorn.server, "asyncio", SimpleNamespace(**{**vars(asyncio), "sleep": sleep}))
        yield


@pytest.fixture(scope="session", autouse=True)
def _collect_before_the_summary() -> Iterator[None]:
    """Event loops leave cycles with finalizers; CPython 3.11 fails when it collects those inside ``ast.parse``, which a
    plugin's late import runs at the end of the session (gh-106905)."""
    yield
    gc.collect()
