"""The steps of putting logs into the remote directory and of taking them away again.  Blocking; streams.

What readers can see changes in one step each time: a rename, or the removal of the checksum file that hides an append.
A step may be repeated after a crash anywhere: the same file name is written again, an append starts behind the length
that the checksum file names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace

from nm_plugin.logs.formats.aggregated_tfile import AggregatedTFileWriter, LogPart
from nm_plugin.logs.formats.indexed_file import (
    CHECKSUM_SUFFIX,
    Index,
    IndexedFileWriter,
    TimedLogPart,
    encode_checksum,
    read_index,
)
from nm_plugin.logs.formats.random_file import CorruptLogFile
from nm_plugin.logs.jobs import Expire, LogKey, MakePrivate, MakeRoot, Publish, Settle, UploadedLogs
from nm_plugin.logs.layout import DIRECTORY_MODE, FILE_MODE, ROOT_MODE, TEMPORARY_SUFFIX
from nm_plugin.logs.published import own_files, read_checksum
from nm_plugin.logs.remote_files import RemoteFiles, RemoteWriter
from nm_plugin.logs.uploading import local_logs
from nm_plugin.logs.uploading.local_logs import FILES_MAX, LocalLog

PRIVATE_MODE = 0o700
ROLL_OVER_BYTES = 10 << 30  # indexedFile.log.roll-over.max-file-size-gb

Progress = Callable[[int], None]
"""Told how many bytes were written since the last time."""


class _CountingSink:
    def __init__(self, writer: RemoteWriter, progress: Progress) -> None:
        self._writer, self._progress = writer, progress

    def write(self, data: bytes, /) -> None:
        self._writer.write(data)
        self._progress(len(data))


def make_root(remote: RemoteFiles, path: str, job: MakeRoot) -> None:
    """Made if missing, with its parents; an existing one is left as it is (verifyAndCreateRemoteLogDir)."""
    remote.make_dir(path, ROOT_MODE, job.group)


def make_private(remote: RemoteFiles, path: str, job: MakePrivate) -> None:
    """The directory above has to be there: who made it decides who may make one in it.

    Raises:
        PermissionError: it is there, and another's.
    """
    remote.make_dir(path, PRIVATE_MODE)
    owner, mode = remote.owner_and_mode(path)
    if owner != job.owner:
        raise PermissionError(f"{job.root} is {owner}'s with mode {mode:o}, and has to be {job.owner}'s")
    if mode != PRIVATE_MODE:
        remote.set_mode(path, PRIVATE_MODE)


def publish(remote: RemoteFiles, root: str, job: Publish, progress: Progress) -> UploadedLogs:
    """Upload what is there, is chosen and was not uploaded before.  Raises NothingChosen and what the file system
    raises."""
    found, warning = _found(job)
    if not any(found.values()):
        return UploadedLogs()
    return replace(_publish(remote, root, job, found, progress), warning=warning)


def _publish(
    remote: RemoteFiles, root: str, job: Publish, found: dict[str, list[LocalLog]], progress: Progress
) -> UploadedLogs:
    directory = _make_directories(remote, root, job.directories)
    if job.format == "ifile":
        return _publish_indexed(remote, directory, job, found, progress)
    target = f"{directory}/{job.file_name}"
    if not job.may_replace and remote.status(target) is not None:
        return UploadedLogs(exists_already=True)
    temporary = f"{directory}/{job.node_file}{TEMPORARY_SUFFIX}"
    uploaded: list[LogKey] = []
    writer = remote.create(temporary, FILE_MODE)
    file = AggregatedTFileWriter(
        _CountingSink(writer, progress), owner=job.owner, acls=job.acls, compression=job.compression
    )
    for container, logs in found.items():
        if logs:
            file.append(container, _parts(logs, uploaded))
    file.close()
    writer.close()
    remote.rename(temporary, target)
    return UploadedLogs(uploaded=tuple(uploaded))


def settle(remote: RemoteFiles, root: str, job: Settle) -> None:
    """Everything here may be repeated."""
    directory = "/".join((root, *job.directories))
    remote.delete(f"{directory}/{job.node_file}{CHECKSUM_SUFFIX}")
    for container, name, _ in job.uploaded:
        local_logs.remove(job.log_dirs, job.application, container, name)
    if remote.status(directory) is None:
        return
    files = sorted(own_files(remote.list(directory), job.node_file), key=lambda file: file.modified_ms)
    for file in files[: max(0, len(files) - job.files_max)]:
        remote.delete(f"{directory}/{file.name}")


def expire(remote: RemoteFiles, root: str, job: Expire) -> bool:
    """True when the directory is gone, now or before."""
    directory = "/".join((root, *job.directories))
    if remote.status(directory) is None:
        return True
    if any(file.modified_ms >= job.before_ms for file in remote.list(directory)):
        return False
    remote.delete(directory)
    return True


def _found(job: Publish) -> tuple[dict[str, list[LocalLog]], str]:
    already = set(job.already)
    found = {one: local_logs.find(job.log_dirs, job.application, one) for one in job.containers}
    names = (log.name for logs in found.values() for log in logs)
    chosen, warning = local_logs.chosen(job.include, job.exclude, names)
    wanted = {
        container: [
            log
            for log in [log for log in logs if log.name in chosen][:FILES_MAX]
            if (log.container, log.name, log.modified_ms) not in already
        ]
        for container, logs in found.items()
    }
    return wanted, warning


def _make_directories(remote: RemoteFiles, root: str, names: tuple[str, ...]) -> str:
    """Missing ones are made; of the existing only the deepest gets the mode (createAppDir)."""
    directory = root
    for name in names:
        directory = f"{directory}/{name}"
        if not remote.make_dir(directory, DIRECTORY_MODE) and name == names[-1]:
            remote.set_mode(directory, DIRECTORY_MODE)
    return directory


def _parts(logs: list[LocalLog], uploaded: list[LogKey]) -> Iterator[LogPart]:
    """Opened one after the other: a container may have thousands.  One that is gone by then is left out."""
    yield from _timed_parts(logs, uploaded)


def _timed_parts(logs: list[LocalLog], uploaded: list[LogKey]) -> Iterator[TimedLogPart]:
    for log in logs:
        with suppress(FileNotFoundError, PermissionError), local_logs.opened(log) as (descriptor, size, modified_ms):
            yield TimedLogPart(
                name=log.name,
                size_bytes=size,
                modified_ms=modified_ms,
                content=local_logs.padded(descriptor, size),
            )
            uploaded.append((log.container, log.name, log.modified_ms))


def _publish_indexed(
    remote: RemoteFiles, directory: str, job: Publish, found: dict[str, list[LocalLog]], progress: Progress
) -> UploadedLogs:
    target, temporary = f"{directory}/{job.file_name}", f"{directory}/{job.node_file}{TEMPORARY_SUFFIX}"
    is_there = remote.status(target) is not None  # then by this very job, before a crash: it is not appended to
    base = _appendable(remote, directory, job) if job.may_append and not is_there else None
    uploaded: list[LogKey] = []
    if base is not None:
        name, length, index = base
        _write_checksum(remote, directory, job, name, index_end=length)
        # An append that broke off left bytes behind the last good end; what is written now comes after those.
        status = remote.status(f"{directory}/{name}")
        assert status is not None
        writer = remote.append(f"{directory}/{name}")
        _write_segment(writer, job, index, status.size_bytes, found, uploaded, progress)
        return UploadedLogs(uploaded=tuple(uploaded))
    if is_there and not job.may_replace:
        return UploadedLogs(exists_already=True)
    writer = remote.create(temporary, FILE_MODE)
    index = Index(user=job.owner, node=job.node, compression=job.compression, acls=job.acls)
    _write_segment(writer, job, index, 0, found, uploaded, progress)
    remote.rename(temporary, target)
    return UploadedLogs(uploaded=tuple(uploaded))


def _write_segment(
    writer: RemoteWriter,
    job: Publish,
    index: Index,
    length_bytes: int,
    found: dict[str, list[LocalLog]],
    uploaded: list[LogKey],
    progress: Progress,
) -> None:
    file = IndexedFileWriter(_CountingSink(writer, progress), job.application, index, length_bytes)
    for container, logs in found.items():
        if logs:
            file.append(container, _timed_parts(logs, uploaded))
    file.close(job.uploaded_ms, job.node_file)
    writer.close()


def _appendable(remote: RemoteFiles, directory: str, job: Publish) -> tuple[str, int, Index] | None:
    """The newest file of this node: its name, the length up to which it is good, its index.

    None when there is none, when it is big enough or when it was made with another compression: a new one is begun.
    """
    files = own_files(remote.list(directory), job.node_file)
    hidden = read_checksum(remote, directory, job.node_file)
    for file in sorted(files, key=lambda f: f.modified_ms, reverse=True):
        end = hidden[1] if hidden is not None and hidden[0] == file.name else file.size_bytes
        if end == 0 or file.size_bytes >= ROLL_OVER_BYTES:
            return None
        try:
            with remote.open(f"{directory}/{file.name}") as content:
                index = read_index(content, job.application, end)
        except CorruptLogFile:
            return None
        return (file.name, end, index) if index.compression == job.compression else None
    return None


def _write_checksum(remote: RemoteFiles, directory: str, job: Publish, name: str, index_end: int) -> None:
    """Write it by rename, so that readers never find half of it."""
    path = f"{directory}/{job.node_file}{CHECKSUM_SUFFIX}"
    writer = remote.create(path + TEMPORARY_SUFFIX, FILE_MODE)
    writer.write(encode_checksum(name, index_end))
    writer.close()
    remote.rename(path + TEMPORARY_SUFFIX, path)
