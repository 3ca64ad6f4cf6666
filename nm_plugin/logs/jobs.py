"""Encodes the jobs of a worker process and its answers as JSON.  Pure.

A job is one object on stdin.  Answers are messages: ``{"progress": bytes}`` now and then, and at last either ``{"done":
…}`` or ``{"error": text}``, with ``is_final`` when it would always be so; bytes of a log may come before it. Each is
framed: a byte that says what follows (``J`` a JSON message, ``D`` bytes of a log), four bytes of length.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from nm_plugin.logs.layout import LogFormat
from nm_plugin.logs.viewers import Viewer

JOB_BYTES_MAX = 64 << 20
LINE_BYTES_MAX = 16 << 20
MESSAGE, DATA = b"J", b"D"
DATA_BYTES_MAX = 1 << 20

LogKey = tuple[str, str, int]
"""Container, file name, time of modification in ms: what makes a log file one (LogValue.getLogFileMetaData)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Publish:
    """Upload the logs of containers as, or into, one file."""

    root: str
    directories: tuple[str, ...]
    file_name: str
    node: str
    node_file: str
    format: LogFormat
    compression: str
    application: str
    owner: str
    acls: Mapping[str, str]
    log_dirs: tuple[str, ...]
    containers: tuple[str, ...]
    uploaded_ms: int
    include: str = ""
    exclude: str = ""
    already: tuple[LogKey, ...] = ()
    may_replace: bool = True
    may_append: bool = False

    action: Literal["publish"] = field(default="publish", init=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settle:
    """After a publication was written down: remove what hides it, what it replaces locally and the oldest files."""

    root: str
    directories: tuple[str, ...]
    node_file: str
    application: str
    log_dirs: tuple[str, ...]
    uploaded: tuple[LogKey, ...]
    files_max: int

    action: Literal["settle"] = field(default="settle", init=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class MakeRoot:
    """The remote log directory itself, as the agent's own user."""

    root: str
    group: str

    action: Literal["make_root"] = field(default="make_root", init=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class MakePrivate:
    """A directory that is the owner's alone, as the owner; where Spark puts what no executor takes."""

    root: str
    owner: str

    action: Literal["make_private"] = field(default="make_private", init=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveTree:
    """A directory with all that is in it, as its owner."""

    root: str

    action: Literal["remove_tree"] = field(default="remove_tree", init=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expire:
    """Remove an application's directory when everything in it was last changed before ``before_ms``."""

    root: str
    directories: tuple[str, ...]
    before_ms: int

    action: Literal["expire"] = field(default="expire", init=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Show:
    """Asks for this node's uploads of a container: names and sizes of its logs, or the text of one.

    With ``file_name`` the answer is the text as ``yarn logs`` shows it, at most ``size_bytes`` of each upload
    (negative: from the end).
    """

    root: str
    directories: tuple[str, ...]
    node: str
    node_file: str
    application: str
    container: str
    format: LogFormat
    file_name: str = ""
    size_bytes: int = 2**63 - 1

    action: Literal["show"] = field(default="show", init=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """Asks for all nodes' uploads of a container, as ``Show`` does for one node, if the viewer may see them.

    ``node_file`` is the file that is read first.
    """

    root: str
    directories: tuple[str, ...]
    owner: str
    application: str
    container: str
    format: LogFormat
    viewer: Viewer
    node_file: str
    file_name: str = ""
    size_bytes: int = 2**63 - 1

    action: Literal["recall"] = field(default="recall", init=False)


Job = Publish | Settle | MakeRoot | MakePrivate | RemoveTree | Expire | Show | Recall


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadedLogs:
    """The answer to ``Publish``: what was uploaded; nothing when there was nothing, and then there is no file."""

    uploaded: tuple[LogKey, ...] = ()
    exists_already: bool = False
    """The file was there and must not be replaced: nothing was done."""
    warning: str = ""
    """More was uploaded than the application's patterns say, and why."""


def encode(job: Job) -> bytes:
    return json.dumps(asdict(job)).encode("utf-8", "surrogateescape")


def decode(data: bytes) -> Job:
    """Raises ValueError, KeyError, TypeError for what ``encode`` did not make."""
    content: dict[str, Any] = json.loads(data)
    kind: Any = _KINDS[content.pop("action")]
    for name in ("directories", "log_dirs", "containers"):
        if name in content:
            content[name] = tuple(content[name])
    for name in ("already", "uploaded"):
        if name in content:
            content[name] = log_keys(content[name])
    if "viewer" in content:
        viewer = content["viewer"]
        content["viewer"] = Viewer(**viewer | {"groups": tuple(viewer["groups"])})
    job: Job = kind(**content)
    return job


def log_keys(listed: Any) -> tuple[LogKey, ...]:
    """Return the keys of logs from their JSON form."""
    return tuple((str(container), str(name), int(modified_ms)) for container, name, modified_ms in listed)


_KINDS: Mapping[str, Any] = {
    "publish": Publish,
    "settle": Settle,
    "make_root": MakeRoot,
    "make_private": MakePrivate,
    "remove_tree": RemoveTree,
    "expire": Expire,
    "show": Show,
    "recall": Recall,
}
