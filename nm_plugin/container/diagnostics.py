"""Writes the diagnostics of containers that did not end well, in the NodeManager's words.  Pure.

Follows ``ContainerImpl.addDiagnostics`` (each piece begins with ``[timestamp]``), ``ContainerExecutor`` ("Exception
from container-launch") and ``ContainerLaunch.handleContainerExitWithFailure`` (tails of prelaunch.err and stderr).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from yodel.domain.ids import ContainerId
from yodel.domain.states import ContainerExitStatus

TAIL_BYTES = 4096  # yarn.nodemanager.container.stderr.tail.bytes

KILLED_BY_APPMASTER = "Container killed by the ApplicationMaster."
KILLED_BY_RESOURCEMANAGER = "Container killed by the ResourceManager."
KILLED_AFTER_APP_COMPLETION = "Container killed on application-finish event: Application finished."


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorTails:
    """The last bytes of the two files that say why."""

    prelaunch_err: bytes = b""
    stderr: bytes = b""


def stamped(now_ms: int, text: str) -> str:
    """One piece of diagnostics."""
    moment = datetime.fromtimestamp(now_ms // 1000, UTC)
    return f"[{moment:%Y-%m-%d %H:%M:%S}.{now_ms % 1000:03d}]{text}\n"


def killed(now_ms: int, text: str) -> str:
    return stamped(now_ms, text)


def failed_exit(
    now_ms: int, container_id: ContainerId, exit_status: int, tails: ErrorTails, *, is_retried: bool = False
) -> tuple[str, str]:
    """Return the diagnostics of an unrequested exit status other than 0, and the text to add if it is final.

    The end says the same again (ContainerImpl.RetryFailureTransition, then ExitedWithFailureTransition).
    """
    head = f"Exception from container-launch.\nContainer id: {container_id}\nExit code: {exit_status}\n"
    if exit_status in (ContainerExitStatus.FORCE_KILLED, ContainerExitStatus.TERMINATED):
        return killed_exit(now_ms, exit_status) + stamped(now_ms, "Killed by external signal"), ""
    body = f"Container exited with a non-zero exit code {exit_status}. Error file: prelaunch.err.\n"
    body += f"Last {TAIL_BYTES} bytes of prelaunch.err :\n{_text(tails.prelaunch_err)}"
    body += f"Last {TAIL_BYTES} bytes of stderr :\n{_text(tails.stderr)}\n"
    middle = stamped(now_ms, "Diagnostic message from attempt : ") if is_retried else ""
    return stamped(now_ms, head) + middle + stamped(now_ms, body), stamped(now_ms, body)


def killed_exit(now_ms: int, exit_status: int) -> str:
    """Return the diagnostics of a process that was stopped on request."""
    return stamped(now_ms, f"Container killed on request. Exit code is {exit_status}") + stamped(
        now_ms, f"Container exited with a non-zero exit code {exit_status}. "
    )


def failed_localization(now_ms: int, text: str) -> str:
    return stamped(now_ms, f"Failed to download resource: {text}")


def failed_launch(now_ms: int, container_id: ContainerId, text: str, exit_status: int) -> str:
    """The script could not be handed over; a node without disks says only why (ContainerLaunch.call)."""
    if exit_status == ContainerExitStatus.DISKS_FAILED:
        return stamped(now_ms, text)
    head = f"Exception from container-launch.\nContainer id: {container_id}\nExit code: {exit_status}\n"
    return stamped(now_ms, f"{head}Exception message: {text}\n")


def _text(data: bytes) -> str:
    text = data.decode("utf-8", errors="replace").replace("\0", "\ufffd")
    return text if not text or text.endswith("\n") else text + "\n"
