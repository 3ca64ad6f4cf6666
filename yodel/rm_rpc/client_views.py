"""The records that the client protocol's parts have in common: application, attempt and container reports."""

from __future__ import annotations

from yodel.domain.application import Application
from yodel.domain.attempt import Attempt
from yodel.domain.container import Container
from yodel.domain.ids import ApplicationId
from yodel.domain.states import AttemptState
from yodel.domain.tokens import Token
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.pb_convert import reports
from yodel.pb_convert.tokens import client_token
from yodel.services.access.rights import Rights
from yodel.services.applications.log_aggregation import LogAggregationReports
from yodel.services.views.queries import ApplicationView, Queries

_WITH_MASTER = frozenset({AttemptState.LAUNCHED, AttemptState.RUNNING, AttemptState.FINISHING})


class ReportMaker:
    """Makes reports; there is one instance for the process.  ``web_address`` is host:port of the RM's web pages."""

    def __init__(
        self,
        queries: Queries,
        rights: Rights,
        log_aggregation: LogAggregationReports,
        web_address: str,
    ) -> None:
        self._queries, self._rights = queries, rights
        self._log_aggregation, self._web_address = log_aggregation, web_address

    def may_view(self, application: Application, user: str) -> bool:
        return self._rights.may_view(application, user)

    def fill_application(self, report: pb.ApplicationReportProto, view: ApplicationView, user: str) -> None:
        """Fill an empty report of an application for ``user``."""
        app = view.application
        may_view = self.may_view(app, user)
        facts = reports.ReportFacts(
            attempt=view.attempt,
            used=view.used,
            running_containers=view.running_containers,
            reserved=view.reserved,
            reserved_containers=view.reserved_containers,
            memory_mib_s=view.memory_mib_s,
            vcore_s=view.vcore_s,
            preempted_memory_mib_s=view.preempted.memory_mib_s,
            preempted_vcore_s=view.preempted.vcore_s,
            progress=view.progress,
            cluster_share_percent=view.cluster_share_percent,
            tracking_url=self._proxy_url(app.id) if view.attempt is None else self._tracking_url(view.attempt),
            original_tracking_url=self._original_url(view.attempt),
            log_aggregation_status=f"LOG_{self._log_aggregation.status_of(app).name}",
            amrm_token=view.amrm_token,
            client_token=_client_token(view.attempt, user) if may_view else None,
            may_view=may_view,
            now_ms=self._queries.now_ms(),
        )
        reports.fill_application_report(report, app, facts)

    def attempt(self, attempt: Attempt) -> pb.ApplicationAttemptReportProto:
        return reports.attempt_report(attempt, self._tracking_url(attempt), self._original_url(attempt))

    def container(self, container: Container) -> pb.ContainerReportProto:
        node = self._queries.rows.node_of(container)
        return reports.container_report(container, node, self._queries.log_url(container))

    def _tracking_url(self, attempt: Attempt) -> str:
        """Through the proxy, also before an AM is there; the RM's own page when it failed (RMAppAttemptImpl)."""
        if attempt.is_unmanaged:
            return self._original_url(attempt)
        if attempt.state in (AttemptState.FAILED, AttemptState.KILLED):
            return self._page(attempt.id.application_id)
        return self._proxy_url(attempt.id.application_id)

    def _original_url(self, attempt: Attempt | None) -> str:
        if attempt is None:
            return reports.NOT_AVAILABLE
        if attempt.state in (AttemptState.FAILED, AttemptState.KILLED):
            return self._page(attempt.id.application_id)
        return attempt.tracking_url or reports.NOT_AVAILABLE

    def _proxy_url(self, application_id: ApplicationId) -> str:
        return f"http://{self._web_address}/proxy/{application_id}/"

    def _page(self, application_id: ApplicationId) -> str:
        return f"http://{self._web_address}/cluster/app/{application_id}"


def _client_token(attempt: Attempt | None, user: str) -> Token | None:
    """Return what ``user`` shows to the ApplicationMaster; None when there is none, or it wants no tokens."""
    if attempt is None or attempt.state not in _WITH_MASTER or not attempt.client_key:
        return None
    return client_token(attempt.client_key, attempt.id, user)
