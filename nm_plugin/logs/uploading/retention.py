"""Removal of aggregated logs that are old enough (``yarn.log-aggregation.retain-seconds``).

Each agent sees to the applications that it published logs of itself: it remembers them in a ledger and asks, when their
time has come, as their owner for the directory to go.  It goes when nothing in it is younger, so of the agents of one
application the last one's visit removes it; the others find it gone.  Nobody ever lists everybody's logs.
"""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

from yodel.domain.ids import ApplicationId

LEDGER_ENTRIES_MAX = 1_000_000
CHECKS_PER_PERIOD = 10  # AggregatedLogDeletionService: a tenth of the retention time
CHECK_S_MIN, CHECK_S_MAX = 60.0, 86400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RetainedApplication:
    """An application whose logs lie in the remote directory since then."""

    application_id: ApplicationId
    user: str
    published_ms: int


class RetentionLog:
    """``state_dir/logs/kept.jsonl``.  Methods block."""

    def __init__(self, state_dir: Path) -> None:
        self._path = state_dir / "logs" / "kept.jsonl"

    def add(self, kept: RetainedApplication) -> None:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(self._path, "a", encoding="utf-8") as file:
            file.write(_line(kept))

    def due(self, before_ms: int) -> list[RetainedApplication]:
        """Return the applications published before ``before_ms``, oldest first, each once."""
        newest: dict[ApplicationId, RetainedApplication] = {}
        for kept in self._read():
            newest[kept.application_id] = kept
        return sorted((k for k in newest.values() if k.published_ms < before_ms), key=lambda k: k.published_ms)

    def forget(self, gone: set[ApplicationId]) -> None:
        """Rewrites the file."""
        rest = [kept for kept in self._read() if kept.application_id not in gone]
        temporary = self._path.with_suffix(".tmp")
        temporary.write_text("".join(_line(kept) for kept in rest), encoding="utf-8")
        os.replace(temporary, self._path)

    def _read(self) -> list[RetainedApplication]:
        entries: list[RetainedApplication] = []
        with contextlib.suppress(FileNotFoundError), open(self._path, encoding="utf-8") as file:
            for text in file:
                with contextlib.suppress(ValueError, KeyError, TypeError):
                    line = json.loads(text)
                    application_id = ApplicationId.parse(line["application"])
                    entries.append(
                        RetainedApplication(
                            application_id=application_id, user=str(line["user"]), published_ms=int(line["ms"])
                        )
                    )
        return entries[-LEDGER_ENTRIES_MAX:]


def check_interval_s(retain_s: float) -> float:
    """Between two looks at the ledger, before jitter."""
    return min(max(retain_s / CHECKS_PER_PERIOD, CHECK_S_MIN), CHECK_S_MAX)


def _line(kept: RetainedApplication) -> str:
    content = {"application": str(kept.application_id), "user": kept.user, "ms": kept.published_ms}
    return json.dumps(content) + "\n"
