"""A process reads and writes the remote log directory for one user, and makes other directories of the user's.

``python -m nm_plugin.logs.worker [UID:GID:GROUP,…]``, a job (see ``jobs``) on stdin, answers on stdout.  It takes
on the identity once its modules are loaded and before it opens a file or a connection.  The user's name towards HDFS
and the tokens come by the environment (``HADOOP_USER_NAME``, ``HADOOP_TOKEN_FILE_LOCATION``).
"""

from __future__ import annotations

import codecs
import importlib
import json
import os
import struct
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

from nm_plugin.host.identity import become
from nm_plugin.logs.jobs import (
    DATA,
    DATA_BYTES_MAX,
    JOB_BYTES_MAX,
    MESSAGE,
    Expire,
    Job,
    MakePrivate,
    MakeRoot,
    Publish,
    Recall,
    RemoveTree,
    Settle,
    Show,
    decode,
)
from nm_plugin.logs.reading import search, shown
from nm_plugin.logs.remote_files import RemoteFiles, remote_files
from nm_plugin.logs.uploading import steps
from nm_plugin.logs.uploading.local_logs import NothingChosen

ERROR_LENGTH_MAX = 2000
PROGRESS_INTERVAL_S = 1.0
LATE_CODECS = ("utf-8", "utf-16", "utf-16-be", "latin-1", "ascii")


def main(identities: list[str], source: BinaryIO, output: BinaryIO) -> None:
    """Never raises: what goes wrong is told to the reader of the pipe."""
    try:
        job = decode(source.read(JOB_BYTES_MAX))
        _load_what_comes_late(job.root)
        for identity in identities:
            become(identity)
        os.umask(0)
        config_dir = os.environ.get("HADOOP_CONF_DIR")
        remote, root = remote_files(job.root, Path(config_dir) if config_dir else None)
        send(output, {"done": perform(job, remote, root, output)})
    except NothingChosen as error:
        send(output, {"error": str(error)[:ERROR_LENGTH_MAX], "is_final": True})
    except Exception as error:
        # The boundary of a helper process: the client library raises its own and the system's exceptions alike.
        send(output, {"error": f"{type(error).__name__}: {error}"[:ERROR_LENGTH_MAX]})
    output.flush()


def _load_what_comes_late(root: str) -> None:
    """Load the modules that Python would load later, while they can still be read."""
    for name in LATE_CODECS:
        codecs.lookup(name)
    if not root.startswith("file:"):
        importlib.import_module("hdfs_native")


def perform(job: Job, remote: RemoteFiles, root: str, output: BinaryIO) -> Any:
    """The answer's content.  Raises what the file system raises, and NothingChosen."""
    progress = _Progress(output)
    match job:
        case MakeRoot():
            steps.make_root(remote, root, job)
        case MakePrivate():
            steps.make_private(remote, root, job)
        case RemoveTree():
            remote.delete(root)
        case Publish():
            return asdict(steps.publish(remote, root, job, progress))
        case Settle():
            steps.settle(remote, root, job)
        case Expire():
            return steps.expire(remote, root, job)
        case Show() if job.file_name:
            shown.show(remote, root, job, lambda data: _send_data(output, data), progress)
        case Show():
            return shown.listed(remote, root, job, progress)
        case Recall():
            return search.recall(remote, root, job, lambda data: _send_data(output, data), progress)
    return None


class _Progress:
    """Reports its progress once a second, so that a stall can be told from a large log."""

    def __init__(self, output: BinaryIO) -> None:
        self._output, self._written, self._told_s = output, 0, time.monotonic()

    def __call__(self, written: int) -> None:
        self._written += written
        now_s = time.monotonic()
        if now_s - self._told_s >= PROGRESS_INTERVAL_S:
            self._told_s = now_s
            send(self._output, {"progress": self._written})
            self._output.flush()


def send(output: BinaryIO, content: dict[str, Any]) -> None:
    data = json.dumps(content).encode()
    output.write(MESSAGE + struct.pack(">I", len(data)) + data)


def _send_data(output: BinaryIO, data: bytes) -> None:
    for start in range(0, len(data), DATA_BYTES_MAX):
        part = data[start : start + DATA_BYTES_MAX]
        output.write(DATA + struct.pack(">I", len(part)) + part)


if __name__ == "__main__":
    main(sys.argv[1:], sys.stdin.buffer, sys.stdout.buffer)
