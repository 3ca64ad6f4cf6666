"""Events and applications for people are written to an API server: the embedded one, which has no custom resources."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from tests.support.embedded_kubernetes import embedded_kubernetes
from yodel.domain.ids import ApplicationId
from yodel.errors import Refused
from yodel.kube.api import ApiRequest
from yodel.kube.client import KubeClient, open_kube
from yodel.kube.inspection import KubeApplicationBoard, KubePodEvents
from yodel.ports.inspection import PodEvent

EVENT = PodEvent(pod_name="p", pod_uid="u", reason="Allocated", message="to its AM", at_ms=4_102_444_800_000)


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[KubeClient]:
    async with embedded_kubernetes(tmp_path) as kubeconfig, await open_kube(kubeconfig, None) as connected:
        yield connected


async def test_event_told_twice_is_one(client: KubeClient) -> None:
    events = KubePodEvents(client, "default")
    await events.tell(EVENT)
    await events.tell(EVENT)
    listed = msgspec.json.decode(await client.call(ApiRequest(path="/api/v1/namespaces/default/events")))
    (item,) = listed["items"]
    assert (item["reason"], item["message"], item["involvedObject"]["name"]) == ("Allocated", "to its AM", "p")


async def test_no_place_for_applications_is_a_refusal(client: KubeClient) -> None:
    board = KubeApplicationBoard(client, "default", "test")
    with pytest.raises(Refused):
        await board.shown()
    with pytest.raises(Refused):
        await board.hide(ApplicationId(1, 1))
