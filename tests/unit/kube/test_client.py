"""Finding an API server's configuration; what goes over the wire is in tests/faults/test_watch.py."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import certifi
import pytest
from kubernetes.aio.config import incluster_config

from yodel.errors import InvalidValue, Unavailable
from yodel.kube import client as client_module
from yodel.kube.api import ApiRequest
from yodel.kube.client import open_kube

KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: one
clusters:
- {name: c1, cluster: {server: "http://127.0.0.1:1/"}}
- {name: c2, cluster: {server: "http://127.0.0.1:2"}}
users:
- {name: u, user: {token: very-secret}}
contexts:
- {name: one, context: {cluster: c1, user: u}}
- {name: two, context: {cluster: c2, user: u}}
"""


@pytest.fixture(autouse=True)
def _no_cluster_around(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Path:
    path = tmp_path / "kubeconfig"
    path.write_text(KUBECONFIG)
    return path


@pytest.mark.parametrize(
    ("context", "host"), [(None, "http://127.0.0.1:1"), ("one", "http://127.0.0.1:1"), ("two", "http://127.0.0.1:2")]
)
async def test_the_context_decides_the_server(kubeconfig: Path, context: str | None, host: str) -> None:
    async with await open_kube(kubeconfig, context) as client:
        assert client.host == host
        assert "very-secret" not in repr(vars(client))


async def test_the_environment_names_the_kubeconfig(kubeconfig: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", f"/does/not/exist:{kubeconfig}")
    async with await open_kube(None, "two") as client:
        assert client.host == "http://127.0.0.1:2"


@pytest.fixture
def _kubeconfig_at_home(tmp_path: Path) -> None:
    default = tmp_path / "home" / ".kube" / "config"
    default.parent.mkdir(parents=True)
    default.write_text(KUBECONFIG)


@pytest.mark.usefixtures("_kubeconfig_at_home")
async def test_the_home_directory_is_the_last_resort() -> None:
    async with await open_kube(None, None) as client:
        assert client.host == "http://127.0.0.1:1"


async def test_no_configuration_at_all_is_invalid() -> None:
    with pytest.raises(InvalidValue, match=r"~/\.kube/config"):
        await open_kube(None, None)


async def test_a_context_that_does_not_exist_is_named(kubeconfig: Path) -> None:
    with pytest.raises(InvalidValue, match="three"):
        await open_kube(kubeconfig, "three")


@pytest.mark.parametrize("text", ["", "[]", "just: this", "{unclosed", "clusters: {token: very-secret}", "contexts: 7"])
async def test_a_malformed_kubeconfig_is_invalid_and_not_quoted(tmp_path: Path, text: str) -> None:
    path = tmp_path / "broken"
    path.write_text(text)
    with pytest.raises(InvalidValue) as raised:
        await open_kube(path, None)
    assert "very-secret" not in str(raised.value)


@pytest.fixture
def _in_a_pod(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A pod's environment; returns the path of its service account token."""
    token = tmp_path / "token"
    token.write_text("pod-token\n")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.9")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "6443")
    monkeypatch.setattr(client_module, "_SERVICE_ACCOUNT_TOKEN", token)
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(token))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", certifi.where())
    return token


@pytest.mark.usefixtures("_in_a_pod")
async def test_a_pod_uses_its_service_account() -> None:
    async with await open_kube(None, None) as client:
        assert client.host == "https://127.0.0.9:6443"


@pytest.mark.usefixtures("_in_a_pod")
async def test_a_named_kubeconfig_wins_over_the_service_account(kubeconfig: Path) -> None:
    async with await open_kube(kubeconfig, None) as client:
        assert client.host == "http://127.0.0.1:1"


@pytest.fixture
def _token_is_empty(_in_a_pod: Path) -> None:
    _in_a_pod.write_text("")


@pytest.mark.usefixtures("_token_is_empty")
async def test_an_empty_service_account_token_is_invalid() -> None:
    with pytest.raises(InvalidValue, match="service account"):
        await open_kube(None, None)


async def test_a_malformed_answer_does_not_tell_who_we_are(tmp_path: Path) -> None:
    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: nonsense\r\n\r\n")
        await writer.drain()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        path = tmp_path / "kubeconfig"
        path.write_text(KUBECONFIG.replace("127.0.0.1:2", "{}:{}".format(*server.sockets[0].getsockname())))
        async with await open_kube(path, "two") as client:
            with pytest.raises(Unavailable, match=r"GET .*/version: ClientResponseError") as caught:
                await client.call(ApiRequest(path="/version"))
    assert "very-secret" not in str(caught.value)


@pytest.fixture
async def proxied(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[list[str]]:
    """The request lines that reach the proxy which the environment names."""
    lines: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        lines.append((await reader.readline()).decode().strip())
        writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 25\r\nConnection: close\r\n\r\n{"gitVersion": "v1.36.3"}')
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        monkeypatch.setenv("http_proxy", "http://{}:{}".format(*server.sockets[0].getsockname()))
        yield lines


async def test_the_environments_proxy_is_taken(proxied: list[str], tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(KUBECONFIG.replace("http://127.0.0.1:2", "http://api.example:6443"))
    async with await open_kube(path, "two") as client:
        await client.call(ApiRequest(path="/version"))
    assert proxied == ["GET http://api.example:6443/version HTTP/1.1"]


async def test_a_server_that_the_environment_excepts_is_called_directly(
    proxied: list[str], kubeconfig: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    async with await open_kube(kubeconfig, "one") as client:
        with pytest.raises(Unavailable):  # nobody listens there
            await client.call(ApiRequest(path="/version"))
    assert proxied == []


async def test_a_closed_client_is_unavailable(kubeconfig: Path) -> None:
    async with await open_kube(kubeconfig, None) as client:
        await client.close()
        with pytest.raises(Unavailable):
            await client.call(ApiRequest(path="/version"))
        with pytest.raises(Unavailable):
            async with client.stream(ApiRequest(path="/watched")):
                pass


async def test_a_stream_whose_client_was_closed_is_unavailable(tmp_path: Path) -> None:
    """A process ends: a piece was read, and the next is asked for when the connection is gone."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
        await writer.drain()
        await reader.read()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1") as server:
        port = server.sockets[0].getsockname()[1]
        path = tmp_path / "kubeconfig"
        path.write_text(KUBECONFIG.replace("127.0.0.1:1/", f"127.0.0.1:{port}/"))
        client = await open_kube(path, None)
        async with client.stream(ApiRequest(method="GET", path="/watched", timeout_s=10)) as chunks:
            assert await anext(chunks) == b"one"
            await client.close()
            with pytest.raises(Unavailable):
                await anext(chunks)
