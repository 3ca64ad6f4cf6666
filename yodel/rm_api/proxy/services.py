"""Holds the web proxy's rules from settings and its parts from the process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from starlette.requests import Request

from yodel.rm_api.proxy.origin import Origins, ProxiedOrigin
from yodel.rm_api.proxy.web_proxy import WebProxy
from yodel.rpc_io.server import RpcServer
from yodel.services.views.queries import Queries


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyRules:
    """Limits what the web proxy fetches.

    ``proxy_hosts``, in lower case, are hosts beside the cluster's own whose pages the web proxy fetches: gateways
    where drivers run in client mode."""

    proxy_hosts: frozenset[str] = frozenset()
    is_proxy_warning_shown: bool = False
    proxied: ProxiedOrigin | None = None
    """Where applications' pages are when they are not on the ResourceManager's own origin."""
    proxied_bytes_max: int = 16 * 1024 * 1024
    """Largest body that is passed on, in bytes."""
    probe_port: int | None = None
    """Where probes are answered beside the web port."""


@dataclass(slots=True, kw_only=True)
class ProxyServices:
    """Holds the parts of the web proxy, and the ports that it never calls."""

    rules: ProxyRules
    origins: Origins
    queries: Queries
    web_proxy: WebProxy
    rpc_servers: Callable[[], Sequence[RpcServer]]

    def own_ports(self) -> frozenset[int]:
        """All that this process listens on."""
        probe_port = self.rules.probe_port
        further = {server.port for server in self.rpc_servers()} | ({probe_port} if probe_port else set())
        return self.origins.web_ports | further


def services_of(request: Request) -> ProxyServices:
    """Return the services of the routes."""
    services = request.app.state.proxy
    assert isinstance(services, ProxyServices)
    return services
