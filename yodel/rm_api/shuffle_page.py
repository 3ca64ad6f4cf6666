"""What the queue's words on remote shuffle came to, as a part of an application's page."""

from __future__ import annotations

from yodel.domain.attempt import Attempt
from yodel.rm_api import pages
from yodel.rm_api.pages import text

_COLUMNS = ("Added setting", "Value", "Purpose", "Set by")


def shuffle_section(attempt: Attempt | None) -> str:
    """Empty where the queue said nothing."""
    if attempt is None or attempt.shuffle is None:
        return ""
    decision = attempt.shuffle
    head = f"<h2>Remote shuffle: {text(decision.service)}</h2>"
    if decision.reason:
        return f"{head}<p>{text(decision.note or decision.refusal)}</p>"
    rows = ((text(line.key), text(line.value), text(line.why), text(line.source)) for line in decision.lines)
    return head + pages.table(_COLUMNS, rows)
