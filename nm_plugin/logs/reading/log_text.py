"""A log as ``yarn logs`` and the node's web port show it: a head, the bytes, a tail (``LogToolUtils``).  Pure."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal

AggregationType = Literal["LOCAL", "AGGREGATED"]
_STARS_MORE = 50


def head(container: str, place: str, kind: AggregationType, name: str, modified_ms: int, size_bytes: int) -> bytes:
    """``place`` is the node, or the name of the aggregated file."""
    first = f"Container: {container} on {place}"
    text = (
        f"{first}\nLogAggregationType: {kind}\n{'=' * len(first)}\n"
        f"LogType:{name}\nLogLastModifiedTime:{java_date(modified_ms)}\nLogLength:{size_bytes}\nLogContents:\n"
    )
    return text.encode("utf-8", "surrogateescape")


def aggregated_tail(name: str) -> bytes:
    """``LogAggregationFileController.aggregatedLogSuffix``."""
    end = f"End of LogType:{name}"
    return f"\n{end}\n{_stars(end)}\n\n".encode("utf-8", "surrogateescape")


def local_tail(name: str, running_container: str = "") -> bytes:
    """Return the tail of a log on the node's disk (NMWebServices.getLogs), with a warning if the container still runs.

    Unlike the other one it begins without a line break.
    """
    end = f"End of LogType:{name}"
    warning = ""
    if running_container:
        warning = f"This log file belongs to a running container ({running_container}) and so may not be complete."
    return f"{end}.{warning}\n{_stars(end)}\n\n".encode("utf-8", "surrogateescape")


def _stars(line: str) -> str:
    return "*" * (len(line) + _STARS_MORE)


def java_date(modified_ms: int) -> str:
    """``EEE MMM dd HH:mm:ss Z yyyy``."""
    return f"{datetime.fromtimestamp(modified_ms // 1000, UTC):%a %b %d %H:%M:%S +0000 %Y}"


def shown_range(size_bytes: int, asked_bytes: int) -> tuple[int, int]:
    """Start and end: of a negative number the last bytes, else the first."""
    return (max(0, size_bytes + asked_bytes), size_bytes) if asked_bytes < 0 else (0, min(size_bytes, asked_bytes))
