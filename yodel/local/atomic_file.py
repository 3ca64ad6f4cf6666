"""Files that are seen whole or not at all, with the mode they are meant to have from the first byte on."""

from __future__ import annotations

import os
from pathlib import Path


def write_atomically(path: Path, text: str, mode: int) -> None:
    """Replace ``path``.  ``mode`` is exact, whatever the umask is."""
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.unlink(missing_ok=True)
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fchmod(fd, mode)
    temporary.replace(path)
