"""ApplicationClientProtocol: applications are made, looked at, changed and ended (ClientRMService)."""

from __future__ import annotations

from collections.abc import Awaitable

from yodel.domain.ids import ApplicationId
from yodel.domain.states import YarnApplicationState
from yodel.errors import NoAccount
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.hadoop_pb import yarn_service_protos_pb2 as msg
from yodel.hadoop_rpc import faults
from yodel.hadoop_rpc.faults import RemoteFault
from yodel.hadoop_rpc.server_policy import KerberosOffer
from yodel.pb_convert import ids
from yodel.pb_convert.submission import submission as submission_of
from yodel.pb_convert.texts import text
from yodel.rm_rpc.application_lists import Wanted, add_reports
from yodel.rm_rpc.client_views import ReportMaker
from yodel.rpc_io.dispatch import CallContext, Handler
from yodel.services.access.rights import Rights
from yodel.services.applications.changes import ApplicationChanges
from yodel.services.applications.given_ids import Asker
from yodel.services.applications.submission import SubmissionService
from yodel.services.views.queries import ApplicationFilter, Queries

LIMIT_NONE = 2**63 - 1
TIMEOUT_PREFIX = "APP_TIMEOUT_"


class ApplicationCalls:
    """Handlers by wire name in ``handlers``."""

    def __init__(
        self,
        queries: Queries,
        rights: Rights,
        submission: SubmissionService,
        changes: ApplicationChanges,
        reports: ReportMaker,
        kerberos: KerberosOffer | None = None,
    ) -> None:
        self._rights, self._kerberos = rights, kerberos
        self._queries, self._submission, self._changes, self._reports = queries, submission, changes, reports

    def handlers(self) -> dict[str, Handler]:
        return {
            "getNewApplication": self.get_new_application,
            "submitApplication": self.submit_application,
            "getApplicationReport": self.get_application_report,
            "getApplications": self.get_applications,
            "forceKillApplication": self.force_kill_application,
            "moveApplicationAcrossQueues": self.move_application,
            "updateApplicationPriority": self.update_priority,
            "updateApplicationTimeouts": self.update_timeouts,
        }

    def get_new_application(
        self, context: CallContext, _: msg.GetNewApplicationRequestProto
    ) -> msg.GetNewApplicationResponseProto | Awaitable[msg.GetNewApplicationResponseProto]:
        asker = _asker(context)
        application_id = self._submission.id_at_hand(asker)
        return self._new(application_id) if application_id is not None else self._reserve(asker)

    async def _reserve(self, asker: Asker) -> msg.GetNewApplicationResponseProto:
        return self._new(await self._submission.give_id(asker))

    def _new(self, application_id: ApplicationId) -> msg.GetNewApplicationResponseProto:
        return msg.GetNewApplicationResponseProto(
            application_id=ids.application_id_pb(application_id),
            maximumCapability=ids.resource_pb(self._submission.maximum_capability),
        )

    async def submit_application(
        self, context: CallContext, request: msg.SubmitApplicationRequestProto
    ) -> msg.SubmitApplicationResponseProto:
        given = request.application_submission_context
        if not given.HasField("application_id"):
            message = "ApplicationId is not provided in ApplicationSubmissionContext"
            raise RemoteFault(faults.APPLICATION_ID_NOT_PROVIDED, message)
        submission = submission_of(given, context.user)
        application_id = ids.application_id(given.application_id)
        try:
            await self._submission.submit_given(application_id, submission, _asker(context))
        except NoAccount as error:
            raise NoAccount(f"{error}{self._why_this_user(context)}") from error
        return msg.SubmitApplicationResponseProto()

    def _why_this_user(self, context: CallContext) -> str:
        """Return how the caller's ticket made this user; nothing for one who came without, or acts for another."""
        if self._kerberos is None or not context.principal or context.real_user is not None:
            return ""
        rule = self._kerberos.rule_of(context.principal)
        how = f"by the rule {rule}" if rule else "without a rule"
        return f". The principal {context.principal} is the user {context.user} {how} (security.auth_to_local)"

    def get_application_report(
        self, context: CallContext, request: msg.GetApplicationReportRequestProto
    ) -> msg.GetApplicationReportResponseProto:
        if not request.HasField("application_id"):
            raise RemoteFault(faults.APPLICATION_NOT_FOUND, "Invalid application id: null")
        view = self._queries.application(ids.application_id(request.application_id), context.user)
        response = msg.GetApplicationReportResponseProto()
        self._reports.fill_application(response.application_report, view, context.user)
        return response

    async def get_applications(
        self, context: CallContext, request: msg.GetApplicationsRequestProto
    ) -> msg.GetApplicationsResponseProto:
        wanted = self._filter(context, request)
        scope = request.scope if request.HasField("scope") else msg.ALL
        may_view = self._rights.viewer(context.user) if scope == msg.VIEWABLE else lambda _: True
        response, found = msg.GetApplicationsResponseProto(), Wanted(wanted, may_view)
        await add_reports(response.applications.add, self._queries, self._reports, found, context.user)
        return response

    async def force_kill_application(
        self, context: CallContext, request: msg.KillApplicationRequestProto
    ) -> msg.KillApplicationResponseProto:
        """The first reply is False; clients repeat until True."""
        application_id = ids.application_id(request.application_id)
        diagnostics = text("diagnostics", request.diagnostics)
        completed = await self._submission.kill(application_id, context.user, diagnostics, context.remote_host)
        return msg.KillApplicationResponseProto(is_kill_completed=completed)

    async def move_application(
        self, context: CallContext, request: msg.MoveApplicationAcrossQueuesRequestProto
    ) -> msg.MoveApplicationAcrossQueuesResponseProto:
        target = text("target_queue", request.target_queue)
        await self._changes.move(ids.application_id(request.application_id), context.user, target)
        return msg.MoveApplicationAcrossQueuesResponseProto()

    async def update_priority(
        self, context: CallContext, request: msg.UpdateApplicationPriorityRequestProto
    ) -> msg.UpdateApplicationPriorityResponseProto:
        application_id = ids.application_id(request.applicationId)
        wanted = request.applicationPriority.priority
        effective = await self._changes.set_priority(application_id, context.user, wanted)
        return msg.UpdateApplicationPriorityResponseProto(applicationPriority=pb.PriorityProto(priority=effective))

    async def update_timeouts(
        self, context: CallContext, request: msg.UpdateApplicationTimeoutsRequestProto
    ) -> msg.UpdateApplicationTimeoutsResponseProto:
        application_id = ids.application_id(request.applicationId)
        wanted = {
            _timeout_name(entry.application_timeout_type): text("expire_time", entry.expire_time)
            for entry in request.application_timeouts
        }
        effective = await self._changes.set_timeouts(application_id, context.user, wanted)
        response = msg.UpdateApplicationTimeoutsResponseProto()
        for name, expire_time in effective.items():
            response.application_timeouts.add(application_timeout_type=TIMEOUT_PREFIX + name, expire_time=expire_time)
        return response

    def _filter(self, context: CallContext, request: msg.GetApplicationsRequestProto) -> ApplicationFilter:
        users = frozenset(request.users)
        if request.HasField("scope") and request.scope == msg.OWN:
            users = users & {context.user} if users else frozenset({context.user})
        named = ((name, self._queries.find_queue(name)) for name in request.queues)
        limit = request.limit if request.HasField("limit") and request.limit < LIMIT_NONE else None
        return ApplicationFilter(
            states=frozenset(YarnApplicationState(state) for state in request.application_states),
            types=frozenset(t.lower() for t in request.application_types),
            tags=frozenset(t.lower() for t in request.applicationTags),
            users=users,
            queues=frozenset(queue.path if queue is not None else name for name, queue in named),
            name=request.name if request.HasField("name") else None,
            started_from_ms=request.start_begin,
            started_to_ms=request.start_end if request.HasField("start_end") else None,
            finished_from_ms=request.finish_begin,
            finished_to_ms=request.finish_end if request.HasField("finish_end") else None,
            limit=limit,
        )


def _timeout_name(kind: pb.ApplicationTimeoutTypeProto) -> str:
    return pb.ApplicationTimeoutTypeProto.Name(kind).removeprefix(TIMEOUT_PREFIX)


def _asker(context: CallContext) -> Asker:
    return Asker(user=context.user, host=context.remote_host)
