"""The process that reads files and directories of HDFS.

``python -m nm_plugin.localization.hdfs_reader [UID:GID:GROUP,…]``; its standard input is a socket that brings requests,
``{"url": …, "visibility": "public" or "private"}`` with a file descriptor FD each, until its other end is gone.
Started by ``hdfs_readers`` with the submitting user's name (``HADOOP_USER_NAME``) and tokens
(``HADOOP_TOKEN_FILE_LOCATION``).  Given an identity it takes that on for good once its modules are loaded, before it
opens a file or a connection: the user need not be able to read the agent's Python.

Answers each request on stdout with messages of a four-byte length and JSON: first what the path is, then per entry its
name and length, at last ``{"end": true}``; ``{"error": text}`` at any point, with ``"again": true`` where another try
may help.  A path that is a file goes straight into the file descriptor FD.  Those of a directory follow their entries
in chunks, each with its four-byte length; a chunk of none, before all have come, says that an error follows.
"""

from __future__ import annotations

import importlib
import json
import os
import socket
import struct
import sys
from pathlib import PurePosixPath
from typing import Any, BinaryIO
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

from nm_plugin.host.identity import become

CHUNK_BYTES_MAX = 1 << 20
ENTRIES_MAX = 100_000
NO_MORE = struct.pack(">I", 0)
ERROR_LENGTH_MAX = 2000
REQUEST_BYTES_MAX = 64 << 10
PASSING = (
    "SafeModeException",
    "StandbyException",
    "RetriableException",
    "Connection refused",
    "Connection reset",
    "Broken pipe",
    "early eof",
    "unexpected end of file",
    "couldn't find a live",
)


def serve(requests: socket.socket, output: BinaryIO, identity: list[str]) -> None:
    """Until there are no more requests; one client for all to the same cluster."""
    clients: dict[str, Any] = {}
    for text in identity:
        importlib.import_module("hdfs_native")
        become(text)
    while True:
        message, descriptors, _, _ = socket.recv_fds(requests, REQUEST_BYTES_MAX, 1)
        if not message:
            return
        request = json.loads(message)
        try:
            answer(request["url"], request["visibility"] == "public", descriptors[0], output, clients)
        finally:
            os.close(descriptors[0])


def answer(url: str, must_be_public: bool, descriptor: int, output: BinaryIO, clients: dict[str, Any]) -> None:
    """Never raises: what goes wrong is told to the reader of the pipe."""
    try:
        from hdfs_native import Client

        parts = urlsplit(url)
        root = f"{parts.scheme}://{parts.netloc}" if parts.netloc else None
        place = root or ""
        if place not in clients:
            clients[place] = Client(root, config=fallback(parts.netloc) if parts.scheme == "viewfs" else None)
        send_tree(clients[place], unquote(parts.path), must_be_public, output, descriptor)
    except FileNotFoundError:
        send(output, {"error": f"File does not exist: {url}"})  # what DistributedFileSystem.getFileStatus says
    except Exception as error:
        # The boundary of a helper process: the client library raises its own and the system's exceptions alike.
        text = f"{type(error).__name__}: {error}"[:ERROR_LENGTH_MAX]
        send(output, {"error": text, "again": is_passing(text)})
    output.flush()


def fallback(mount_table: str) -> dict[str, str] | None:
    """Return the ``linkFallback`` of a mount table that has none, because the client library requires one: a path below
    the first link's target that does not exist.

    Hadoop's ViewFileSystem refuses what no link covers; here it is looked for there and not found.
    """
    directory = os.environ.get("HADOOP_CONF_DIR")
    if directory is None:
        return None
    prefix = f"fs.viewfs.mounttable.{mount_table}."
    values: dict[str, str] = {}
    for name in ("core-site.xml", "hdfs-site.xml"):
        path = os.path.join(directory, name)
        if os.path.exists(path):
            properties = ElementTree.parse(path).getroot().iter("property")
            values.update({p.findtext("name", "").strip(): p.findtext("value", "").strip() for p in properties})
    links = [value for name, value in values.items() if name.startswith(f"{prefix}link.")]
    if f"{prefix}linkFallback" in values or not links:
        return None
    return {f"{prefix}linkFallback": links[0].rstrip("/") + "/.no-such-mount"}


def is_passing(text: str) -> bool:
    """True for what a NameNode or DataNode says, or does not say, while it starts or is away."""
    return any(word in text for word in PASSING)


def send_tree(client: Any, path: str, must_be_public: bool, output: BinaryIO, descriptor: int) -> None:
    """The directory and everything below it; a file goes to the descriptor."""
    status = client.get_file_info(path)
    entries = entries_of(client, path, must_be_public) if status.isdir else []
    public = must_be_public and is_public(client, path, status, entries)
    send(output, {"modification_ms": status.modification_time, "directory": status.isdir, "public": public})
    if must_be_public and not public:
        send(output, {"end": True})
        return
    if not status.isdir:
        send(output, {"name": PurePosixPath(path).name, "directory": False, "length": status.length})
        output.flush()
        write_file(client, path, status.length, descriptor)
    else:
        prefix = path.rstrip("/") + "/"
        for entry in sorted(entries, key=lambda e: str(e.path)):
            entry_path = path_of(entry)
            name = entry_path.removeprefix(prefix)
            if entry.isdir:
                send(output, {"name": name, "directory": True, "length": 0})
            else:
                send_file(client, entry_path, entry.length, name, output)
    send(output, {"end": True})


def write_file(client: Any, path: str, length: int, descriptor: int) -> None:
    """Raises EOFError."""
    written = 0
    if length > 0:
        with client.read(path) as file:
            for data in file.read_range_stream(0, length):
                view = memoryview(data)
                written += len(view)
                while view:
                    view = view[os.write(descriptor, view) :]
    if written != length:
        raise EOFError(f"{path}: {written} of {length} bytes")


def send_file(client: Any, path: str, length: int, name: str, output: BinaryIO) -> None:
    send(output, {"name": name, "directory": False, "length": length})
    sent = 0
    try:
        if length > 0:
            with client.read(path) as file:
                for data in file.read_range_stream(0, length):
                    send_chunks(data, output)
                    sent += len(data)
    finally:
        if sent < length:
            output.write(NO_MORE)
    if sent != length:
        raise EOFError(f"{path}: {sent} of {length} bytes")


def send_chunks(data: bytes, output: BinaryIO) -> None:
    for start in range(0, len(data), CHUNK_BYTES_MAX):
        chunk = data[start : start + CHUNK_BYTES_MAX]
        output.write(struct.pack(">I", len(chunk)))
        output.write(chunk)


def path_of(entry: Any) -> str:
    """Some name nodes give URLs."""
    return urlsplit(entry.path).path if "://" in entry.path else str(entry.path)


def entries_of(client: Any, path: str, must_be_public: bool) -> list[Any]:
    """All below a directory.

    One listing of everything names files only, whose directories nobody has looked at then: where those count, each is
    listed by itself.  Raises ValueError: too many.
    """
    found: list[Any] = []
    todo = [path]
    while todo:
        for entry in client.list_status(todo.pop(), not must_be_public):
            found.append(entry)
            if len(found) > ENTRIES_MAX:
                raise ValueError(f"Directory has more than {ENTRIES_MAX} entries")
            if must_be_public and entry.isdir:
                todo.append(path_of(entry))
    return found


def is_public(client: Any, path: str, status: Any, entries: list[Any]) -> bool:
    """FSDownload.isPublic: files are readable by others and directories readable and executable, the path with all that
    is below it, and every directory above is executable.
    """
    for entry in (status, *entries):
        needed = 0o005 if entry.isdir else 0o004
        if entry.permission & needed != needed:
            return False
    return all(client.get_file_info(str(parent)).permission & 0o001 for parent in PurePosixPath(path).parents)


def send(output: BinaryIO, content: dict[str, Any]) -> None:
    data = json.dumps(content).encode()
    output.write(struct.pack(">I", len(data)) + data)


if __name__ == "__main__":
    with socket.socket(fileno=sys.stdin.fileno()) as given:
        serve(given, sys.stdout.buffer, sys.argv[1:])
