"""Files that the settings name, as text."""

from __future__ import annotations

from pathlib import Path

from yodel.errors import InvalidValue, Refused

FILE_BYTES_MAX = 16 * 1024 * 1024


def text_of(path: Path) -> str:
    """Blocks.  Raises Refused in Java's words; InvalidValue: too large, or not text."""
    try:
        with path.open("rb") as file:
            content = file.read(FILE_BYTES_MAX + 1)
    except FileNotFoundError:
        raise Refused(f"java.nio.file.NoSuchFileException: {path}") from None
    except OSError as error:
        raise Refused(f"java.io.IOException: {error}") from error
    if len(content) > FILE_BYTES_MAX:
        raise InvalidValue(str(path), f"more than {FILE_BYTES_MAX} bytes", f"at most {FILE_BYTES_MAX}")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise InvalidValue(str(path), str(error), "UTF-8 text") from error
