"""Logs of an application that is over, from a node that never had it: the agent, its worker processes, a folder."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
import pytest_asyncio

from nm_plugin.host.users import OsUser
from nm_plugin.logs.jobs import Publish
from nm_plugin.logs.remote_files import LocalFileSystem
from nm_plugin.logs.uploading import steps
from nm_plugin.web.recall_routes import _node_of
from tests.support.fake_tracker import FakeTracker
from tests.support.node_agent import APPLICATION, FakeUsers, container_id, running_rig

CONTAINER = container_id(2)
TOGETHER = pytest.mark.asyncio(loop_scope="module")
HISTORY, NODE = "/ws/v1/history", "/ws/v1/node"
LIST, TEXT = f"{HISTORY}/containers/{CONTAINER}/logs", f"{HISTORY}/containerlogs/{CONTAINER}/stdout"
PAGE = f"/node/containerlogs/{CONTAINER}/alice"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shown(
    module_path: Path, users: FakeUsers, alice: OsUser, module_tracker: FakeTracker
) -> AsyncIterator[httpx2.AsyncClient]:
    """Browse an agent that the tests only look at."""
    aggregate(module_path, alice)
    changes = {
        "acl_enabled": True,
        "admin_acl": "admin",
        "log_aggregation_enable": True,
        "remote_app_log_dir": f"file://{module_path}/remote",
        "rm_web_url": "http://rm:8088/",
    }
    async with running_rig(module_path, users, module_tracker, **changes) as rig:
        base = f"http://127.0.0.1:{rig.running.http_port}"
        async with httpx2.AsyncClient(base_url=base, trust_env=False, timeout=60) as client:
            yield client


@pytest.fixture
def web(shown: httpx2.AsyncClient) -> httpx2.AsyncClient:
    """Nobody is signed in."""
    shown.cookies.clear()
    return shown


def aggregate(root: Path, owner: OsUser) -> None:
    """Another node's upload; only the owner may read it."""
    directory = root / "other" / str(APPLICATION) / str(CONTAINER)
    directory.mkdir(parents=True)
    (directory / "stdout").write_bytes(b"<b>hello</b>\n")
    (root / "remote").mkdir()
    publish = Publish(
        root="",
        directories=("alice", "bucket-logs-tfile", "0007", str(APPLICATION)),
        file_name="other.example_8041",
        node="other.example:8041",
        node_file="other.example_8041",
        format="tfile",
        compression="none",
        application=str(APPLICATION),
        owner="alice",
        acls={"VIEW_APP": "carol"},
        log_dirs=(str(root / "other"),),
        containers=(str(CONTAINER),),
        uploaded_ms=1,
    )
    steps.publish(LocalFileSystem(), str(root / "remote"), publish, lambda count: None)
    for path in ((root / "remote" / "alice"), *(root / "remote" / "alice").rglob("*")):
        os.chown(path, owner.uid, owner.gid)


@TOGETHER
async def test_history_paths_answer_as_a_history_server(web: httpx2.AsyncClient) -> None:
    listed = await web.get(f"{LIST}?user.name=alice")
    info = listed.json()["containerLogsInfo"]
    assert [(file["fileName"], file["fileSize"]) for file in info["containerLogInfo"]] == [("stdout", "13")]
    assert (info["logAggregationType"], info["containerId"]) == ("AGGREGATED", str(CONTAINER))
    assert info["nodeId"] == "other.example:8041"
    for path in (TEXT, f"{LIST}/stdout"):
        text = await web.get(f"{path}?user.name=alice&nm.id=other.example:8041")
        assert text.headers["content-type"] == "text/plain;charset=utf-8"
        assert "LogContents:\n<b>hello</b>\n\nEnd of LogType:stdout\n" in text.text
    spelled = f"container_{APPLICATION.cluster_timestamp_ms}_{APPLICATION.sequence}_1_{CONTAINER.sequence}"
    assert (await web.get(f"{LIST.replace(str(CONTAINER), spelled)}?user.name=alice")).json() == listed.json()
    tail = await web.get(f"{TEXT}?user.name=alice&size=-5&format=octet-stream")
    assert tail.headers["content-type"] == "application/octet-stream;charset=utf-8"
    assert "LogContents:\n</b>\n\nEnd" in tail.text


@TOGETHER
async def test_list_in_xml(web: httpx2.AsyncClient) -> None:
    answer = await web.get(f"{LIST}?user.name=alice", headers={"Accept": "application/xml"})
    assert answer.text.startswith(
        '<?xml version="1.0" encoding="UTF-8" standalone="yes"?><containerLogsInfoes><containerLogsInfo>'
        "<containerLogInfo><fileName>stdout</fileName><fileSize>13</fileSize>"
    )


@TOGETHER
@pytest.mark.parametrize(("user", "status"), [("carol", 200), ("admin", 200), ("bob", 403), ("", 403)])
async def test_view_acl_of_the_application_is_minded(web: httpx2.AsyncClient, user: str, status: int) -> None:
    name = f"&user.name={user}" if user else ""
    answer = await web.get(f"{TEXT}?user=alice{name}")
    assert (answer.status_code, "hello" in answer.text) == (status, status == 200)
    page = await web.get(f"{PAGE}/stdout?start=0{name}")
    assert (page.status_code, "hello" in page.text) == (status, status == 200)


@TOGETHER
async def test_node_paths_answer_for_what_the_node_does_not_know_any_more(web: httpx2.AsyncClient) -> None:
    assert (await web.get(f"{NODE}/containers/{CONTAINER}/logs?user.name=alice")).status_code == 200
    for path in (f"{NODE}/containers/{CONTAINER}/logs/stdout", f"{NODE}/containerlogs/{CONTAINER}/stdout"):
        assert "hello" in (await web.get(f"{path}?user.name=alice")).text
        web.cookies.clear()
        assert (await web.get(f"{path}?user.name=bob&user=alice")).status_code == 403
        web.cookies.clear()
    unknown = await web.get(f"{NODE}/containers/{container_id(9)}/logs?user.name=alice")
    assert (unknown.status_code, "Unknown container." in unknown.text) == (404, True)


@TOGETHER
async def test_pages_without_a_log_server_show_them(web: httpx2.AsyncClient) -> None:
    listed = (await web.get(f"{PAGE}?user.name=alice")).text
    assert f'<a href="{PAGE}/stdout/?start=-4096">stdout : Total file length is 13 bytes.</a>' in listed
    page = await web.get(f"{PAGE}/stdout/?start=-5")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "LogContents:\n&lt;/b&gt;\n\nEnd" in page.text
    assert "<b>" not in page.text
    for text in (listed, page.text):
        assert f'<a href="http://rm:8088/cluster/app/{APPLICATION}">{APPLICATION}</a>' in text
        assert f'<a href="http://rm:8088/cluster/container/{CONTAINER}">{CONTAINER}</a>' in text
    nothing = await web.get(f"/node/containerlogs/{container_id(9)}/alice")
    assert (nothing.status_code, "Log Server url may not be configured" in nothing.text) == (404, True)


@TOGETHER
@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        (f"{LIST}?user.name=bob", 404, "Can not find any aggregated log of bob's container"),
        (f"{LIST}?user=nobody", 404, "Can not find any aggregated log of nobody's container"),
        (f"{HISTORY}/containers/xx/logs", 400, "invalid container id, xx"),
        (f"{LIST}?nm.id=xx", 400, "xx"),
        (f"{TEXT}?user.name=alice&format=pdf", 400, "text, octet-stream, not pdf"),
        (f"{TEXT}?user.name=alice&size=x", 400, "For input string"),
        (f"{HISTORY}/containerlogs/{CONTAINER}/nope?user.name=alice", 404, "Can not find"),
    ],
)
async def test_refusals(web: httpx2.AsyncClient, path: str, status: int, words: str) -> None:
    answer = await web.get(path)
    assert (answer.status_code, words in answer.json()["RemoteException"]["message"]) == (status, True)


@TOGETHER
async def test_head_is_an_answer_without_a_body(web: httpx2.AsyncClient) -> None:
    for path in (LIST, TEXT, f"{PAGE}/stdout", PAGE):
        answer = await web.head(f"{path}?user.name=alice")
        assert (answer.status_code, answer.content) == (200, b"")


@pytest.mark.parametrize(
    ("file_name", "node"),
    [("h_1", "h:1"), ("h_1_1700000000000", "h:1"), ("my_h_1", "my_h:1"), ("odd", "odd")],
)
def test_name_of_a_file_tells_the_node(file_name: str, node: str) -> None:
    assert _node_of(file_name) == node
