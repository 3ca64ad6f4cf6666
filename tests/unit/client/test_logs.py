"""Log lines: from the node agent, from the log server, and the words when they are nowhere."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from yodel.client.api import RmClient
from yodel.client.logs import LogSelection, LogsNotFound, print_logs

APP = "application_1_0001"
AM, TASK = "container_1_0001_01_000001", "container_1_0001_01_000002"
HISTORY = "http://history:19888"
AGGREGATED = "http://other:8042/ws/v1/history"
Routes = dict[str, httpx2.Response]


def entry(container: str, is_am: bool = False) -> dict[str, Any]:
    base = "http://node:8042"
    return {
        "container_id": container,
        "is_am": is_am,
        "node_id": "node:8041",
        "logs": {
            "page_url": f"{base}/node/containerlogs/{container}/alice",
            "files_url": f"{base}/ws/v1/node/containers/{container}/logs",
            "aggregated_url": f"{AGGREGATED}/containers/{container}/logs?user=alice&nm.id=node:8041",
        },
    }


def listing(*names: str, kind: str = "LOCAL") -> dict[str, Any]:
    files = [{"fileName": name, "fileSize": "1"} for name in names]
    return {"logAggregationType": kind} | ({"containerLogInfo": files} if files else {})


def list_of(*infos: dict[str, Any]) -> httpx2.Response:
    """One element is an object, as Hadoop writes it."""
    return httpx2.Response(200, json={"containerLogsInfo": infos[0] if len(infos) == 1 else list(infos)})


def at(container: str, below: str = "", base: str = "http://node:8042/ws/v1/node") -> str:
    return f"{base}/containers/{container}/logs{below}"


class Net:
    """Answers by URL; what is not there is unknown to its node agent."""

    def __init__(self, routes: Routes, *entries: dict[str, Any]) -> None:
        self.routes, self.entries, self.asked = routes, list(entries), list[str]()

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        url = str(request.url.copy_with(query=None))
        self.asked.append(str(request.url))
        if request.url.host == "rm" and "/containers/" not in request.url.path:
            return httpx2.Response(200, json={"items": self.entries, "next_cursor": None})
        if request.url.host == "down":
            raise httpx2.ConnectError("refused", request=request)
        return self.routes.get(url, httpx2.Response(404))

    async def printed(self, wanted: LogSelection | None = None) -> tuple[str, dict[str, str]]:
        found: list[bytes] = []
        async with RmClient("http://rm", "alice", httpx2.MockTransport(self)) as client:
            missing = await print_logs(client, APP, wanted or LogSelection(), found.append)
        return b"".join(found).decode(), dict(missing)


def both() -> Net:
    return Net(
        {
            at(AM): list_of(listing("stdout", "stderr"), listing("stdout", kind="AGGREGATED")),
            at(AM, "/stdout"): httpx2.Response(200, text="am out\n"),
            at(AM, "/stderr"): httpx2.Response(200, text="am err\n"),
            at(TASK): list_of(listing("stdout")),
            at(TASK, "/stdout"): httpx2.Response(200, text="task out\n"),
        },
        entry(AM, is_am=True),
        entry(TASK),
    )


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (LogSelection(), "am out\nam err\ntask out\n"),
        (LogSelection(is_am_only=True), "am out\nam err\n"),
        (LogSelection(container=TASK), "task out\n"),
        (LogSelection(is_am_only=True, file="stderr"), "am err\n"),
    ],
)
async def test_lines_of_what_is_wanted_come_from_the_node_agents(wanted: LogSelection, expected: str) -> None:
    assert await both().printed(wanted) == (expected, {})


async def test_size_and_caller_are_passed_on() -> None:
    net = both()
    await net.printed(LogSelection(container=TASK, size_bytes=-100))
    assert net.asked[-1].endswith("/logs/stdout?user.name=alice&size=-100")


async def test_containers_without_what_is_wanted_are_named() -> None:
    assert await both().printed(LogSelection(file="stderr")) == ("am err\n", {TASK: "no file stderr"})


async def test_lines_of_what_is_over_come_from_any_node_agent() -> None:
    net = Net(
        {
            at(TASK, base=AGGREGATED): list_of(listing("stdout", kind="AGGREGATED")),
            at(TASK, "/stdout", base=AGGREGATED): httpx2.Response(200, text="aggregated\n"),
        },
        entry(TASK),
    )
    assert await net.printed(LogSelection(size_bytes=5)) == ("aggregated\n", {})
    asked = httpx2.URL(net.asked[-1]).params
    assert dict(asked) == {"user": "alice", "nm.id": "node:8041", "user.name": "alice", "size": "5"}
    net.routes[at(TASK)] = httpx2.Response(500, text="a NodeManager forgets containers with their application")
    assert await net.printed() == ("aggregated\n", {})
    net.entries[0]["logs"] |= {"files_url": "http://down/", "page_url": "http://down/"}
    assert await net.printed() == ("aggregated\n", {})


@pytest.mark.parametrize("status", [403, 503])
async def test_refusal_of_the_reading_node_agent_is_told_in_its_words(status: int) -> None:
    words = httpx2.Response(status, json={"RemoteException": {"message": "User [alice] is not authorized"}})
    with pytest.raises(LogsNotFound, match=rf"other:8042 answered HTTP {status}: User \[alice\] is not"):
        await Net({at(TASK, base=AGGREGATED): words}, entry(TASK)).printed()


async def test_reading_node_agent_that_is_away_is_none() -> None:
    net = Net({}, entry(TASK))
    for url in ("http://down/x?user=alice", None):
        net.entries[0]["logs"]["aggregated_url"] = url
        with pytest.raises(LogsNotFound, match="no node agent finds aggregated ones"):
            await net.printed()


async def test_lines_that_left_the_node_come_from_the_log_server() -> None:
    page = f"{HISTORY}/jobhistory/logs/node:8041/{TASK}/{TASK}/alice"
    routes = {
        entry(TASK)["logs"]["page_url"]: httpx2.Response(307, headers={"Location": page}),
        at(TASK, base=f"{HISTORY}/ws/v1/history"): list_of(listing("syslog", kind="AGGREGATED")),
        f"{HISTORY}/ws/v1/history/containerlogs/{TASK}/syslog": httpx2.Response(200, text="from history\n"),
    }
    assert await Net(routes, entry(TASK)).printed() == ("from history\n", {})
    del routes[at(TASK, base=f"{HISTORY}/ws/v1/history")]
    with pytest.raises(LogsNotFound, match=f"HTTP 404; open them in a browser: {page}"):
        await Net(routes, entry(TASK)).printed()


async def test_lines_that_are_nowhere_are_looked_for_with_yarn_logs() -> None:
    with pytest.raises(LogsNotFound, match=f"finds aggregated ones; .*yarn logs -containerId {TASK}"):
        await Net({}, entry(TASK)).printed()


@pytest.mark.parametrize("location", ["", "/relative", "javascript:x", "http://"])
async def test_redirect_to_nowhere_is_not_followed(location: str) -> None:
    routes = {entry(TASK)["logs"]["page_url"]: httpx2.Response(302, headers={"Location": location})}
    with pytest.raises(LogsNotFound, match="finds aggregated ones"):
        await Net(routes, entry(TASK)).printed()


async def test_node_agent_that_is_down_costs_only_its_own_lines() -> None:
    net = both()
    down = entry("container_1_0001_01_000003")
    down["logs"] = {"page_url": "http://down/", "files_url": "http://down/", "aggregated_url": "http://down/"}
    net.entries.insert(0, down)
    text, missing = await net.printed()
    assert text == "am out\nam err\ntask out\n"
    reason = "its node agent does not answer (node:8041: refused), and the ResourceManager answered HTTP 404: "
    assert missing == {down["container_id"]: reason}


async def test_where_a_node_cannot_be_reached_the_resourcemanager_reads() -> None:
    net = Net({}, entry(AM, is_am=True), entry(TASK))
    for one in net.entries:
        one["logs"] = {"page_url": "http://down/", "files_url": "http://down/", "aggregated_url": "http://down/"}
    for container in (AM, TASK):
        through = f"http://rm/api/v1/applications/{APP}/containers/{container}/logs"
        net.routes[through] = httpx2.Response(200, json={"items": [{"name": "stderr"}, {"name": "a b"}]})
        net.routes[f"{through}/stderr"] = httpx2.Response(200, text=f"{container}\n")
    assert await net.printed(LogSelection(file="stderr", size_bytes=-5)) == (f"{AM}\n{TASK}\n", {})
    assert net.asked[-1].endswith("/stderr?user.name=alice&size=-5")
    assert sum("down" in url for url in net.asked) == 1, "a node that does not answer is asked once"
    net.routes[f"http://rm/api/v1/applications/{APP}/containers/{AM}/logs"] = httpx2.Response(
        503, json={"detail": "Node node:8041 is gone or silent"}
    )
    _, missing = await net.printed(LogSelection(file="stderr"))
    assert missing[AM].endswith("the ResourceManager answered HTTP 503: Node node:8041 is gone or silent")


async def test_refusal_of_the_node_agent_is_told_in_its_words() -> None:
    words = {"RemoteException": {"message": "User [alice] is not authorized"}}
    with pytest.raises(LogsNotFound, match=r"answered HTTP 403: User \[alice\] is not authorized"):
        await Net({at(TASK): httpx2.Response(403, json=words)}, entry(TASK)).printed()


@pytest.mark.parametrize("body", [{}, {"containerLogsInfo": "x"}, {"containerLogsInfo": [{"containerLogInfo": 3}]}, []])
async def test_list_that_is_none_is_told(body: Any) -> None:
    with pytest.raises(LogsNotFound, match="answered no list of files"):
        await Net({at(TASK): httpx2.Response(200, json=body)}, entry(TASK)).printed()


async def test_file_that_is_refused_is_told() -> None:
    with pytest.raises(LogsNotFound, match="HTTP 404"):
        await Net({at(TASK): list_of(listing("gone"))}, entry(TASK)).printed()


async def test_container_that_wrote_nothing_and_none_at_all() -> None:
    with pytest.raises(LogsNotFound, match="no log files"):
        await Net({at(TASK): list_of(listing())}, entry(TASK)).printed()
    with pytest.raises(LogsNotFound, match=f"yodel app show {APP}"):
        await Net({}).printed()


async def test_names_of_files_stay_names() -> None:
    net = Net({at(TASK): list_of(listing("../../conf?x"))}, entry(TASK))
    with pytest.raises(LogsNotFound):
        await net.printed()
    assert net.asked[-1].startswith(at(TASK, "/..%2F..%2Fconf%3Fx"))
