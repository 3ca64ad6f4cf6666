"""Pods as queues would have them, for the API server to judge before one is needed: a dry run of each.

Two profiles that come to the same pod are one trial, and so are an ApplicationMaster and a task that differ in nothing
but their role.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from yodel.domain.container import Container
from yodel.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId
from yodel.domain.queues.queue import ROOT
from yodel.domain.resource import Resource
from yodel.domain.states import ContainerType
from yodel.translator import names
from yodel.translator.pod_spec import PodSettings, PosixIdentity, manifest

NAME = "yodel-trial"
SIZE = Resource(1024, 1)
NOBODY = PosixIdentity(uid=65534, gid=65534)
_ID = ContainerId.of(ApplicationAttemptId(ApplicationId(0, 0), 1), 1)

Trials = Mapping[bytes, Mapping[str, Any]]
"""Manifests, by what makes two of them one trial."""


def trial_pods(profiles: Iterable[PodSettings]) -> Trials:
    """Return sample pods of an ApplicationMaster and a task of each profile."""
    found: dict[bytes, Mapping[str, Any]] = {}
    for profile in profiles:
        for kind in (ContainerType.APPLICATION_MASTER, ContainerType.TASK):
            pod = manifest(_container(kind), profile, NOBODY, NAME, "")
            labels = {key: text for key, text in pod["metadata"]["labels"].items() if key != names.ROLE}
            alike = {**pod, "metadata": {**pod["metadata"], "labels": labels}}
            found.setdefault(msgspec.json.encode(alike, order="sorted"), pod)
    return found


def class_of(pod: Mapping[str, Any]) -> str:
    """The PriorityClass that it names; empty: none."""
    return str(pod["spec"].get("priorityClassName", ""))


def without_class(pod: Mapping[str, Any]) -> Mapping[str, Any]:
    """One that anybody might make beside it: without a PriorityClass, and without what an engine knows its own by."""
    spec = {key: value for key, value in pod["spec"].items() if key != "priorityClassName"}
    return {**pod, "metadata": {"name": NAME, "namespace": pod["metadata"]["namespace"]}, "spec": spec}


def _container(kind: ContainerType) -> Container:
    return Container(
        id=_ID,
        pod=NAME,
        type=kind,
        user="nobody",
        queue=ROOT,
        capability=SIZE,
        asked_capability=SIZE,
        priority=0,
        created_ms=0,
    )
