"""The promises of the ports Pods and NodeStatuses, held against a real API server: the embedded one cannot drift.

The tests are those of ``tests/contract/test_pods_port.py`` and ``test_node_statuses_port.py``; only the server is
another.
"""

from __future__ import annotations

import shutil
import signal
from collections.abc import AsyncIterator, Iterator
from http import HTTPStatus
from pathlib import Path

import msgspec
import pytest

from tests.contract import test_node_statuses_port as statuses_contract
from tests.contract import test_pods_port as contract
from tests.contract.test_node_statuses_port import *  # noqa: F403 (its tests and its fixture `statuses`)
from tests.contract.test_pods_port import *  # noqa: F403 (its tests and its fixture `pods`)
from tests.contract.test_pods_port import NAMESPACE, send
from tests.rigs.kubernetes import certificates
from tests.rigs.kubernetes.cluster import binaries
from tests.rigs.kubernetes.control_plane import ControlPlane
from tests.rigs.kubernetes.daemons import Daemons
from tests.rigs.kubernetes.layout import Home
from tests.support.ports import free_ports
from yodel.kube.api import ApiRequest, ApiStatus
from yodel.kube.client import KubeClient, open_kube

pods = contract.pods
statuses = statuses_contract.statuses


@pytest.fixture(scope="module")
def api_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The path of a kubeconfig; no nodes, no scheduler, no controllers: the tests play those themselves."""
    api_port, etcd_port, peer_port = free_ports(3)
    folder = tmp_path_factory.mktemp("api-server")
    home = Home(path=folder, api_port=api_port, etcd_port=etcd_port, etcd_peer_port=peer_port)
    daemons = Daemons(home)
    plane = ControlPlane(home, daemons, binaries("kubernetes"), binaries("etcd"))
    certificates.prepare(home)
    try:
        plane.start_etcd()
        plane.start_api_server()
        daemons.until("kube-apiserver", plane.is_ready)
        yield home.kubeconfig
    finally:
        for name in ("kube-apiserver", "etcd"):
            daemons.stop(name, signal.SIGKILL)


@pytest.fixture
async def client(api_server: Path, tmp_path: Path) -> AsyncIterator[KubeClient]:
    shutil.copy(api_server, tmp_path / "kubeconfig")  # for tests that call kubectl
    async with await open_kube(api_server, None) as connected:
        await _make(connected, "/api/v1/namespaces", NAMESPACE)
        await _make(connected, f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts", "default")
        await _make(connected, "/api/v1/nodes", "node-1", labels={"zone": "a"})
        await _give(connected, "node-1", {"cpu": "4", "memory": "8Gi"})
        yield connected
        path = f"/api/v1/namespaces/{NAMESPACE}/pods"
        await connected.call(ApiRequest(method="DELETE", path=path, query={"gracePeriodSeconds": "0"}))


async def _give(client: KubeClient, node: str, amounts: dict[str, str]) -> None:
    """Give a node what a kubelet says of itself: a status is not taken from whoever makes a node."""
    body = msgspec.json.encode({"status": {"capacity": amounts, "allocatable": amounts}})
    kind = "application/merge-patch+json"
    await client.call(ApiRequest(method="PATCH", path=f"/api/v1/nodes/{node}/status", body=body, content_type=kind))


async def _make(client: KubeClient, path: str, name: str, labels: dict[str, str] | None = None) -> None:
    try:
        await send(client, "POST", path, {"metadata": {"name": name, "labels": labels or {}}})
    except ApiStatus as error:
        if error.code != HTTPStatus.CONFLICT:  # there since the test before
            raise
