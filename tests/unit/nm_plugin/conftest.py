"""Fixtures of the node agent: an open directory, users without accounts, an agent with a tracker."""

from __future__ import annotations

import gc
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from nm_plugin.app import NodeAgent
from nm_plugin.launch.users import FileThreads, OsUser
from tests.support.fake_tracker import FakeTracker
from tests.support.node_agent import IS_ROOT, FakeUsers, Rig, make_settings, own_user


@pytest.fixture
def alice() -> OsUser:
    return OsUser(name="alice", uid=23001, gid=23001) if IS_ROOT else own_user("alice")


@pytest.fixture
def bob() -> OsUser:
    return OsUser(name="bob", uid=23002, gid=23002) if IS_ROOT else own_user("bob")


@pytest.fixture
def users(alice: OsUser, bob: OsUser) -> FakeUsers:
    return FakeUsers({"alice": alice, "bob": bob})


@pytest.fixture
def open_path() -> Iterator[Path]:
    """A temporary directory that every user may enter (pytest's own may not be)."""
    path = Path(tempfile.mkdtemp(prefix="yodel-nm-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
async def tracker() -> AsyncIterator[FakeTracker]:
    fake = FakeTracker()
    await fake.start()
    yield fake
    await fake.stop()


@pytest.fixture
async def rig(open_path: Path, users: FakeUsers, tracker: FakeTracker) -> AsyncIterator[Rig]:
    agent = NodeAgent(make_settings(open_path, tracker.port), users=users)
    async with agent.running() as running:
        await tracker.until(lambda: bool(tracker.heartbeats))
        made = Rig(root=open_path, tracker=tracker, running=running, users=users)
        yield made
        for pod in made.pods:
            await pod.destroy()


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
def _collect_before_the_summary() -> Iterator[None]:
    """Event loops leave cycles with finalizers; CPython 3.11 fails when it collects those inside ``ast.parse``, which a
    plugin's late import runs at the end of the session (gh-106905)."""
    yield
    gc.collect()
