from yodel.hadoop_pb import yarn_protos_pb2 as _yarn_protos_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class NMTokenIdentifierProto(_message.Message):
    __slots__ = ("appAttemptId", "nodeId", "appSubmitter", "keyId")
    APPATTEMPTID_FIELD_NUMBER: _ClassVar[int]
    NODEID_FIELD_NUMBER: _ClassVar[int]
    APPSUBMITTER_FIELD_NUMBER: _ClassVar[int]
    KEYID_FIELD_NUMBER: _ClassVar[int]
    appAttemptId: _yarn_protos_pb2.ApplicationAttemptIdProto
    nodeId: _yarn_protos_pb2.NodeIdProto
    appSubmitter: str
    keyId: int
    def __init__(self, appAttemptId: _Optional[_Union[_yarn_protos_pb2.ApplicationAttemptIdProto, _Mapping]] = ..., nodeId: _Optional[_Union[_yarn_protos_pb2.NodeIdProto, _Mapping]] = ..., appSubmitter: _Optional[str] = ..., keyId: _Optional[int] = ...) -> None: ...

class AMRMTokenIdentifierProto(_message.Message):
    __slots__ = ("appAttemptId", "keyId")
    APPATTEMPTID_FIELD_NUMBER: _ClassVar[int]
    KEYID_FIELD_NUMBER: _ClassVar[int]
    appAttemptId: _yarn_protos_pb2.ApplicationAttemptIdProto
    keyId: int
    def __init__(self, appAttemptId: _Optional[_Union[_yarn_protos_pb2.ApplicationAttemptIdProto, _Mapping]] = ..., keyId: _Optional[int] = ...) -> None: ...

class ContainerTokenIdentifierProto(_message.Message):
    __slots__ = ("containerId", "nmHostAddr", "appSubmitter", "resource", "expiryTimeStamp", "masterKeyId", "rmIdentifier", "priority", "creationTime", "logAggregationContext", "nodeLabelExpression", "containerType", "executionType", "version", "allocation_request_id", "allocation_tags", "shuffle", "pod_uid")
    CONTAINERID_FIELD_NUMBER: _ClassVar[int]
    NMHOSTADDR_FIELD_NUMBER: _ClassVar[int]
    APPSUBMITTER_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    EXPIRYTIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    MASTERKEYID_FIELD_NUMBER: _ClassVar[int]
    RMIDENTIFIER_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    CREATIONTIME_FIELD_NUMBER: _ClassVar[int]
    LOGAGGREGATIONCONTEXT_FIELD_NUMBER: _ClassVar[int]
    NODELABELEXPRESSION_FIELD_NUMBER: _ClassVar[int]
    CONTAINERTYPE_FIELD_NUMBER: _ClassVar[int]
    EXECUTIONTYPE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    ALLOCATION_REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    ALLOCATION_TAGS_FIELD_NUMBER: _ClassVar[int]
    SHUFFLE_FIELD_NUMBER: _ClassVar[int]
    POD_UID_FIELD_NUMBER: _ClassVar[int]
    containerId: _yarn_protos_pb2.ContainerIdProto
    nmHostAddr: str
    appSubmitter: str
    resource: _yarn_protos_pb2.ResourceProto
    expiryTimeStamp: int
    masterKeyId: int
    rmIdentifier: int
    priority: _yarn_protos_pb2.PriorityProto
    creationTime: int
    logAggregationContext: _yarn_protos_pb2.LogAggregationContextProto
    nodeLabelExpression: str
    containerType: _yarn_protos_pb2.ContainerTypeProto
    executionType: _yarn_protos_pb2.ExecutionTypeProto
    version: int
    allocation_request_id: int
    allocation_tags: _containers.RepeatedScalarFieldContainer[str]
    shuffle: _containers.RepeatedCompositeFieldContainer[_yarn_protos_pb2.StringStringMapProto]
    pod_uid: str
    def __init__(self, containerId: _Optional[_Union[_yarn_protos_pb2.ContainerIdProto, _Mapping]] = ..., nmHostAddr: _Optional[str] = ..., appSubmitter: _Optional[str] = ..., resource: _Optional[_Union[_yarn_protos_pb2.ResourceProto, _Mapping]] = ..., expiryTimeStamp: _Optional[int] = ..., masterKeyId: _Optional[int] = ..., rmIdentifier: _Optional[int] = ..., priority: _Optional[_Union[_yarn_protos_pb2.PriorityProto, _Mapping]] = ..., creationTime: _Optional[int] = ..., logAggregationContext: _Optional[_Union[_yarn_protos_pb2.LogAggregationContextProto, _Mapping]] = ..., nodeLabelExpression: _Optional[str] = ..., containerType: _Optional[_Union[_yarn_protos_pb2.ContainerTypeProto, str]] = ..., executionType: _Optional[_Union[_yarn_protos_pb2.ExecutionTypeProto, str]] = ..., version: _Optional[int] = ..., allocation_request_id: _Optional[int] = ..., allocation_tags: _Optional[_Iterable[str]] = ..., shuffle: _Optional[_Iterable[_Union[_yarn_protos_pb2.StringStringMapProto, _Mapping]]] = ..., pod_uid: _Optional[str] = ...) -> None: ...

class ClientToAMTokenIdentifierProto(_message.Message):
    __slots__ = ("appAttemptId", "clientName")
    APPATTEMPTID_FIELD_NUMBER: _ClassVar[int]
    CLIENTNAME_FIELD_NUMBER: _ClassVar[int]
    appAttemptId: _yarn_protos_pb2.ApplicationAttemptIdProto
    clientName: str
    def __init__(self, appAttemptId: _Optional[_Union[_yarn_protos_pb2.ApplicationAttemptIdProto, _Mapping]] = ..., clientName: _Optional[str] = ...) -> None: ...

class YARNDelegationTokenIdentifierProto(_message.Message):
    __slots__ = ("owner", "renewer", "realUser", "issueDate", "maxDate", "sequenceNumber", "masterKeyId")
    OWNER_FIELD_NUMBER: _ClassVar[int]
    RENEWER_FIELD_NUMBER: _ClassVar[int]
    REALUSER_FIELD_NUMBER: _ClassVar[int]
    ISSUEDATE_FIELD_NUMBER: _ClassVar[int]
    MAXDATE_FIELD_NUMBER: _ClassVar[int]
    SEQUENCENUMBER_FIELD_NUMBER: _ClassVar[int]
    MASTERKEYID_FIELD_NUMBER: _ClassVar[int]
    owner: str
    renewer: str
    realUser: str
    issueDate: int
    maxDate: int
    sequenceNumber: int
    masterKeyId: int
    def __init__(self, owner: _Optional[str] = ..., renewer: _Optional[str] = ..., realUser: _Optional[str] = ..., issueDate: _Optional[int] = ..., maxDate: _Optional[int] = ..., sequenceNumber: _Optional[int] = ..., masterKeyId: _Optional[int] = ...) -> None: ...

class DockerCredentialTokenIdentifierProto(_message.Message):
    __slots__ = ("registryUrl", "applicationId")
    REGISTRYURL_FIELD_NUMBER: _ClassVar[int]
    APPLICATIONID_FIELD_NUMBER: _ClassVar[int]
    registryUrl: str
    applicationId: str
    def __init__(self, registryUrl: _Optional[str] = ..., applicationId: _Optional[str] = ...) -> None: ...
