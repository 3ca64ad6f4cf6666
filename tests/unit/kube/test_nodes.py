"""Nodes: listed on request and watched."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from tests.support.fake_kubernetes import Answer, FakeApi, RecordingSink, Stream, event, listing, refusal
from yodel.errors import Refused, Unavailable
from yodel.kube.nodes import list_nodes, watched_nodes
from yodel.kube.watch_loop import watch

pytestmark = pytest.mark.looptime


def node(name: str, version: int = 1) -> dict[str, Any]:
    return {"metadata": {"name": name, "uid": f"uid-{name}", "resourceVersion": str(version)}}


async def test_all_pages_are_listed() -> None:
    api = FakeApi(Answer(body=listing(9, node("n1"), continuation="more")), Answer(body=listing(9, node("n2"))))
    nodes = await list_nodes(api, selector="pool=big")
    assert [n.name for n in nodes] == ["n1", "n2"]
    assert api.server.asked[0].path == "/api/v1/nodes"
    assert api.server.asked[0].query == {"limit": "250", "labelSelector": "pool=big"}
    assert api.server.asked[1].query == {"limit": "250", "labelSelector": "pool=big", "continue": "more"}


async def test_a_service_account_without_the_right_is_refused() -> None:
    with pytest.raises(Refused, match="cannot list resource nodes"):
        await list_nodes(FakeApi(refusal(403, "Forbidden", "cannot list resource nodes")))


async def test_an_answer_that_is_no_list_is_unavailable() -> None:
    with pytest.raises(Unavailable):
        await list_nodes(FakeApi(Answer(body=b"[]")))


async def test_nodes_are_watched() -> None:
    api = FakeApi(
        Answer(body=listing(9, node("n1"))),
        Stream(chunks=(event("ADDED", node("n2", 10)), event("DELETED", node("n1", 11)))),
    )
    sink, loop = RecordingSink(), asyncio.get_running_loop()
    task = asyncio.create_task(watch(api, watched_nodes("", sink), clock=loop.time, random=lambda: 0.0))
    assert await sink.heard(3) == [("listed", ["n1"]), ("seen", "n2"), ("gone", "n1")]
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    assert api.server.asked[1].path == "/api/v1/nodes"
