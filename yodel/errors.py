"""The project's exceptions.  Adapters translate them once, at their edge, into Java classes, HTTP statuses, exits.

YodelError
├── InvalidValue                a value from outside is malformed: names the field, the value and what was expected
├── NotFound                    an entity that was asked for does not exist
│   ├── ApplicationNotFound
│   ├── ApplicationAttemptNotFound
│   │   └── AttemptNotServed    … any more, or not by this port
│   ├── ContainerNotFound
│   ├── NodeNotFound
│   ├── QueueNotFound
│   └── ChangeNotFound          of the queue tree, or so old that it is forgotten
├── Refused                     well-formed, but not allowed in this state or for this caller
│   ├── AccessDenied
│   ├── InvalidQueues           a tree of queues that cannot be
│   ├── QueuesInUse             a tree of queues that the present one cannot become yet
│   ├── NoSuchQueue             a change names a queue that is not there
│   ├── StaleVersion            a change of the queues that was made from an older version
│   ├── InvalidResourceRequest
│   │   ├── InvalidLabelRequest
│   │   └── TooMuchAsked        … by one of the limits on what an ApplicationMaster may ask for
│   ├── InvalidBlacklistRequest
│   │   └── TooMuchBlacklisted  … by the limit on its length
│   ├── InvalidReleaseRequest
│   ├── InvalidToken            a delegation token that is unknown, expired or not the caller's to use
│   ├── NotRegistered           an ApplicationMaster that has to register (again) first
│   ├── AlreadyRegistered
│   ├── UnknownToCache          an ApplicationMaster of an attempt that has ended or never was
│   └── InvalidResponseId
├── IllegalTransition           a state table has no entry for this pair: a bug, never the caller's fault
├── NotSupported                a request that Hadoop knows and this service answers with Hadoop's "not supported"
└── Unavailable                 something outside (store, Kubernetes, a peer) did not answer in time
"""

from __future__ import annotations

import difflib
import errno
import os
from collections.abc import Iterable


def system_reason(error: BaseException) -> str:
    """Return the operating system's reason for an error; empty for other errors.

    What a file is called is left out: not everybody who is answered may know it.
    """
    if not isinstance(error, OSError) or type(error).__module__ != OSError.__module__:
        return ""  # libraries' own kinds of it number theirs anew
    return os.strerror(error.errno) if error.errno is not None and error.errno in errno.errorcode else ""


class YodelError(Exception):
    """Root of all exceptions of the project.  Never raised itself."""


class InvalidValue(YodelError, ValueError):
    """A value from outside is malformed."""

    def __init__(self, field: str, value: object, expected: str) -> None:
        self.field, self.value, self.expected = field, value, expected
        super().__init__(f"Invalid {field}: {value!r}; expected {expected}")


LIKENESS_MIN = 0.75
"""From 0 to 1 (``difflib``), of two names of which one may be a slip of the pen."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A question for who gave a name that is not known; empty where none is near."""
    nearest = difflib.get_close_matches(name, known, 1, LIKENESS_MIN)
    return f"did you mean {nearest[0]}?" if nearest else ""


class NotFound(YodelError):
    """An entity that was asked for does not exist."""


class ApplicationNotFound(NotFound):
    """Follows ClientRMService: the text is matched by clients."""

    def __init__(self, application_id: object) -> None:
        self.application_id = application_id
        super().__init__(
            f"Application with id '{application_id}' doesn't exist in RM. Please check that the job "
            "submission was successful."
        )


class ApplicationAttemptNotFound(NotFound):
    """Follows ApplicationMasterService and ClientRMService."""

    def __init__(self, attempt_id: object, where: str = "RM") -> None:
        self.attempt_id = attempt_id
        super().__init__(f"ApplicationAttempt with id '{attempt_id}' doesn't exist in {where}.")


class AttemptNotServed(ApplicationAttemptNotFound):
    """Follows ApplicationMasterService.allocate."""

    def __init__(self, attempt_id: object) -> None:
        super().__init__(attempt_id)
        self.args = (f"Application attempt {attempt_id} doesn't exist in ApplicationMasterService cache.",)


class ContainerNotFound(NotFound):
    """Follows ClientRMService.getContainerReport."""

    def __init__(self, container_id: object) -> None:
        self.container_id = container_id
        super().__init__(f"Container with id '{container_id}' doesn't exist in RM.")


class NodeNotFound(NotFound):
    """A node that never registered."""

    def __init__(self, node_id: object) -> None:
        self.node_id = node_id
        super().__init__(f"Node with id '{node_id}' doesn't exist in RM.")


class QueueNotFound(NotFound):
    """No queue has this path, and no single one this name."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"Queue '{name}' doesn't exist.")


class WindowNotFound(NotFound):
    """A queue has no window of that name."""

    def __init__(self, path: str, name: str) -> None:
        super().__init__(f"Queue {path} has no window {name}")


class ChangeNotFound(NotFound):
    """A version of the queue tree that never was, or of which nothing is kept."""

    def __init__(self, version: int) -> None:
        self.version = version
        super().__init__(f"Version {version} of the queues does not exist or is no longer kept")


class Refused(YodelError):
    """Well-formed, but not allowed in this state or for this caller."""


class NoAccount(Refused):
    """The user has no account that containers can run as."""


class AccessDenied(Refused):
    """The caller may not do this to this entity."""


class InvalidQueues(Refused):
    """Reports that the configuration of queues is malformed, has no effect here, or does not add up."""


class QueuesInUse(Refused):
    """A tree of queues that the present one cannot become: a queue that would go, or change its kind, is in use."""


class NoSuchQueue(Refused):
    """A change names a queue that is not there."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"Queue {name} not found")


class StaleVersion(Refused):
    """Somebody else changed the queues meanwhile."""

    def __init__(self, expected: int, version: int) -> None:
        self.expected, self.version = expected, version
        super().__init__(f"The queues are at version {version}, but the change is based on version {expected}")


class InvalidResourceRequest(Refused):
    """An ask that is negative or over the maximum (Hadoop's InvalidResourceRequestException)."""


class TooMuchAsked(InvalidResourceRequest):
    """A limit on what an ApplicationMaster may ask for.  ``limit`` is its name in ``telemetry.limits``."""

    def __init__(self, limit: str, value: int, maximum: int, text: str) -> None:
        self.limit, self.value, self.maximum = limit, value, maximum
        super().__init__(text)


class InvalidToken(Refused):
    """A token that is unknown, expired or malformed (SecretManager.InvalidToken)."""


class InvalidLabelRequest(InvalidResourceRequest):
    """An ask with a node label that cannot be (InvalidLabelResourceRequestException)."""


class InvalidBlacklistRequest(Refused):
    """InvalidResourceBlacklistRequestException."""


class TooMuchBlacklisted(InvalidBlacklistRequest):
    """A blacklist beyond its limit, whose name in ``telemetry.limits`` is ``limit``."""

    def __init__(self, limit: str, value: int, maximum: int, text: str) -> None:
        self.limit, self.value, self.maximum = limit, value, maximum
        super().__init__(text)


class InvalidReleaseRequest(Refused):
    """A release of another attempt's container (InvalidContainerReleaseException)."""


class UnknownToCache(Refused):
    """Follows ApplicationMasterService.throwApplicationDoesNotExistInCacheException: register and finish say so."""

    def __init__(self, attempt_id: object) -> None:
        self.attempt_id = attempt_id
        super().__init__(f"Application doesn't exist in cache {attempt_id}")


class NotRegistered(Refused):
    """An ApplicationMaster called before it registered (again)."""


class AlreadyRegistered(Refused):
    """An ApplicationMaster registered twice."""


class InvalidResponseId(Refused):
    """An allocate call with a response id that is neither the last nor the one before."""


class IllegalTransition(YodelError):
    """A state table has no entry for this pair."""

    def __init__(self, machine: str, state: object, event: str) -> None:
        self.machine, self.state, self.event = machine, state, event
        super().__init__(f"{machine}: no transition from {state} on {event}")


class NotSupported(YodelError):
    """A request that Hadoop knows and this service does not serve."""


class Unavailable(YodelError):
    """Something outside did not answer in time."""
