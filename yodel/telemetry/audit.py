"""Writes the audit log: one line of JSON for each submission, kill, refusal and administrative act, with caller,
address, target and result.

It is written whatever the log's level and format are.  The fields are RMAuditLogger's.  Callers' texts become values of
JSON and nothing else: none of them begins a line or controls a terminal.  Values have a maximum length.  Nothing secret
gets here: neither tokens nor bodies are passed to it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

VALUE_LENGTH_MAX = 1_000
"""The most characters of one field; what is longer ends in ``…``."""
UNAUTHORIZED = "Unauthorized user"  # RMAuditLogger.AuditConstants.UNAUTHORIZED_USER
SUBMIT = "Submit Application Request"
KILL = "Kill Application Request"
FAIL_ATTEMPT = "Fail Attempt Request"
MOVE = "Move Application Request"
UPDATE_PRIORITY = "Update Application Priority"
UPDATE_TIMEOUTS = "Update Application Timeouts"
SIGNAL = "Signal Container Request"
CLIENT_SERVICE, WEB_SERVICE, ADMIN_SERVICE = "ClientRMService", "RMWebService", "AdminService"


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """Describes an act.  ``operation`` and ``target`` are words of RMAuditLogger; ``user`` is None without a name, and
    ``real_user`` acts in the user's name."""

    operation: str
    target: str
    user: str | None
    ip: str
    real_user: str | None = None
    app_id: str = ""


def _to_stderr(line: str) -> None:
    sys.stderr.write(line)
    sys.stderr.flush()


class AuditLog:
    """``write`` takes whole lines."""

    def __init__(
        self, write: Callable[[str], object] = _to_stderr, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._write, self._now = write, now

    def success(self, act: Act) -> None:
        self._line(act, "info", RESULT="SUCCESS")

    def failure(self, act: Act, description: str, permissions: str = "") -> None:
        """``permissions`` says which were missing, where some were."""
        self._line(act, "warning", RESULT="FAILURE", DESCRIPTION=description, PERMISSIONS=permissions)

    def _line(self, act: Act, level: str, **result: str) -> None:
        fields = {
            "USER": act.user if act.user is not None else "anonymous",
            "REALUSER": act.real_user or "",
            "IP": act.ip,
            "OPERATION": act.operation,
            "TARGET": act.target,
            **result,
            "APPID": act.app_id,
        }
        shown = {name: _shortened(value) for name, value in fields.items() if value}
        timestamp = self._now().isoformat().replace("+00:00", "Z")
        line = {**shown, "event": "audit", "logger": "yodel.audit", "level": level, "timestamp": timestamp}
        self._write(json.dumps(line) + "\n")


def _shortened(value: str) -> str:
    return value if len(value) <= VALUE_LENGTH_MAX else value[: VALUE_LENGTH_MAX - 1] + "…"


AUDIT = AuditLog()
"""The audit log of this process."""
