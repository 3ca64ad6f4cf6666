"""Logs through the ResourceManager: whose, by whom, from which node, and what a node may answer with."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

import httpx2
import pytest

from tests.support.api_rows import ENDED, FAILED, MASTER, NODE, RUNNING, TASK, WAITING, api_get, fill
from tests.support.node_agent import eventually
from tests.support.records import a_container, a_node, an_attempt
from tests.support.rest_world import RestWorld, rest_world
from yodel.domain.acl import AccessRules, Acl
from yodel.domain.container import Container
from yodel.domain.node import Node
from yodel.domain.states import AttemptState, ContainerState, NodeState
from yodel.rm_api.proxy.web_proxy import WebProxy
from yodel.rm_api.v1 import node_logs
from yodel.rm_api.v1.failure import last_exception
from yodel.services.nodes.agents import NodeRuntime
from yodel.serving.node_calls import HEADER, CallJudge

SECRET = b"a secret of twenty bytes"
OTHER = a_node("node-3", state=NodeState.RUNNING, http_port=8042, kubernetes_node_name="kube-3")
HOSTILE = b"\x1b[31m<script>alert(1)</script>\xff\r\n"
LIST = {
    "containerLogsInfo": [
        {"containerLogInfo": [{"fileName": "stderr", "fileSize": "5"}, {"fileName": "stdout", "fileSize": "7"}]},
        {"containerLogInfo": {"fileName": "stderr", "fileSize": "3"}},
    ]
}


def printed(name: str, text: bytes, size_bytes: int | None = None) -> bytes:
    """Return a log as agents print it."""
    line = "Container: c on node-1:8041"
    size = len(text) if size_bytes is None else size_bytes
    head = f"{line}\nLogAggregationType: LOCAL\n{'=' * 27}\nLogType:{name}\nLogLastModifiedTime:x\nLogLength:{size}\n"
    return head.encode() + b"LogContents:\n" + text + f"\nEnd of LogType:{name}.\n{'*' * 60}\n\n".encode()


class Agents:
    """Answers for all node agents, each of which judges the call; ``answers`` may say something else of a host."""

    def __init__(self, now_s: Callable[[], float]) -> None:
        names = {"node-1": "kube-1", "node-3": "kube-3"}
        self.judges = {host: CallJudge(SECRET, name, now_s) for host, name in names.items()}
        self.answers: dict[str, Callable[[httpx2.Request], httpx2.Response]] = {}
        self.asked: list[tuple[str, str, str]] = []
        self.headers: list[httpx2.Headers] = []
        self.hanging = set[str]()

    async def __call__(self, request: httpx2.Request) -> httpx2.Response:
        host, target = request.url.host, request.url.raw_path.decode()
        self.headers.append(request.headers)
        if host in self.hanging:
            await asyncio.sleep(3600)
        user = self.judges[host].user_of(request.method, target, request.headers[HEADER])
        self.asked.append((host, user, target))
        if host in self.answers:
            return streamed(self.answers[host](request))
        if request.url.path.endswith("/logs"):
            return streamed(httpx2.Response(200, json=LIST))
        return httpx2.Response(200, content=body(printed("stderr", HOSTILE)), headers={"Content-Type": "text/html"})


async def body(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


def streamed(answer: httpx2.Response) -> httpx2.Response:
    """Return an answer as a network gives it: not read yet."""
    if not answer.is_stream_consumed:
        return answer
    return httpx2.Response(answer.status_code, headers=answer.headers, content=body(answer.content))


def hears(world: RestWorld, node: Node, peer: str = "10.0.0.1") -> None:
    world.rm.nodes.runtimes[node.id] = NodeRuntime(last_seen_s=world.clock.monotonic_s(), peer=(peer, 1))


@contextlib.asynccontextmanager
async def world_of_agents(**settings: object) -> AsyncIterator[tuple[RestWorld, Agents]]:
    async with rest_world(node_secret=SECRET, **settings) as world:  # type: ignore[arg-type]
        await fill(world)
        await world.put(OTHER)
        hears(world, NODE)
        hears(world, OTHER, "10.0.0.3")
        made = Agents(lambda: world.clock.now_ms() / 1000)
        client = httpx2.AsyncClient(transport=httpx2.MockTransport(made), follow_redirects=False)
        world.app.state.proxy.web_proxy = WebProxy(client)
        yield world, made


@pytest.fixture
async def both() -> AsyncIterator[tuple[RestWorld, Agents]]:
    async with world_of_agents() as made:
        yield made


def path_of(row: Container, name: str = "") -> str:
    return f"/api/v1/applications/{row.id.application_id}/containers/{row.id}/logs" + (f"/{name}" if name else "")


async def test_files_and_one_of_them_come_from_the_containers_node(both: tuple[RestWorld, Agents]) -> None:
    world, agents = both
    found = (await world.client.get(path_of(TASK), params={"user.name": "alice"})).json()
    assert found["items"] == [{"name": "stderr", "size_bytes": 8}, {"name": "stdout", "size_bytes": 7}]
    answer = await world.client.get(path_of(TASK, "stderr"), params={"size": "-100"})
    assert answer.content == printed("stderr", HOSTILE)
    query = "user=alice&nm.id=node-1%3A8041"
    assert agents.asked == [
        ("node-1", "alice", f"/ws/v1/node/containers/{TASK.id}/logs?{query}"),
        ("node-1", "alice", f"/ws/v1/node/containers/{TASK.id}/logs/stderr?size=-100&{query}"),
    ]
    assert not any(SECRET.decode() in value for sent in agents.headers for value in sent.values())
    assert not {"cookie", "authorization"} & {name for sent in agents.headers for name in sent}


async def test_strangers_html_is_text(both: tuple[RestWorld, Agents]) -> None:
    world, agents = both
    answer = await world.client.get(path_of(TASK, "stderr"), params={"download": "true"})
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["content-security-policy"] == "sandbox; default-src 'none'"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-disposition"].startswith("attachment; ")
    page = await world.client.get(f"/cluster/container/{TASK.id}/logs/stderr")
    assert "\u241b[31m&lt;script&gt;alert(1)&lt;/script&gt;\ufffd\n</pre>" in page.text
    assert "<script>alert" not in page.text
    assert "LogContents" not in page.text
    agents.answers["node-1"] = lambda _: httpx2.Response(
        200, content=body(b"x"), headers={"Set-Cookie": "a=b", "Content-Encoding": "gzip", "Location": "/"}
    )
    answer = await world.client.get(path_of(TASK, "stderr"))
    assert (answer.text, {"set-cookie", "location"} & set(answer.headers)) == ("x", set())


async def test_a_page_leads_to_the_file_that_has_a_line_and_has_the_others_as_tabs(
    both: tuple[RestWorld, Agents],
) -> None:
    world, agents = both
    first = await world.client.get(f"/cluster/container/{TASK.id}/logs")
    assert (first.status_code, first.headers["location"]) == (302, f"/cluster/container/{TASK.id}/logs/stderr")
    page = (await world.client.get(first.headers["location"])).text
    assert f'href="/cluster/container/{TASK.id}/logs/stdout"' in page
    assert f'href="{path_of(TASK, "stderr")}?download=true"' in page
    assert "data-follow" not in page
    assert "data-follow" in (await world.client.get(f"{first.headers['location']}?follow=true")).text
    text = printed("stderr", b"x" * 65536, 10**9)
    agents.answers["node-1"] = lambda request: (
        httpx2.Response(200, json=LIST) if request.url.path.endswith("/logs") else httpx2.Response(200, content=text)
    )
    page = (await world.client.get(first.headers["location"])).text
    assert ('name="size" value="262144"' in page, "x" * 65536 in page, "x" * 65537 in page) == (True, True, False)
    assert agents.asked[-1][2].partition("?")[2].startswith("size=-65536&")
    for wrong in ("0", "-1", "4194305", "x", "99999999"):
        assert (await world.client.get(f"{first.headers['location']}?size={wrong}")).status_code == 400


async def test_another_users_log_is_neither_shown_nor_asked_for() -> None:
    rules = AccessRules(admin_acl=Acl.parse("admin"), is_view_checked=True)
    async with world_of_agents(rules=rules) as (world, agents):
        for path in (path_of(TASK), path_of(TASK, "stderr"), f"/cluster/container/{TASK.id}/logs/stderr"):
            world.client.cookies.clear()
            assert (await world.client.get(path, params={"user.name": "eve"})).status_code == 403
        assert agents.asked == []
        world.client.cookies.clear()
        other = path_of(TASK, "stderr").replace(str(RUNNING.id), str(FAILED.id))
        assert (await world.client.get(other, params={"user.name": "bob"})).status_code == 404
        assert agents.asked == []


async def test_the_agent_judges_again(both: tuple[RestWorld, Agents]) -> None:
    world, agents = both
    refusal = {"RemoteException": {"message": "User [eve] is not authorized"}}
    agents.answers["node-1"] = lambda _: httpx2.Response(403, json=refusal)
    answer = await world.client.get(path_of(TASK, "stderr"), params={"user.name": "eve"})
    assert (answer.status_code, answer.json()["detail"]) == (403, "User [eve] is not authorized")
    assert [host for host, _, _ in agents.asked] == ["node-1"]
    assert (await world.client.get(f"/cluster/container/{TASK.id}/logs/stderr")).status_code == 403


@pytest.mark.parametrize("how", ["silent", "lost", "no answer", "hangs", "forgotten"])
async def test_another_agent_reads_what_was_aggregated(
    both: tuple[RestWorld, Agents], how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, agents = both
    monkeypatch.setattr(node_logs, "AGENT_S", 0.2)
    if how == "silent":
        world.rm.nodes.runtimes[NODE.id].last_seen_s -= 31
    elif how == "lost":
        await world.put(replace(NODE, state=NodeState.LOST))
    elif how == "forgotten":
        world.rm.nodes.runtimes.pop(NODE.id)
    elif how == "hangs":
        agents.hanging.add("node-1")
    else:

        def nobody(request: httpx2.Request) -> httpx2.Response:
            raise httpx2.ConnectError("refused", request=request)

        agents.answers["node-1"] = nobody
    answer = await world.client.get(path_of(ENDED, "stderr"), params={"user.name": "admin"})
    assert (answer.status_code, answer.content) == (200, printed("stderr", HOSTILE))
    path = f"/ws/v1/history/containers/{ENDED.id}/logs/stderr?user=alice&nm.id=node-1%3A8041"
    assert agents.asked[-1] == ("node-3", "admin", path)


async def test_without_an_agent_the_reason_a_link_and_a_command_are_shown(both: tuple[RestWorld, Agents]) -> None:
    world, agents = both
    for node in (NODE, OTHER):
        await world.put(replace(node, state=NodeState.LOST))
    answer = await world.client.get(path_of(TASK, "stderr"))
    assert (answer.status_code, "gone or silent" in answer.json()["detail"]) == (503, True)
    page = await world.client.get(f"/cluster/container/{TASK.id}/logs")
    assert (page.status_code, "gone or silent" in page.text) == (503, True)
    assert f'href="http://node-1:8042/node/containerlogs/{TASK.id}/alice"' in page.text
    command = f"yarn logs -applicationId {RUNNING.id} -containerId {TASK.id} -appOwner alice"
    assert command in page.text
    assert agents.asked == []


@pytest.mark.parametrize(
    ("node", "words"),
    [
        (replace(NODE, is_node_manager=True, kubernetes_node_name=""), "is a NodeManager"),
        (replace(NODE, http_port=0, state=NodeState.LOST), "gone or silent"),
    ],
)
async def test_only_an_agent_that_proved_its_name_is_asked(
    both: tuple[RestWorld, Agents], node: Node, words: str
) -> None:
    world, agents = both
    await world.put(node, replace(OTHER, is_node_manager=True, kubernetes_node_name=""))
    answer = await world.client.get(path_of(TASK, "stderr"))
    assert (answer.status_code, words in answer.json()["detail"], agents.asked) == (503, True, [])


async def test_nobody_is_asked_without_a_secret(world: RestWorld) -> None:
    await fill(world)
    hears(world, NODE)
    answer = await world.client.get(path_of(TASK, "stderr"))
    assert (answer.status_code, "node_token_file" in answer.json()["detail"]) == (503, True)


async def test_a_container_without_a_node_has_no_logs(both: tuple[RestWorld, Agents]) -> None:
    world, _ = both
    assert (await world.client.get(path_of(WAITING, "stderr"))).status_code == 404
    absent = a_container(container=9)
    assert (await world.client.get(path_of(absent, "stderr"))).status_code == 404


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (httpx2.Response(302, headers={"Location": "http://169.254.169.254/"}), "a redirect, which is not followed"),
        (httpx2.Response(401), "its clock differs, or its node token"),
        (httpx2.Response(500, json={"RemoteException": {"message": "disk"}}), "HTTP 500: disk"),
        (httpx2.Response(200, content=b"[" * 100_000), "no list of files"),
        (httpx2.Response(200, json={"containerLogsInfo": {"containerLogInfo": [{"fileName": "x"}]}}), "no list"),
        (httpx2.Response(200, json={"containerLogsInfo": {"containerLogInfo": 5}}), "no list of files"),
    ],
)
async def test_what_else_a_node_answers_is_refused(
    both: tuple[RestWorld, Agents], answer: httpx2.Response, words: str
) -> None:
    world, agents = both
    await world.put(replace(OTHER, state=NodeState.LOST))
    agents.answers["node-1"] = lambda _: answer
    found = await world.client.get(path_of(TASK))
    assert (found.status_code, words in found.json()["detail"]) == (503, True), found.text
    assert [host for host, _, _ in agents.asked] == ["node-1"]


@pytest.mark.parametrize("name", ["%2e%2e", "%2e", "%2e%2e%2fx", "a%00b", "a%0ab", "x" * 256])
async def test_a_path_is_no_name_of_a_file(both: tuple[RestWorld, Agents], name: str) -> None:
    world, agents = both
    for base in (path_of(TASK), f"/cluster/container/{TASK.id}/logs"):
        answer = await world.client.get(httpx2.URL(f"http://rm-host:8088{base}/{name}"))
        assert answer.status_code in (400, 404), answer.text
    assert agents.asked == []


async def test_a_log_that_never_ends_is_cut(both: tuple[RestWorld, Agents], monkeypatch: pytest.MonkeyPatch) -> None:
    world, agents = both

    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b"y" * 65536
            await asyncio.sleep(0)

    def answer(request: httpx2.Request) -> httpx2.Response:
        is_list = request.url.path.endswith("/logs")
        return httpx2.Response(200, json=LIST) if is_list else httpx2.Response(200, content=endless())

    agents.answers["node-1"] = answer
    page = await world.client.get(f"/cluster/container/{TASK.id}/logs/stderr")
    assert (page.status_code, page.text.count("y" * 1024) >= 64, len(page.content) < 80_000) == (200, True, True)

    async def silent() -> AsyncIterator[bytes]:
        yield b"y"
        await asyncio.sleep(3600)

    monkeypatch.setattr(node_logs, "ANSWER_S", 0.05)
    agents.answers["node-1"] = lambda request: (
        httpx2.Response(200, json=LIST)
        if request.url.path.endswith("/logs")
        else httpx2.Response(200, content=silent())
    )
    page = await world.client.get(f"/cluster/container/{TASK.id}/logs/stderr")
    assert (page.status_code, "was not answered within" in page.text) == (503, True)
    assert not world.app.state.v1.logs.slots._taken


async def test_a_node_that_lies_about_its_address_is_not_followed() -> None:
    """Its heartbeats come from elsewhere than from this machine, or than from where clouds keep credentials."""
    async with world_of_agents() as (world, _):
        heads: list[bytes] = []

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            heads.append(await reader.readuntil(b"\r\n\r\n"))
            content = json.dumps(LIST).encode()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(content) + content)
            await writer.drain()
            writer.close()

        async def resolve(host: str, _: int) -> list[str]:
            return ["127.0.0.1" if host == "node-1" else "169.254.169.254"]

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            await world.put(replace(NODE, http_port=port))
            world.app.state.proxy.web_proxy = WebProxy(resolve=resolve)
            answer = await world.client.get(path_of(TASK))
            assert (answer.status_code, heads) == (503, [])
            assert "an address of this cluster" in answer.json()["detail"]
            hears(world, NODE, "127.0.0.1")
            assert ((await world.client.get(path_of(TASK))).status_code, len(heads)) == (200, 1)
            assert b"x-yodel-call: " in heads[0].lower()


async def test_a_caller_reads_two_at_once_and_all_eight(both: tuple[RestWorld, Agents]) -> None:
    world, agents = both
    gate = asyncio.Event()

    async def held() -> AsyncIterator[bytes]:
        await gate.wait()
        yield b"done"

    agents.answers["node-1"] = lambda _: httpx2.Response(200, content=held())

    async def read(user: str) -> int:
        answer = await world.client.get(path_of(TASK, "stderr"), params={"user.name": user}, headers={"Cookie": ""})
        return answer.status_code

    users = [f"u{number}" for number in range(4) for _ in range(2)]
    world.client.cookies.clear()
    reads = []
    for user in users:
        world.client.cookies.clear()
        reads.append(asyncio.create_task(read(user)))
        await eventually(lambda: len(agents.asked) == len(reads))
    world.client.cookies.clear()
    assert await read("u0") == 503
    world.client.cookies.clear()
    assert await read("u9") == 503
    gate.set()
    assert await asyncio.gather(*reads) == [200] * 8
    world.client.cookies.clear()
    assert await read("u9") == 200
    assert MASTER.id != TASK.id


JAVA = """26/11/27 ERROR ApplicationMaster: Uncaught exception:
org.apache.spark.SparkException: Job aborted: lost task
\tat org.apache.spark.A.b(A.scala:1)
\tat org.apache.spark.A.c(A.scala:2)
Caused by: java.io.FileNotFoundException: /orders (No such file)
\tat java.io.F.open(F.java:3)
\t... 20 more
26/11/27 INFO ShutdownHookManager: Shutdown hook called
"""
THREAD = 'Exception in thread "main" java.lang.OutOfMemoryError: heap'
PYTHON = """Starting
Traceback (most recent call last):
  File "job.py", line 9, in <module>
    main()
  File "job.py", line 5, in main
    load("orders")
  File "job.py", line 2, in load
    raise KeyError(name)
KeyError: 'orders'
bye
"""


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (
            JAVA,
            [
                "Caused by: java.io.FileNotFoundException: /orders (No such file)",
                "\tat java.io.F.open(F.java:3)",
                "\t... 20 more",
            ],
        ),
        (
            PYTHON,
            [
                "KeyError: 'orders'",
                '  File "job.py", line 5, in main',
                '    load("orders")',
                '  File "job.py", line 2, in load',
                "    raise KeyError(name)",
            ],
        ),
        (f"{THREAD}\n", [THREAD]),
        ("all is well\nNo Error here\nan Exception: no\n", []),
        ("", []),
    ],
)
def test_the_last_exception_of_a_log_is_found(text: str, lines: list[str]) -> None:
    assert last_exception(text) == lines


def test_a_line_without_end_is_searched_at_once() -> None:
    assert last_exception(("a." * 40_000 + "\n") + "A" * 60_000 + "\n" + "A.B" * 20_000) == []


async def test_a_failed_application_begins_with_its_exception(both: tuple[RestWorld, Agents]) -> None:
    world, agents = both
    master = a_container(2, container=1, state=ContainerState.COMPLETED, node_id=NODE.id, exit_status=1)
    attempt = an_attempt(2, state=AttemptState.FAILED, am_container_id=master.id)
    await world.put(replace(FAILED, current_attempt=1), attempt, master)
    logs = {"stderr": b"nothing\n", "stdout": b"x\nValueError: <b>no such table</b>\n"}
    agents.answers["node-1"] = lambda request: httpx2.Response(
        200, content=printed("stdout", logs[request.url.path.rpartition("/")[2]])
    )
    failure = await api_get(world, f"/api/v1/applications/{FAILED.id}/failure")
    expected = {"container_id": str(master.id), "file": "stdout", "lines": ["ValueError: <b>no such table</b>"]}
    assert failure["exception"] == expected
    page = (await world.client.get(f"/cluster/app/{FAILED.id}")).text
    why = page.partition("<h2>Why it failed</h2>")[2]
    assert why.index("ValueError: &lt;b&gt;no such table&lt;/b&gt;") < why.index("The first container that failed")
    assert f'href="/cluster/container/{master.id}/logs/stdout"' in why
    assert 'hx-get=""' not in page
    agents.answers["node-1"] = lambda _: httpx2.Response(403)
    assert (await api_get(world, f"/api/v1/applications/{FAILED.id}/failure"))["exception"] is None
    assert (await api_get(world, f"/api/v1/applications/{RUNNING.id}/failure"))["exception"] is None
    assert not world.app.state.v1.logs.slots._taken


async def test_a_container_without_a_log_has_a_page_that_says_so(both: tuple[RestWorld, Agents]) -> None:
    world, agents = both
    agents.answers["node-1"] = lambda _: httpx2.Response(404)
    page = await world.client.get(f"/cluster/container/{TASK.id}/logs")
    assert (page.status_code, "finds no aggregated one" in page.text) == (200, True)
    assert (await world.client.get(f"/cluster/container/{TASK.id}/logs/stderr")).status_code == 404
    assert (await world.client.get(path_of(TASK, "stderr"))).status_code == 404
    assert {host for host, _, _ in agents.asked} == {"node-1"}
    await world.put(replace(NODE, state=NodeState.LOST))
    agents.answers["node-3"] = lambda _: httpx2.Response(404)
    answer = await world.client.get(path_of(TASK, "stderr"))
    assert (answer.status_code, "gone or silent" in answer.json()["detail"]) == (503, True)


async def test_what_is_no_name_of_a_file_is_left_out_of_the_list(both: tuple[RestWorld, Agents]) -> None:
    world, agents = both
    files = [{"fileName": name, "fileSize": "1"} for name in ("../x", "..", "a\nb", "", "x" * 256, "stdout")]
    listed = {"containerLogsInfo": {"containerLogInfo": [*files, {"fileName": 5, "fileSize": "1"}]}}
    agents.answers["node-1"] = lambda _: httpx2.Response(200, json=listed)
    found = (await world.client.get(path_of(TASK))).json()
    assert found["items"] == [{"name": "stdout", "size_bytes": 1}]
