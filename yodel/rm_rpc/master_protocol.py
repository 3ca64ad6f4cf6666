"""ApplicationMasterProtocol, port 8030 (ApplicationMasterService).  The AMRM token says which attempt calls."""

from __future__ import annotations

from collections.abc import Coroutine
from dataclasses import replace
from typing import Any

from yodel.domain.ids import ApplicationAttemptId
from yodel.domain.states import FinalApplicationStatus
from yodel.domain.tokens import AMRM_TOKEN_KIND
from yodel.errors import InvalidValue, TooMuchAsked, TooMuchBlacklisted
from yodel.hadoop_pb import applicationmaster_protocol_pb2 as service_pb
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.hadoop_pb import yarn_service_protos_pb2 as msg
from yodel.hadoop_rpc import faults
from yodel.hadoop_rpc.faults import RemoteFault
from yodel.hadoop_rpc.server_policy import TokenGrant
from yodel.pb_convert import asks, constraints, ids, reports
from yodel.pb_convert.preemption import preemption_pb
from yodel.pb_convert.submission import parse_context
from yodel.pb_convert.texts import TEXT_LENGTH_MAX, text
from yodel.pb_convert.tokens import amrm_identity, token_to_pb
from yodel.pb_convert.widths import int32
from yodel.rm_rpc.methods import protocol
from yodel.rpc_io.dispatch import CallContext, Handler, RpcProtocol
from yodel.services.keys.tokens import AMRM, TokenIssuer
from yodel.services.masters.allocate import AllocateRequest, AllocateResult
from yodel.services.masters.service import MasterService
from yodel.services.views.queries import Queries
from yodel.serving.pieces import PIECE, in_pieces
from yodel.telemetry.limits import ASKS, REFUSALS

IDENTITIES_MAX = 10_000
_LIMITS = {limit.name: limit for limit in ASKS}
NAME = "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB"


class MasterProtocol:
    """Handlers by wire name; one instance for the process."""

    def __init__(
        self,
        master: MasterService,
        queries: Queries,
        tokens: TokenIssuer,
        *,
        are_constraints_taken: bool = False,
    ) -> None:
        """``are_constraints_taken``: a handler of placement constraints is configured."""
        self._master, self._queries, self._tokens = master, queries, tokens
        self._are_constraints_taken = are_constraints_taken
        self._identities: dict[bytes, tuple[ApplicationAttemptId, int]] = {}
        self._last_counts: tuple[object, ...] = ()
        self._last_answer = msg.AllocateResponseProto()

    def protocol(self) -> RpcProtocol:
        handlers: dict[str, Handler] = {
            "registerApplicationMaster": self.register,
            "allocate": self.allocate,
            "finishApplicationMaster": self.finish,
        }
        descriptor = service_pb.DESCRIPTOR.services_by_name["ApplicationMasterProtocolService"]
        return protocol(NAME, descriptor, handlers)

    def token_grant(self, identifier: bytes) -> TokenGrant | None:
        """Return the password and user for a received AMRM identifier; None for a key we do not have.

        An attempt that has ended may still connect: what its call is answered tells its AM to go.
        """
        try:
            found = self._tokens.amrm_password(identifier)
        except InvalidValue:
            return None
        if found is None:
            return None
        attempt_id, secret = found
        return TokenGrant(password=secret, user=str(attempt_id), kind=AMRM_TOKEN_KIND)

    async def register(
        self, context: CallContext, request: msg.RegisterApplicationMasterRequestProto
    ) -> msg.RegisterApplicationMasterResponseProto:
        attempt_id = caller(context)
        if request.placement_constraints and not self._are_constraints_taken:
            raise _constraints_disabled(
                attempt_id, "placement constraints map in RegisterApplicationMasterRequest", "registerApplicationMaster"
            )
        registration = await self._master.register(
            attempt_id,
            text("host", request.host),
            request.rpc_port,
            text("tracking_url", request.tracking_url),
            [constraints.registered(entry) for entry in request.placement_constraints],
        )
        submission = registration.application.submission
        response = msg.RegisterApplicationMasterResponseProto(
            maximumCapability=ids.resource_pb(registration.maximum_capability),
            queue=submission.queue,
            scheduler_resource_types=[msg.MEMORY],
            resource_types=reports.resource_types(),
            containers_from_previous_attempts=[
                asks.container_pb(g.container, g.node, g.token) for g in registration.previous_containers
            ],
        )
        if registration.client_key:
            response.client_to_am_token_master_key = registration.client_key
        # As submitted: what was not said is not there.
        response.application_ACLs.extend(parse_context(submission.context).am_container_spec.application_ACLs)
        for node_id, token in registration.nm_tokens:
            response.nm_tokens_from_previous_attempts.add(nodeId=ids.node_id_pb(node_id), token=token_to_pb(token))
        return response

    def allocate(
        self, context: CallContext, request: msg.AllocateRequestProto
    ) -> msg.AllocateResponseProto | Coroutine[Any, Any, msg.AllocateResponseProto]:
        """Synchronous while there is nothing to write."""
        attempt_id, key_id = self._identity(context)
        if (
            request.scheduling_requests and not self._are_constraints_taken
        ):  # refused by a processor behind ApplicationMasterService's own checks
            stored = self._master.answered_before(attempt_id, request.response_id)
            if stored is None:
                raise _constraints_disabled(attempt_id, "SchedulingRequest in AllocateRequest", "allocate")
            return self._response(stored, attempt_id, key_id)
        if request.ByteSize() > PIECE and (
            len(request.ask) + len(request.release) + len(request.scheduling_requests) > PIECE
        ):  # each has a byte at least
            return self._allocate_large(context, attempt_id, key_id, request)
        return self._allocate(context, attempt_id, key_id, _allocate_request(request))

    def _allocate(
        self, context: CallContext, attempt_id: ApplicationAttemptId, key_id: int, wanted: AllocateRequest
    ) -> msg.AllocateResponseProto | Coroutine[Any, Any, msg.AllocateResponseProto]:
        try:
            result = self._master.allocate(attempt_id, wanted)
        except (TooMuchAsked, TooMuchBlacklisted) as error:
            _tell(context, error)
            raise
        if isinstance(result, AllocateResult):
            return self._response(result, attempt_id, key_id)
        return self._allocate_slow(context, attempt_id, key_id, wanted)

    async def finish(
        self, context: CallContext, request: msg.FinishApplicationMasterRequestProto
    ) -> msg.FinishApplicationMasterResponseProto:
        status = FinalApplicationStatus(request.final_application_status)
        done = await self._master.finish(
            caller(context), status, _bounded(request.diagnostics), text("tracking_url", request.tracking_url)
        )
        return msg.FinishApplicationMasterResponseProto(isUnregistered=done)

    async def _allocate_slow(
        self, context: CallContext, attempt_id: ApplicationAttemptId, key_id: int, wanted: AllocateRequest
    ) -> msg.AllocateResponseProto:
        try:
            result = await self._master.allocate_slow(attempt_id, wanted)
        except (TooMuchAsked, TooMuchBlacklisted) as error:
            _tell(context, error)
            raise
        return self._response(result, attempt_id, key_id)

    async def _allocate_large(
        self, context: CallContext, attempt_id: ApplicationAttemptId, key_id: int, request: msg.AllocateRequestProto
    ) -> msg.AllocateResponseProto:
        """Reads the lists a piece at a time: others are answered between."""
        parts = msg.AllocateRequestProto()
        parts.CopyFrom(request)
        for name in ("ask", "release", "scheduling_requests"):
            parts.ClearField(name)
        wanted = replace(
            _allocate_request(parts),
            asks=await in_pieces(asks.ask, request.ask),
            releases=await in_pieces(ids.container_id, request.release),
            scheduling_asks=await in_pieces(constraints.scheduling_ask, request.scheduling_requests),
        )
        answer = self._allocate(context, attempt_id, key_id, wanted)
        return answer if isinstance(answer, msg.AllocateResponseProto) else await answer

    def _response(
        self, result: AllocateResult, attempt_id: ApplicationAttemptId, key_id: int
    ) -> msg.AllocateResponseProto:
        response = msg.AllocateResponseProto()
        response.CopyFrom(self._counts(result))
        response.response_id = result.response_id
        if key_id != self._tokens.current(AMRM).key_id:  # the master key was rolled since it got its token
            response.am_rm_token.CopyFrom(token_to_pb(self._tokens.amrm_token(attempt_id)))
        if result.granted or result.completed or result.changed_nodes or result.nm_tokens:
            self._add_news(response, result)
        if result.rejected:
            response.rejected_scheduling_requests.extend(
                constraints.rejected_pb(r.message, is_for_constraint=r.is_for_constraint) for r in result.rejected
            )
        if result.updated or result.update_errors:
            self._add_updates(response, result)
        if result.preempted:
            response.preempt.CopyFrom(preemption_pb(result.preempted, self._master.minimum))
        return response

    def _counts(self, result: AllocateResult) -> msg.AllocateResponseProto:
        """Return an answer with counts alone, without its id; most heartbeats find those that the one before found."""
        counts = (
            result.headroom,
            result.node_count,
            result.priority,
            result.pending_count,
            result.active_cores,
        )
        if counts != self._last_counts:
            self._last_counts, self._last_answer = counts, _answer_with(result)
        return self._last_answer

    def _identity(self, context: CallContext) -> tuple[ApplicationAttemptId, int]:
        """Return the identity, as ``_identity`` of the module does, but read once a connection instead of once a
        heartbeat."""
        found = self._identities.get(context.token_identifier or b"")
        if found is None or context.token_kind != AMRM_TOKEN_KIND:
            attempt_id, key_id = _identity(context)
            found = self._master.own_id(attempt_id), key_id
            if len(self._identities) >= IDENTITIES_MAX:
                self._identities.clear()
            self._identities[context.token_identifier or b""] = found
        return found

    def _add_updates(self, response: msg.AllocateResponseProto, result: AllocateResult) -> None:
        for kind, granted in result.updated:
            response.updated_containers.add(
                update_type=kind.name,
                container=asks.container_pb(granted.container, granted.node, granted.token),
            )
        response.update_errors.extend(asks.update_error_pb(e) for e in result.update_errors)

    def _add_news(self, response: msg.AllocateResponseProto, result: AllocateResult) -> None:
        response.allocated_containers.extend(asks.container_pb(g.container, g.node, g.token) for g in result.granted)
        response.completed_container_statuses.extend(reports.container_status(c) for c in result.completed)
        for node_id, token in result.nm_tokens:
            response.nm_tokens.add(nodeId=ids.node_id_pb(node_id), token=token_to_pb(token))
        for node in result.changed_nodes:
            view = self._queries.node(node.id)
            report = reports.node_report(view.node, view.used, view.containers, is_update=True)
            response.updated_nodes.append(report)


def _answer_with(counts: AllocateResult) -> msg.AllocateResponseProto:
    """Return an answer that says nothing but these counts; EnhancedHeadroomPBImpl leaves zeros out."""
    return msg.AllocateResponseProto(
        num_cluster_nodes=int32(counts.node_count),
        limit=ids.resource_pb(counts.headroom),
        application_priority=pb.PriorityProto(priority=counts.priority),
        enhanced_headroom=msg.EnhancedHeadroomProto(
            total_pending_count=int32(counts.pending_count) if counts.pending_count else None,
            total_active_cores=int32(counts.active_cores) if counts.active_cores else None,
        ),
    )


def caller(context: CallContext) -> ApplicationAttemptId:
    """The attempt whose token authenticated the connection.  Raises RemoteFault."""
    return _identity(context)[0]


def _identity(context: CallContext) -> tuple[ApplicationAttemptId, int]:
    """Also the id of the master key that signed its token.

    Raises:
        RemoteFault: the connection was not authenticated by an AMRM token.
    """
    if context.token_kind != AMRM_TOKEN_KIND or context.token_identifier is None:
        raise RemoteFault(faults.ACCESS_CONTROL, "Cannot obtain the user-name for authorizing ApplicationMaster")
    return amrm_identity(context.token_identifier)


def _tell(context: CallContext, error: TooMuchAsked | TooMuchBlacklisted) -> None:
    """Count and log a refusal by a limit."""
    caller = f"{context.user}@{context.remote_host}"
    REFUSALS.tell(_LIMITS[error.limit], caller=caller, value=error.value, maximum=error.maximum)


def _constraints_disabled(attempt_id: ApplicationAttemptId, what: str, operation: str) -> RemoteFault:
    """DisabledPlacementProcessor: what Hadoop says unless a handler is configured."""
    return RemoteFault(
        faults.YARN_EXCEPTION,
        f"Found non empty {what} for application={attempt_id}, but the configured "
        "yarn.resourcemanager.placement-constraints.handler cannot handle placement constraints. Rejecting this "
        f"{operation} operation",
    )


def _allocate_request(request: msg.AllocateRequestProto) -> AllocateRequest:
    wanted = AllocateRequest(response_id=request.response_id, progress=request.progress)
    for field, value in request.ListFields():  # most heartbeats have few
        match field.name:
            case "response_id" | "progress":
                pass
            case "blacklist_request":  # always there, and mostly empty
                for names, given in value.ListFields():
                    setattr(wanted, names.name, [text(names.name, name) for name in given])
            case "ask":
                wanted.asks = [asks.ask(a) for a in value]
            case "release":
                wanted.releases = [ids.container_id(r) for r in value]
            case "tracking_url":
                wanted.tracking_url = text("tracking_url", value) or None
            case "update_requests":
                wanted.updates = [asks.update_request(u) for u in value]
            case "scheduling_requests":
                wanted.scheduling_asks = [constraints.scheduling_ask(r) for r in value]
    return wanted


def _bounded(diagnostics: str | bytes) -> str:
    """The end of a long text: an AM's last words must not keep it from finishing."""
    if not isinstance(diagnostics, str):  # not UTF-8, which proto2 lets through
        return text("diagnostics", diagnostics)
    return text("diagnostics", diagnostics[-TEXT_LENGTH_MAX:].replace("\0", ""))
