"""Logs over the web port of an agent that aggregates: who may see them, and where they are when all is over."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
import pytest_asyncio

from tests.support.fake_tracker import FakeTracker
from tests.support.node_agent import APPLICATION, FakeUsers, Rig, container_id, context_of, eventually, running_rig
from yodel.hadoop_pb import yarn_protos_pb2 as pb

MASTER = container_id(1)
TOGETHER = pytest.mark.asyncio(loop_scope="module")
SCRIPT = "echo hello 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr; sleep 300"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shown(module_path: Path, users: FakeUsers, module_tracker: FakeTracker) -> AsyncIterator[httpx2.AsyncClient]:
    """Browse an agent that tests only look at."""
    async with secured_rig(module_path, users, module_tracker) as rig, browsing(rig) as client:
        yield client


@pytest.fixture
async def secured(open_path: Path, users: FakeUsers, tracker: FakeTracker) -> AsyncIterator[Rig]:
    async with secured_rig(open_path, users, tracker) as rig:
        yield rig


@pytest.fixture
async def web(secured: Rig) -> AsyncIterator[httpx2.AsyncClient]:
    async with browsing(secured) as client:
        yield client


def secured_rig(root: Path, users: FakeUsers, tracker: FakeTracker) -> contextlib.AbstractAsyncContextManager[Rig]:
    changes = {
        "acl_enabled": True,
        "admin_acl": "admin",
        "log_aggregation_enable": True,
        "remote_app_log_dir": f"file://{root}/remote",
        "log_server_url": "http://history:19888/jobhistory/logs",
        "rm_web_url": "http://rm:8088",
    }
    return running_rig(root, users, tracker, **changes)


@contextlib.asynccontextmanager
async def browsing(secured: Rig) -> AsyncIterator[httpx2.AsyncClient]:
    """Browse an agent with a master that has written something."""
    await secured.pod(MASTER)
    context = context_of(SCRIPT)
    context.application_ACLs.add(accessType=pb.APPACCESS_VIEW_APP, acl="carol,dave")
    await secured.start(MASTER, context)
    await secured.tracker.until_running(MASTER)
    log = secured.root / f"logs/{APPLICATION}/{MASTER}/stdout"
    await eventually(lambda: log.exists() and log.stat().st_size > 0)
    async with httpx2.AsyncClient(
        base_url=f"http://127.0.0.1:{secured.running.http_port}", trust_env=False, timeout=60
    ) as client:
        yield client


@TOGETHER
@pytest.mark.parametrize(("user", "status"), [("alice", 200), ("carol", 200), ("admin", 200), ("bob", 403), ("", 403)])
async def test_view_acl_is_minded(shown: httpx2.AsyncClient, user: str, status: int) -> None:
    shown.cookies.clear()
    query = f"?user.name={user}" if user else ""
    for path in (
        f"/ws/v1/node/containers/{MASTER}/logs",
        f"/ws/v1/node/containers/{MASTER}/logs/stdout",
        f"/node/containerlogs/{MASTER}/alice/stdout",
        f"/node/containerlogs/{MASTER}/alice",
    ):
        response = await shown.get(path + query)
        assert response.status_code == status, path
        assert ("hello" in response.text) == (status == 200 and path.endswith("stdout"))


@TOGETHER
async def test_refused_caller_is_named(shown: httpx2.AsyncClient) -> None:
    shown.cookies.clear()
    response = await shown.get(f"/ws/v1/node/containers/{MASTER}/logs")
    text = f"User [dr.who] is not authorized to view the logs for application {APPLICATION}"
    assert response.json()["RemoteException"]["message"] == text


async def test_forgotten_container_is_shown_while_its_application_lives(secured: Rig, web: httpx2.AsyncClient) -> None:
    secured.tracker.kill(MASTER)
    await secured.tracker.until_complete(MASTER)
    await eventually(lambda: secured.running.manager.get(MASTER) is None)
    response = await web.get(f"/ws/v1/node/containers/{MASTER}/logs/stdout?user.name=alice")
    assert "LogContents:\nhello\nEnd of LogType:stdout.\n" in response.text
    assert (await web.get(f"/ws/v1/node/containers/{MASTER}")).status_code == 404


@TOGETHER
async def test_pages_lead_back_to_the_application(shown: httpx2.AsyncClient) -> None:
    for path in (f"/node/containerlogs/{MASTER}/alice", f"/node/containerlogs/{MASTER}/alice/stdout"):
        page = (await shown.get(f"{path}?user.name=alice")).text
        assert f'<a href="http://rm:8088/cluster/app/{APPLICATION}">{APPLICATION}</a>' in page


async def test_over_applications_lead_to_the_log_server(secured: Rig, web: httpx2.AsyncClient) -> None:
    secured.tracker.kill(MASTER)
    await secured.tracker.until_complete(MASTER)
    secured.tracker.finish(APPLICATION)
    published = secured.root / "remote/alice/bucket-logs-tfile/0007" / str(APPLICATION)
    await eventually(lambda: published.exists() and not (secured.root / "logs" / str(APPLICATION)).exists())
    node = secured.running.node_id
    assert [path.name for path in published.iterdir()] == [str(node).replace(":", "_")]
    path = f"/node/containerlogs/{MASTER}/alice/stdout?start=-4096"
    async with asyncio.timeout(60):
        # The agent knows the container's owner until its logs are done with.
        while (response := await web.get(path)).status_code == 403:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    url = f"http://history:19888/jobhistory/logs/{node}/{MASTER}/{MASTER}/alice/stdout?start=-4096"
    assert (response.status_code, response.headers["location"]) == (307, url)
    assert (await web.get(f"/ws/v1/node/containers/{MASTER}/logs")).status_code == 404


async def test_heartbeats_tell_how_far_logs_are(secured: Rig, web: httpx2.AsyncClient) -> None:
    def told() -> list[int]:
        return [
            r.log_aggregation_status for h in secured.tracker.heartbeats for r in h.log_aggregation_reports_for_apps
        ]

    await secured.tracker.until(lambda: told() == [pb.LOG_NOT_START])
    secured.tracker.kill(MASTER)
    await secured.tracker.until_complete(MASTER)
    secured.tracker.finish(APPLICATION)
    await secured.tracker.until(lambda: told() == [pb.LOG_NOT_START, pb.LOG_SUCCEEDED])
