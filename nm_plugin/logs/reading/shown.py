"""Reads back what a node uploaded of one container, for its web port.  Blocking; streams."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from nm_plugin.logs.formats import aggregated_tfile, indexed_file
from nm_plugin.logs.formats.random_file import CorruptLogFile, RandomFile, ToldFile
from nm_plugin.logs.jobs import Recall, Show
from nm_plugin.logs.published import own_files, read_checksum
from nm_plugin.logs.reading import log_text
from nm_plugin.logs.remote_files import RemoteFile, RemoteFiles

Emit = Callable[[bytes], None]
Progress = Callable[[int], None]
"""Told how many bytes were read since the last time: who looks for the end of a long log says nothing else."""
Shown = tuple[str, int, int, Callable[[int, int], Iterator[bytes]]]
"""Name, size in bytes, time of modification in ms, and the bytes from a start to an end."""


def listed(remote: RemoteFiles, root: str, job: Show, progress: Progress) -> list[dict[str, Any]]:
    """Per file of this node that holds something of the container: ``{"file", "logs": [[name, size, ms]]}``."""
    result = []
    for file in _files(remote, root, job):
        logs = [[name, size, ms] for name, size, ms, _ in _logs_of(remote, root, job, file, progress)]
        if logs:
            result.append({"file": file.name, "logs": logs})
    return result


def show(remote: RemoteFiles, root: str, job: Show, emit: Emit, progress: Progress) -> None:
    """The log in every upload that has it, as ``yarn logs`` prints it."""
    for file in _files(remote, root, job):
        for log in _logs_of(remote, root, job, file, progress):
            if log[0] == job.file_name:
                emit_text(job, file, log, emit)


def emit_text(job: Show | Recall, file: RemoteFile, log: Shown, emit: Emit) -> None:
    """Emit the text of one log of the file, at most the job's size."""
    name, size, modified_ms, between = log
    emit(log_text.head(job.container, file.name, "AGGREGATED", name, modified_ms, size))
    for data in between(*log_text.shown_range(size, job.size_bytes)):
        emit(data)
    emit(log_text.aggregated_tail(name))


def _files(remote: RemoteFiles, root: str, job: Show) -> list[RemoteFile]:
    directory = "/".join((root, *job.directories))
    if remote.status(directory) is None:
        return []
    return sorted(own_files(remote.list(directory), job.node_file), key=lambda file: (file.modified_ms, file.name))


def _logs_of(remote: RemoteFiles, root: str, job: Show, file: RemoteFile, progress: Progress) -> Iterator[Shown]:
    """A file that is no aggregated log is passed over: it hides no other."""
    directory = "/".join((root, *job.directories))
    end = file.size_bytes
    if job.format == "ifile":
        hidden = read_checksum(remote, directory, job.node_file)
        end = hidden[1] if hidden is not None and hidden[0] == file.name else end
    with remote.open(f"{directory}/{file.name}") as content, contextlib.suppress(CorruptLogFile):
        yield from shown_logs(ToldFile(content, progress), job, file, end)


def shown_logs(content: RandomFile, job: Show | Recall, file: RemoteFile, end: int) -> Iterator[Shown]:
    """Yield the logs of the job's container in a file up to ``end``.  Raises CorruptLogFile."""
    if job.format == "tfile":
        for log in aggregated_tfile.logs(content, job.container):
            yield log.name, log.size_bytes, file.modified_ms, log.between
    elif end:
        index = indexed_file.read_index(content, job.application, end)
        for upload in index.uploads:
            for entry in upload.logs.get(job.container, ()):
                between = partial(indexed_file.read_between, content, index.compression, entry)
                yield entry.name, entry.size_bytes, entry.modified_ms, between
