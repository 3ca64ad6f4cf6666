"""The release before this one and this one on the same PostgreSQL, whose tables are those of the release after."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import older_release
from tests.support.later_schema import expand, run_steps
from tests.support.managers import Manager, a_pair
from tests.support.older_release import NoSuchCommit, environment_of, installed
from tests.support.postgres import PostgresServer, postgres_server
from yodel.store.migrating import migrate

__all__ = ["postgres_server"]
LEASE_S = 5
STEP_TIMEOUT_S = 60


@pytest.fixture(scope="module")
def release() -> Path:
    return installed()


def python(release: Path, directory: Path, *arguments: str, **variables: str) -> str:
    command = [sys.executable, *arguments]
    environment = {**os.environ, **environment_of(release), **variables}
    done = subprocess.run(
        command, check=True, timeout=STEP_TIMEOUT_S, cwd=directory, env=environment, stdout=subprocess.PIPE, text=True
    )
    return done.stdout


async def shown(manager: Manager) -> set[str]:
    return {app["id"] for app in (await manager.get("/ws/v1/cluster/apps")).json()["apps"]["app"]}


def test_the_release_before_is_what_runs(release: Path, tmp_path: Path) -> None:
    found = python(release, tmp_path, "-c", "import yodel, migrations; print(yodel.__file__, migrations.__file__)")
    assert [Path(file).parent.parent for file in found.split()] == [release, release]


def test_commit_that_is_not_there_is_named_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True, timeout=STEP_TIMEOUT_S)
    with pytest.raises(NoSuchCommit, match=rf"no commit {older_release.COMMIT}.*--unshallow"):
        installed(repository=tmp_path)
    assert [*(tmp_path / "cache" / "yodel").glob("release-*")] == []


async def test_old_and_new_take_over_from_each_other_on_expanded_tables(
    postgres_server: PostgresServer, release: Path, tmp_path: Path
) -> None:
    """The old standby waits since before the tables were expanded, and is held back once to let the new one lead."""
    url = postgres_server.url(postgres_server.new_database())
    python(release, tmp_path, "-m", "yodel", "migrate", YODEL_STORE_URL=url)
    async with a_pair(url, tmp_path) as pair:
        old, old_standby = await pair.leader_and_standby(release=release, leader_lease_s=LEASE_S)
        apps = {await old.submit()}
        await migrate(url)
        await run_steps(url, expand)
        apps.add(await old.submit())

        old_standby.process.send_signal(signal.SIGSTOP)
        new = await pair.start(leader_lease_s=LEASE_S)
        await new.until_ready(503)
        old.process.kill()
        await new.until_ready(200)
        assert await shown(new) == apps
        apps.add(await new.submit())

        old_standby.process.send_signal(signal.SIGCONT)
        await old_standby.until_ready(503)
        new.process.kill()
        await old_standby.until_ready(200)
        assert await shown(old_standby) == apps
        apps.add(await old_standby.submit())

        newer = await pair.start(leader_lease_s=LEASE_S)
        await newer.until_ready(503)
        old_standby.process.kill()
        await newer.until_ready(200)
        assert await shown(newer) == apps
        apps.add(await newer.submit())
        assert await shown(newer) == apps
