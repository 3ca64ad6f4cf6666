"""The web port: shapes recorded from a real Hadoop 3.5.0 NodeManager, and what nobody may read."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import os
import re
import shutil
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest
import pytest_asyncio
from starlette.applications import Starlette

from nm_plugin.container.life import Container
from nm_plugin.web.serve import LIMITS, LogServer, known_names
from tests.support.endless_head import is_hung_up_on
from tests.support.fake_tracker import FakeTracker
from tests.support.node_agent import APPLICATION, FakeUsers, Rig, container_id, context_of, eventually, running_rig
from tests.support.ports import free_ports
from yodel.domain.resource import Resource
from yodel.hadoop_http import bounded_http
from yodel.hadoop_http.connections import ConnectionLimits

CONTAINER = container_id(2)
Shown = tuple[Rig, httpx2.AsyncClient]
TOGETHER = pytest.mark.asyncio(loop_scope="module")
SCRIPT = "echo '<b>hello</b>' 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr; sleep 300"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shown(module_path: Path, users: FakeUsers, module_tracker: FakeTracker) -> AsyncIterator[Shown]:
    """An agent that the tests of this module only look at."""
    async with running_rig(module_path, users, module_tracker) as rig, browsing(rig) as client:
        yield rig, client


@pytest.fixture
def web(shown: Shown) -> httpx2.AsyncClient:
    """Nobody is signed in."""
    shown[1].cookies.clear()
    return shown[1]


@pytest.fixture
async def own_web(rig: Rig) -> AsyncIterator[httpx2.AsyncClient]:
    """Browse an agent of the test's own, for tests that change what is shown."""
    async with browsing(rig) as client:
        yield client


@contextlib.asynccontextmanager
async def browsing(rig: Rig) -> AsyncIterator[httpx2.AsyncClient]:
    """Browse an agent with a container that has written something."""
    await rig.pod(CONTAINER)
    await rig.start(CONTAINER, context_of(SCRIPT))
    await rig.tracker.until_running(CONTAINER)
    log = rig.root / f"logs/{APPLICATION}/{CONTAINER}/stdout"
    await eventually(lambda: log.exists() and log.stat().st_size > 0)
    base = f"http://127.0.0.1:{rig.running.http_port}"
    async with httpx2.AsyncClient(base_url=base, trust_env=False, timeout=60) as client:
        yield client


@TOGETHER
async def test_container_has_hadoops_shape(shown: Shown, web: httpx2.AsyncClient) -> None:
    response = await web.get(f"/ws/v1/node/containers/{CONTAINER}", headers={"Accept": "application/json"})
    assert response.headers["content-type"] == "application/json;charset=utf-8"
    node, port = shown[0].running.node_id, shown[0].running.http_port
    assert response.json() == {
        "container": {
            "id": str(CONTAINER),
            "state": "RUNNING",
            "exitCode": -1000,
            "diagnostics": "",
            "user": "alice",
            "totalMemoryNeededMB": 512,
            "totalVCoresNeeded": 1,
            "executionType": "GUARANTEED",
            "containerLogsLink": f"http://127.0.0.1:{port}/node/containerlogs/{CONTAINER}/alice",
            "nodeId": str(node),
            "containerLogFiles": ["prelaunch.err", "prelaunch.out", "stderr", "stdout"],
        }
    }
    listed = await web.get("/ws/v1/node/containers")
    assert listed.json() == {"containers": {"container": [response.json()["container"]]}}


SPELLED_CONTAINER = f"container_000{APPLICATION.cluster_timestamp_ms}_{APPLICATION.sequence}_1_2"
SPELLED_APPLICATION = f"application_{APPLICATION.cluster_timestamp_ms}_{'0' * 200}{APPLICATION.sequence}"


@TOGETHER
@pytest.mark.parametrize(
    "path",
    [
        "/ws/v1/node/apps/{application}",
        "/ws/v1/node/containers/{container}",
        "/ws/v1/node/containers/{container}/logs",
        "/ws/v1/node/containers/{container}/logs/stdout",
        "/ws/v1/node/containerlogs/{container}/stdout",
        "/node/containerlogs/{container}/alice",
        "/node/containerlogs/{container}/alice/stdout/?start=0",
    ],
)
async def test_identifiers_have_any_number_of_zeros(web: httpx2.AsyncClient, path: str) -> None:
    printed = await web.get(path.format(application=APPLICATION, container=CONTAINER))
    spelled = await web.get(path.format(application=SPELLED_APPLICATION, container=SPELLED_CONTAINER))
    assert (spelled.status_code, spelled.content) == (printed.status_code, printed.content)
    assert spelled.status_code == 200


@TOGETHER
async def test_xml_repeats_list_elements(web: httpx2.AsyncClient) -> None:
    response = await web.get(f"/ws/v1/node/apps/{APPLICATION}", headers={"Accept": "application/xml"})
    assert response.headers["content-type"] == "application/xml;charset=utf-8"
    assert response.text == (
        f'<?xml version="1.0" encoding="UTF-8"?><app><id>{APPLICATION}</id><state>RUNNING</state><user>alice</user>'
        f"<containerids>{CONTAINER}</containerids></app>"
    )


@TOGETHER
@pytest.mark.parametrize(
    ("accept", "media_type"),
    [("application/json;q=0.5, application/xml;q=0.6", "xml"), ("application/xml;q=0.9, */*", "json")],
)
async def test_representation_is_chosen_by_quality(web: httpx2.AsyncClient, accept: str, media_type: str) -> None:
    response = await web.get("/ws/v1/node/info", headers={"Accept": accept})
    assert response.headers["content-type"] == f"application/{media_type};charset=utf-8"


@TOGETHER
async def test_what_nobody_answers_is_not_acceptable_or_jettys_page(web: httpx2.AsyncClient) -> None:
    other = await web.get("/ws/v1/node/info", headers={"Accept": "text/plain"})
    assert (other.status_code, other.json()["RemoteException"]["exception"]) == (406, "NotAcceptableException")
    unknown = await web.get("/ws/v1/node/nowhere", headers={"Accept": "*/*"})
    assert (unknown.status_code, unknown.headers["content-type"]) == (404, "text/html;charset=iso-8859-1")
    assert "<tr><th>URI:</th><td>/ws/v1/node/nowhere</td></tr>" in unknown.text


@TOGETHER
async def test_node_that_aggregates_nothing_is_no_history_server(web: httpx2.AsyncClient) -> None:
    assert (await web.get(f"/ws/v1/history/containers/{CONTAINER}/logs")).status_code == 404


@TOGETHER
async def test_info_at_all_its_paths(web: httpx2.AsyncClient) -> None:
    bodies = [(await web.get(path)).json()["nodeInfo"] for path in ("/ws/v1/node", "/ws/v1/node/", "/ws/v1/node/info")]
    assert len({json.dumps(sorted(body), default=str) for body in bodies}) == 1
    assert (bodies[0]["nodeHealthy"], bodies[0]["totalPmemAllocatedContainersMB"]) == (True, 8192)


@TOGETHER
async def test_beans_are_those_that_exporters_scrape(web: httpx2.AsyncClient) -> None:
    answer = await web.get("/jmx")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json; charset=utf8")
    beans = {bean["name"]: bean for bean in answer.json()["beans"]}
    metrics = beans["Hadoop:service=NodeManager,name=NodeManagerMetrics"]
    names = ("ContainersLaunched", "ContainersRunning", "ContainersFailed", "AllocatedContainers", "AllocatedGB")
    assert [metrics[name] for name in names] == [1, 1, 0, 1, 1]
    assert (metrics["AvailableGB"], metrics["AvailableVCores"], metrics["ApplicationsRunning"]) == (7, 7, 1)
    assert beans["Hadoop:service=NodeManager,name=JvmMetrics"]["tag.ProcessName"] == "NodeManager"
    assert beans["java.lang:type=Runtime"]["Uptime"] >= 0
    assert beans["java.lang:type=OperatingSystem"]["SystemCpuLoad"] >= 0.0
    (activity,) = (bean for name, bean in beans.items() if ",name=RpcActivityForPort" in name)
    assert activity["tag.serverName"] == "ContainerManagementProtocolService"
    assert {"RpcQueueTimeAvgTime", "RpcProcessingTimeAvgTime", "CallQueueLength"} <= activity.keys()
    (detailed,) = (bean for name, bean in beans.items() if ",name=RpcDetailedActivityForPort" in name)
    assert detailed["StartContainersNumOps"] == 1


@TOGETHER
async def test_one_bean_and_one_value_can_be_asked_for(web: httpx2.AsyncClient) -> None:
    name = "Hadoop:service=NodeManager,name=NodeManagerMetrics"
    (one,) = (await web.get("/jmx", params={"qry": "Hadoop:*,name=Node*"})).json()["beans"]
    (refusals,) = (await web.get("/jmx", params={"qry": "Hadoop:*,name=YodelRefusals"})).json()["beans"]
    assert {"archive_entries", "archive_bytes", "pattern_seconds", "agent_frame_bytes"} <= refusals.keys()
    assert not {"client_frame_bytes", "http_connections"} & refusals.keys(), "nobody looks at them here"
    assert one["name"] == name
    (value,) = (await web.get("/jmx", params={"get": f"{name}::ContainersLaunched"})).json()["beans"]
    assert value == {"name": name, "modelerType": "NodeManagerMetrics", "ContainersLaunched": 1}


@TOGETHER
async def test_configuration_and_stacks_are_shown(shown: Shown, web: httpx2.AsyncClient) -> None:
    name, running = "yarn.nodemanager.webapp.address", shown[0].running
    one = await web.get("/conf", params={"name": name}, headers={"Accept": "application/json"})
    assert one.json()["property"]["value"] == f"127.0.0.1:{running.http_port}"
    everything = await web.get("/conf")
    assert everything.headers["content-type"] == "text/xml;charset=utf-8"
    assert f"<name>yarn.nodemanager.address</name><value>{running.node_id}</value>" in everything.text
    stacks = await web.get("/stacks")
    assert (stacks.status_code, stacks.headers["content-type"]) == (200, "text/plain; charset=utf-8")
    assert "Process Thread Dump: " in stacks.text
    assert "Task tracker:" in stacks.text


@TOGETHER
async def test_trailing_slash_changes_nothing(web: httpx2.AsyncClient) -> None:
    for path in ("/ws/v1/node/apps", f"/ws/v1/node/containers/{CONTAINER}"):
        answer = await web.get(f"{path}/")
        assert (answer.status_code, answer.json()) == (200, (await web.get(path)).json())


@TOGETHER
async def test_resources_without_a_plugin_are_empty(web: httpx2.AsyncClient) -> None:
    path = "/ws/v1/node/resources/yarn.io%2Fgpu"
    assert (await web.get("/ws/v1/node/resources/fpga")).json() == {"nmResourceInfo": {}}
    xml = await web.get("/ws/v1/node/resources/fpga", headers={"Accept": "application/xml"})
    assert xml.text == '<?xml version="1.0" encoding="UTF-8"?><nmResourceInfo/>'
    assert (await web.get(path)).status_code == 200


@TOGETHER
async def test_what_cannot_be_put_is_said(web: httpx2.AsyncClient) -> None:
    services = await web.put("/ws/v1/node/auxiliaryservices", json={"services": []})
    assert (services.status_code, "manifest is not enabled" in services.text) == (400, True)
    sysfs = await web.put(f"/ws/v1/node/yarn/sysfs/alice/{APPLICATION}", content="{}")
    assert (sysfs.status_code, "Implementation unavailable" in sysfs.text) == (500, True)
    other = await web.put("/ws/v1/node/apps", content="")
    assert (other.status_code, {*other.headers["allow"].split(", ")}) == (405, {"GET", "HEAD"})
    assert other.json()["RemoteException"]["javaClassName"] == "javax.ws.rs.NotAllowedException"


@TOGETHER
async def test_applications_and_their_filters(web: httpx2.AsyncClient) -> None:
    app = {"id": str(APPLICATION), "state": "RUNNING", "user": "alice", "containerids": [str(CONTAINER)]}
    assert (await web.get("/ws/v1/node/apps")).json() == {"apps": {"app": [app]}}
    assert (await web.get("/ws/v1/node/apps?state=FINISHED")).json() == {"apps": {}}
    assert (await web.get("/ws/v1/node/apps?user=bob")).json() == {"apps": {}}
    assert (await web.get(f"/ws/v1/node/apps/{APPLICATION}")).json() == {"app": app}


@TOGETHER
@pytest.mark.parametrize(
    ("path", "status", "exception", "message"),
    [
        (
            "apps/xx",
            400,
            "BadRequestException",
            "Invalid ApplicationId prefix: xx. The valid ApplicationId should start with prefix application",
        ),
        ("apps/application_1_0001", 404, "NotFoundException", "app with id application_1_0001 not found"),
        (
            "containers/container_1_0001_01_000009",
            404,
            "NotFoundException",
            "container with id, container_1_0001_01_000009, not found",
        ),
        ("containers/xx", 400, "BadRequestException", "invalid container id, xx"),
        ("auxiliaryservices", 400, "BadRequestException", "Auxiliary services manifest is not enabled"),
        (
            "apps?state=BAD",
            400,
            "IllegalArgumentException",
            "No enum constant org.apache.hadoop.yarn.server.nodemanager.containermanager.application.ApplicationState"
            ".BAD",
        ),
    ],
)
async def test_refusals_have_hadoops_words(
    web: httpx2.AsyncClient, path: str, status: int, exception: str, message: str
) -> None:
    response = await web.get(f"/ws/v1/node/{path}")
    package = "java.lang" if exception.startswith("Illegal") else "org.apache.hadoop.yarn.webapp"
    assert response.status_code == status
    assert response.json() == {
        "RemoteException": {
            "exception": exception,
            "message": message,
            "javaClassName": f"{package}.{exception}",
        }
    }


@TOGETHER
async def test_log_list(shown: Shown, web: httpx2.AsyncClient) -> None:
    body = (await web.get(f"/ws/v1/node/containers/{CONTAINER}/logs")).json()["containerLogsInfo"]
    sizes = {entry["fileName"]: entry["fileSize"] for entry in body["containerLogInfo"]}
    assert sizes["stdout"] == "13"
    assert (body["logAggregationType"], body["containerId"]) == ("LOCAL", str(CONTAINER))
    assert body["nodeId"] == str(shown[0].running.node_id)


@TOGETHER
@pytest.mark.parametrize(("query", "content"), [("", "<b>hello</b>\n"), ("?size=-5", "</b>\n"), ("?size=3", "<b>")])
async def test_log_stream_is_framed(shown: Shown, web: httpx2.AsyncClient, query: str, content: str) -> None:
    response = await web.get(f"/ws/v1/node/containerlogs/{CONTAINER}/stdout{query}")
    assert response.headers["content-type"] == "text/plain;charset=utf-8"
    lines = response.text.split("\n", 6)
    assert lines[0] == f"Container: {CONTAINER} on {shown[0].running.node_id}"
    assert lines[1:4] == ["LogAggregationType: LOCAL", "=" * len(lines[0]), "LogType:stdout"]
    assert lines[5] == "LogLength:13"
    # Recorded: nothing stands between the log and this line.
    end = "End of LogType:stdout.This log file belongs to a running container "
    end += f"({CONTAINER}) and so may not be complete."
    assert lines[6] == "LogContents:\n" + content + end + "\n" + "*" * 71 + "\n\n"


@TOGETHER
@pytest.mark.parametrize("path", ["/", "/ws/v1/node", f"/ws/v1/node/containers/{CONTAINER}/logs/stdout", "/nowhere"])
async def test_options_are_answered_everywhere(web: httpx2.AsyncClient, path: str) -> None:
    response = await web.options(path)
    assert (response.status_code, response.content) == (200, b"")


@TOGETHER
@pytest.mark.parametrize(
    "path",
    [
        "/ws/v1/node",
        f"/ws/v1/node/containers/{CONTAINER}/logs",
        f"/ws/v1/node/containers/{CONTAINER}/logs/stdout?size=9223372036854775807",
        f"/node/containerlogs/{CONTAINER}/alice/stdout",
    ],
)
async def test_head_is_an_answer_without_a_body(web: httpx2.AsyncClient, path: str) -> None:
    response = await web.head(path)
    assert (response.status_code, response.content) == (200, b"")


@TOGETHER
async def test_missing_log_is_not_found(web: httpx2.AsyncClient) -> None:
    response = await web.get(f"/ws/v1/node/containerlogs/{CONTAINER}/nope")
    assert (response.status_code, response.text) == (404, "HTTP 404 Not Found")


@TOGETHER
async def test_pages_escape_what_containers_write(web: httpx2.AsyncClient) -> None:
    base = f"/node/containerlogs/{CONTAINER}/alice"
    assert f'href="{base}/stdout/?start=-4096"' in (await web.get(base)).text
    page = (await web.get(f"{base}/stdout/?start=-4096")).text
    assert "<pre>&lt;b&gt;hello&lt;/b&gt;\n</pre>" in page
    part = (await web.get(f"{base}/stdout?start=3&end=8")).text
    assert "<pre>hello</pre>" in part
    assert "Showing 5 bytes of 13 total." in part


@TOGETHER
async def test_page_needs_the_right_owner_and_container(web: httpx2.AsyncClient) -> None:
    assert (await web.get(f"/node/containerlogs/{CONTAINER}/bob")).status_code == 404
    assert (await web.get("/node/containerlogs/%3Cscript%3E/alice")).text.count("<script>") == 0


@TOGETHER
@pytest.mark.parametrize(
    "path",
    [
        "/node",
        "/jmx",
        "/conf",
        "/stacks",
        f"/node/containerlogs/{CONTAINER}/alice",
        f"/node/containerlogs/{CONTAINER}/alice/stdout",
        f"/ws/v1/node/containers/{CONTAINER}/logs",
        "/ws/v1/node/info",
    ],
)
async def test_a_slash_at_the_end_of_a_path_makes_no_difference(web: httpx2.AsyncClient, path: str) -> None:
    for method, query in (("GET", ""), ("GET", "?start=-4096"), ("HEAD", "")):
        answer = await web.request(method, f"{path}/{query}")
        assert (answer.status_code, bool(answer.content)) == (200, method == "GET")
    assert (await web.get("/ws/v1/node/resources/")).status_code == 404
    assert (await web.get(f"{path}/nowhere/at/all/")).status_code == 404


@TOGETHER
async def test_every_link_of_a_page_is_answered_at_once(web: httpx2.AsyncClient) -> None:
    pages = ["/node", f"/node/containerlogs/{CONTAINER}/alice"]
    links = [link for page in pages for link in re.findall('href="([^"]+)"', (await web.get(page)).text)]
    assert len(links) == 5
    assert {link: (await web.get(link)).status_code for link in links} == dict.fromkeys(links, 200)


@TOGETHER
async def test_root_leads_to_the_node_page(web: httpx2.AsyncClient) -> None:
    page = (await web.get("/", follow_redirects=True)).text
    assert str(CONTAINER) in page


async def test_links_and_foreign_paths_are_not_served(rig: Rig, own_web: httpx2.AsyncClient) -> None:
    log_dir = rig.root / f"logs/{APPLICATION}/{CONTAINER}"
    (rig.root / "secret").write_text("top of the top")
    (log_dir / "link").symlink_to(rig.root / "secret")
    os.mkfifo(log_dir / "fifo")
    for name in ("link", "fifo", "..%2f..%2f..%2fsecret", "..", "%2e%2e"):
        for path in (f"/ws/v1/node/containerlogs/{CONTAINER}/{name}", f"/node/containerlogs/{CONTAINER}/alice/{name}"):
            response = await own_web.get(path)
            assert (response.status_code, "top" in response.text) == (404, False), path


async def test_what_the_system_refuses_is_told_by_its_reason(
    rig: Rig, own_web: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full() -> None:
        raise OSError(errno.EMFILE, "x", "/secret")

    monkeypatch.setattr(rig.running.manager, "applications", full)
    answer = await own_web.get("/ws/v1/node/apps")
    told = answer.json()["RemoteException"]
    assert (answer.status_code, told["exception"], told["message"]) == (503, "IOException", "Too many open files")


async def test_vanished_log_directory_is_an_empty_list(rig: Rig, own_web: httpx2.AsyncClient) -> None:
    shutil.rmtree(rig.root / f"logs/{APPLICATION}")
    body = (await own_web.get(f"/ws/v1/node/containers/{CONTAINER}")).json()["container"]
    assert "containerLogFiles" not in body


@contextlib.asynccontextmanager
async def empty_site(
    limits: ConnectionLimits = LIMITS,
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection to a port that has nothing to show."""
    server = LogServer("127.0.0.1", 0, limits)
    async with asyncio.TaskGroup() as group:
        group.create_task(server.serve(Starlette()))
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        yield reader, writer
        writer.close()
        await server.stop()


async def test_silent_caller_is_hung_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_http, "IDLE_S", 0.01)
    async with empty_site() as (reader, _), asyncio.timeout(60):
        assert await reader.read() == b""


async def test_who_asks_is_answered_however_many_just_hold_connections() -> None:
    async with empty_site(replace(LIMITS, connections_max=3, per_address_max=2)) as (_, first):
        port = first.get_extra_info("peername")[1]
        holding = [await asyncio.open_connection("127.0.0.1", port) for _ in range(5)]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        async with asyncio.timeout(60):
            assert (await reader.read()).startswith(b"HTTP/1.1 404 ")
            assert [await gone.read() for gone, _ in (holding[0], holding[1])] == [b"", b""]
        for _, other in holding:
            other.close()
        writer.close()


async def test_endless_head_is_cut_off() -> None:
    async with empty_site() as (reader, writer):
        assert await is_hung_up_on(reader, writer, "/node")


def test_container_of_a_test_is_plain() -> None:
    """Guards the helper: a container without a launch has no log directory to serve."""
    container = Container(container_id=CONTAINER, user="alice", resource=Resource(1, 1))
    assert Path(container.log_dir) == Path()


async def test_settings_of_the_rim_reach_it(tmp_path: Path, users: FakeUsers, tracker: FakeTracker) -> None:
    changes = {
        "web_authentication": "kerberos",
        "web_anonymous_allowed": False,
        "web_frames_enabled": False,
        "web_cross_origin_enabled": True,
        "web_cross_origin_methods": ["GET"],
        "web_cross_origin_headers": ["X-Mine"],
        "web_cross_origin_max_age_s": 7,
        "probe_port": (probe_port := free_ports(1)[0]),
        "web_connections_max": 20,
        "web_connections_per_address_max": 4,
    }
    async with running_rig(tmp_path, users, tracker, **changes) as rig:
        base = f"http://127.0.0.1:{rig.running.http_port}"
        async with httpx2.AsyncClient(base_url=base, trust_env=False, timeout=60) as client:
            refused = await client.get("/node?user.name=alice", headers={"Origin": "http://ui.example.com"})
            assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Negotiate")
            assert "x-frame-options" not in refused.headers
            told = [refused.headers[f"access-control-{name}"] for name in ("allow-methods", "allow-headers", "max-age")]
            assert told == ["GET", "X-Mine", "7"]
            assert (await client.get("/ws/v1/node/info")).status_code == 200
            assert (await client.get(f"http://127.0.0.1:{probe_port}/health/ready")).text == "OK"
            holding = [await asyncio.open_connection("127.0.0.1", rig.running.http_port) for _ in range(5)]
            async with asyncio.timeout(60):
                assert await holding[0][0].read() == b""
            for _, writer in holding:
                writer.close()


@TOGETHER
async def test_agent_on_loopback_is_read_by_no_page_whose_name_was_made_to_lead_here(web: httpx2.AsyncClient) -> None:
    for host, status in (("evil.example", 403), ("localhost", 200), ("127.0.0.1:1", 200)):
        answer = await web.get("/ws/v1/node/apps", headers={"User-Agent": "Mozilla/5.0", "Host": host})
        assert answer.status_code == status, answer.text


@pytest.mark.parametrize(
    ("bind_host", "is_judged"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("::", False)],
)
def test_names_are_judged_where_only_this_machine_listens(bind_host: str, is_judged: bool) -> None:
    assert (known_names(bind_host, "node-1") is not None) is is_judged
