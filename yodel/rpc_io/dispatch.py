"""Dispatch: from a received call to a handler, and from what the handler did to the bytes of the answer.

Handlers are plain functions or coroutine functions.  A plain one is answered without a task, because an allocate
heartbeat is the most frequent thing this service does; a coroutine is handed back to the server, which runs it.  Every
call is answered: unknown protocols, versions and methods as Hadoop's ``ProtobufRpcEngine2`` does, domain errors through
``fault_for``, anything unexpected as ``java.io.IOException`` without its text, which may hold what it should not.
"""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import structlog
from google.protobuf.message import EncodeError, Message

from yodel.errors import YodelError, system_reason
from yodel.hadoop_rpc import faults
from yodel.hadoop_rpc.faults import RemoteFault, RpcErrorCode
from yodel.hadoop_rpc.framing import MalformedFrame, fault_frame, parse, success_frame
from yodel.hadoop_rpc.server_connection import CallReceived, CallTarget
from yodel.hadoop_rpc.server_policy import AuthMethod, CallerIdentity
from yodel.rpc_io.call_limits import LARGE_BYTES, SMALL_BYTES, CallLimits, CallScale
from yodel.rpc_io.retry_cache import CallKey, RetryCache, RetryCacheFull, RetryCacheLimits
from yodel.rpc_io.serialized import serialized

__all__ = [
    "AuthMethod",
    "CallContext",
    "CallLimits",
    "Dispatcher",
    "Handler",
    "Lookups",
    "RetryCacheLimits",
    "RpcMethod",
    "RpcProtocol",
]

CALL_TIMEOUT_S = 115.0
"""Just below ipc.client.rpc-timeout.ms (120 s), after which nobody waits for the answer."""
CLIENT_ID_BYTES = 16
"""A client id of another length names no client (``RetryCache.skipRetryCache``)."""
STACK_FRAMES_LOGGED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class CallContext:
    """Names who calls, and from where; made once a connection.  ``real_user`` is set when a proxy speaks for
    ``user``."""

    user: str
    real_user: str | None
    auth_method: AuthMethod
    token_kind: str | None
    token_identifier: bytes | None
    remote_host: str
    remote_port: int
    principal: str = ""
    """The ticket's owner."""

    @classmethod
    def of(cls, identity: CallerIdentity, remote_host: str, remote_port: int) -> CallContext:
        return cls(
            user=identity.user,
            real_user=identity.real_user,
            auth_method=identity.auth_method,
            token_kind=identity.token_kind,
            token_identifier=identity.token_identifier,
            remote_host=remote_host,
            remote_port=remote_port,
            principal=identity.principal,
        )


Handler = Callable[[CallContext, Any], Message | Awaitable[Message]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RpcMethod:
    """One method.  A repeat of an ``at_most_once`` call (same client id and call id) gets the first one's reply."""

    name: str
    request_type: type[Message]
    handler: Handler
    at_most_once: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RpcProtocol:
    """Describes a protocol by its ``declaringClassProtocolName``, with ``methods`` by name.

    ``closed`` is called with the peer's address when a connection of the port has ended.
    """

    name: str
    version: int = 1
    methods: Mapping[str, RpcMethod] = field(default_factory=lambda: MappingProxyType({}))
    closed: Callable[[str, int], None] = lambda *_: None


async def _nobody_looks(_: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Lookups:
    """Brings callers' accounts into memory before a handler asks for them, see ``yodel.ports.identity``.  By default it
    does not: handlers of the port do not ask."""

    is_known: Callable[[str], bool] = lambda _: True
    look_up: Callable[[str], Awaitable[None]] = _nobody_looks


NO_LOOKUPS = Lookups()


class Dispatcher:
    """The methods of one port.  ``retry_cache`` None means that nothing is at most once."""

    def __init__(
        self,
        protocols: Sequence[RpcProtocol],
        *,
        fault_for: Callable[[Exception], RemoteFault],
        retry_cache: RetryCacheLimits | None,
        call_limits: CallLimits | None = None,
        call_timeout_s: float = CALL_TIMEOUT_S,
        monotonic: Callable[[], float] = time.monotonic,
        require: Callable[[], None] = lambda: None,
        lookups: Lookups = NO_LOOKUPS,
    ) -> None:
        """``require`` is called before every handler, and raises when nothing may be answered: a process that stood
        still finds calls in its sockets that another is there for by now."""
        self._protocols = {protocol.name: protocol for protocol in protocols}
        self._methods = {
            CallTarget(protocol.name, protocol.version, name): method
            for protocol in protocols
            for name, method in protocol.methods.items()
        }
        self._fault_for, self._require = fault_for, require
        self._is_known, self._look_up = lookups.is_known, lookups.look_up
        self._call_timeout_s = call_timeout_s
        self._retries = None if retry_cache is None else RetryCache(retry_cache, monotonic)
        self._scale = CallScale(call_limits or CallLimits())
        self.faults = 0
        """Calls answered with one."""
        self._log = structlog.get_logger("yodel.rpc")

    def closed(self, remote_host: str, remote_port: int) -> None:
        """Pass the end of a connection to the protocols."""
        for protocol in self._protocols.values():
            protocol.closed(remote_host, remote_port)

    @property
    def protocols(self) -> Collection[RpcProtocol]:
        """Return the served protocols."""
        return self._protocols.values()

    def has(self, target: CallTarget) -> bool:
        return target in self._methods

    def dispatch(self, context: CallContext, call: CallReceived) -> bytes | Coroutine[Any, Any, bytes]:
        """The answer's frame, or a coroutine that makes it.  Neither ever raises (cancellation apart)."""
        try:
            self._require()
            method = self._methods.get(call.target)
            if method is None:
                return self._fault(call, self._no_such(call.target))
            if len(call.body) > LARGE_BYTES or not self._is_known(context.user):
                return self._dispatch_later(method, context, call)
            return self._dispatch(method, context, call)
        except Exception as error:  # the boundary: whatever a handler raises is answered, never a dropped connection
            return self._fault(call, error)

    def _dispatch(
        self, method: RpcMethod, context: CallContext, call: CallReceived
    ) -> bytes | Coroutine[Any, Any, bytes]:
        request = parse(method.request_type, call.body)
        if len(call.body) > SMALL_BYTES:
            self._scale.check_items(request, f"{context.user}@{context.remote_host}")
        if method.at_most_once and self._retries is not None and len(call.client_id) == CLIENT_ID_BYTES:
            return self._dispatch_once(self._retries, method, context, request, call)
        answer = method.handler(context, request)
        if isinstance(answer, Message):
            return success_frame(call.call_id, call.client_id, call.retry_count, answer.SerializeToString())
        return self._finish(call, self._serialized(answer))

    async def _dispatch_later(self, method: RpcMethod, context: CallContext, call: CallReceived) -> bytes:
        caller = f"{context.user}@{context.remote_host}"
        try:
            with self._scale.under_way(len(call.body), caller):
                await self._look_up(context.user)
                await self._scale.check_fields(method.request_type, call.body, caller)
                answer = self._dispatch(method, context, call)
                return answer if isinstance(answer, bytes) else await answer
        except Exception as error:  # the boundary, as in dispatch
            return self._fault(call, error)

    async def close(self) -> None:
        """Cancel the at-most-once calls still running, and wait for them."""
        if self._retries is not None:
            await self._retries.close()

    def _no_such(self, target: CallTarget) -> RemoteFault:
        protocol = self._protocols.get(target.protocol)
        if protocol is None:
            return RemoteFault(
                faults.NO_SUCH_PROTOCOL,
                f"Unknown protocol: {target.protocol[:256]}",
                code=RpcErrorCode.ERROR_NO_SUCH_PROTOCOL,
            )
        if target.version != protocol.version:
            return RemoteFault(
                faults.VERSION_MISMATCH,
                f"Protocol {protocol.name} version mismatch. (client = {target.version}, server = {protocol.version})",
                code=RpcErrorCode.ERROR_RPC_VERSION_MISMATCH,
            )
        return RemoteFault(
            faults.NO_SUCH_METHOD,
            f"Unknown method {target.method[:256]} called on {protocol.name} protocol.",
            code=RpcErrorCode.ERROR_NO_SUCH_METHOD,
        )

    def _dispatch_once(
        self, retries: RetryCache, method: RpcMethod, context: CallContext, request: Message, call: CallReceived
    ) -> bytes | Coroutine[Any, Any, bytes]:
        key = CallKey(call.client_id, call.call_id, call.target.protocol, call.target.method, context.user)
        stored = retries.get(key)
        if isinstance(stored, bytes):
            return success_frame(call.call_id, call.client_id, call.retry_count, stored)
        if stored is None:
            retries.reserve()
            answer = method.handler(context, request)
            if isinstance(answer, Message):
                body = answer.SerializeToString()
                retries.put(key, body)
                return success_frame(call.call_id, call.client_id, call.retry_count, body)
            stored = retries.run(key, self._serialized(answer))
        # The cache owns the task: it goes on when this connection, or this waiter, is gone.
        return self._finish(call, _shielded(stored))

    async def _serialized(self, answer: Awaitable[Message]) -> bytes:
        async with asyncio.timeout(self._call_timeout_s):
            return await serialized(await answer)

    async def _finish(self, call: CallReceived, body: Coroutine[Any, Any, bytes]) -> bytes:
        try:
            return success_frame(call.call_id, call.client_id, call.retry_count, await body)
        except Exception as error:  # the boundary, as in dispatch
            return self._fault(call, error)

    def _fault(self, call: CallReceived, error: Exception) -> bytes:
        self.faults += 1
        return fault_frame(call.call_id, call.client_id, call.retry_count, self._translated(call, error))

    def _translated(self, call: CallReceived, error: Exception) -> RemoteFault:
        if isinstance(error, RemoteFault):
            return error
        if isinstance(error, MalformedFrame):
            message = f"IPC server unable to read call parameters: {error}"
            return RemoteFault(faults.RPC_SERVER, message, code=RpcErrorCode.ERROR_RPC_SERVER)
        if isinstance(error, RetryCacheFull):
            return RemoteFault(faults.RETRIABLE, str(error), code=RpcErrorCode.ERROR_RPC_SERVER)
        try:
            if isinstance(error, YodelError):
                return self._fault_for(error)
        except Exception as second:  # a fault in the translation must not cost the caller its answer
            error = second
        return self._unexpected(call, error)

    def _unexpected(self, call: CallReceived, error: Exception) -> RemoteFault:
        """Log what and where, but no text of the exception and no payload: either may hold secrets.  What the operating
        system refused is told by its reason."""
        stack = traceback.extract_tb(error.__traceback__)[-STACK_FRAMES_LOGGED:]
        self._log.error(
            "rpc_call_failed",
            protocol=call.target.protocol,
            method=call.target.method,
            call_id=call.call_id,
            exception=type(error).__name__,
            reason=system_reason(error),
            stack=[f"{frame.filename}:{frame.lineno} {frame.name}" for frame in stack],
        )
        if isinstance(error, TimeoutError):
            return RemoteFault(faults.IO_EXCEPTION, f"{call.target.method} did not end in {self._call_timeout_s:g} s")
        code = RpcErrorCode.ERROR_SERIALIZING_RESPONSE if isinstance(error, EncodeError) else None
        message = system_reason(error) or f"Internal error ({type(error).__name__})"
        return RemoteFault(faults.IO_EXCEPTION, message, code=code or RpcErrorCode.ERROR_APPLICATION)


async def _shielded(task: asyncio.Task[bytes]) -> bytes:
    return await asyncio.shield(task)
