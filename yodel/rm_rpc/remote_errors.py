"""The project's exceptions as the Java classes a Hadoop client would get (the one place of translation)."""

from __future__ import annotations

from yodel import errors
from yodel.hadoop_rpc import faults
from yodel.hadoop_rpc.faults import RemoteFault

_CLASSES: tuple[tuple[type[Exception], str], ...] = (
    (errors.ApplicationNotFound, faults.APPLICATION_NOT_FOUND),
    (errors.ApplicationAttemptNotFound, faults.APPLICATION_ATTEMPT_NOT_FOUND),
    (errors.ContainerNotFound, faults.CONTAINER_NOT_FOUND),
    (errors.NotFound, faults.YARN_EXCEPTION),
    (errors.NotRegistered, faults.APPLICATION_MASTER_NOT_REGISTERED),
    (errors.AlreadyRegistered, faults.INVALID_APPLICATION_MASTER_REQUEST),
    (errors.InvalidResponseId, faults.INVALID_APPLICATION_MASTER_REQUEST),
    (errors.UnknownToCache, faults.INVALID_APPLICATION_MASTER_REQUEST),
    (errors.InvalidLabelRequest, faults.INVALID_LABEL_RESOURCE_REQUEST),
    (errors.InvalidBlacklistRequest, faults.INVALID_RESOURCE_BLACKLIST_REQUEST),
    (errors.InvalidReleaseRequest, faults.INVALID_CONTAINER_RELEASE),
    (errors.InvalidResourceRequest, faults.INVALID_RESOURCE_REQUEST),
    (errors.AccessDenied, faults.YARN_EXCEPTION),
    (errors.Refused, faults.YARN_EXCEPTION),
    (errors.NotSupported, faults.UNSUPPORTED_OPERATION),
    (errors.InvalidValue, faults.YARN_EXCEPTION),
    (errors.Unavailable, faults.RETRIABLE),
)


def fault_for(error: Exception) -> RemoteFault:
    """The fault for an exception of ours; anything else is a plain IOException without its text."""
    if isinstance(error, RemoteFault):
        return error
    for kind, java_class in _CLASSES:
        if isinstance(error, kind):
            text = str(error)
            if isinstance(error, errors.AccessDenied):
                # RPCUtil.getRemoteException(new AccessControlException(…)): the text carries the wrapped class.
                text = f"{faults.ACCESS_CONTROL}: {text}"
            if isinstance(error, errors.InvalidToken):
                text = f"{faults.INVALID_TOKEN}: {text}"
            return RemoteFault(java_class, text)
    return RemoteFault(faults.IO_EXCEPTION, "Internal error of the ResourceManager; see its log")
