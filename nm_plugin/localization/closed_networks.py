"""HTTP to no address of the operator's closed networks, by whatever name, spelling or redirect.

The agent fetches from the node's own network, which no NetworkPolicy covers, and a URL is its submitter's: it could
lead to what listens on the node's loopback, or to the service where a cloud keeps the node's credentials.  So each
connection, a redirect's too, is made to an address that was judged.
"""

from __future__ import annotations

from collections.abc import Collection
from ipaddress import IPv4Network, IPv6Network, ip_address

import httpx2

from yodel.errors import YodelError
from yodel.hadoop_http.addresses import ADDRESSES_MAX, Resolve, plain_address

DEFAULT_PORTS = {"http": 80, "https": 443}
Network = IPv4Network | IPv6Network


class ClosedNetwork(YodelError):
    """A host is in closed networks only."""

    def __init__(self, host: str, addresses: Collection[str]) -> None:
        shown = ", ".join(addresses)[:200]
        super().__init__(f"{host} ({shown}) is in a network from which nothing is fetched (fetch_closed_networks)")


class OpenNetworks(httpx2.AsyncBaseTransport):
    """The name stays in the request, and is what a certificate has to be for."""

    def __init__(self, closed: Collection[Network], resolve: Resolve) -> None:
        self._closed, self._resolve = closed, resolve
        self._inner = httpx2.AsyncHTTPTransport(trust_env=False)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Raises Closed, Unavailable, httpx2.HTTPError."""
        host = request.url.raw_host.decode("ascii").strip("[]")
        found = await self._resolve(host, request.url.port or DEFAULT_PORTS.get(request.url.scheme, 0))
        addresses = [text for text in found if not is_closed(text, self._closed)][:ADDRESSES_MAX]
        for number, address in enumerate(addresses, 1):
            sent = httpx2.Request(
                request.method,
                request.url.copy_with(host=address),
                headers=request.headers,
                stream=request.stream,
                extensions={**request.extensions, "sni_hostname": host},
            )
            try:
                return await self._inner.handle_async_request(sent)
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                if number == len(addresses):
                    raise
        raise ClosedNetwork(host, found)

    async def aclose(self) -> None:
        await self._inner.aclose()


def is_closed(text: str, networks: Collection[Network]) -> bool:
    """Return True if an address is in one of the networks, as written or in its plain form, or is not an address."""
    plain = plain_address(text)
    if plain is None:
        return True
    written = ip_address(text.partition("%")[0])
    return any(address in network for address in (plain, written) for network in networks)
