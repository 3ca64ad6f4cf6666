from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GetProtocolVersionsRequestProto(_message.Message):
    __slots__ = ("protocol",)
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    protocol: str
    def __init__(self, protocol: _Optional[str] = ...) -> None: ...

class ProtocolVersionProto(_message.Message):
    __slots__ = ("rpcKind", "versions")
    RPCKIND_FIELD_NUMBER: _ClassVar[int]
    VERSIONS_FIELD_NUMBER: _ClassVar[int]
    rpcKind: str
    versions: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, rpcKind: _Optional[str] = ..., versions: _Optional[_Iterable[int]] = ...) -> None: ...

class GetProtocolVersionsResponseProto(_message.Message):
    __slots__ = ("protocolVersions",)
    PROTOCOLVERSIONS_FIELD_NUMBER: _ClassVar[int]
    protocolVersions: _containers.RepeatedCompositeFieldContainer[ProtocolVersionProto]
    def __init__(self, protocolVersions: _Optional[_Iterable[_Union[ProtocolVersionProto, _Mapping]]] = ...) -> None: ...

class GetProtocolSignatureRequestProto(_message.Message):
    __slots__ = ("protocol", "rpcKind")
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    RPCKIND_FIELD_NUMBER: _ClassVar[int]
    protocol: str
    rpcKind: str
    def __init__(self, protocol: _Optional[str] = ..., rpcKind: _Optional[str] = ...) -> None: ...

class GetProtocolSignatureResponseProto(_message.Message):
    __slots__ = ("protocolSignature",)
    PROTOCOLSIGNATURE_FIELD_NUMBER: _ClassVar[int]
    protocolSignature: _containers.RepeatedCompositeFieldContainer[ProtocolSignatureProto]
    def __init__(self, protocolSignature: _Optional[_Iterable[_Union[ProtocolSignatureProto, _Mapping]]] = ...) -> None: ...

class ProtocolSignatureProto(_message.Message):
    __slots__ = ("version", "methods")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    METHODS_FIELD_NUMBER: _ClassVar[int]
    version: int
    methods: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, version: _Optional[int] = ..., methods: _Optional[_Iterable[int]] = ...) -> None: ...
