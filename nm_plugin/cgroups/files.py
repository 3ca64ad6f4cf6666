"""Small files of the kernel that are read again and again, and the numbers in them.  Blocks."""

from __future__ import annotations

import contextlib
import os

from yodel.errors import YodelError

FILE_BYTES_MAX = 65_536


class LostReading(YodelError):
    """One reading cannot be used; says which file it was, and what is wrong with it."""


class Files:
    """Each file is opened once; what cannot be read is opened again the next time."""

    def __init__(self) -> None:
        self._open: dict[str, int] = {}

    def content(self, path: str) -> str:
        """Return the current content of the file.

        Raises:
            FileNotFoundError: there is no such file.
            LostReading: it cannot be read.
        """
        try:
            descriptor = self._open.get(path)
            if descriptor is None:
                descriptor = self._open[path] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            return os.pread(descriptor, FILE_BYTES_MAX, 0).decode("utf-8", errors="replace")
        except FileNotFoundError:
            raise
        except OSError as error:
            descriptor = self._open.pop(path, None)
            if descriptor is not None:
                os.close(descriptor)
            raise LostReading(f"{path}: {error.strerror}") from error

    def close(self) -> None:
        for descriptor in self._open.values():
            with contextlib.suppress(OSError):
                os.close(descriptor)
        self._open.clear()


def number_in(path: str, content: str, key: str = "", word: int = 0) -> int:
    """Return the number after the word ``key`` at the start of a line; without one, the word at that place.

    Raises:
        LostReading: there is none.
    """
    if not key:
        words = content.split()
        return whole(path, words[word] if word < len(words) else "")
    lines = f"\n{content}"
    start = lines.find(f"\n{key} ")
    if start < 0:
        raise LostReading(f"{path}: no line {key}")
    return whole(path, (lines[start + len(key) + 2 :].split(None, 1) or [""])[0])


def whole(path: str, text: str) -> int:
    """Return the number; a counter is never negative.

    Raises:
        LostReading: it is none.
    """
    if not text.isascii() or not text.isdigit() or len(text) > 20:
        raise LostReading(f"{path}: {text[:40]!r} is not a number")
    return int(text)
