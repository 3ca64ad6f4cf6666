"""Chooses the image of an application's pods: the queue's, or one that its submitter requested and the queue allows.

It is requested as YARN users know it (DockerLinuxContainerRuntime): ``YARN_CONTAINER_RUNTIME_TYPE=docker`` and
``YARN_CONTAINER_RUNTIME_DOCKER_IMAGE`` in the environment of the ApplicationMaster's launch context.  It counts for all
pods of the application: the pod of a task exists before anybody knows its launch context, so a task that names another
one ends with an error (``nm_plugin.launch.command``).  The other variables of that runtime (mounts, privileged,
network, capabilities) are not read at all.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase

from yodel.errors import Refused

RUNTIME_TYPE = "YARN_CONTAINER_RUNTIME_TYPE"
DOCKER = "docker"
DOCKER_IMAGE = "YARN_CONTAINER_RUNTIME_DOCKER_IMAGE"
_REFERENCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,511}")
_SHOWN_MAX = 200


def asked(environment: Mapping[str, str]) -> str:
    """The image that a launch context asks for; empty when it asks for none, or for another runtime."""
    if environment.get(RUNTIME_TYPE) != DOCKER:
        return ""
    return environment.get(DOCKER_IMAGE, "").strip()


def chosen(queues_own: str, allowed: Collection[str], wanted: str) -> str:
    """The image to run.

    Raises:
        Refused: what is wanted is no image, or the queue does not allow it.
    """
    if wanted in ("", queues_own):
        return queues_own
    if not _REFERENCE.fullmatch(wanted):
        raise Refused(f"Invalid {DOCKER_IMAGE}: {wanted[:_SHOWN_MAX]!r}; expected the name of an image")
    if not any(fnmatchcase(wanted, pattern) for pattern in allowed):
        which = ", ".join(sorted(allowed)) or "no other image than the queue's own"
        raise Refused(f"Image {wanted[:_SHOWN_MAX]} is not allowed in this queue; allowed: {which}")
    return wanted
