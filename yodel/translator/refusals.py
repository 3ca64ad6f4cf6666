"""Why the API server would not take a pod, and what that means for its container.

A refusal is known by its words only: both a full quota and a webhook's no are 403 ``Forbidden``.  What may be different
tomorrow without anybody changing the pod (quotas, a namespace's limits) is waited for, as YARN waits for room in a
queue; what is about this pod fails an AM's container at once, for nobody would ever learn of it otherwise.  A task's
container is asked for again and again in both cases: as in YARN, what cannot be had stays asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

_QUOTA = re.compile(
    r"exceeded quota|failed quota|insufficient quota|maximum .* usage per (Pod|Container)", re.IGNORECASE
)
_LEAVING = re.compile(r"because it is being terminated|namespaces? .* not found", re.IGNORECASE)
_WEBHOOK = re.compile(r"admission webhook|ValidatingAdmissionPolicy|violates PodSecurity", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusalLine:
    """``may_pass``: waiting may help, so an AM's container stays planned too.  ``says`` tests the server's message."""

    what: str
    seen: str
    may_pass: bool
    says: Callable[[str], bool]


TABLE: tuple[RefusalLine, ...] = (
    RefusalLine(
        what="Quota full, or a limit of the namespace",
        seen="403 `exceeded quota: …`, `maximum memory usage per Container is …`",
        may_pass=True,
        says=lambda message: bool(_QUOTA.search(message)),
    ),
    RefusalLine(
        what="Namespace missing or terminating",
        seen="404 `namespaces … not found`, 403 `… because it is being terminated`",
        may_pass=True,
        says=lambda message: bool(_LEAVING.search(message)),
    ),
    RefusalLine(
        what="Refused by a webhook or a policy",
        seen="400/403 `admission webhook … denied the request`, `violates PodSecurity …`",
        may_pass=False,
        says=lambda message: bool(_WEBHOOK.search(message)),
    ),
    RefusalLine(
        what="Refused otherwise",
        seen="422 `Pod … is invalid`, 403 without the right to create pods",
        may_pass=False,
        says=lambda _: True,
    ),
)


def meaning_of(message: str) -> RefusalLine:
    """The first line that applies; the last applies to everything."""
    return next(line for line in TABLE if line.says(message))
