"""Times as Kubernetes writes them: RFC 3339 in UTC, whole seconds, and ages as kubectl prints them."""

from __future__ import annotations

from datetime import UTC, datetime


def now() -> datetime:
    """The wall clock, aware and in UTC: the one place of this package that reads it for objects."""
    return datetime.now(UTC)


def to_text(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def from_text(text: str) -> datetime:
    """Raises ValueError.  Fractions of any length are cut to microseconds."""
    head, dot, tail = text.partition(".")
    if dot:
        zone_at = next((i for i, letter in enumerate(tail) if not letter.isdigit()), len(tail))
        text = f"{head}.{tail[: min(zone_at, 6)]}{tail[zone_at:]}"
    parsed = datetime.fromisoformat(text)
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)


def age(since: str | None, at: datetime) -> str:
    """Return the time from ``since`` to ``at`` as ``duration.HumanDuration`` of apimachinery prints it."""
    if not since:
        return "<unknown>"
    try:
        return human_duration(int((at - from_text(since)).total_seconds()))
    except ValueError:  # a client may have written anything into an event
        return "<invalid>"


def human_duration(seconds: int) -> str:
    """Two leading units at most, fewer as the time grows."""
    if seconds < -1:
        return "<invalid>"
    if seconds < 0:
        return "0s"
    if seconds < 60 * 2:
        return f"{seconds}s"
    minutes = seconds // 60
    if minutes < 10:
        return f"{minutes}m{seconds % 60}s" if seconds % 60 else f"{minutes}m"
    if minutes < 60 * 3:
        return f"{minutes}m"
    hours = minutes // 60
    if hours < 8:
        return f"{hours}h{minutes % 60}m" if minutes % 60 else f"{hours}h"
    if hours < 48:
        return f"{hours}h"
    days = hours // 24
    if hours < 24 * 8:
        return f"{days}d{hours % 24}h" if hours % 24 else f"{days}d"
    if days < 365 * 2:
        return f"{days}d"
    years = days // 365
    if days < 365 * 8:
        return f"{years}y{days % 365}d" if days % 365 else f"{years}y"
    return f"{years}y"
