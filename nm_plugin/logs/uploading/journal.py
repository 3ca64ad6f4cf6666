"""Keeps what the agent must know of applications' logs after a restart: one journal for each application.

A journal is a file of JSON lines that only grows: what is true of an application is what its lines say together.  A
line is written before the step it announces, or after the step it tells of; one that is cut off never was.  Journals
hold the application's tokens: files are 0600 in a directory of 0700.

Functions and methods block.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nm_plugin.logs.jobs import LogKey, log_keys
from yodel.domain.ids import ApplicationId, ContainerId

JOURNAL_BYTES_MAX = 256 << 20
ALREADY_MAX = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LogContext:
    """Holds the context of the application's first container on this node."""

    user: str
    context: bytes = b""
    """LogAggregationContextProto."""
    acls: Mapping[str, str] = field(default_factory=dict)
    credentials: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """A publication about to be made; made again under the same name after a crash."""

    file_name: str
    uploaded_ms: int
    is_final: bool


@dataclass(slots=True, kw_only=True)
class AppLogs:
    """One application on this node: the sum of its journal's lines."""

    application_id: ApplicationId
    origin: LogContext
    is_master: dict[ContainerId, bool] = field(default_factory=dict)
    exit_status: dict[ContainerId, int] = field(default_factory=dict)
    is_finished: bool = False
    is_complete: bool = False
    """All was published."""
    intent: Intent | None = None
    unsettled: tuple[LogKey, ...] | None = None
    """Published by ``intent`` and not yet tidied up after."""
    uploads: int = 0
    warning: str = ""
    """The warning of the upload that this agent made last; not a part of the journal."""
    already: dict[LogKey, None] = field(default_factory=dict)

    def take(self, line: Mapping[str, Any]) -> None:
        """Raises KeyError, ValueError, TypeError for what no journal says."""
        if "started" in line:
            self.is_master[ContainerId.parse(line["started"])] = bool(line["master"])
        elif "ended" in line:
            self.exit_status[ContainerId.parse(line["ended"])] = int(line["status"])
        elif "finished" in line:
            self.is_finished = True
        elif "intent" in line:
            self.intent = Intent(
                file_name=str(line["intent"]), uploaded_ms=int(line["ms"]), is_final=bool(line["final"])
            )
        elif "published" in line:
            self._published(log_keys(line["published"]))
        elif "settled" in line:
            self.is_complete = self.intent is not None and self.intent.is_final
            self.intent = self.unsettled = None

    def _published(self, uploaded: tuple[LogKey, ...]) -> None:
        self.unsettled = uploaded
        self.uploads += bool(uploaded)
        self.already.update(dict.fromkeys(uploaded))
        while len(self.already) > ALREADY_MAX:
            del self.already[next(iter(self.already))]


def started(container_id: ContainerId, is_master: bool) -> dict[str, Any]:
    return {"started": str(container_id), "master": is_master}


def ended(container_id: ContainerId, exit_status: int) -> dict[str, Any]:
    return {"ended": str(container_id), "status": int(exit_status)}


def finished() -> dict[str, Any]:
    return {"finished": True}


def intended(intent: Intent) -> dict[str, Any]:
    return {"intent": intent.file_name, "ms": intent.uploaded_ms, "final": intent.is_final}


def published(uploaded: tuple[LogKey, ...]) -> dict[str, Any]:
    return {"published": [list(key) for key in uploaded]}


def settled() -> dict[str, Any]:
    return {"settled": True}


class Journals:
    """The files below ``state_dir/logs``."""

    def __init__(self, state_dir: Path) -> None:
        self._directory = state_dir / "logs"

    def begin(self, application_id: ApplicationId, origin: LogContext) -> None:
        """Write the first line; a journal that was there is begun again."""
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        line = {
            "user": origin.user,
            "context": base64.b64encode(origin.context).decode("ascii"),
            "acls": dict(origin.acls),
            "credentials": base64.b64encode(origin.credentials).decode("ascii"),
        }
        path = self._path(application_id)
        path.unlink(missing_ok=True)
        self._append(path, line, os.O_CREAT | os.O_EXCL)

    def add(self, application_id: ApplicationId, line: Mapping[str, Any]) -> None:
        self._append(self._path(application_id), line, 0)

    def remove(self, application_id: ApplicationId) -> None:
        self._path(application_id).unlink(missing_ok=True)

    def load(self) -> list[AppLogs]:
        """All readable journals; one that is not begun properly is dropped."""
        loaded = []
        for path in sorted(self._directory.glob("application_*.jsonl")):
            try:
                loaded.append(_read(path))
            except (OSError, ValueError, KeyError, TypeError):
                path.unlink(missing_ok=True)
        return loaded

    def _path(self, application_id: ApplicationId) -> Path:
        return self._directory / f"{application_id}.jsonl"

    def _append(self, path: Path, line: Mapping[str, Any], flags: int) -> None:
        flags |= os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(path, flags, 0o600)
        with os.fdopen(descriptor, "ab") as file:
            # A break first as well: what a crash cut off must not swallow this line.
            file.write(b"\n" + json.dumps(line).encode("utf-8", "surrogateescape") + b"\n")


def _read(path: Path) -> AppLogs:
    if path.stat().st_size > JOURNAL_BYTES_MAX:
        raise ValueError(f"{path.name} is larger than {JOURNAL_BYTES_MAX} bytes")
    lines = _lines(path.read_bytes())
    head = lines[0]
    origin = LogContext(
        user=str(head["user"]),
        context=base64.b64decode(head["context"]),
        acls={str(name): str(text) for name, text in head["acls"].items()},
        credentials=base64.b64decode(head["credentials"]),
    )
    logs = AppLogs(application_id=ApplicationId.parse(path.stem), origin=origin)
    for line in lines[1:]:
        logs.take(line)
    return logs


def _lines(data: bytes) -> list[dict[str, Any]]:
    """Raises ValueError when there is none."""
    lines = []
    for text in data.split(b"\n"):
        if text:
            try:
                lines.append(json.loads(text))
            except ValueError:
                continue  # cut off by a crash: the step it tells of was not taken, or is taken again
    if not lines:
        raise ValueError("an empty journal")
    return lines
