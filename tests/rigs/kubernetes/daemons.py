"""Programs that stay when whoever started them has ended, found again by their pid and when they began."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil

from tests.rigs.kubernetes.layout import Home
from tests.support.processes import has_ended

STOP_TIMEOUT_S = 10.0
COMMAND_TIMEOUT_S = 120.0
READY_TIMEOUT_S = 120.0
RESTARTS_MAX = 3


class RigError(Exception):
    """Raised to say what went wrong, and where to look."""


def command(*words: str, check: bool = True, timeout_s: float = COMMAND_TIMEOUT_S) -> str:
    """Return what it printed, both streams.  Raises RigError with that when it failed."""
    done = subprocess.run(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout_s, stdin=subprocess.DEVNULL
    )
    if check and done.returncode:
        raise RigError(f"{' '.join(words)}: exit code {done.returncode}\n{done.stdout}")
    return done.stdout


def pause(seconds: float) -> None:
    threading.Event().wait(seconds)


class Daemons:
    """Run the daemons of one cluster, by name; their output is in ``log/NAME.log``."""

    def __init__(self, home: Home) -> None:
        self._home = home

    def log(self, name: str) -> Path:
        return self._home.logs / f"{name}.log"

    def start(self, name: str, words: Sequence[str], namespace: str = "") -> None:
        """Nothing when it runs.  In a network namespace by ``nsenter``: ``ip netns exec`` mounts a /sys of its own, and
        the cgroups would be gone."""
        if self.find(name) is not None:
            return
        self._home.logs.mkdir(parents=True, exist_ok=True)
        self._home.pids.mkdir(parents=True, exist_ok=True)
        prefix = ["nsenter", f"--net=/run/netns/{namespace}"] if namespace else []
        with self.log(name).open("ab") as log:
            process = subprocess.Popen(
                [*prefix, *words], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, cwd="/"
            )
        created = psutil.Process(process.pid).create_time()
        self._pid_file(name).write_text(f"{process.pid} {created}")

    def find(self, name: str) -> psutil.Process | None:
        with contextlib.suppress(OSError, ValueError, psutil.Error):
            pid, created = self._pid_file(name).read_text().split()
            process = psutil.Process(int(pid))
            if process.create_time() == float(created) and not has_ended(process):
                return process
        return None

    def names(self) -> list[str]:
        return sorted(path.name for path in self._home.pids.iterdir()) if self._home.pids.is_dir() else []

    def stop(self, name: str, number: signal.Signals = signal.SIGTERM, timeout_s: float = STOP_TIMEOUT_S) -> None:
        """Send the signal and wait; SIGKILL when that was not enough."""
        process = self.find(name)
        if process is not None:
            for each in (number, signal.SIGKILL):
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.send_signal(each)
                if _ends(process, timeout_s):
                    break
        self._pid_file(name).unlink(missing_ok=True)

    def until(
        self,
        name: str,
        probe: Callable[[], bool],
        timeout_s: float = READY_TIMEOUT_S,
        *,
        again: Callable[[], None] | None = None,
    ) -> None:
        """Wait for the answer; one that has ended is started ``again``, a few times, as systemd does.  Raises RigError
        with the end of its log when it ended or took too long."""
        give_up_at = time.monotonic() + timeout_s
        restarts = 0
        while not probe():
            ended, late = self.find(name) is None, time.monotonic() > give_up_at
            if ended and again is not None and restarts < RESTARTS_MAX:
                restarts += 1
                again()
            elif ended or late:
                what = "ended by itself" if ended else f"is not ready in {timeout_s} s"
                raise RigError(f"{name} {what}; {self.log(name)} says:\n{self.tail(name)}")
            pause(0.1)

    def tail(self, name: str, lines: int = 15) -> str:
        try:
            return "\n".join(self.log(name).read_text(errors="replace").splitlines()[-lines:])
        except FileNotFoundError:
            return "(no log)"

    def _pid_file(self, name: str) -> Path:
        return self._home.pids / name


def _ends(process: psutil.Process, timeout_s: float) -> bool:
    give_up_at = time.monotonic() + timeout_s
    while not has_ended(process):
        if time.monotonic() > give_up_at:
            return False
        with contextlib.suppress(ChildProcessError):
            os.waitpid(process.pid, os.WNOHANG)  # when it is this process' own child
        pause(0.02)
    return True
