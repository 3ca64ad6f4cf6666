"""The API server's refusals say why it would not take a pod, and each means something for its container.

A refusal is known by its words only: both a full quota and a webhook's no are 403 ``Forbidden``.  What may be different
tomorrow without anybody changing the pod (quotas, a namespace's limits) is waited for, as YARN waits for room in a
queue; what is about this pod fails an AM's container at once, for nobody would ever learn of it otherwise.  A task's
container is asked for again and again in both cases: as in YARN, what is not available stays asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

_QUOTA = re.compile(r"exceeded quota|failed quota|insufficient quota|status unknown for quota", re.IGNORECASE)
_LIMIT_RANGE = re.compile(
    r"(minimum|maximum) .* usage per \w+ is|max limit to request ratio per \w+ is|error enforcing limit ranges",
    re.IGNORECASE,
)
_LEAVING = re.compile(
    r"because it is being terminated|namespaces? .* not found|namespace \S+ does not exist", re.IGNORECASE
)
_ABSENT = re.compile(
    r"error looking up service account|no API token found for service account|no service account specified for pod"
    r"|no PriorityClass with name .* was found|RuntimeClass .* not found",
    re.IGNORECASE,
)
_NOT_READY = re.compile(
    r"not yet ready to handle request|error contacting webhook|failed (to call|calling) webhook"
    r"|is forbidden: (get|post) \"?https?://",
    re.IGNORECASE,
)
_WEBHOOK = re.compile(r"admission webhook|ValidatingAdmissionPolicy|violates PodSecurity", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusalLine:
    """``says`` tests the server's message.

    ``until``: what would let the pod in, empty when waiting does not help; then an AM's container ends.  ``cause``
    names what refuses where the server's own words do not.  ``names_what_is_missing``: the server does, and no pod like
    this one is made before that is there.
    """

    what: str
    seen: str
    says: Callable[[str], bool]
    until: str = ""
    cause: str = ""
    names_what_is_missing: bool = False

    @property
    def may_pass(self) -> bool:
        """Waiting may help, so an AM's container stays planned too."""
        return bool(self.until)


def _has(words: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda message: words.search(message) is not None


TABLE: tuple[RefusalLine, ...] = (
    RefusalLine(
        what="Quota exceeded, or just created",
        seen="403 `exceeded quota: …`, `failed quota: …`, `insufficient quota …`, `status unknown for quota: …`",
        says=_has(_QUOTA),
        until="pods of the namespace end, or the ResourceQuota is raised (kubectl describe resourcequota).",
    ),
    RefusalLine(
        what="LimitRange of the namespace",
        seen="403 `maximum memory usage per Container is …`, `minimum …`, `… max limit to request ratio per …`, "
        "`… there was an error enforcing limit ranges`",
        says=_has(_LIMIT_RANGE),
        until="the LimitRange is changed (kubectl describe limitrange), or the requested size is changed.",
        cause="A LimitRange of the namespace does not allow the pod",
    ),
    RefusalLine(
        what="Namespace missing or terminating",
        seen="404 `namespaces … not found`, 403 `… because it is being terminated`",
        says=_has(_LEAVING),
        until="the namespace exists again (kubectl get namespace).",
        names_what_is_missing=True,
    ),
    RefusalLine(
        what="Service account or class of the pod missing, or just created",
        seen="403 `error looking up service account …`, `no PriorityClass with name … was found`, "
        "`RuntimeClass … not found`",
        says=_has(_ABSENT),
        until="it is created; Kubernetes itself creates the service account of a new namespace, in a moment.",
        names_what_is_missing=True,
    ),
    RefusalLine(
        what="API server not ready, or without an answer from a webhook",
        seen="403 `not yet ready to handle request`, `Error contacting webhook: …`, `… is forbidden: Post "
        '"https://…": …`',
        says=_has(_NOT_READY),
        until="the API server is ready and its webhooks answer.",
    ),
    RefusalLine(
        what="Refused by a webhook or a policy",
        seen="400/403 `admission webhook … denied the request`, `violates PodSecurity …`",
        says=_has(_WEBHOOK),
    ),
    RefusalLine(
        what="Refused otherwise",
        seen="422 `Pod … is invalid`, 403 without the right to create pods",
        says=lambda _: True,
    ),
)


def meaning_of(message: str) -> RefusalLine:
    """The first line that applies; the last applies to everything."""
    return next(line for line in TABLE if line.says(message))


def explained(message: str) -> str:
    """Return the server's words, behind what refuses where they do not name it."""
    cause = meaning_of(message).cause
    return f"{cause}: {message}" if cause else message
