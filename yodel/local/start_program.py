"""The program that starts containers, as a process of its own: ``python -I -S start_program.py DESCRIPTOR``.

A process that changes its user, or adopts orphans, before it runs a command is a copy of the one that starts it, and a
copy costs what that has in memory.  So this program imports a few modules of the standard library and nothing else.  It
takes requests from a socket, one after another, and ends with it.  It knows nothing of pods.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

DESCRIPTORS_MAX = 2
_LENGTH_BYTES = 4
_PR_SET_CHILD_SUBREAPER = 36
_LIBC = ctypes.CDLL(None)


def send(connection: socket.socket, message: dict[str, Any], descriptors: Sequence[int] = ()) -> None:
    """Send a message with open files.  Raises OSError."""
    data = json.dumps(message).encode()
    socket.send_fds(connection, [len(data).to_bytes(_LENGTH_BYTES, "big")], descriptors)
    connection.sendall(data)


def received(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Return the next message with its open files.  Raises OSError, EOFError."""
    head, descriptors, _, _ = socket.recv_fds(connection, _LENGTH_BYTES, DESCRIPTORS_MAX, socket.MSG_CMSG_CLOEXEC)
    left, pieces = int.from_bytes(head, "big"), list[bytes]()
    while left:
        piece = connection.recv(left)
        pieces.append(piece)
        left -= len(piece)
        if not piece:
            raise EOFError
    if not head:
        raise EOFError
    return json.loads(b"".join(pieces)), descriptors


def _adopt_orphans() -> None:
    """Adopt orphaned processes.  Runs in the forked child; the attribute outlives ``exec``."""
    _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _started(request: dict[str, Any], status: int, output: int) -> int:
    """Start a command in a session of its own and return its process id.

    Raises:
        OSError, subprocess.SubprocessError, ValueError: it cannot be started.
    """
    process = subprocess.Popen(
        request["argv"],
        stdin=status,
        stdout=output,
        stderr=output,
        cwd=request["directory"],
        env=request["environment"],
        start_new_session=True,
        user=request["user"],
        group=request["group"],
        extra_groups=request["extra_groups"],
        umask=0o022,
        preexec_fn=_adopt_orphans,
    )
    process.returncode = 0  # it is reaped by number: the object is only a vessel of the id
    return process.pid


def _answer(connection: socket.socket, request: dict[str, Any], descriptors: Sequence[int]) -> None:
    try:
        pid = _started(request, *descriptors)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        send(connection, {"error": str(error)})
        return
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
    pidfd = os.pidfd_open(pid)  # not reaped yet, so that it is still the same process
    try:
        send(connection, {"pid": pid}, [pidfd])
    finally:
        os.close(pidfd)


def _reap(*_: object) -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def main() -> None:
    """Answer requests until the other end of the socket is closed."""
    connection = socket.socket(fileno=int(sys.argv[1]))
    connection.set_inheritable(False)
    while True:
        signal.signal(signal.SIGCHLD, _reap)
        _reap()
        try:
            request, descriptors = received(connection)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _answer(connection, request, descriptors)
        except (OSError, EOFError):
            return


if __name__ == "__main__":
    main()
