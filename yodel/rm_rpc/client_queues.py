"""ApplicationClientProtocol: queues as the CapacityScheduler shows them (CapacityScheduler.getQueueInfo)."""

from __future__ import annotations

from collections.abc import Iterator

from yodel.domain.queues.amounts import absolute
from yodel.domain.queues.queue import shown_state
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.hadoop_pb import yarn_service_protos_pb2 as msg
from yodel.pb_convert import ids
from yodel.pb_convert.widths import int64
from yodel.rm_rpc.application_lists import Wanted, add_reports
from yodel.rm_rpc.client_views import ReportMaker
from yodel.rpc_io.dispatch import CallContext, Handler
from yodel.services.access.rights import Rights
from yodel.services.views.queries import ApplicationFilter, Queries
from yodel.services.views.queue_views import QueueView
from yodel.serving.pieces import taking_turns

SCHEDULER_TYPE = "CapacityScheduler"
DEPTH_MAX = 100
NO_WEIGHT = -1.0
PIECE = 50
"""Queues that are written in one go: two milliseconds."""
PARALLEL_APPS_MAX = 2**31 - 1  # no limit: Integer.MAX_VALUE


class QueueCalls:
    """Handlers by wire name in ``handlers``."""

    def __init__(self, queries: Queries, reports: ReportMaker, rights: Rights) -> None:
        self._queries, self._reports, self._rights = queries, reports, rights

    def handlers(self) -> dict[str, Handler]:
        return {"getQueueInfo": self.get_queue_info, "getQueueUserAcls": self.get_queue_user_acls}

    async def get_queue_info(
        self, context: CallContext, request: msg.GetQueueInfoRequestProto
    ) -> msg.GetQueueInfoResponseProto:
        """An unknown queue is a response without queueInfo: the CLI prints its own text."""
        view = await self._queries.queue(request.queueName)
        if view is None:
            return msg.GetQueueInfoResponseProto()
        depth = 0 if not request.includeChildQueues else (DEPTH_MAX if request.recursive else 1)
        info = pb.QueueInfoProto()
        async for _ in taking_turns(self._fill(info, view, depth), PIECE):
            pass
        if request.includeApplications:
            await self._add_applications(info, view, context.user)
        return msg.GetQueueInfoResponseProto(queueInfo=info)

    def get_queue_user_acls(
        self, context: CallContext, _: msg.GetQueueUserAclsInfoRequestProto
    ) -> msg.GetQueueUserAclsInfoResponseProto:
        """Return the caller's rights in every queue; with yarn.acl.enable off everybody may submit and administer."""
        response = msg.GetQueueUserAclsInfoResponseProto()
        for path in self._queries.rows.queues:
            acls = []
            if self._rights.may_submit(path, context.user):
                acls.append(pb.QACL_SUBMIT_APPLICATIONS)
            if self._rights.may_administer(path, context.user):
                acls.append(pb.QACL_ADMINISTER_QUEUE)
            response.queueUserAcls.add(queueName=path, userAcls=acls)
        return response

    async def _add_applications(self, info: pb.QueueInfoProto, view: QueueView, user: str) -> None:
        """Add the live applications of the queue itself, as far as the caller may view them."""
        may_view = self._rights.viewer(user)
        wanted = Wanted(
            filter=ApplicationFilter(queues=frozenset({view.queue.path})),
            shows=lambda application: not application.state.is_final and may_view(application),
        )
        await add_reports(info.applications.add, self._queries, self._reports, wanted, user)

    def _fill(self, info: pb.QueueInfoProto, view: QueueView, depth: int) -> Iterator[None]:
        """Yields behind each queue."""
        queue = view.share.queue
        most = queue.maximum_parallel_applications
        made = pb.QueueInfoProto(
            queueName=queue.name,
            queuePath=queue.path,
            capacity=queue.capacity_percent / 100.0,
            maximumCapacity=queue.maximum_capacity_percent / 100.0,
            currentCapacity=view.used_share,
            state=f"Q_{shown_state(queue, is_used=bool(view.users)).name}",
            schedulerType=SCHEDULER_TYPE,
            accessibleNodeLabels=["*"],
            preemptionDisabled=not view.gives_back,
            intraQueuePreemptionDisabled=not view.gives_back_within,
            weight=NO_WEIGHT if queue.weight is None else queue.weight,
            maxParallelApps=PARALLEL_APPS_MAX if most is None else most,
        )
        info.MergeFrom(made)
        info.queueStatistics.CopyFrom(_statistics(view))
        self._add_configurations(info, view)
        yield
        for child in view.children if depth > 0 else ():
            yield from self._fill(info.childQueues.add(), child, depth - 1)

    def _add_configurations(self, info: pb.QueueInfoProto, view: QueueView) -> None:
        entry = info.queueConfigurationsMap.add(partitionName="")
        configuration = entry.queueConfigurations
        queue, share = view.share.queue, view.share
        capacity, maximum = queue.capacity_percent / 100.0, queue.maximum_capacity_percent / 100.0
        configuration.capacity, configuration.absoluteCapacity = capacity, share.capacity
        configuration.maxCapacity, configuration.absoluteMaxCapacity = maximum, share.maximum_capacity
        configuration.maxAMPercentage = self._queries.ledger().am_part(share)
        configuration.effectiveMinCapacity.CopyFrom(ids.resource_pb(share.guaranteed))
        configuration.effectiveMaxCapacity.CopyFrom(ids.resource_pb(share.maximum))
        configuration.configuredMinCapacity.CopyFrom(ids.resource_pb(absolute(queue.capacity_amounts)))
        configuration.configuredMaxCapacity.CopyFrom(ids.resource_pb(absolute(queue.maximum_amounts)))


def _statistics(view: QueueView) -> pb.QueueStatisticsProto:
    metrics = view.metrics
    pending_containers, pending = metrics.waited_for
    free = (view.share.guaranteed - metrics.used).at_least_zero()
    return pb.QueueStatisticsProto(
        numAppsSubmitted=int64(metrics.submitted),
        numAppsRunning=int64(metrics.running),
        numAppsPending=int64(metrics.pending),
        numAppsCompleted=int64(metrics.completed),
        numAppsKilled=int64(metrics.killed),
        numAppsFailed=int64(metrics.failed),
        numActiveUsers=int64(len(view.users)),
        availableMemoryMB=int64(free.memory_mib),
        availableVCores=int64(free.vcores),
        allocatedMemoryMB=int64(metrics.used.memory_mib),
        allocatedVCores=int64(metrics.used.vcores),
        pendingMemoryMB=int64(pending.memory_mib),
        pendingVCores=int64(pending.vcores),
        reservedMemoryMB=int64(metrics.reserved.memory_mib),
        reservedVCores=int64(metrics.reserved.vcores),
        allocatedContainers=int64(metrics.containers_allocated),
        pendingContainers=int64(pending_containers),
        reservedContainers=int64(metrics.containers_reserved),
    )
