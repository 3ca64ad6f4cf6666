"""Aggregated logs of a container that nobody keeps any more, read back by its owner's process.  Blocking; streams.

Any node's agent may be asked, so all nodes' files are looked through, those of the likeliest node first.  The view ACL
is what was written into each file, minded before anything of it is told.

Refuses: files that name another owner than the directory's, for a link may have led there.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from nm_plugin.logs.formats import aggregated_tfile, indexed_file
from nm_plugin.logs.formats.indexed_file import CHECKSUM_SUFFIX
from nm_plugin.logs.formats.random_file import CorruptLogFile, RandomFile, ToldFile
from nm_plugin.logs.jobs import Recall
from nm_plugin.logs.layout import TEMPORARY_SUFFIX
from nm_plugin.logs.published import own_files, read_checksum
from nm_plugin.logs.reading.shown import Emit, Progress, Shown, emit_text, shown_logs
from nm_plugin.logs.remote_files import RemoteFile, RemoteFiles

LISTED_MAX = 10_000
FORBIDDEN, MISSING, FOUND = "forbidden", "missing", "found"

Visited = Iterator[tuple[RemoteFile, Iterator[Shown]]]


class _Forbidden(Exception):
    """The viewer may not see what is in a file."""


def recall(remote: RemoteFiles, root: str, job: Recall, emit: Emit, progress: Progress) -> dict[str, Any]:
    """``{"outcome": FOUND | MISSING | FORBIDDEN, "files": [{"file", "logs": [[name, size, ms]]}]}``.

    With a ``file_name`` the text goes to ``emit`` and ``files`` stays empty.  Of FORBIDDEN nothing was emitted, unless
    files of one application disagree.
    """
    try:
        visited = _visited(remote, root, job, progress)
        files = _emitted(visited, job, emit) if job.file_name else _listed(visited)
    except _Forbidden:
        return {"outcome": FORBIDDEN, "files": []}
    return {"outcome": FOUND if files else MISSING, "files": [] if job.file_name else files}


def _listed(visited: Visited) -> list[dict[str, Any]]:
    result: list[dict[str, Any]] = []
    count = 0
    for file, logs in visited:
        found = [[name, size, ms] for (name, size, ms, _), _ in zip(logs, range(LISTED_MAX - count), strict=False)]
        count += len(found)
        if found:
            result.append({"file": file.name, "logs": found})
    return result


def _emitted(visited: Visited, job: Recall, emit: Emit) -> list[dict[str, Any]]:
    """Something when there was something."""
    result = []
    for file, logs in visited:
        for log in logs:
            if log[0] == job.file_name:
                result.append({"file": file.name})
                emit_text(job, file, log, emit)
    return result


def _visited(remote: RemoteFiles, root: str, job: Recall, progress: Progress) -> Visited:
    """The files with what each has of the container; all of a node's, and no other node's once there was something.

    Raises _Forbidden.
    """
    directory = "/".join((root, *job.directories))
    if remote.status(directory) is None:
        return
    files = remote.list(directory)
    ends = _good_ends(remote, directory, files) if job.format == "ifile" else {}
    published = sorted(_published(files), key=lambda file: (file.modified_ms, file.name))
    likely = own_files(published, job.node_file)
    for group in (likely, [file for file in published if file not in likely]):
        has_any = False
        for file in group:
            # A file that is no aggregated log is passed over: it hides no other.
            with remote.open(f"{directory}/{file.name}") as opened, contextlib.suppress(CorruptLogFile):
                content = ToldFile(opened, progress)
                end = ends.get(file.name, file.size_bytes)
                if not end:
                    continue  # its first append is under way
                owner, acls = _origin(content, job, end)
                if owner != job.owner:
                    continue
                if not job.viewer.may_see(owner, acls):
                    raise _Forbidden
                noted = _Noted(shown_logs(content, job, file, end))
                yield file, noted
                has_any = has_any or noted.has_any
        if has_any:
            return


class _Noted(Iterator[Shown]):
    """Passes on until the file turns out to be corrupt, and knows whether there was something."""

    def __init__(self, logs: Iterator[Shown]) -> None:
        self._logs, self.has_any = logs, False

    def __next__(self) -> Shown:
        try:
            found = next(self._logs)
        except CorruptLogFile as error:
            raise StopIteration from error
        self.has_any = True
        return found


def _published(files: list[RemoteFile]) -> list[RemoteFile]:
    hidden = (TEMPORARY_SUFFIX, CHECKSUM_SUFFIX)
    return [file for file in files if not file.is_directory and not file.name.endswith(hidden)]


def _good_ends(remote: RemoteFiles, directory: str, files: list[RemoteFile]) -> Mapping[str, int]:
    """Up to which byte files are good that are being appended to."""
    ends = {}
    for file in files:
        if file.name.endswith(CHECKSUM_SUFFIX):
            hidden = read_checksum(remote, directory, file.name.removesuffix(CHECKSUM_SUFFIX))
            if hidden is not None:
                ends[hidden[0]] = hidden[1]
    return ends


def _origin(content: RandomFile, job: Recall, end: int) -> tuple[str, Mapping[str, str]]:
    """Owner and ACLs.  Raises CorruptLogFile."""
    if job.format == "tfile":
        head = aggregated_tfile.head(content)
        return head.owner, head.acls
    index = indexed_file.read_index(content, job.application, end)
    return index.user, index.acls
