"""Hadoop's indexed log file: compressed logs one after the other, and an index of all of them behind each upload.

Follows ``LogAggregationIndexedFileController``.  A file is a unique id, then segments; each ends with the index of the
whole file so far, so that an upload is an append and readers need only the end.  A reader that must not see an
unfinished append is told its end by the checksum file.  Writing and reading stream; only indexes are in memory.

Refuses: files of another application (the unique id differs).
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from nm_plugin.logs.formats.aggregated_tfile import LogPart
from nm_plugin.logs.formats.java_objects import (
    ENUM,
    IS_ENUM,
    SERIALIZABLE,
    ClassDescriptor,
    JavaObject,
    ObjectWriter,
    read_object,
)
from nm_plugin.logs.formats.random_file import CorruptLogFile, RandomFile, tell_inflated
from nm_plugin.logs.formats.tfile import COMPRESSIONS, READ_BYTES, Sink

UID_BYTES = 32
META_BYTES_MAX = 256 << 20
CHECKSUM_SUFFIX = "-checksum"
CHECKSUM_BYTES_MAX = 4096
META_VERSION = 1
_SEPARATOR = b"\n"
_TRAILER_BYTES = 4 + UID_BYTES
_PREFIX = "org.apache.hadoop.yarn.logaggregation.filecontroller.ifile.LogAggregationIndexedFileController$"
_MAP, _LIST, _STRING = "Ljava/util/Map;", "Ljava/util/List;", "Ljava/lang/String;"
_LOGS_META = ClassDescriptor(
    _PREFIX + "IndexedLogsMeta",
    5439875373,
    SERIALIZABLE,
    (
        ("I", "version", ""),
        ("L", "acls", _MAP),
        ("L", "compressName", _STRING),
        ("L", "logMetas", _LIST),
        ("L", "nodeId", _STRING),
        ("L", "user", _STRING),
    ),
)
_UPLOAD_META = ClassDescriptor(
    _PREFIX + "IndexedPerAggregationLogMeta",
    3929298383,
    SERIALIZABLE,
    (("J", "uploadTimeStamp", ""), ("L", "logMetas", _MAP), ("L", "remoteNodeLogFileName", _STRING)),
)
_LOG_META = ClassDescriptor(
    _PREFIX + "IndexedFileLogMeta",
    1,
    SERIALIZABLE,
    (
        ("J", "fileCompressedSize", ""),
        ("J", "fileSize", ""),
        ("J", "lastModifiedTime", ""),
        ("J", "startIndex", ""),
        ("L", "containerId", _STRING),
        ("L", "fileName", _STRING),
    ),
)
_ACCESS_TYPE = ClassDescriptor("org.apache.hadoop.yarn.api.records.ApplicationAccessType", 0, IS_ENUM, (), ENUM)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedLog:
    """Locates one log in the file."""

    name: str
    stored_bytes: int
    size_bytes: int
    modified_ms: int
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """Holds the logs of one upload, by container."""

    uploaded_ms: int
    node_file: str
    logs: Mapping[str, tuple[IndexedLog, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """The whole file's."""

    user: str
    node: str
    compression: str
    acls: Mapping[str, str]
    uploads: tuple[Upload, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedLogPart(LogPart):
    """A log with its time of modification."""

    modified_ms: int


def unique_id(application: str) -> bytes:
    """The same for all files of an application."""
    return hashlib.sha256(application.encode("utf-8")).digest()


class IndexedFileWriter:
    """One upload: ``append`` for each container, then ``close``.

    ``history`` is the index of the file that is appended to and ``length_bytes`` its length; a new file has 0 and an
    index without uploads.
    """

    def __init__(self, sink: Sink, application: str, history: Index, length_bytes: int = 0) -> None:
        if history.compression not in COMPRESSIONS:
            raise ValueError(f"compression {history.compression!r}; known are {COMPRESSIONS}")
        self._sink, self._history, self._uid = sink, history, unique_id(application)
        self._offset = length_bytes
        self._logs: dict[str, tuple[IndexedLog, ...]] = {}
        self._put(_SEPARATOR if length_bytes else self._uid)

    def append(self, container: str, logs: Iterable[TimedLogPart]) -> None:
        self._logs[container] = (*self._logs.get(container, ()), *(self._store(log) for log in logs))

    def close(self, uploaded_ms: int, node_file: str) -> Index:
        """The index behind the logs; answers it."""
        upload = Upload(uploaded_ms=uploaded_ms, node_file=node_file, logs=self._logs)
        index = replace(self._history, uploads=(*self._history.uploads, upload))
        meta = encode_index(index)
        self._put(meta + len(meta).to_bytes(4, "big") + self._uid)
        return index

    def _store(self, log: TimedLogPart) -> IndexedLog:
        start, written = self._offset, 0
        deflate = zlib.compressobj() if self._history.compression == "gz" else None
        for part in log.content:
            written += len(part)
            self._put(part if deflate is None else deflate.compress(part))
        if deflate is not None:
            self._put(deflate.flush())
        assert written == log.size_bytes
        return IndexedLog(
            name=log.name,
            stored_bytes=self._offset - start,
            size_bytes=log.size_bytes,
            modified_ms=log.modified_ms,
            offset=start,
        )

    def _put(self, data: bytes) -> None:
        if data:
            self._sink.write(data)
            self._offset += len(data)


def read_index(file: RandomFile, application: str, end_bytes: int | None = None) -> Index:
    """Return the index of the file up to ``end_bytes``.  Raises CorruptLogFile."""
    end = file.size_bytes if end_bytes is None else min(end_bytes, file.size_bytes)
    if end < UID_BYTES + _TRAILER_BYTES:
        raise CorruptLogFile("it is too short for an indexed file")
    trailer = file.read_at(end - _TRAILER_BYTES, _TRAILER_BYTES)
    if trailer[4:] != unique_id(application):
        raise CorruptLogFile(f"The UUID of it is not {application}'s")
    length = int.from_bytes(trailer[:4], "big")
    if length > min(META_BYTES_MAX, end - _TRAILER_BYTES):
        raise CorruptLogFile(f"its index has {length} bytes")
    return decode_index(file.read_at(end - _TRAILER_BYTES - length, length))


def read_between(file: RandomFile, compression: str, log: IndexedLog, start: int, end: int) -> Iterator[bytes]:
    """A log's bytes from ``start`` to ``end``, in parts.  What is stored as it is is read from there.

    Raises CorruptLogFile.
    """
    if compression == "none" and log.stored_bytes == log.size_bytes:
        while start < end:
            yield file.read_at(log.offset + start, count := min(READ_BYTES, end - start))
            start += count
        return
    position = 0
    for part in read_log(file, compression, log):
        kept = part[max(0, start - position) : max(0, end - position)]
        position += len(part)
        if kept:
            yield kept
        if position >= end:
            return


def read_log(file: RandomFile, compression: str, log: IndexedLog) -> Iterator[bytes]:
    """A log's bytes in parts.  Raises CorruptLogFile."""
    inflate = zlib.decompressobj() if compression == "gz" else None
    offset, end, given = log.offset, log.offset + log.stored_bytes, 0
    tail = b""
    while offset < end or tail:
        if not tail:
            tail = file.read_at(offset, min(READ_BYTES, end - offset))
            offset += len(tail)
        if inflate is None:
            data, tail = tail, b""
        else:
            try:
                data = inflate.decompress(tail, READ_BYTES)
            except zlib.error as error:
                raise CorruptLogFile(f"a log cannot be decompressed: {error}") from error
            tail = inflate.unconsumed_tail
            tell_inflated(file, len(data))
        given += len(data)
        if given > log.size_bytes:
            break
        if data:
            yield data
    if given != log.size_bytes:
        raise CorruptLogFile(f"{log.name[:100]!r} has {given} bytes and not {log.size_bytes}")


def encode_checksum(file_name: str, length_bytes: int) -> bytes:
    """Return the checksum file, which tells readers how many bytes of a growing file are valid."""
    name = file_name.encode("utf-8")
    return len(name).to_bytes(4, "big") + name + length_bytes.to_bytes(8, "big")


def decode_checksum(data: bytes) -> tuple[str, int]:
    """File name and length.  Raises CorruptLogFile."""
    length = int.from_bytes(data[:4], "big")
    if not 12 <= len(data) == 12 + length:
        raise CorruptLogFile("a checksum file of the wrong length")
    return data[4 : 4 + length].decode("utf-8", "replace"), int.from_bytes(data[4 + length :], "big")


# The index as Java objects.


def encode_index(index: Index) -> bytes:
    """``SerializationUtils.serialize`` of an IndexedLogsMeta."""
    writer = ObjectWriter()
    writer.plain_object(_LOGS_META, (META_VERSION,))

    def access(kind: str, text: str) -> None:
        writer.enum(_ACCESS_TYPE, kind)
        writer.string(text)

    acls = [_bind(access, kind, text) for kind, text in index.acls.items()]
    writer.hash_map(acls, _copied_capacity(len(acls)))
    writer.string(index.compression)
    writer.array_list([_bind(_write_upload, writer, upload) for upload in index.uploads])
    writer.string(index.node)
    writer.string(index.user)
    return bytes(writer.data)


def _write_upload(writer: ObjectWriter, upload: Upload) -> None:
    writer.plain_object(_UPLOAD_META, (upload.uploaded_ms,))
    capacity = _grown_capacity(len(upload.logs))
    containers = sorted(upload.logs, key=lambda name: _java_hash(name) & (capacity - 1))
    # A container's name is one Java object within an upload, as it is in the NodeManager that made it.
    entries = [
        _bind(_write_container, writer, name, (upload.uploaded_ms, name), upload.logs[name]) for name in containers
    ]
    writer.hash_map(entries, capacity)
    writer.string(upload.node_file)


def _write_container(writer: ObjectWriter, container: str, identity: object, logs: tuple[IndexedLog, ...]) -> None:
    writer.string(container, identity=identity)
    writer.array_list([_bind(_write_log, writer, container, identity, log) for log in logs])


def _write_log(writer: ObjectWriter, container: str, identity: object, log: IndexedLog) -> None:
    writer.plain_object(_LOG_META, (log.stored_bytes, log.size_bytes, log.modified_ms, log.offset))
    writer.string(container, identity=identity)
    writer.string(log.name)


def _bind(function: Callable[..., None], *arguments: Any) -> Callable[[], None]:
    return lambda: function(*arguments)


def _java_hash(text: str) -> int:
    """``HashMap.hash`` of a String."""
    code = 0
    data = text.encode("utf-16-be", "surrogatepass")
    for high, low in zip(data[::2], data[1::2], strict=True):
        code = (31 * code + (high << 8 | low)) & 0xFFFFFFFF
    return code ^ (code >> 16)


def _grown_capacity(count: int) -> int:
    """Return the capacity of a Java HashMap whose entries were put one by one."""
    capacity = 16
    while count > capacity * 3 // 4:
        capacity *= 2
    return capacity


def _copied_capacity(count: int) -> int:
    """Return the capacity of a Java HashMap that was made as a copy."""
    capacity = 1
    while capacity < int(count / 0.75 + 1):
        capacity *= 2
    return capacity


def decode_index(data: bytes) -> Index:
    """Raises CorruptLogFile."""
    meta = _fields(read_object(data), _LOGS_META)
    compression = _checked(meta["compressName"], str)
    if compression not in COMPRESSIONS:
        raise CorruptLogFile(f"compression {compression[:50]!r} is not known")
    return Index(
        user=_checked(meta["user"], str),
        node=_checked(meta["nodeId"], str),
        compression=compression,
        acls=dict(_checked(meta["acls"], dict)),
        uploads=tuple(_upload(_fields(value, _UPLOAD_META)) for value in _checked(meta["logMetas"], list)),
    )


def _upload(meta: Mapping[str, Any]) -> Upload:
    containers = _checked(meta["logMetas"], dict)
    return Upload(
        uploaded_ms=meta["uploadTimeStamp"],
        node_file=_checked(meta["remoteNodeLogFileName"], str),
        logs={
            _checked(container, str): tuple(_log(_fields(value, _LOG_META)) for value in _checked(logs, list))
            for container, logs in containers.items()
        },
    )


def _log(meta: Mapping[str, Any]) -> IndexedLog:
    log = IndexedLog(
        name=_checked(meta["fileName"], str),
        stored_bytes=meta["fileCompressedSize"],
        size_bytes=meta["fileSize"],
        modified_ms=meta["lastModifiedTime"],
        offset=meta["startIndex"],
    )
    if min(log.stored_bytes, log.size_bytes, log.offset) < 0:
        raise CorruptLogFile("a log of negative size")
    return log


def _fields(value: Any, descriptor: ClassDescriptor) -> Mapping[str, Any]:
    names = {name for _, name, _ in descriptor.fields}
    if not isinstance(value, JavaObject) or value.class_name != descriptor.name or set(value.fields) != names:
        raise CorruptLogFile(f"no {descriptor.name.rpartition('$')[2]} where one is expected")
    return value.fields


def _checked(value: Any, kind: type[Any]) -> Any:
    if not isinstance(value, kind):
        raise CorruptLogFile(f"no {kind.__name__} where one is expected")
    return value
