"""Why an application waits, as a part of its page."""

from __future__ import annotations

from collections.abc import Iterator

from yodel.rm_api import html
from yodel.rm_api.html import text
from yodel.services.views.why import AskView, Obstacle, WhyView

_COLUMNS = ("Pending", "Reason", "Used by", "Unblocks when")


def why_section(view: WhyView) -> str:
    """Empty of an application that waits for nothing."""
    if not view.asks:
        return ""
    more = f"<p>and {view.more_asks} more requests</p>" if view.more_asks else ""
    rows = [row for ask in view.asks for row in _rows(ask)]
    return f"<h2>Why it is pending</h2>{html.table(_COLUMNS, rows)}{more}"


def _rows(ask: AskView) -> Iterator[tuple[str, ...]]:
    what = f"{ask.count} of {ask.size.with_units} ({ask.name})"
    for number, link in enumerate(ask.chain):
        held = "<br>".join(text(one) for one in _held_by(link))
        yield text(what) if number == 0 else "", f"{text(link.what)}<br>{text(link.text)}", held, text(link.change)


def _held_by(link: Obstacle) -> Iterator[str]:
    for holder in link.held_by:
        yield f"{holder.name}: {holder.held.with_units}"
    if link.more_holders:
        yield f"{link.more_holders} more"
