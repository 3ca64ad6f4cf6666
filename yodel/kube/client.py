"""The connection to one API server: the official package finds it and proves who we are, we move the bytes.

The package reads kubeconfigs and service accounts, runs credential plugins and prepares TLS; none of that is worth
repeating.  Its request path and its models are not used (see the package docstring), so a session of our own carries
the requests.  Credentials expire: on a 401 they are read again, at most every ``REAUTHENTICATE_PAUSE_S``, and the
request is sent once more.  Not reloaded while running: the server's address, its CA and client certificates.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import msgspec
from kubernetes.aio.client.configuration import Configuration
from kubernetes.aio.client.rest import RESTClientObject
from kubernetes.aio.config import ConfigException, load_incluster_config, load_kube_config
from yaml import YAMLError  # type: ignore[import-untyped]

from yodel.errors import InvalidValue, Unavailable
from yodel.kube.api import MESSAGE_LENGTH_MAX, ApiRequest, status_of_answer
from yodel.kube.retrying import RetryLimits, retried

CONNECTIONS_MAX = 64  # requests in flight; two are the watches
ANSWER_BYTES_MAX = 128 * 1024 * 1024  # a page of 500 pods of the largest size etcd takes would be refused, none seen
READ_BUFFER_BYTES = 256 * 1024  # how much of a watch arrives in one piece: bounds the work between two awaits
CONFIGURATION_TIMEOUT_S = 30.0  # credential plugins are programs and may hang
REAUTHENTICATE_PAUSE_S = 10.0
_CLOSED_HERE = ("Connection closed.", "Session is closed")
"""The words of aiohttp, in a RuntimeError, where the client was closed: between two pieces, and before a call."""
_BEARER = "BearerToken"
_SERVICE_ACCOUNT_TOKEN = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")

Load = Callable[[], Awaitable[Configuration]]


class _VersionBody(msgspec.Struct, rename="camel"):
    git_version: str


async def open_kube(kubeconfig: Path | None, context: str | None) -> KubeClient:
    """Find the API server and prepare a client; no request is sent yet.  Use it as an async context manager.

    An explicit ``kubeconfig`` wins, then the service account of the pod we run in, then ``$KUBECONFIG`` and
    ``~/.kube/config`` (client-go's in-cluster rule; naming a ``context`` means a kubeconfig).

    Raises:
        InvalidValue: there is no usable configuration.
    """
    if kubeconfig is None and context is None and _runs_in_cluster():
        return KubeClient(await _load_in_cluster(), _load_in_cluster)
    paths = _kubeconfig_paths(kubeconfig)

    async def load() -> Configuration:
        return await _load_kubeconfig(paths, context)

    return KubeClient(await load(), load)


async def check_reachable(client: KubeClient, limits: RetryLimits | None = None) -> str:
    """The server's version (``v1.37.0``), as proof that address, TLS and (where asked for) credentials are right.

    Raises: Refused, Unavailable.
    """
    what = f"Getting the version of {client.host}"
    body = await retried(lambda: client.call(ApiRequest(path="/version")), what, limits or RetryLimits())
    try:
        return msgspec.json.decode(body, type=_VersionBody).git_version
    except msgspec.DecodeError as malformed:
        raise Unavailable(f"{client.host} does not answer as an API server: {malformed}") from malformed


class KubeClient:
    """Implements yodel.kube.api.KubeApi over HTTP(S).  Made by ``open_kube``; to be closed."""

    def __init__(self, configuration: Configuration, load: Load) -> None:
        rest = RESTClientObject(configuration)
        self._configuration, self._load = configuration, load
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=CONNECTIONS_MAX, ssl=rest.ssl_context),
            cookie_jar=aiohttp.DummyCookieJar(),  # a cookie would tie us to one server behind a load balancer
            read_bufsize=READ_BUFFER_BYTES,
            timeout=aiohttp.ClientTimeout(total=None),
        )
        # Once, not by the session: it would ask a thread for each request, and look into ~/.netrc for whom we are.
        self._proxy = configuration.proxy or _proxy_of_environment(str(configuration.host))
        self._reauthentication = asyncio.Lock()
        self._reauthenticated_at_s = float("-inf")

    @property
    def host(self) -> str:
        """The server's address, for messages."""
        return str(self._configuration.host)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._session.close()

    async def call(self, request: ApiRequest) -> bytes:
        """One attempt; see KubeApi.call for what it raises."""
        with self._unavailable_when_lost(request):
            async with asyncio.timeout(request.timeout_s):
                response = await self._send(request)
                async with response:
                    body = await _body(response, ANSWER_BYTES_MAX)
        if response.status >= 400:
            raise status_of_answer(response.status, body, response.headers.get("Retry-After"))
        return body

    @asynccontextmanager
    async def stream(self, request: ApiRequest) -> AsyncIterator[AsyncIterator[bytes]]:
        """One attempt; see KubeApi.stream for what it raises."""
        with self._unavailable_when_lost(request):
            async with asyncio.timeout(request.timeout_s):
                response = await self._send(request)
                await _raise_for_status(response)
        try:
            async with aclosing(self._chunks(request, response)) as chunks:
                yield chunks
        finally:
            response.close()

    async def _chunks(self, request: ApiRequest, response: aiohttp.ClientResponse) -> AsyncGenerator[bytes, None]:
        with self._unavailable_when_lost(request):
            async for chunk in response.content.iter_any():
                yield chunk

    @contextmanager
    def _unavailable_when_lost(self, request: ApiRequest) -> Iterator[None]:
        try:
            yield
        except (aiohttp.ClientError, OSError) as error:
            raise _unavailable(self.host, request, error) from error
        except RuntimeError as error:
            if str(error) not in _CLOSED_HERE:
                raise
            raise _unavailable(self.host, request, error) from error

    async def _send(self, request: ApiRequest) -> aiohttp.ClientResponse:
        response = await self._send_once(request)
        if response.status == 401 and await self._reauthenticated():
            response.release()
            response = await self._send_once(request)
        return response

    async def _send_once(self, request: ApiRequest) -> aiohttp.ClientResponse:
        return await self._session.request(
            request.method,
            f"{self.host}{request.path}",
            params=dict(request.query),
            data=request.body,
            headers=await self._headers(request),
            **self._connection_options(),
        )

    async def _headers(self, request: ApiRequest) -> dict[str, str]:
        # identity: unpacking a compressed list happens on the event loop, and the API server is near.
        headers = {"Accept": request.accept, "Accept-Encoding": "identity", "User-Agent": "yodel"}
        if request.body is not None:
            headers["Content-Type"] = request.content_type
        authorization = await self._configuration.get_api_key_with_prefix(_BEARER)
        if authorization:
            headers["Authorization"] = authorization.strip()  # token files tend to end with a newline
        return headers

    def _connection_options(self) -> dict[str, Any]:
        options: dict[str, Any] = {"allow_redirects": False}
        if self._configuration.tls_server_name:
            options["server_hostname"] = self._configuration.tls_server_name
        if self._proxy:
            options["proxy"] = self._proxy
            options["proxy_headers"] = self._configuration.proxy_headers
        return options

    async def _reauthenticated(self) -> bool:
        """Read the credentials again.  False when that was tried a moment ago or is not possible."""
        asked_at_s = asyncio.get_running_loop().time()
        async with self._reauthentication:
            if self._reauthenticated_at_s >= asked_at_s:
                return True  # another request did it while this one waited
            if asked_at_s - self._reauthenticated_at_s < REAUTHENTICATE_PAUSE_S:
                return False
            self._reauthenticated_at_s = asyncio.get_running_loop().time()
            try:
                fresh = await self._load()
            except InvalidValue:
                return False  # a half-written kubeconfig: the 401 is the better answer, and we will be back
            self._configuration.api_key = fresh.api_key
            return True


def _proxy_of_environment(server: str) -> str | None:
    """HTTPS_PROXY, HTTP_PROXY and NO_PROXY, as client-go reads them."""
    address = urlsplit(server)
    if address.hostname is None or proxy_bypass(address.netloc):
        return None
    return getproxies().get(address.scheme)


def _runs_in_cluster() -> bool:
    return bool(os.environ.get("KUBERNETES_SERVICE_HOST")) and _SERVICE_ACCOUNT_TOKEN.is_file()


def _kubeconfig_paths(kubeconfig: Path | None) -> str:
    """Existing files, in kubectl's order, joined as the package wants them.

    Raises:
        InvalidValue: none exists.
    """
    text = str(kubeconfig) if kubeconfig is not None else os.environ.get("KUBECONFIG") or "~/.kube/config"
    existing = [path for path in text.split(os.pathsep) if path and Path(path).expanduser().is_file()]
    if not existing:
        raise InvalidValue("kubeconfig", text, "an existing file, or a pod's service account")
    return os.pathsep.join(existing)


async def _load_kubeconfig(paths: str, context: str | None) -> Configuration:
    configuration = Configuration()
    try:
        async with asyncio.timeout(CONFIGURATION_TIMEOUT_S):
            # persist_config: never write into a file that is the user's.
            await load_kube_config(paths, context, configuration, persist_config=False)  # type: ignore[no-untyped-call]
    except TimeoutError as error:
        raise InvalidValue("kubeconfig", paths, f"credentials within {CONFIGURATION_TIMEOUT_S:.0f} s") from error
    except (ConfigException, YAMLError, OSError, ValueError, TypeError, AttributeError, LookupError) as error:
        # The package meets a malformed file with whatever its dictionaries raise.  Its text may quote the file, and
        # with it a secret: name the kind only, the cause is chained for a debugger.
        detail = str(error) if isinstance(error, ConfigException) else type(error).__name__
        raise InvalidValue("kubeconfig", paths, f"a usable context {context or '(current)'}: {detail}") from error
    return configuration


async def _load_in_cluster() -> Configuration:
    configuration = Configuration()
    try:
        load_incluster_config(configuration)  # type: ignore[no-untyped-call]
    except (ConfigException, OSError) as error:
        raise InvalidValue("service account", str(_SERVICE_ACCOUNT_TOKEN.parent), str(error)) from error
    return configuration


async def _body(response: aiohttp.ClientResponse, bytes_max: int) -> bytes:
    chunks, size = [], 0
    async for chunk in response.content.iter_any():
        size += len(chunk)
        if size > bytes_max:
            raise Unavailable(f"an answer of more than {bytes_max} bytes")
        chunks.append(chunk)
    return b"".join(chunks)


async def _raise_for_status(response: aiohttp.ClientResponse) -> None:
    if response.status < 400:
        return
    async with response:
        body = await response.content.read(MESSAGE_LENGTH_MAX * 4)
    raise status_of_answer(response.status, body, response.headers.get("Retry-After"))


def _unavailable(host: str, request: ApiRequest, error: Exception) -> Unavailable:
    # Not its repr: that of a malformed answer quotes the request's headers, and with them who we are.
    detail = f"{type(error).__name__}: {error}"
    if isinstance(error, TimeoutError):
        detail = f"no answer within {request.timeout_s:g} s"
    return Unavailable(f"{request.method} {host}{request.path}: {detail}")
