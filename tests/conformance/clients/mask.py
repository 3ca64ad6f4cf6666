"""Makes what two clusters print comparable: ids, times, hosts, ports and paths become the names of their kind.

Only what differs by nature between two runs is masked; a word, a state or a count never is.
"""

from __future__ import annotations

import re
import socket

_RULES: tuple[tuple[str, str], ...] = (
    (r"(?m)^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} ", ""),
    (r"container_(?:e\d+_)?\d{10,13}_\d{4,}_(\d\d)_(\d{6,})", r"container_ID_\1_\2"),
    (r"appattempt_\d{10,13}_\d{4,}_(\d{6})", r"appattempt_ID_\1"),
    (r"application_\d{10,13}_\d{4,}", "application_ID"),
    (r"(attempt|task|job)_\d{10,13}_\d{4,}", r"\1_ID"),
    (r"(?:file|hdfs|viewfs)://[^\s,\]\"']*", "URL"),
    (r"https?://[^\s,\]\"']+", "URL"),
    (r"\b(?:127\.\d+\.\d+\.\d+|localhost)\b(?::\d+)?(?:/127\.\d+\.\d+\.\d+)?(?::\d+)?", "HOST"),
    (r"\b(?:127\.\d+\.\d+\.\d+|localhost)_\d+\b", "HOST"),
    (r"\w{3} \w{3} \d\d \d\d:\d\d:\d\d [+-]\d{4} \d{4}", "DATE"),
    (r"\w{3}, \d+ \w{3} \d{4} \d\d:\d\d:\d\d \w+", "DATE"),
    (r"\w{3} \w{3} \d\d \d\d:\d\d:\d\d [A-Z]{3} \d{4}", "DATE"),
    (r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:[+-]\d{4}|Z)?", "DATE"),
    (r"\w{3} \d\d/\w{3}/\d\d \d\d:\d\d:\d\d:\d+[A-Z]+", "DATE"),
    (r"\b\d{13}\b", "MILLIS"),
    (r"(?<![\w.])/(?:tmp|var|root|home|usr)/[^\s,:\]\"')]*", "PATH"),
    (r"\b\d+ (MB-seconds|vcore-seconds)", r"N \1"),
    (r"(?i)\b\d+(?:\.\d+)? ?(seconds|secs?|ms)\b", r"N \1"),
    (r"0x[0-9a-f]+|@[0-9a-f]{6,8}\b", "HASH"),
)
_COMPILED = tuple((re.compile(pattern), replacement) for pattern, replacement in _RULES)
_BLANKS = re.compile(r"[ \t]+")


def masked(text: str, *names: str) -> str:
    """``names`` are words of this run (a folder, a job's name) that the other run has differently."""
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, "NAME")
    text = text.replace(f"{socket.gethostname()}/", "")  # a resolved address has its name before it
    for pattern, replacement in _COMPILED:
        text = pattern.sub(replacement, text)
    return "\n".join(_BLANKS.sub(" ", line).strip() for line in text.splitlines() if line.strip())
