"""``jar=@FILE`` on the command line: the jar of a shuffle service as it is now, with its digest."""

from __future__ import annotations

import hashlib
from pathlib import Path

from yodel.domain.shuffle.words import DIGEST, JAR, MARKER
from yodel.errors import InvalidValue

FILE = "@"


def with_digests(properties: dict[str, str | None]) -> dict[str, str | None]:
    """``jar=@FILE`` is the file by its absolute path and its SHA-256; ``jar-sha256=@FILE`` the latter alone, of a copy.

    Raises:
        InvalidValue: there is no such file, or the digest is said twice.
    """
    found = dict(properties)
    jar, digest = found.get(MARKER + JAR) or "", found.get(MARKER + DIGEST) or ""
    if jar.startswith(FILE):
        if digest:
            raise InvalidValue(
                "argument", f"{MARKER}{DIGEST}={digest[:80]}", f"no digest together with {MARKER}{JAR}=@FILE"
            )
        path = Path(jar.removeprefix(FILE)).absolute()
        found[MARKER + JAR], found[MARKER + DIGEST] = f"file:{path}", _digest(path)
    elif digest.startswith(FILE):
        found[MARKER + DIGEST] = _digest(Path(digest.removeprefix(FILE)))
    return found


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InvalidValue("argument", f"@{path}", f"a file that can be read ({error.strerror})") from error
