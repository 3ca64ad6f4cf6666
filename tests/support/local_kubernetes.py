"""A local cluster for tests: in this process and event loop, on a free port, in a directory of the test."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from yodel.local.auth import ApiCredentials, prepare_credentials, write_kubeconfig
from yodel.local.cluster_files import ENGINES_PRIORITY
from yodel.local.nodes import LocalNode
from yodel.local.server import LocalKubernetesConfig, run_local_kubernetes

START_TIMEOUT_S = 600.0

NODES = (
    LocalNode(
        name="node-a",
        address="127.0.0.2",
        cpu_milli=8000,
        memory_bytes=16 * 1024**3,
        batch_cpu_milli=4000,
        batch_memory_bytes=8 * 1024**3,
        labels={"zone": "one"},
    ),
    LocalNode(
        name="node-b",
        address="127.0.0.3",
        cpu_milli=8000,
        memory_bytes=16 * 1024**3,
        batch_cpu_milli=4000,
        batch_memory_bytes=8 * 1024**3,
        labels={"zone": "two"},
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalCluster:
    """A running local cluster: where it is and how to get in."""

    url: str
    credentials: ApiCredentials
    kubeconfig: Path
    data_dir: Path


@contextlib.asynccontextmanager
async def local_cluster(
    data_dir: Path, *, nodes: tuple[LocalNode, ...] = NODES, stop_pods_on_exit: bool = True
) -> AsyncIterator[LocalCluster]:
    """Start a cluster on ``data_dir`` (again, if it was used before) and stop it at the end of the block."""
    credentials = prepare_credentials(data_dir)
    config = LocalKubernetesConfig(
        data_dir=data_dir,
        token=credentials.token,
        tls_certificate=credentials.tls_certificate,
        tls_key=credentials.tls_key,
        nodes=nodes,
        priority_classes={"koord-batch": ENGINES_PRIORITY},
        stop_pods_on_exit=stop_pods_on_exit,
        stop_grace_s=0.2,
    )
    stop = asyncio.Event()
    ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(run_local_kubernetes(config, stop, on_ready=ready.set_result), name="local cluster")
        async with asyncio.timeout(START_TIMEOUT_S):
            url = await ready
        kubeconfig = data_dir / "kubeconfig"
        write_kubeconfig(kubeconfig, server=url, ca_certificate=credentials.ca_certificate, token=credentials.token)
        try:
            yield LocalCluster(url=url, credentials=credentials, kubeconfig=kubeconfig, data_dir=data_dir)
        finally:
            stop.set()
