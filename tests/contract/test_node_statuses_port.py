"""The NodeStatuses port keeps its promises, held against an API server: the embedded one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from tests.conformance.cluster import TOOLS
from tests.contract.test_pods_port import send
from tests.support.embedded_kubernetes import embedded_kubernetes
from yodel.kube.api import ApiRequest
from yodel.kube.client import KubeClient, open_kube
from yodel.kube.node_status import MERGE_PATCH, KubeNodeStatuses
from yodel.kube.nodes import list_nodes
from yodel.ports.kube_nodes import NodeObservation
from yodel.translator.names import PUBLISHED, PUBLISHER
from yodel.translator.publishing import publisher_of
from yodel.translator.undo_lines import unpublish_line, unpublish_lines

CPU, MEMORY = "kubernetes.io/batch-cpu", "kubernetes.io/batch-memory"
NODE = "lender"
MACHINE = {"cpu": "4", "memory": "8Gi"}


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[KubeClient]:
    async with embedded_kubernetes(tmp_path) as kubeconfig, await open_kube(kubeconfig, None) as connected:
        yield connected


@pytest.fixture
async def statuses(client: KubeClient) -> AsyncIterator[KubeNodeStatuses]:
    """Open the port beside a node that publishes nothing of ours."""
    await send(client, "POST", "/api/v1/nodes", {"metadata": {"name": NODE, "annotations": {"theirs": "stays"}}})
    await patch(client, {"capacity": MACHINE, "allocatable": MACHINE}, "kubelet")
    yield KubeNodeStatuses(client)
    await client.call(ApiRequest(method="DELETE", path=f"/api/v1/nodes/{NODE}"))


async def patch(client: KubeClient, status: dict[str, dict[str, str]], manager: str) -> None:
    body = msgspec.json.encode({"status": status})
    query = {"fieldManager": manager}
    path = f"/api/v1/nodes/{NODE}/status"
    await client.call(ApiRequest(method="PATCH", path=path, query=query, body=body, content_type=MERGE_PATCH))


async def seen(client: KubeClient) -> NodeObservation:
    (found,) = [node for node in await list_nodes(client) if node.name == NODE]
    return found


async def test_amounts_are_written_into_capacity_and_allocatable_alike(
    client: KubeClient, statuses: KubeNodeStatuses
) -> None:
    version = await statuses.publish(NODE, {CPU: 2500, MEMORY: 3 << 30})
    node = await seen(client)
    assert node.capacity == node.allocatable == {**MACHINE, CPU: "2500", MEMORY: str(3 << 30)}
    assert node.resource_version == version
    assert node.annotations == {"theirs": "stays", PUBLISHED: f"{CPU},{MEMORY}"}


async def test_a_name_is_taken_away_and_the_annotation_with_the_last(
    client: KubeClient, statuses: KubeNodeStatuses
) -> None:
    await statuses.publish(NODE, {CPU: 2500, MEMORY: 0})
    await statuses.publish(NODE, {CPU: None, MEMORY: 0})
    node = await seen(client)
    assert node.capacity == node.allocatable == {**MACHINE, MEMORY: "0"}
    assert node.annotations[PUBLISHED] == MEMORY
    await statuses.publish(NODE, {CPU: None, MEMORY: None})
    node = await seen(client)
    assert (node.capacity, node.annotations) == (MACHINE, {"theirs": "stays"})


async def test_who_published_is_told(client: KubeClient, statuses: KubeNodeStatuses) -> None:
    """The field manager tells who published, where the server keeps it."""

    def publisher(node: NodeObservation, name: str) -> str:
        ours = node.annotations.get(PUBLISHED, "").split(",")
        return publisher_of(name, node.capacity_managers, node.capacity[name], ours, PUBLISHER)

    await patch(client, {"capacity": {MEMORY: "7"}}, "koord-manager")
    node = await seen(client)
    assert publisher(node, MEMORY) == node.capacity_managers.get(MEMORY, "somebody") != ""
    await statuses.publish(NODE, {CPU: 1, MEMORY: 1})
    node = await seen(client)
    assert publisher(node, CPU) == publisher(node, MEMORY) == ""
    await patch(client, {"capacity": {CPU: "7"}}, "koord-manager")
    node = await seen(client)
    assert publisher(node, CPU) == ("koord-manager" if node.capacity_managers else "")
    assert publisher(node, MEMORY) == ""


async def test_a_node_that_is_gone_is_success(statuses: KubeNodeStatuses) -> None:
    assert await statuses.publish("nobody", {CPU: 1}) == ""


async def test_an_administrator_lacks_no_right(statuses: KubeNodeStatuses) -> None:
    assert await statuses.missing_rights() == []


async def test_what_kubectl_is_to_run_takes_away_what_was_published_and_no_more(
    statuses: KubeNodeStatuses, client: KubeClient, tmp_path: Path
) -> None:
    """The lines that are printed where no ResourceManager can do it any more."""
    for lines in ((unpublish_line(NODE, (CPU, MEMORY)),), unpublish_lines()):
        await statuses.publish(NODE, {CPU: 2500, MEMORY: 3 << 30})
        environment = {
            "PATH": f"{TOOLS}:/usr/bin:/bin",
            "KUBECONFIG": str(tmp_path / "kubeconfig"),
            "HOME": str(tmp_path),
        }
        shell = await asyncio.create_subprocess_exec("sh", "-eu", "-c", "\n".join(lines), env=environment)
        assert await shell.wait() == 0
        node = await seen(client)
        assert (node.capacity, node.allocatable, node.annotations) == (MACHINE, MACHINE, {"theirs": "stays"})
