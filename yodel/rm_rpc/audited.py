"""Protocols whose calls are written to the audit log: acts always, anything else when it is refused.

Reads that succeed leave no line, and a handler that is no coroutine stays none.  A client that repeats a call until it
is done, as for a kill, leaves a line for each.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from google.protobuf.message import Message

from yodel.errors import AccessDenied, InvalidValue, YodelError
from yodel.hadoop_rpc import faults
from yodel.hadoop_rpc.faults import RemoteFault
from yodel.pb_convert import ids
from yodel.rpc_io.dispatch import CallContext, Handler, RpcProtocol
from yodel.telemetry import audit
from yodel.telemetry.audit import AUDIT, Act

REFUSALS = frozenset({faults.ACCESS_CONTROL, faults.AUTHORIZATION})
CLIENT_ACTS = {
    "submitApplication": audit.SUBMIT,
    "forceKillApplication": audit.KILL,
    "failApplicationAttempt": audit.FAIL_ATTEMPT,
    "moveApplicationAcrossQueues": audit.MOVE,
    "updateApplicationPriority": audit.UPDATE_PRIORITY,
    "updateApplicationTimeouts": audit.UPDATE_TIMEOUTS,
    "signalToContainer": audit.SIGNAL,
}
"""Wire names and RMAuditLogger's operations; a refused read is named as on the wire."""
ADMIN_READS = frozenset({"getGroupsForUser", "checkForDecommissioningNodes", "getServiceStatus", "monitorHealth"})
Finish = Callable[[Exception | None], None]


def audited_client(protocol: RpcProtocol) -> RpcProtocol:
    """The clients' protocol."""
    methods = {
        name: replace(method, handler=_audited(name, method.handler, CLIENT_ACTS.get(name), audit.CLIENT_SERVICE))
        for name, method in protocol.methods.items()
    }
    return replace(protocol, methods=methods)


def audited_admin(protocol: RpcProtocol) -> RpcProtocol:
    """A protocol of administrators: whatever is no read is an act, and called as on the wire."""
    methods = {
        name: replace(
            method,
            handler=_audited(name, method.handler, None if name in ADMIN_READS else name, audit.ADMIN_SERVICE),
        )
        for name, method in protocol.methods.items()
    }
    return replace(protocol, methods=methods)


def _audited(name: str, handler: Handler, operation: str | None, target: str) -> Handler:
    def handle(context: CallContext, request: Any) -> Message | Awaitable[Message]:
        def tell(error: Exception | None) -> None:
            is_refusal = error is not None and _is_refusal(error)
            if operation is None and not is_refusal:
                return
            act = Act(
                operation=operation or name,
                target=target,
                user=context.user,
                real_user=context.real_user,
                ip=context.remote_host,
                app_id=_application_in(request),
            )
            if error is None:
                AUDIT.success(act)
            elif is_refusal:
                AUDIT.failure(act, audit.UNAUTHORIZED, permissions=str(error))
            else:
                AUDIT.failure(act, str(error) if isinstance(error, YodelError) else type(error).__name__)

        try:
            answer = handler(context, request)
        except Exception as error:
            tell(error)
            raise
        if isinstance(answer, Message):
            tell(None)
            return answer
        return _awaited(answer, tell)

    return handle


async def _awaited(answer: Awaitable[Message], tell: Finish) -> Message:
    try:
        found = await answer
    except Exception as error:
        tell(error)
        raise
    tell(None)
    return found


def _is_refusal(error: Exception) -> bool:
    return isinstance(error, AccessDenied) or (isinstance(error, RemoteFault) and error.java_class in REFUSALS)


def _application_in(request: Message) -> str:
    """The application that a request names, or the one of the attempt or container that it names; empty for none."""
    found: Any = request
    for field in ("application_submission_context", "container_id", "application_attempt_id"):
        if field in found.DESCRIPTOR.fields_by_name and found.HasField(field):
            found = getattr(found, field)
            if field == "container_id":
                found = found.app_attempt_id
    for field in ("application_id", "applicationId"):
        if field in found.DESCRIPTOR.fields_by_name and found.HasField(field):
            try:
                return str(ids.application_id(getattr(found, field)))
            except InvalidValue:  # the handler says so itself
                return ""
    return ""
