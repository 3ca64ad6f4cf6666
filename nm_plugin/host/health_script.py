"""The administrator's own check of the node: a program whose output may say that something is wrong.

Follows ``NodeHealthScriptRunner``: a line that begins with ``ERROR`` makes the node unhealthy and the whole output its
report; so does a program that takes too long or cannot be started.  Its exit status means nothing, because a program
with a bug must not take a cluster down.  The first run is at once, beside the start, where Hadoop's is after the first
interval.

No shell is involved.  The program runs with the agent's rights, in a session of its own that ends with its time.

Refuses: output beyond OUTPUT_BYTES_MAX, which is read and thrown away.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from dataclasses import dataclass
from pathlib import Path

import structlog

OUTPUT_BYTES_MAX = 64 << 10
READ_BYTES = 16 << 10
ERROR_PATTERN = "ERROR"  # NodeHealthScriptRunner.ERROR_PATTERN
TIMED_OUT = "Node health script timed out"  # NodeHealthScriptRunner.NODE_HEALTH_SCRIPT_TIMED_OUT_MSG


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptSettings:
    """``yarn.nodemanager.health-checker.script.*``."""

    path: Path
    args: tuple[str, ...] = ()
    interval_s: float = 600.0
    timeout_s: float = 1200.0


class HealthScript:
    """``check`` runs it once; ``report`` is what it found, empty when all is well."""

    def __init__(self, settings: ScriptSettings) -> None:
        self._settings = settings
        self.report = ""
        self._log = structlog.get_logger(__name__)

    async def check(self) -> bool:
        """True when the report changed."""
        before = self.report
        self.report = await self._run()
        return self.report != before

    async def _run(self) -> str:
        settings = self._settings
        if not os.access(settings.path, os.X_OK):
            # NodeHealthScriptRunner.shouldRun: what is not there finds nothing wrong.
            self._log.warning("health_script_not_executable", path=str(settings.path))
            return ""
        try:
            process = await asyncio.create_subprocess_exec(
                str(settings.path),
                *settings.args,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            return f"{type(error).__name__}: {error}"
        assert process.stdout is not None
        try:
            async with asyncio.timeout(settings.timeout_s):
                output = await _read(process.stdout)
                exit_status = await process.wait()
        except TimeoutError:
            return TIMED_OUT
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        if exit_status != 0:
            self._log.warning("health_script_failed", exit_status=exit_status)
        return output if has_errors(output) else ""


def has_errors(output: str) -> bool:
    """Pure."""
    return any(line.startswith(ERROR_PATTERN) for line in output.split("\n"))


async def _read(stream: asyncio.StreamReader) -> str:
    """Read to the end, and keep the beginning."""
    kept = bytearray()
    while data := await stream.read(READ_BYTES):
        kept += data[: OUTPUT_BYTES_MAX - len(kept)]
    return kept.decode("utf-8", errors="replace")
