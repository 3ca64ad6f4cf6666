"""ApplicationClientProtocol, port 8032 (ClientRMService): what spark-submit, yarn and mapred call."""

from __future__ import annotations

from functools import partial
from typing import Any, NoReturn

from yodel.domain.ids import ContainerId
from yodel.domain.queue import Queue
from yodel.domain.states import ApplicationState, NodeState, YarnApplicationState
from yodel.errors import AccessDenied
from yodel.hadoop_pb import applicationclient_protocol_pb2 as service_pb
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.hadoop_pb import yarn_service_protos_pb2 as msg
from yodel.hadoop_rpc import faults
from yodel.hadoop_rpc.faults import RemoteFault
from yodel.pb_convert import ids, reports
from yodel.pb_convert.submission import submission as submission_of
from yodel.rm_rpc.methods import protocol
from yodel.rpc_io.dispatch import CallContext, Handler, RpcProtocol
from yodel.services.nodes import NodeService
from yodel.services.queries import ApplicationFilter, ApplicationView, Queries, QueueView
from yodel.services.submission import SubmissionService

NAME = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB"
SCHEDULER_TYPE = "CapacityScheduler"
LIMIT_NONE = 2**63 - 1


class ClientProtocol:
    """Handlers by wire name; one instance for the process.  ``web_address`` is host:port of the RM's web pages."""

    def __init__(self, queries: Queries, submission: SubmissionService, nodes: NodeService, web_address: str) -> None:
        self._queries, self._submission, self._nodes = queries, submission, nodes
        self._web_address = web_address

    def protocol(self) -> RpcProtocol:
        handlers: dict[str, Handler] = {
            "getNewApplication": self.get_new_application,
            "submitApplication": self.submit_application,
            "getApplicationReport": self.get_application_report,
            "getApplications": self.get_applications,
            "forceKillApplication": self.force_kill_application,
            "failApplicationAttempt": self.fail_application_attempt,
            "getApplicationAttemptReport": self.get_application_attempt_report,
            "getApplicationAttempts": self.get_application_attempts,
            "getContainerReport": self.get_container_report,
            "getContainers": self.get_containers,
            "signalToContainer": self.signal_to_container,
            "getClusterMetrics": self.get_cluster_metrics,
            "getClusterNodes": self.get_cluster_nodes,
            "getQueueInfo": self.get_queue_info,
            "getQueueUserAcls": self.get_queue_user_acls,
            "getResourceTypeInfo": self.get_resource_type_info,
            "getResourceProfiles": _profiles_disabled,
            "getResourceProfile": _profiles_disabled,
            "getNewReservation": _reservations_disabled,
            "submitReservation": _reservations_disabled,
            "updateReservation": _reservations_disabled,
            "deleteReservation": _reservations_disabled,
            "listReservations": _reservations_disabled,
            "getNodeToLabels": lambda _, __: msg.GetNodesToLabelsResponseProto(),
            "getLabelsToNodes": lambda _, __: msg.GetLabelsToNodesResponseProto(),
            "getClusterNodeLabels": lambda _, __: msg.GetClusterNodeLabelsResponseProto(),
            "getClusterNodeAttributes": lambda _, __: msg.GetClusterNodeAttributesResponseProto(),
            "getAttributesToNodes": lambda _, __: msg.GetAttributesToNodesResponseProto(),
            "getNodesToAttributes": lambda _, __: msg.GetNodesToAttributesResponseProto(),
        }
        descriptor = service_pb.DESCRIPTOR.services_by_name["ApplicationClientProtocolService"]
        return protocol(NAME, descriptor, handlers, at_most_once=("getNewApplication",))

    async def get_new_application(
        self, _: CallContext, __: msg.GetNewApplicationRequestProto
    ) -> msg.GetNewApplicationResponseProto:
        application_id = await self._submission.new_application_id()
        return msg.GetNewApplicationResponseProto(
            application_id=ids.application_id_pb(application_id),
            maximumCapability=ids.resource_pb(self._submission.maximum_capability),
        )

    async def submit_application(
        self, context: CallContext, request: msg.SubmitApplicationRequestProto
    ) -> msg.SubmitApplicationResponseProto:
        given = request.application_submission_context
        if not given.HasField("application_id"):
            text = "ApplicationId is not provided in ApplicationSubmissionContext"
            raise RemoteFault(faults.APPLICATION_ID_NOT_PROVIDED, text)
        submission = submission_of(given, context.user)
        await self._submission.submit(ids.application_id(given.application_id), submission)
        return msg.SubmitApplicationResponseProto()

    def get_application_report(
        self, context: CallContext, request: msg.GetApplicationReportRequestProto
    ) -> msg.GetApplicationReportResponseProto:
        view = self._queries.application(ids.application_id(request.application_id), context.user)
        return msg.GetApplicationReportResponseProto(application_report=self._report(view, context.user))

    def get_applications(
        self, context: CallContext, request: msg.GetApplicationsRequestProto
    ) -> msg.GetApplicationsResponseProto:
        wanted = self._filter(context, request)
        scope = request.scope if request.HasField("scope") else msg.ALL
        may_view = partial(self._submission.may_view, user=context.user) if scope == msg.VIEWABLE else None
        views = self._queries.applications(wanted, may_view)
        return msg.GetApplicationsResponseProto(applications=[self._report(view, context.user) for view in views])

    async def force_kill_application(
        self, context: CallContext, request: msg.KillApplicationRequestProto
    ) -> msg.KillApplicationResponseProto:
        """The first reply is False; clients repeat until True."""
        application_id = ids.application_id(request.application_id)
        self._queries.application(application_id)
        completed = await self._submission.kill(application_id, context.user, request.diagnostics, context.remote_host)
        return msg.KillApplicationResponseProto(is_kill_completed=completed)

    async def fail_application_attempt(
        self, context: CallContext, request: msg.FailApplicationAttemptRequestProto
    ) -> msg.FailApplicationAttemptResponseProto:
        attempt = self._queries.attempt(ids.attempt_id(request.application_attempt_id))
        await self._submission.fail_attempt(attempt.id, context.user)
        return msg.FailApplicationAttemptResponseProto()

    def get_application_attempt_report(
        self, _: CallContext, request: msg.GetApplicationAttemptReportRequestProto
    ) -> msg.GetApplicationAttemptReportResponseProto:
        attempt = self._queries.attempt(ids.attempt_id(request.application_attempt_id))
        return msg.GetApplicationAttemptReportResponseProto(
            application_attempt_report=reports.attempt_report(attempt, self._proxy_url(attempt.id.application_id))
        )

    def get_application_attempts(
        self, _: CallContext, request: msg.GetApplicationAttemptsRequestProto
    ) -> msg.GetApplicationAttemptsResponseProto:
        application_id = ids.application_id(request.application_id)
        url = self._proxy_url(application_id)
        found = [reports.attempt_report(attempt, url) for attempt in self._queries.attempts(application_id)]
        return msg.GetApplicationAttemptsResponseProto(application_attempts=found)

    def get_container_report(
        self, _: CallContext, request: msg.GetContainerReportRequestProto
    ) -> msg.GetContainerReportResponseProto:
        container_id = ids.container_id(request.container_id)
        return msg.GetContainerReportResponseProto(container_report=self._container_report(container_id))

    def get_containers(self, _: CallContext, request: msg.GetContainersRequestProto) -> msg.GetContainersResponseProto:
        containers = self._queries.containers(ids.attempt_id(request.application_attempt_id))
        return msg.GetContainersResponseProto(containers=[self._container_report(c.id) for c in containers])

    def signal_to_container(
        self, context: CallContext, request: msg.SignalContainerRequestProto
    ) -> msg.SignalContainerResponseProto:
        container = self._queries.container(ids.container_id(request.container_id))
        application = self._queries.application(container.id.application_id).application
        if not self._submission.may_modify(application, context.user):
            raise AccessDenied(f"User {context.user} cannot perform operation MODIFY_APP on {application.id}")
        self._nodes.signal(container.id, request.command)
        return msg.SignalContainerResponseProto()

    def get_cluster_metrics(
        self, _: CallContext, __: msg.GetClusterMetricsRequestProto
    ) -> msg.GetClusterMetricsResponseProto:
        by_state = self._queries.metrics().nodes_by_state
        response = msg.GetClusterMetricsResponseProto()
        metrics = response.cluster_metrics
        metrics.num_node_managers = metrics.num_active_nms = by_state.get(NodeState.RUNNING, 0)
        metrics.num_lost_nms = by_state.get(NodeState.LOST, 0)
        metrics.num_unhealthy_nms = by_state.get(NodeState.UNHEALTHY, 0)
        metrics.num_decommissioned_nms = by_state.get(NodeState.DECOMMISSIONED, 0)
        metrics.num_rebooted_nms = by_state.get(NodeState.REBOOTED, 0)
        metrics.num_decommissioning_nms = by_state.get(NodeState.DECOMMISSIONING, 0)
        metrics.num_shutdown_nms = by_state.get(NodeState.SHUTDOWN, 0)
        return response

    def get_cluster_nodes(
        self, _: CallContext, request: msg.GetClusterNodesRequestProto
    ) -> msg.GetClusterNodesResponseProto:
        views = self._queries.nodes(NodeState(state) for state in request.nodeStates)
        found = [reports.node_report(view.node, view.used, view.containers) for view in views]
        return msg.GetClusterNodesResponseProto(nodeReports=found)

    def get_queue_info(
        self, context: CallContext, request: msg.GetQueueInfoRequestProto
    ) -> msg.GetQueueInfoResponseProto:
        """An unknown queue is a response without queueInfo: the CLI prints its own text."""
        view = self._queries.queue(request.queueName)
        if view is None:
            return msg.GetQueueInfoResponseProto()
        depth = 0 if not request.includeChildQueues else (100 if request.recursive else 1)
        info = self._queue_info(view, depth, context.user if request.includeApplications else None)
        return msg.GetQueueInfoResponseProto(queueInfo=info)

    def get_queue_user_acls(
        self, _: CallContext, __: msg.GetQueueUserAclsInfoRequestProto
    ) -> msg.GetQueueUserAclsInfoResponseProto:
        response = msg.GetQueueUserAclsInfoResponseProto()
        for queue in self._queries.state.queues.values():
            response.queueUserAcls.add(queueName=queue.path, userAcls=[pb.QACL_SUBMIT_APPLICATIONS])
        return response

    def get_resource_type_info(
        self, _: CallContext, __: msg.GetAllResourceTypeInfoRequestProto
    ) -> msg.GetAllResourceTypeInfoResponseProto:
        return msg.GetAllResourceTypeInfoResponseProto(resource_type_info=reports.resource_types())

    def _filter(self, context: CallContext, request: msg.GetApplicationsRequestProto) -> ApplicationFilter:
        users = frozenset(request.users)
        if request.HasField("scope") and request.scope == msg.OWN:
            users = users & {context.user} if users else frozenset({context.user})
        named = (self._queries.find_queue(name) for name in request.queues)
        limit = request.limit if request.HasField("limit") and request.limit < LIMIT_NONE else None
        return ApplicationFilter(
            states=frozenset(YarnApplicationState(state) for state in request.application_states),
            types=frozenset(t.lower() for t in request.application_types),
            tags=frozenset(t.lower() for t in request.applicationTags),
            users=users,
            queues=frozenset(queue.path for queue in named if queue is not None) or frozenset(request.queues),
            name=request.name if request.HasField("name") else None,
            started_from_ms=request.start_begin,
            started_to_ms=request.start_end if request.HasField("start_end") else None,
            finished_from_ms=request.finish_begin,
            finished_to_ms=request.finish_end if request.HasField("finish_end") else None,
            limit=limit,
        )

    def _report(self, view: ApplicationView, user: str) -> pb.ApplicationReportProto:
        facts = reports.ReportFacts(
            attempt=view.attempt,
            used=view.used,
            running_containers=view.running_containers,
            needed=view.pending,
            memory_mib_s=view.memory_mib_s,
            vcore_s=view.vcore_s,
            progress=view.progress,
            cluster_share_percent=view.cluster_share_percent,
            tracking_url=self._tracking_url(view),
            amrm_token=view.amrm_token,
            may_view=self._submission.may_view(view.application, user),
        )
        return reports.application_report(view.application, facts)

    def _tracking_url(self, view: ApplicationView) -> str:
        """Proxied while an AM is or was there; the application's own page when none ever was (RMAppAttemptImpl)."""
        app = view.application
        if app.state in (ApplicationState.FAILED, ApplicationState.KILLED):
            return f"http://{self._web_address}/cluster/app/{app.id}"
        if view.attempt is None or not view.attempt.tracking_url:
            return reports.NOT_AVAILABLE if app.state is ApplicationState.ACCEPTED else self._proxy_url(app.id)
        return self._proxy_url(app.id)

    def _proxy_url(self, application_id: object) -> str:
        return f"http://{self._web_address}/proxy/{application_id}/"

    def _container_report(self, container_id: ContainerId) -> pb.ContainerReportProto:
        container = self._queries.container(container_id)
        node = self._queries.state.nodes.get(container.node_id) if container.node_id is not None else None
        return reports.container_report(container, node, self._queries.log_url(container))

    def _queue_info(self, view: QueueView, depth: int, applications_for: str | None) -> pb.QueueInfoProto:
        queue, metrics = view.queue, view.metrics
        info = pb.QueueInfoProto(
            queueName=queue.name,
            queuePath=queue.path,
            capacity=queue.capacity_percent / 100.0,
            maximumCapacity=queue.maximum_capacity_percent / 100.0,
            currentCapacity=view.used_share,
            state=f"Q_{queue.state.name}",
            schedulerType=SCHEDULER_TYPE,
            accessibleNodeLabels=["*"],
            preemptionDisabled=True,
            intraQueuePreemptionDisabled=True,
        )
        statistics = info.queueStatistics
        statistics.numAppsSubmitted, statistics.numAppsRunning = metrics.submitted, metrics.running
        statistics.numAppsPending, statistics.numAppsCompleted = metrics.pending, metrics.completed
        statistics.numAppsKilled, statistics.numAppsFailed = metrics.killed, metrics.failed
        statistics.numActiveUsers = len(view.users)
        free = (metrics.total - metrics.used).at_least_zero()
        statistics.availableMemoryMB, statistics.availableVCores = free.memory_mib, free.vcores
        statistics.allocatedMemoryMB, statistics.allocatedVCores = metrics.used.memory_mib, metrics.used.vcores
        statistics.pendingMemoryMB, statistics.pendingVCores = (
            metrics.pending_resource.memory_mib,
            metrics.pending_resource.vcores,
        )
        statistics.allocatedContainers, statistics.pendingContainers = (
            metrics.containers_allocated,
            metrics.containers_pending,
        )
        self._add_configurations(info, queue)
        if depth > 0:
            info.childQueues.extend(self._queue_info(child, depth - 1, applications_for) for child in view.children)
        if applications_for is not None:
            wanted = ApplicationFilter(queues=frozenset({queue.path}))
            info.applications.extend(self._report(v, applications_for) for v in self._queries.applications(wanted))
        return info

    def _add_configurations(self, info: pb.QueueInfoProto, queue: Queue) -> None:
        entry = info.queueConfigurationsMap.add(partitionName="")
        configuration = entry.queueConfigurations
        configuration.capacity = configuration.absoluteCapacity = queue.capacity_percent / 100.0
        configuration.maxCapacity = configuration.absoluteMaxCapacity = queue.maximum_capacity_percent / 100.0
        configuration.maxAMPercentage = self._queries.limits.am_share


def _profiles_disabled(_: CallContext, __: Any) -> NoReturn:
    """The distributed shell goes on only when exactly this class comes back."""
    raise RemoteFault(
        faults.FEATURE_NOT_ENABLED,
        "Resource profile is not enabled, please enable resource profile feature before using its functions. "
        "(by setting yarn.resourcemanager.resource-profiles.enabled to true)",
    )


def _reservations_disabled(_: CallContext, __: Any) -> NoReturn:
    raise RemoteFault(faults.YARN_EXCEPTION, "Reservation is not enabled. Please enable & try again")
