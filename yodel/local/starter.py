"""Starts containers through a small process of its own, which is started when it is first needed.

The small Kubernetes has a hundred megabytes in memory, and copying it for each container cost more than all else that
it does for a pod.  If that process ends, the next container gets another one; containers go on without it.
"""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence

from yodel.local import start_program
from yodel.local.container_launch import CannotRun, ContainerLaunch

RUN_ERROR = "RunContainerError"
"""The kubelet's reason for a container that its runtime did not start."""
TIMEOUT_S = 30.0
"""For the start of a container, and of the process that starts them."""


class Starter:
    """Its methods may be called from any thread.  ``close`` when no container is to be started any more."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: socket.socket | None = None

    def start(
        self,
        launch: ContainerLaunch,
        argv: Sequence[str],
        numbers: tuple[int | None, int | None, list[int] | None],
        status: int,
        output: int,
    ) -> tuple[int, int]:
        """Start a command in the launch's directory and environment, as a session of its own that adopts orphans.

        ``numbers``: user, group and further groups.  Returns its process id and pidfd.  Raises CannotRun.
        """
        user, group, extra_groups = numbers
        request = {
            "argv": argv,
            "directory": str(launch.directory),
            "environment": dict(launch.environment),
            "user": user,
            "group": group,
            "extra_groups": extra_groups,
        }
        with self._lock:
            try:
                connection = self._opened()
                start_program.send(connection, request, [status, output])
                answer, descriptors = start_program.received(connection)
            except (OSError, EOFError) as error:
                self._drop()
                text = f"failed to start container: the process that starts containers does not answer: {error!r}"
                raise CannotRun(RUN_ERROR, text) from error
        if "error" in answer:
            raise CannotRun(RUN_ERROR, f"failed to start container: {answer['error']}")
        return int(answer["pid"]), descriptors[0]

    def close(self) -> None:
        """End the process.  Closing twice is harmless."""
        with self._lock:
            self._drop()

    def _opened(self) -> socket.socket:
        if self._connection is None:
            self._connection, theirs = socket.socketpair()
            self._connection.settimeout(TIMEOUT_S)
            with theirs:
                # A session of its own: what a terminal sends to all of a program is not for it.
                self._process = subprocess.Popen(
                    [sys.executable, "-I", "-S", start_program.__file__, str(theirs.fileno())],
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    start_new_session=True,
                )
        return self._connection

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            self._process.wait()
        self._connection = self._process = None
