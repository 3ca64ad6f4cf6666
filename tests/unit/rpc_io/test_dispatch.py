"""Dispatch, without a socket."""

import asyncio
import errno
import socket
import ssl
from collections.abc import Awaitable
from typing import Any

import pytest
from structlog.testing import capture_logs

from yodel.errors import ApplicationNotFound
from yodel.hadoop_pb.RpcHeader_pb2 import RpcResponseHeaderProto
from yodel.hadoop_pb.yarn_service_protos_pb2 import AllocateRequestProto, AllocateResponseProto
from yodel.hadoop_rpc import faults
from yodel.hadoop_rpc.faults import RemoteFault, RpcErrorCode
from yodel.hadoop_rpc.framing import take_delimited
from yodel.hadoop_rpc.server_connection import CallReceived, CallTarget
from yodel.hadoop_rpc.server_policy import CallerIdentity
from yodel.rm_rpc.remote_errors import fault_for
from yodel.rpc_io.dispatch import (
    NO_LOOKUPS,
    CallContext,
    Dispatcher,
    Handler,
    Lookups,
    RetryCacheLimits,
    RpcMethod,
    RpcProtocol,
)
from yodel.store.errors import LeadLost

PROTOCOL = "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB"
CLIENT_ID = bytes(range(16))
PEER = CallContext.of(CallerIdentity(user="bob", real_user="proxy"), "10.0.0.1", 5)


def dispatcher(
    handler: Handler, *, once: bool = False, timeout_s: float = 5.0, lookups: Lookups = NO_LOOKUPS
) -> Dispatcher:
    method = RpcMethod(name="allocate", request_type=AllocateRequestProto, handler=handler, at_most_once=once)

    def fault_for(error: Exception) -> RemoteFault:
        assert isinstance(error, ApplicationNotFound)  # anything else is a bug of the translation
        return RemoteFault(faults.APPLICATION_NOT_FOUND, str(error))

    return Dispatcher(
        [RpcProtocol(name=PROTOCOL, methods={"allocate": method})],
        lookups=lookups,
        fault_for=fault_for,
        retry_cache=RetryCacheLimits() if once else None,
        call_timeout_s=timeout_s,
    )


def call(
    *, method: str = "allocate", protocol: str = PROTOCOL, version: int = 1, body: bytes = b"\x18\x05", retry: int = 0
) -> CallReceived:
    return CallReceived(7, CLIENT_ID, retry, CallTarget(protocol, version, method), body)


def read(frame: bytes) -> tuple[RpcResponseHeaderProto, bytes]:
    raw, position = take_delimited(frame, 4)
    header = RpcResponseHeaderProto.FromString(raw)
    return header, b"" if position == len(frame) else take_delimited(frame, position)[0]


async def answer(target: Dispatcher, received: CallReceived) -> tuple[RpcResponseHeaderProto, bytes]:
    result = target.dispatch(PEER, received)
    return read(result if isinstance(result, bytes) else await result)


def echo(_context: CallContext, request: AllocateRequestProto) -> AllocateResponseProto:
    return AllocateResponseProto(response_id=request.response_id)


async def late_echo(_context: CallContext, request: AllocateRequestProto) -> AllocateResponseProto:
    await asyncio.sleep(0)
    return AllocateResponseProto(response_id=request.response_id)


async def test_plain_handler_is_answered_at_once() -> None:
    result = dispatcher(echo).dispatch(PEER, call())
    assert isinstance(result, bytes)
    header, body = read(result)
    assert (header.callId, header.clientId, header.status) == (7, CLIENT_ID, RpcResponseHeaderProto.SUCCESS)
    assert (
        AllocateResponseProto.FromString(body).response_id == AllocateRequestProto.FromString(b"\x18\x05").response_id
    )


async def test_coroutine_is_handed_back() -> None:
    result = dispatcher(late_echo).dispatch(PEER, call())
    assert not isinstance(result, bytes)
    assert read(await result)[0].status == RpcResponseHeaderProto.SUCCESS


async def test_context_says_who_calls() -> None:
    seen: list[CallContext] = []

    def handler(context: CallContext, _request: Any) -> AllocateResponseProto:
        seen.append(context)
        return AllocateResponseProto()

    await answer(dispatcher(handler), call(retry=3))
    (context,) = seen
    assert (context.user, context.real_user, context.remote_host, context.remote_port) == (
        "bob",
        "proxy",
        "10.0.0.1",
        5,
    )


@pytest.mark.parametrize(
    ("received", "java_class", "code", "message"),
    [
        (
            call(method="nope"),
            faults.NO_SUCH_METHOD,
            RpcErrorCode.ERROR_NO_SUCH_METHOD,
            f"Unknown method nope called on {PROTOCOL} protocol.",
        ),
        (
            call(protocol="Nope"),
            faults.NO_SUCH_PROTOCOL,
            RpcErrorCode.ERROR_NO_SUCH_PROTOCOL,
            "Unknown protocol: Nope",
        ),
        (
            call(version=2),
            faults.VERSION_MISMATCH,
            RpcErrorCode.ERROR_RPC_VERSION_MISMATCH,
            f"Protocol {PROTOCOL} version mismatch. (client = 2, server = 1)",
        ),
        (
            call(body=b"\xff"),
            faults.RPC_SERVER,
            RpcErrorCode.ERROR_RPC_SERVER,
            "IPC server unable to read call parameters: not a AllocateRequestProto",
        ),
    ],
)
async def test_call_nobody_can_serve_gets_hadoops_error(
    received: CallReceived, java_class: str, code: RpcErrorCode, message: str
) -> None:
    header, _ = await answer(dispatcher(echo), received)
    assert header.status == RpcResponseHeaderProto.ERROR
    assert (header.exceptionClassName, header.errorDetail, header.errorMsg) == (java_class, code, message)


async def test_protocol_is_served_in_its_own_version_alone() -> None:
    method = RpcMethod(name="allocate", request_type=AllocateRequestProto, handler=echo)
    protocol = RpcProtocol(name=PROTOCOL, version=2, methods={"allocate": method})
    target = Dispatcher([protocol], fault_for=lambda error: RemoteFault("", str(error)), retry_cache=None)
    answers = [(await answer(target, call(version=version)))[0] for version in (1, 2)]
    assert [header.exceptionClassName for header in answers] == [faults.VERSION_MISMATCH, ""]
    assert [target.has(CallTarget(PROTOCOL, version, "allocate")) for version in (1, 2)] == [False, True]


def raising(error: Exception, *, late: bool) -> Handler:
    def plain(_context: CallContext, _request: Any) -> AllocateResponseProto:
        raise error

    async def coroutine(_context: CallContext, _request: Any) -> AllocateResponseProto:
        raise error

    return coroutine if late else plain


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize(
    ("error", "java_class", "message"),
    [
        (RemoteFault(faults.RETRIABLE, "later"), faults.RETRIABLE, "later"),
        (ApplicationNotFound("a"), faults.APPLICATION_NOT_FOUND, str(ApplicationNotFound("a"))),
    ],
)
async def test_domain_errors_are_translated(late: bool, error: Exception, java_class: str, message: str) -> None:
    header, _ = await answer(dispatcher(raising(error, late=late)), call())
    assert (header.exceptionClassName, header.errorMsg) == (java_class, message)


@pytest.mark.parametrize("late", [False, True])
async def test_unexpected_error_is_answered_and_logged_without_its_text(late: bool) -> None:
    with capture_logs() as logs:
        header, _ = await answer(dispatcher(raising(KeyError("secret"), late=late)), call())
    assert (header.exceptionClassName, header.errorMsg) == (faults.IO_EXCEPTION, "Internal error (KeyError)")
    (entry,) = logs
    assert (entry["event"], entry["method"], entry["exception"]) == ("rpc_call_failed", "allocate", "KeyError")
    assert "secret" not in repr(logs)


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "/secret"), "No space left on device"),
        (PermissionError(errno.EACCES, "in other words", "/secret"), "Permission denied"),
        (OSError(errno.EMFILE, "x"), "Too many open files"),
        (OSError("secret"), "Internal error (OSError)"),
        (socket.gaierror(socket.EAI_NONAME, "secret"), "Internal error (gaierror)"),
        (ssl.SSLError(1, "secret"), "Internal error (SSLError)"),
    ],
)
async def test_what_the_system_refuses_is_told_by_its_reason(late: bool, error: OSError, message: str) -> None:
    with capture_logs() as logs:
        header, _ = await answer(dispatcher(raising(error, late=late)), call())
    assert (header.exceptionClassName, header.errorMsg) == (faults.IO_EXCEPTION, message)
    assert "secret" not in repr(logs)


async def test_fault_in_the_translation_is_answered_too() -> None:
    with capture_logs() as logs:
        header, _ = await answer(dispatcher(raising(faults.YodelError("odd"), late=False)), call())
    assert header.errorMsg == "Internal error (AssertionError)"
    assert len(logs) == 1


async def test_call_that_takes_too_long_is_answered() -> None:
    async def forever(_context: CallContext, _request: Any) -> AllocateResponseProto:
        await asyncio.Event().wait()
        raise AssertionError

    with capture_logs():
        header, _ = await answer(dispatcher(forever, timeout_s=0.0), call())
    assert header.errorMsg == "allocate did not end in 0 s"


class Counted:
    """A handler that counts its runs; as a coroutine it waits for the gate."""

    def __init__(self) -> None:
        self.runs = 0
        self.gate = asyncio.Event()

    def plain(self, _context: CallContext, _request: Any) -> AllocateResponseProto:
        self.runs += 1
        return AllocateResponseProto(response_id=self.runs)

    def late(self, context: CallContext, request: Any) -> Awaitable[AllocateResponseProto]:
        async def work() -> AllocateResponseProto:
            await self.gate.wait()
            return self.plain(context, request)

        return work()


async def test_repeat_of_an_at_most_once_call_gets_the_first_reply() -> None:
    counted = Counted()
    target = dispatcher(counted.plain, once=True)
    first, repeat = await answer(target, call()), await answer(target, call(retry=1))
    assert counted.runs == 1
    assert first[1] == repeat[1]
    assert (first[0].retryCount, repeat[0].retryCount) == (0, 1)


async def test_repeat_waits_for_the_call_in_flight_even_if_the_first_waiter_is_gone() -> None:
    counted = Counted()
    target = dispatcher(counted.late, once=True)
    results = [target.dispatch(PEER, call()), target.dispatch(PEER, call(retry=1))]
    waiters = [asyncio.ensure_future(result) for result in results if not isinstance(result, bytes)]
    assert len(waiters) == 2
    await asyncio.sleep(0)
    waiters[0].cancel()
    counted.gate.set()
    assert AllocateResponseProto.FromString(read(await waiters[1])[1]).response_id == 1
    assert counted.runs == 1
    await target.close()


async def test_other_users_and_nameless_clients_get_no_stored_reply() -> None:
    counted = Counted()
    target = dispatcher(counted.plain, once=True)
    other = CallContext.of(CallerIdentity(user="eve"), "10.0.0.2", 5)
    target.dispatch(PEER, call())
    target.dispatch(other, call())
    nameless = CallReceived(7, b"", 0, CallTarget(PROTOCOL, 1, "allocate"), b"")
    target.dispatch(PEER, nameless)
    target.dispatch(PEER, nameless)
    assert counted.runs == 4


@pytest.mark.parametrize("handler", [echo, late_echo])
async def test_who_may_not_answer_calls_no_handler(handler: Handler) -> None:
    """A process that stood still finds calls in its sockets, which another may have answered by now."""
    heard: list[int] = []

    def noting(context: CallContext, request: AllocateRequestProto) -> Any:
        heard.append(request.response_id)
        return handler(context, request)

    def require() -> None:
        raise LeadLost("rm-1")

    method = RpcMethod(name="allocate", request_type=AllocateRequestProto, handler=noting)
    protocol = RpcProtocol(name=PROTOCOL, methods={"allocate": method})
    stale = Dispatcher([protocol], fault_for=fault_for, retry_cache=None, require=require)
    header, _ = await answer(stale, call())
    assert (heard, header.exceptionClassName) == ([], faults.RETRIABLE)


async def test_a_caller_who_is_not_known_is_looked_up_before_the_handler() -> None:
    known = set[str]()

    async def look_up(user: str) -> None:
        await asyncio.sleep(0)
        known.add(user)

    def handler(context: CallContext, request: AllocateRequestProto) -> AllocateResponseProto:
        assert context.user in known
        return echo(context, request)

    target = dispatcher(handler, lookups=Lookups(known.__contains__, look_up))
    header, _ = await answer(target, call())
    assert header.status == RpcResponseHeaderProto.SUCCESS
    assert isinstance(target.dispatch(PEER, call()), bytes), "from memory, without a task"


async def test_a_caller_who_cannot_be_looked_up_is_answered_so() -> None:
    async def look_up(user: str) -> None:
        raise ApplicationNotFound(user)

    target = dispatcher(echo, lookups=Lookups(lambda _: False, look_up))
    header, _ = await answer(target, call())
    assert header.exceptionClassName == faults.APPLICATION_NOT_FOUND
