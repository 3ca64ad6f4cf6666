"""Recorded calls asked again: of our own handlers, behind the real dispatcher, over a ResourceManager in memory.

``Replay`` knows ids and the wire; what brings a cluster into the state in which a call was recorded is a ``Stage``'s
business, one for each port.  A further port (am, nm, admin) is a stage and its line in ``test_rpc_replay.py``.

Answers are compared by what they populate: the set of field paths, with the elements of a list seen as one.
"""

from __future__ import annotations

import re
from collections.abc import Coroutine, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from tests.conformance.recorded_calls import RecordedCall
from tests.support.playbook import World
from yodel.domain.ids import ApplicationId
from yodel.hadoop_pb import RpcHeader_pb2 as header_pb
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.hadoop_rpc.framing import take_delimited
from yodel.hadoop_rpc.server_connection import CallReceived, CallTarget
from yodel.hadoop_rpc.server_policy import CallerIdentity
from yodel.pb_convert import ids
from yodel.rm_rpc.remote_errors import fault_for
from yodel.rpc_io.dispatch import CallContext, Dispatcher, RetryCacheLimits, RpcProtocol

IDS = re.compile(r"(application|appattempt|container)(_e\d+)?(_\d+)+")


class Stage(Protocol):
    """Makes the world ready for a call that was recorded with this answer (None: it was refused)."""

    async def prepare(self, method: str, request: Any, answer: Any | None) -> None: ...


@dataclass(slots=True)
class Replay:
    """One recording, asked again.  ``user`` is whoever the recorded caller was."""

    world: World
    protocol: RpcProtocol
    service: Any
    identity: CallerIdentity
    application_ids: dict[ApplicationId, ApplicationId] = field(default_factory=dict)
    asked: int = 0

    async def ask(self, call: RecordedCall, stage: Stage) -> None:
        """Ask, and compare.  Raises AssertionError: another answer, or other fields in it."""
        assert call.protocol == self.protocol.name
        method = next(m for m in self.service.methods if m.name == call.method)
        answer_type = GetMessageClass(method.output_type)
        request = GetMessageClass(method.input_type).FromString(call.request)
        recorded = None if call.fault_class else answer_type.FromString(call.answer)
        for application_id in application_ids_in(request):
            self._rename(application_id)
        await stage.prepare(call.method, request, recorded)
        header, body = await self._dispatch(call.method, request.SerializeToString())
        self.asked += 1
        if recorded is None:
            assert header.exceptionClassName == call.fault_class
            assert masked(header.errorMsg.splitlines()[0]).endswith(masked(call.fault_text.split(": ", 1)[-1]))
            return
        assert header.status == header_pb.RpcResponseHeaderProto.SUCCESS, (call.method, header.errorMsg)
        answer = answer_type.FromString(body)
        self._learn(recorded, answer)
        self._compare(call.method, recorded, answer)

    def _rename(self, recorded: pb.ApplicationIdProto) -> None:
        ours = self.application_ids.get(ids.application_id(recorded))
        if ours is not None:
            recorded.CopyFrom(ids.application_id_pb(ours))

    def _learn(self, recorded: Any, answer: Any) -> None:
        """A new application has our number instead of the recorded one from here on."""
        if recorded.DESCRIPTOR.name == "GetNewApplicationResponseProto":
            ours = ids.application_id(answer.application_id)
            self.application_ids[ids.application_id(recorded.application_id)] = ours

    async def _dispatch(self, method: str, body: bytes) -> tuple[header_pb.RpcResponseHeaderProto, bytes]:
        dispatcher = Dispatcher([self.protocol], fault_for=fault_for, retry_cache=RetryCacheLimits())
        call = CallReceived(
            call_id=self.asked,
            client_id=b"c" * 16,
            retry_count=-1,
            target=CallTarget(self.protocol.name, self.protocol.version, method),
            body=body,
        )
        peer = CallContext.of(self.identity, "127.0.0.1", 1)
        frame = dispatcher.dispatch(peer, call)
        if isinstance(frame, Coroutine):
            frame = await self.world.run(frame)
        head, position = take_delimited(frame[4:], 0)
        header = header_pb.RpcResponseHeaderProto.FromString(head)
        is_answer = header.status == header_pb.RpcResponseHeaderProto.SUCCESS
        return header, take_delimited(frame[4:], position)[0] if is_answer else b""

    def _compare(self, method: str, recorded: Message, answer: Message) -> None:
        theirs, ours = populated(recorded), populated(answer)
        missing = {path for path in theirs - ours if not _is_excused(path, MISSING)}
        extra = {path for path in ours - theirs if not _is_excused(path, EXTRA)}
        assert not missing, f"{method}: our answer lacks {sorted(missing)}"
        assert not extra, f"{method}: our answer has {sorted(extra)} beyond the recorded one"


MISSING: dict[str, str] = {
    r"completed_container_statuses\.container_attributes(\..*)?": "a container's addresses stay with its node agent",
    r"nodeReports\.node_utilization\.customResources(\..*)?": "a node without GPU has nothing to say of one",
}
"""Path patterns that a recorded answer has and ours need not have, with the reason."""
EXTRA: dict[str, str] = {
    r"application_report\.(app_resource_Usage\.(cluster|queue)_usage_percentage|log_aggregation_status)": (
        "an application has an attempt as soon as it is submitted; Hadoop's has none while it is SUBMITTED"
    ),
    r"(.*\.)?(id|container_id)\.app_id(\..*)?": "container ids name their application where Hadoop 2 looked for it too",
}
"""Path patterns that ours may have beyond a recorded answer, with the reason."""


def populated(message: Message, prefix: str = "") -> set[str]:
    """Every field that is set, as dotted paths; the elements of a list count together."""
    paths = set()
    for descriptor, value in message.ListFields():
        path = f"{prefix}{descriptor.name}"
        paths.add(path)
        if descriptor.message_type is not None:
            for element in value if descriptor.is_repeated else (value,):
                paths |= populated(element, path + ".")
    return paths


def application_ids_in(message: Message) -> Iterable[pb.ApplicationIdProto]:
    """Every application id, wherever it is."""
    if isinstance(message, pb.ApplicationIdProto):
        yield message
        return
    for descriptor, value in message.ListFields():
        if descriptor.message_type is not None:
            for element in value if descriptor.is_repeated else (value,):
                yield from application_ids_in(element)


def masked(text: str) -> str:
    return IDS.sub("<id>", text)


def _is_excused(path: str, patterns: dict[str, str]) -> bool:
    return any(re.fullmatch(pattern, path) for pattern in patterns)
