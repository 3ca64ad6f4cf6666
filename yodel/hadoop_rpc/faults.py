"""Remote faults: the exceptions that cross the wire, as Java class name, message and error code.

A handler raises a ``RemoteFault`` to answer an error; the client raises one when the server answered an error.  The
class name is loaded by a Java client with its class loader and rebuilt through the (String) constructor, so only names
that exist in Hadoop's client jars belong here.  No other exception is ever put on the wire.
"""

from __future__ import annotations

from enum import IntEnum

from yodel.errors import YodelError

_YARN = "org.apache.hadoop.yarn.exceptions."
_IPC = "org.apache.hadoop.ipc."
_SECURITY = "org.apache.hadoop.security."

YARN_EXCEPTION = _YARN + "YarnException"
APPLICATION_NOT_FOUND = _YARN + "ApplicationNotFoundException"
APPLICATION_ATTEMPT_NOT_FOUND = _YARN + "ApplicationAttemptNotFoundException"
APPLICATION_MASTER_NOT_REGISTERED = _YARN + "ApplicationMasterNotRegisteredException"
APPLICATION_ID_NOT_PROVIDED = _YARN + "ApplicationIdNotProvidedException"
CONTAINER_NOT_FOUND = _YARN + "ContainerNotFoundException"
FEATURE_NOT_ENABLED = _YARN + "YARNFeatureNotEnabledException"
INVALID_APPLICATION_MASTER_REQUEST = _YARN + "InvalidApplicationMasterRequestException"
INVALID_AUX_SERVICE = _YARN + "InvalidAuxServiceException"
INVALID_CONTAINER = _YARN + "InvalidContainerException"
INVALID_CONTAINER_RELEASE = _YARN + "InvalidContainerReleaseException"
INVALID_LABEL_RESOURCE_REQUEST = _YARN + "InvalidLabelResourceRequestException"
INVALID_RESOURCE_BLACKLIST_REQUEST = _YARN + "InvalidResourceBlacklistRequestException"
INVALID_RESOURCE_REQUEST = _YARN + "InvalidResourceRequestException"
NM_NOT_YET_READY = _YARN + "NMNotYetReadyException"

ACCESS_CONTROL = _SECURITY + "AccessControlException"
AUTHORIZATION = _SECURITY + "authorize.AuthorizationException"
INVALID_TOKEN = _SECURITY + "token.SecretManager$InvalidToken"
SASL = "javax.security.sasl.SaslException"

NO_SUCH_METHOD = _IPC + "RpcNoSuchMethodException"
NO_SUCH_PROTOCOL = _IPC + "RpcNoSuchProtocolException"
VERSION_MISMATCH = _IPC + "RPC$VersionMismatch"
RPC_SERVER = _IPC + "RpcServerException"
IPC = _IPC + "IpcException"
RETRIABLE = _IPC + "RetriableException"
STANDBY = _IPC + "StandbyException"

IO_EXCEPTION = "java.io.IOException"
ILLEGAL_ARGUMENT = "java.lang.IllegalArgumentException"
UNSUPPORTED_OPERATION = "java.lang.UnsupportedOperationException"


class RpcErrorCode(IntEnum):
    """``RpcResponseHeaderProto.RpcErrorCodeProto``."""

    ERROR_APPLICATION = 1
    ERROR_NO_SUCH_METHOD = 2
    ERROR_NO_SUCH_PROTOCOL = 3
    ERROR_RPC_SERVER = 4
    ERROR_SERIALIZING_RESPONSE = 5
    ERROR_RPC_VERSION_MISMATCH = 6
    FATAL_UNKNOWN = 10
    FATAL_UNSUPPORTED_SERIALIZATION = 11
    FATAL_INVALID_RPC_HEADER = 12
    FATAL_DESERIALIZING_REQUEST = 13
    FATAL_VERSION_MISMATCH = 14
    FATAL_UNAUTHORIZED = 15


class RemoteFault(YodelError):
    """An error answer.  ``fatal`` ends the connection, all of whose calls the client then fails (status FATAL)."""

    def __init__(
        self,
        java_class: str,
        message: str,
        *,
        code: RpcErrorCode = RpcErrorCode.ERROR_APPLICATION,
        fatal: bool = False,
    ) -> None:
        self.java_class, self.message, self.code, self.fatal = java_class, message, code, fatal
        super().__init__(f"{java_class}: {message}")


def invalid_header(message: str) -> RemoteFault:
    """The peer broke the protocol; follows ``Server.FatalRpcServerException(FATAL_INVALID_RPC_HEADER)``."""
    return RemoteFault(RPC_SERVER, message, code=RpcErrorCode.FATAL_INVALID_RPC_HEADER, fatal=True)


def unauthorized(java_class: str, message: str) -> RemoteFault:
    """Authentication or authorization of the connection failed."""
    return RemoteFault(java_class, message, code=RpcErrorCode.FATAL_UNAUTHORIZED, fatal=True)
