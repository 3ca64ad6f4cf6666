"""The embedded API server over HTTPS on a free port, without scheduler and kubelet: tests play those themselves."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import uvicorn

from yodel.local.api import KubernetesApi
from yodel.local.auth import prepare_credentials, write_kubeconfig
from yodel.local.journal import Journal
from yodel.local.objects import ObjectStore
from yodel.local.registry import Registry
from yodel.local.statuses import ApiError


class _NoLogs:
    def read(self, pod: object, query: object) -> AsyncIterator[bytes]:
        raise ApiError(404, "NotFound", "no kubelet here")


@asynccontextmanager
async def embedded_kubernetes(
    directory: Path, priority_classes: Mapping[str, int] | None = None
) -> AsyncIterator[Path]:
    """The path of a kubeconfig, while the server runs."""
    credentials = prepare_credentials(directory)
    store = ObjectStore(Journal(directory / "objects.journal"))
    registry = Registry(store, _now, priority_classes)
    api = KubernetesApi(store, registry, _NoLogs(), token=credentials.token, now=_now)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = uvicorn.Config(
            api,
            lifespan="off",
            log_config=None,  # its own would stay for the tests that follow
            ssl_certfile=str(credentials.tls_certificate),
            ssl_keyfile=str(credentials.tls_key),
            timeout_graceful_shutdown=5,
        )
        server = uvicorn.Server(config)
        kubeconfig = directory / "kubeconfig"
        write_kubeconfig(
            kubeconfig,
            server=f"https://127.0.0.1:{listener.getsockname()[1]}",
            ca_certificate=credentials.ca_certificate,
            token=credentials.token,
        )
        # The socket listens already: whoever connects before the server accepts only waits a moment.
        serving = asyncio.create_task(server.serve(sockets=[listener]), name="embedded-kubernetes")
        try:
            yield kubeconfig
        finally:
            api.close()
            server.should_exit = True
            await asyncio.wait_for(serving, 60)
            store.close()


def _now() -> datetime:
    return datetime.now(UTC)
