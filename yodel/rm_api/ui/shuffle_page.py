"""What the queue's words on remote shuffle came to, as a part of an application's page."""

from __future__ import annotations

from yodel.domain.attempt import Attempt
from yodel.domain.shuffle.decision import Status
from yodel.rm_api import html
from yodel.rm_api.html import text

_COLUMNS = ("Added setting", "Value", "Purpose", "Set by")
_LEFT_OUT = ("Setting without effect", "Reason")


def shuffle_section(attempt: Attempt | None) -> str:
    """Empty where the queue said nothing."""
    if attempt is None or attempt.shuffle is None:
        return ""
    decision = attempt.shuffle
    is_decided = "" if decision.status is not Status.DECIDED else " (decided, not reported by the node agent)"
    head = f"<h2>Remote shuffle: {text(decision.service)}{is_decided}</h2>"
    if decision.status is Status.OWN_SETTINGS:
        return f"{head}<p>It is used by the submission's own settings.</p>"
    if not decision.added:
        return f"{head}<p>{text(decision.note or decision.refusal or decision.left_out_because)}</p>"
    rows = ((text(line.key), text(line.value), text(line.why), text(line.source)) for line in decision.added)
    left_out = [(text(key), text(str(one.cause))) for one in decision.left_out for key in one.keys]
    return head + html.table(_COLUMNS, rows) + (html.table(_LEFT_OUT, left_out) if left_out else "")
