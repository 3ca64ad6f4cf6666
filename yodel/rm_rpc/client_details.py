"""ApplicationClientProtocol: attempts and containers of an application (ClientRMService).

As Hadoop's RM without a timeline server, it knows containers while they live: a container that has ended is not found.
With yarn.acl.enable a user who may not view the application is told so.
"""

from __future__ import annotations

from yodel.domain.application import Application
from yodel.domain.container import Container
from yodel.domain.ids import ApplicationId, ContainerId
from yodel.errors import AccessDenied, ContainerNotFound, NotFound, Refused
from yodel.hadoop_pb import yarn_service_protos_pb2 as msg
from yodel.hadoop_rpc import faults
from yodel.hadoop_rpc.faults import RemoteFault
from yodel.pb_convert import ids
from yodel.rm_rpc.client_views import ReportMaker
from yodel.rpc_io.dispatch import CallContext, Handler
from yodel.services.access.rights import Rights
from yodel.services.applications.submission import SubmissionService
from yodel.services.nodes.agents import Agents
from yodel.services.views.queries import Queries
from yodel.serving.pieces import REPORTS_PIECE, taking_turns


class DetailCalls:
    """Handlers by wire name in ``handlers``."""

    def __init__(
        self, queries: Queries, rights: Rights, submission: SubmissionService, nodes: Agents, reports: ReportMaker
    ) -> None:
        self._rights = rights
        self._queries, self._submission, self._nodes, self._reports = queries, submission, nodes, reports

    def handlers(self) -> dict[str, Handler]:
        return {
            "getApplicationAttemptReport": self.get_attempt_report,
            "getApplicationAttempts": self.get_attempts,
            "failApplicationAttempt": self.fail_attempt,
            "getContainerReport": self.get_container_report,
            "getContainers": self.get_containers,
            "signalToContainer": self.signal_to_container,
        }

    def get_attempt_report(
        self, context: CallContext, request: msg.GetApplicationAttemptReportRequestProto
    ) -> msg.GetApplicationAttemptReportResponseProto:
        attempt_id = ids.attempt_id(request.application_attempt_id)
        self._require_view(attempt_id.application_id, context.user, f"attempt {attempt_id}")
        report = self._reports.attempt(self._queries.attempt(attempt_id))
        return msg.GetApplicationAttemptReportResponseProto(application_attempt_report=report)

    def get_attempts(
        self, context: CallContext, request: msg.GetApplicationAttemptsRequestProto
    ) -> msg.GetApplicationAttemptsResponseProto:
        application_id = ids.application_id(request.application_id)
        self._require_view(application_id, context.user, f"application {application_id}")
        found = [self._reports.attempt(attempt) for attempt in self._queries.attempts(application_id)]
        return msg.GetApplicationAttemptsResponseProto(application_attempts=found)

    async def fail_attempt(
        self, context: CallContext, request: msg.FailApplicationAttemptRequestProto
    ) -> msg.FailApplicationAttemptResponseProto:
        await self._submission.fail_attempt(ids.attempt_id(request.application_attempt_id), context.user)
        return msg.FailApplicationAttemptResponseProto()

    def get_container_report(
        self, context: CallContext, request: msg.GetContainerReportRequestProto
    ) -> msg.GetContainerReportResponseProto:
        if not request.HasField("container_id"):
            raise RemoteFault(faults.CONTAINER_NOT_FOUND, "Invalid container id: null")
        container_id = ids.container_id(request.container_id)
        self._require_view(container_id.application_id, context.user, f"application {container_id.application_id}")
        container = self._live(container_id)
        if container is None:
            raise ContainerNotFound(container_id)
        return msg.GetContainerReportResponseProto(container_report=self._reports.container(container))

    async def get_containers(
        self, context: CallContext, request: msg.GetContainersRequestProto
    ) -> msg.GetContainersResponseProto:
        attempt_id = ids.attempt_id(request.application_attempt_id)
        application_id = attempt_id.application_id
        self._require_view(application_id, context.user, f"application {application_id}")
        response = msg.GetContainersResponseProto()
        async for container in taking_turns(self._queries.containers(attempt_id), REPORTS_PIECE):
            response.containers.append(self._reports.container(container))
        return response

    def signal_to_container(
        self, context: CallContext, request: msg.SignalContainerRequestProto
    ) -> msg.SignalContainerResponseProto:
        container_id = ids.container_id(request.container_id)
        absent = f"Trying to signal an absent container {container_id}"
        application = self._queries.rows.application(container_id.application_id)
        if application is None:
            raise Refused(absent)
        if not self._rights.may_modify(application, context.user):
            raise AccessDenied(f"User {context.user} cannot perform operation MODIFY_APP on {application.id}")
        try:
            container = self._live(container_id)
        except NotFound as error:
            raise Refused(absent) from error
        if container is None:
            raise Refused(absent)
        self._nodes.signal(container.id, request.command)
        return msg.SignalContainerResponseProto()

    def _require_view(self, application_id: ApplicationId, user: str, what: str) -> Application:
        application = self._queries.application(application_id).application
        if not self._rights.may_view(application, user):
            raise Refused(f"User {user} does not have privilege to see this {what}")
        return application

    def _live(self, container_id: ContainerId) -> Container | None:
        """A container that a node has and that has not ended.  Raises NotFound."""
        container = self._queries.container(container_id)
        return container if container.is_live and container.node_id is not None else None
