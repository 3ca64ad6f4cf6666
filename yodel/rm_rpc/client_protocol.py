"""ApplicationClientProtocol, port 8032 (ClientRMService): what spark-submit, yarn and mapred call.

The methods stand by subject in ``client_applications``, ``client_details``, ``client_queues``, ``client_cluster`` and
``client_delegation``; here they become one protocol.
"""

from __future__ import annotations

from dataclasses import dataclass

from yodel.hadoop_pb import applicationclient_protocol_pb2 as service_pb
from yodel.hadoop_rpc.server_policy import KerberosOffer, TokenGrant
from yodel.rm_rpc.client_applications import ApplicationCalls
from yodel.rm_rpc.client_cluster import ClusterCalls
from yodel.rm_rpc.client_delegation import DelegationCalls
from yodel.rm_rpc.client_details import DetailCalls
from yodel.rm_rpc.client_queues import QueueCalls
from yodel.rm_rpc.client_views import ReportMaker
from yodel.rm_rpc.methods import protocol
from yodel.rpc_io.dispatch import Handler, RpcProtocol
from yodel.services.access.rights import Rights
from yodel.services.applications.changes import ApplicationChanges
from yodel.services.applications.log_aggregation import LogAggregationReports
from yodel.services.applications.submission import SubmissionService
from yodel.services.keys.delegation import DelegationTokens
from yodel.services.nodes.agents import Agents
from yodel.services.views.queries import Queries

NAME = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientServices:
    """Holds the services that the protocol's methods call."""

    queries: Queries
    rights: Rights
    submission: SubmissionService
    changes: ApplicationChanges
    nodes: Agents
    delegation_tokens: DelegationTokens
    log_aggregation: LogAggregationReports
    kerberos: KerberosOffer | None = None
    """Callers have tickets or tokens (UserGroupInformation.isSecurityEnabled); None: they are believed."""


class ClientProtocol:
    """One instance for the process.  ``web_address`` is host:port of the RM's web pages."""

    def __init__(self, services: ClientServices, web_address: str) -> None:
        queries, rights, submission = services.queries, services.rights, services.submission
        reports = ReportMaker(queries, rights, services.log_aggregation, web_address)
        self._delegation = DelegationCalls(services.delegation_tokens, services.kerberos)
        self._parts = (
            ApplicationCalls(queries, rights, submission, services.changes, reports, services.kerberos),
            DetailCalls(queries, rights, submission, services.nodes, reports),
            QueueCalls(queries, reports, rights),
            ClusterCalls(queries, services.nodes),
            self._delegation,
        )

    def protocol(self) -> RpcProtocol:
        handlers: dict[str, Handler] = {}
        for part in self._parts:
            handlers.update(part.handlers())
        descriptor = service_pb.DESCRIPTOR.services_by_name["ApplicationClientProtocolService"]
        return protocol(NAME, descriptor, handlers, at_most_once=("getNewApplication", "getDelegationToken"))

    def token_grant(self, identifier: bytes) -> TokenGrant:
        """Login with a delegation token.  Raises RemoteFault: it is unknown or has expired."""
        return self._delegation.token_grant(identifier)
