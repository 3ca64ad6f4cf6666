"""Small JSON files of the agent's own state: replaced as a whole, and read as a whole or dropped.

A file is replaced by rename and not synced to disk: it has to survive the agent, not the machine.

All functions block; call them in the file threads.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from yodel.errors import InvalidValue

FORMAT = 1
FILE_BYTES_MAX = 64 << 20

T = TypeVar("T")


def write_atomically(path: Path, content: dict[str, Any]) -> None:
    """Mode 0600; the name ``<path>.tmp`` is the agent's own, in a directory only it can write."""
    temporary = path.with_name(path.name + ".tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(content, file)
    os.replace(temporary, path)


def read_or_drop(path: Path, convert: Callable[[dict[str, Any]], T]) -> T | None:
    """Return the file's content as converted; a file that cannot be read is removed, and None returned."""
    try:
        if path.stat().st_size > FILE_BYTES_MAX:
            raise InvalidValue("state file", path.name, f"at most {FILE_BYTES_MAX} bytes")
        content = json.loads(path.read_text(encoding="utf-8"))
        if content.get("format") != FORMAT:
            raise InvalidValue("state file format", content.get("format"), str(FORMAT))
        return convert(content)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        path.unlink(missing_ok=True)
        return None
