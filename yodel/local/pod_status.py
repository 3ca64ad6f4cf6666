"""The status that the kubelet writes: phase, conditions and container states, from what it knows.  Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from yodel.local.statuses import Json
from yodel.local.times import to_text


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerView:
    """One container: waiting (``reason`` set, not started), running (started), or terminated (exit code set)."""

    name: str
    reason: str = "ContainerCreating"
    message: str = ""
    started_at: datetime | None = None
    finished_at: datetime | None = None
    exit_code: int | None = None

    @property
    def is_running(self) -> bool:
        return self.started_at is not None and self.exit_code is None


@dataclass(frozen=True, slots=True, kw_only=True)
class PodFacts:
    """Everything the status is made of.  ``reason`` and ``message`` are the pod's own (DeadlineExceeded)."""

    address: str
    started_at: datetime
    containers: Mapping[str, ContainerView]
    reason: str = ""
    message: str = ""


def status_of(pod: Json, facts: PodFacts, at: datetime) -> Json:
    """The whole new status; conditions of others are kept, transition times change only with the status."""
    views = list(facts.containers.values())
    phase = _phase(views, failed=bool(facts.reason))
    old = pod.get("status") or {}
    status = {
        **old,
        "phase": phase,
        "hostIP": facts.address,
        "hostIPs": [{"ip": facts.address}],
        "podIP": facts.address,
        "podIPs": [{"ip": facts.address}],
        "startTime": to_text(facts.started_at),
        "conditions": _conditions(old.get("conditions") or [], views, phase, at),
        "containerStatuses": [
            _container_status(pod, container, facts.containers[container["name"]])
            for container in pod["spec"]["containers"]
        ],
    }
    if facts.reason:
        status |= {"reason": facts.reason, "message": facts.message}
    return status


def _phase(views: list[ContainerView], *, failed: bool) -> str:
    """kubelet's getPhase for restartPolicy Never."""
    if any(view.is_running for view in views):
        return "Running"
    if any(view.exit_code is None for view in views):
        return "Running" if any(view.exit_code is not None for view in views) else "Failed" if failed else "Pending"
    return "Failed" if failed or any(view.exit_code != 0 for view in views) else "Succeeded"


def _conditions(old: list[Json], views: list[ContainerView], phase: str, at: datetime) -> list[Json]:
    ready = all(view.is_running for view in views)
    reason = {"Succeeded": "PodCompleted", "Failed": "PodFailed"}.get(phase, "ContainersNotReady")
    names = " ".join(view.name for view in views if not view.is_running)
    message = "" if phase in ("Succeeded", "Failed") else f"containers with unready status: [{names}]"
    initialized = {"reason": "PodCompleted"} if phase == "Succeeded" else {}
    not_ready = {} if ready else {"reason": reason, **({"message": message} if message else {})}
    ours = {
        "Initialized": ("True", initialized),
        "Ready": ("True" if ready else "False", not_ready),
        "ContainersReady": ("True" if ready else "False", not_ready),
    }
    known = {entry["type"]: entry for entry in old}
    made = [_condition(kind, value, extra, known.get(kind), at) for kind, (value, extra) in ours.items()]
    return [*made, *(entry for entry in old if entry["type"] not in ours)]


def _condition(kind: str, value: str, extra: Json, old: Json | None, at: datetime) -> Json:
    since = old.get("lastTransitionTime") if old is not None and old["status"] == value else None
    return {"type": kind, "status": value, "lastProbeTime": None, "lastTransitionTime": since or to_text(at), **extra}


def _container_status(pod: Json, container: Json, view: ContainerView) -> Json:
    identifier = f"process://{pod['metadata']['uid']}/{view.name}" if view.started_at else ""
    return {
        "name": view.name,
        "state": _state(view, identifier),
        "lastState": {},
        "ready": view.is_running,
        "started": view.is_running,
        "restartCount": 0,
        "image": container["image"],
        "imageID": "",
        **({"containerID": identifier} if identifier else {}),
    }


def _state(view: ContainerView, identifier: str) -> Json:
    if view.exit_code is not None:
        terminated: Json = {
            "exitCode": view.exit_code,
            "reason": view.reason or ("Completed" if view.exit_code == 0 else "Error"),
            "startedAt": to_text(view.started_at) if view.started_at else None,
            "finishedAt": to_text(view.finished_at) if view.finished_at else None,
        }
        terminated |= {"message": view.message} if view.message else {}
        return {"terminated": {**terminated, **({"containerID": identifier} if identifier else {})}}
    if view.started_at is not None:
        return {"running": {"startedAt": to_text(view.started_at)}}
    return {"waiting": {"reason": view.reason, **({"message": view.message} if view.message else {})}}
