"""Lists a protocol's methods: served ones with a handler, all others with Hadoop's "not supported" form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from yodel.hadoop_rpc import faults
from yodel.hadoop_rpc.faults import RemoteFault
from yodel.rpc_io.dispatch import CallContext, Handler, RpcMethod, RpcProtocol


def protocol(
    name: str,
    service: ServiceDescriptor,
    handlers: Mapping[str, Handler],
    *,
    at_most_once: Sequence[str] = (),
    version: int = 1,
) -> RpcProtocol:
    """Every method of the service: one without a handler answers UnsupportedOperationException, as Hadoop's do.

    Raises:
        ValueError: a handler for a method that the service does not have.
    """
    known = {method.name: method for method in service.methods}
    if strangers := handlers.keys() - known.keys():
        raise ValueError(f"{service.full_name} has no method {', '.join(sorted(strangers))}")
    methods = {
        method_name: RpcMethod(
            name=method_name,
            request_type=GetMessageClass(method.input_type),
            handler=handlers.get(method_name) or _not_supported(method_name),
            at_most_once=method_name in at_most_once,
        )
        for method_name, method in known.items()
    }
    return RpcProtocol(name=name, version=version, methods=methods)


def _not_supported(method_name: str) -> Handler:
    def answer(_: CallContext, __: Any) -> Message:
        raise RemoteFault(faults.UNSUPPORTED_OPERATION, f"{method_name} is not supported by this ResourceManager")

    return answer
