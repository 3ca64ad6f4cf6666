"""Keeps what the agent must know after a restart: one small JSON file per container and per application.

A file is written before the effect it describes is performed, and replaced by rename, so that it is always whole.  It
is not synced to disk: it has to survive the agent, not the machine, because a machine's end is the containers' end too.
Launch contexts hold tokens: the directory is 0700, files are 0600, and a context is dropped when its container ends.

All functions block; call them in the file threads.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nm_plugin.container.life import Container, LifeState
from nm_plugin.container.retry import Retry
from nm_plugin.host.atomic_file import FORMAT, read_or_drop, write_atomically
from yodel.domain.ids import ApplicationId, ContainerId
from yodel.domain.resource import Resource
from yodel.domain.shuffle.report import from_plain, to_plain
from yodel.domain.states import ExecutionType

RECORDS_MAX = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """An application that has, or had, containers here and has not been cleaned up yet."""

    application_id: ApplicationId
    user: str
    finished: bool = False
    acls: Mapping[str, str] = field(default_factory=dict)
    """``VIEW_APP`` and ``MODIFY_APP`` of the first launch context: ``users groups`` lists, or ``*``."""


class Records:
    """The files below ``state_dir``."""

    def __init__(self, state_dir: Path) -> None:
        self._containers = state_dir / "containers"
        self._applications = state_dir / "applications"
        for directory in (state_dir, self._containers, self._applications):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)

    def save_container(self, container: Container) -> None:
        write_atomically(self._containers / f"{container.container_id}.json", _container_to_json(container))

    def remove_container(self, container_id: ContainerId) -> None:
        (self._containers / f"{container_id}.json").unlink(missing_ok=True)

    def containers(self) -> list[Container]:
        """All readable records; a broken file is dropped, for nothing could be done with it."""
        return [
            c for path in _json_files(self._containers) if (c := read_or_drop(path, _container_from_json)) is not None
        ]

    def save_application(self, application: Application) -> None:
        content = {
            "format": FORMAT,
            "id": str(application.application_id),
            "user": application.user,
            "finished": application.finished,
            "acls": dict(application.acls),
        }
        write_atomically(self._applications / f"{application.application_id}.json", content)

    def remove_application(self, application_id: ApplicationId) -> None:
        (self._applications / f"{application_id}.json").unlink(missing_ok=True)

    def applications(self) -> list[Application]:
        return [
            a
            for path in _json_files(self._applications)
            if (a := read_or_drop(path, _application_from_json)) is not None
        ]


def _json_files(directory: Path) -> list[Path]:
    return sorted(directory.glob("*.json"))[:RECORDS_MAX]


def _container_to_json(container: Container) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "id": str(container.container_id),
        "user": container.user,
        "user_uid": container.user_uid,
        "pod_uid": container.pod_uid,
        "memory_mib": container.resource.memory_mib,
        "vcores": container.resource.vcores,
        "priority": container.priority,
        "version": container.version,
        "creation_ms": container.creation_ms,
        "allocation_request_id": container.allocation_request_id,
        "execution_type": container.execution_type.value,
        "state": container.state.value,
        "exit_status": int(container.exit_status),
        "diagnostics": container.diagnostics,
        "pid": container.pid,
        "local_dir": container.local_dir,
        "log_dir": container.log_dir,
        "launch_context": base64.b64encode(container.launch_context).decode("ascii"),
        "upgrade": base64.b64encode(container.upgrade).decode("ascii"),
        "rollback": base64.b64encode(container.rollback).decode("ascii"),
        "run": container.run,
        "is_master": container.is_master,
        "shuffle": [list(pair) for pair in container.shuffle],
        "shuffle_report": to_plain(container.shuffle_report),
        "retry": _retry_to_json(container.retry),
    }


def _container_from_json(content: dict[str, Any]) -> Container:
    return Container(
        container_id=ContainerId.parse(content["id"]),
        user=str(content["user"]),
        user_uid=None if content.get("user_uid") is None else int(content["user_uid"]),
        pod_uid=str(content.get("pod_uid", "")),
        resource=Resource(int(content["memory_mib"]), int(content["vcores"])),
        priority=int(content["priority"]),
        version=int(content["version"]),
        creation_ms=int(content["creation_ms"]),
        allocation_request_id=int(content["allocation_request_id"]),
        execution_type=ExecutionType(content["execution_type"]),
        state=LifeState(content["state"]),
        exit_status=int(content["exit_status"]),
        diagnostics=str(content["diagnostics"]),
        pid=None if content["pid"] is None else int(content["pid"]),
        local_dir=str(content["local_dir"]),
        log_dir=str(content["log_dir"]),
        launch_context=base64.b64decode(content["launch_context"]),
        upgrade=base64.b64decode(content["upgrade"]),
        rollback=base64.b64decode(content["rollback"]),
        run=int(content["run"]),
        is_master=bool(content["is_master"]),
        shuffle=tuple((name, text) for name, text in content.get("shuffle", ())),
        shuffle_report=from_plain(content.get("shuffle_report")),
        retry=_retry_from_json(content["retry"]),
    )


def _retry_to_json(retry: Retry | None) -> dict[str, Any] | None:
    if retry is None:
        return None
    return {
        "error_codes": None if retry.error_codes is None else sorted(retry.error_codes),
        "max_retries": retry.max_retries,
        "interval_ms": retry.interval_ms,
        "validity_ms": retry.validity_ms,
        "remaining": retry.remaining,
        "restarts_ms": list(retry.restarts_ms),
    }


def _retry_from_json(content: dict[str, Any] | None) -> Retry | None:
    if content is None:
        return None
    codes = content["error_codes"]
    return Retry(
        error_codes=None if codes is None else frozenset(codes),
        max_retries=int(content["max_retries"]),
        interval_ms=int(content["interval_ms"]),
        validity_ms=int(content["validity_ms"]),
        remaining=int(content["remaining"]),
        restarts_ms=tuple(content["restarts_ms"]),
    )


def _application_from_json(content: dict[str, Any]) -> Application:
    return Application(
        application_id=ApplicationId.parse(content["id"]),
        user=str(content["user"]),
        finished=bool(content["finished"]),
        acls={str(name): str(text) for name, text in content["acls"].items()},
    )
