"""The MBeans of a daemon's RPC ports (RpcMetrics, RpcDetailedMetrics).

What is zero by nature stays where alerts and dashboards of Hadoop's ask for it: no call waits in a queue.
"""

from __future__ import annotations

import json

from yodel.hadoop_http.beans import Bean
from yodel.hadoop_http.java_numbers import java_float
from yodel.rpc_io.server import RpcServer
from yodel.telemetry.rates import Rate

RPC, RPC_DETAILED = "RpcActivityForPort", "RpcDetailedActivityForPort"
SERVER_NAMES = {
    "client": "ApplicationClientProtocolService",
    "scheduler": "ApplicationMasterProtocolService",
    "tracker": "ResourceTrackerService",
    "admin": "ResourceManagerAdministrationProtocolService",
    "container-management": "ContainerManagementProtocolService",
}
"""Hadoop calls its ports after the service that is spoken there (RPC.Server.serverNameFromClass)."""


def rpc_activity(server: RpcServer, service: str, host: str, now_s: float) -> Bean:
    """Return the bean of one port of the daemon ``service``.  Calls are not queued, so there is no time in a queue, and
    none waits for a lock.  Times are by the loop's clock, which the port counts by."""
    found = server.figures
    return {
        **_names(RPC, server, service, host),
        "tag.serverName": SERVER_NAMES.get(server.name, server.name),
        "tag.NumOpenConnectionsPerUser": json.dumps(server.connections_by_user(), separators=(",", ":")),
        "ReceivedBytes": found.received_bytes,
        "SentBytes": found.sent_bytes,
        "RpcQueueTimeNumOps": found.calls.total,
        "RpcQueueTimeAvgTime": 0.0,
        **rate_figures("RpcProcessingTime", found.calls, now_s),
        "RpcAuthenticationFailures": found.unauthenticated,
        "RpcAuthenticationSuccesses": found.token_logins,
        "RpcAuthorizationFailures": found.unauthorized,
        "RpcAuthorizationSuccesses": found.authorized,
        "RpcClientBackoff": found.put_off_calls,
        "RpcCallSuccesses": max(0, found.calls.total - server.dispatcher.faults),
        "NumOpenConnections": server.connection_count,
        "NumInProcessHandler": server.calls_in_flight,
        "CallQueueLength": 0,
        "NumDroppedConnections": found.dropped_connections,
        "TotalRequests": found.received_calls,
        "TotalRequestsPerSecond": int(found.calls.per_second(now_s)),
    }


def rpc_detailed_activity(server: RpcServer, service: str, host: str, now_s: float) -> Bean:
    """Each method that was called, as often and as long as it was."""
    methods = server.figures.methods.items()
    rates = [rate_figures(name[:1].upper() + name[1:], rate, now_s) for name, rate in methods]
    figures = {key: value for rate in rates for key, value in rate.items()}
    return {**_names(RPC_DETAILED, server, service, host), **figures}


def rate_figures(name: str, rate: Rate, now_s: float) -> Bean:
    """Return the figures as Hadoop's MutableRate shows them."""
    return {f"{name}NumOps": rate.total, f"{name}AvgTime": java_float(rate.mean_ms(now_s))}


def _names(prefix: str, server: RpcServer, service: str, host: str) -> Bean:
    return {
        "name": f"Hadoop:service={service},name={prefix}{server.port}",
        "modelerType": f"{prefix}{server.port}",
        "tag.port": str(server.port),
        "tag.Context": "rpc" if prefix == RPC else "rpcdetailed",
        "tag.Hostname": host,
    }
