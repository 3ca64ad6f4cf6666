"""The process that reads one file or directory of HDFS.

``python -m nm_plugin.localization.hdfs_reader URL public|private [UID:GID:GROUP,…]``.
Started by ``hdfs`` with the submitting user's name (``HADOOP_USER_NAME``) and tokens (``HADOOP_TOKEN_FILE_LOCATION``).
Given an identity it takes that on for good once its modules are loaded, before it opens a file or a connection: the
user need not be able to read the agent's Python.  Writes to stdout: messages of a four-byte length and JSON: first what
the path is, then per entry its name and length, at last ``{"end": true}``; ``{"error": text}`` at any point.  A file's
bytes follow its entry in chunks, each with its four-byte length; a chunk of none, before all have come, says that an
error follows.
"""

from __future__ import annotations

import json
import os
import struct
import sys
from pathlib import PurePosixPath
from typing import Any, BinaryIO
from urllib.parse import unquote, urlsplit

CHUNK_BYTES_MAX = 1 << 20
NO_MORE = struct.pack(">I", 0)
ERROR_LENGTH_MAX = 2000


def main(arguments: list[str], output: BinaryIO) -> None:
    """Never raises: what goes wrong is told to the reader of the pipe."""
    url, visibility, *identity = arguments
    try:
        from hdfs_native import Client

        for text in identity:
            become(text)
        parts = urlsplit(url)
        client = Client(f"{parts.scheme}://{parts.netloc}" if parts.netloc else None)
        send_tree(client, unquote(parts.path), visibility == "public", output)
    except FileNotFoundError:
        send(output, {"error": f"File does not exist: {url}"})  # what DistributedFileSystem.getFileStatus says
    except Exception as error:
        # The boundary of a helper process: the client library raises its own and the system's exceptions alike.
        send(output, {"error": f"{type(error).__name__}: {error}"[:ERROR_LENGTH_MAX]})
    output.flush()


def become(identity: str) -> None:
    """Raises OSError when this process may not; there is no way back."""
    uid, gid, groups = identity.split(":")
    os.setgroups([int(group) for group in groups.split(",")])
    os.setgid(int(gid))
    os.setuid(int(uid))


def send_tree(client: Any, path: str, must_be_public: bool, output: BinaryIO) -> None:
    """The file or directory and everything below it."""
    status = client.get_file_info(path)
    public = is_public(client, path, status) if must_be_public else False
    send(output, {"modification_ms": status.modification_time, "directory": status.isdir, "public": public})
    if not status.isdir:
        send_file(client, path, status.length, PurePosixPath(path).name, output)
    else:
        prefix = path.rstrip("/") + "/"
        for entry in sorted(client.list_status(path, True), key=lambda e: str(e.path)):
            entry_path = urlsplit(entry.path).path if "://" in entry.path else entry.path
            name = entry_path.removeprefix(prefix)
            if entry.isdir:
                send(output, {"name": name, "directory": True, "length": 0})
            else:
                send_file(client, entry_path, entry.length, name, output)
    send(output, {"end": True})


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


def is_public(client: Any, path: str, status: Any) -> bool:
    """World readable, and every directory above world executable (FSDownload.isPublic)."""
    needed = 0o005 if status.isdir else 0o004
    if status.permission & needed != needed:
        return False
    return all(client.get_file_info(str(parent)).permission & 0o001 for parent in PurePosixPath(path).parents)


def send(output: BinaryIO, content: dict[str, Any]) -> None:
    data = json.dumps(content).encode()
    output.write(struct.pack(">I", len(data)) + data)


if __name__ == "__main__":
    main(sys.argv[1:], sys.stdout.buffer)
