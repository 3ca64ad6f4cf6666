"""Opening what is below a directory of the agent's without following any link on the way.

What lies there was made of strangers' names, and archives may hold links to anywhere (decision 0053): each component is
opened relative to the directory before it, so a link is an error and never a way.

Functions block, and work with the rights in force.
"""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path

_STEP = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC


def open_below(root: Path, path: Path, flags: int) -> int:
    """A descriptor of ``path``, whose ``root`` is the agent's own and may be behind links of the operator's.

    Raises:
        OSError: a component is a link (ELOOP, or ENOTDIR where a directory was expected); else as ``open``.
        ValueError: ``path`` is not below ``root``.
    """
    parts = path.relative_to(root).parts
    here = os.open(root, _STEP)
    for number, part in enumerate(parts, start=1):
        asked = flags if number == len(parts) else _STEP
        try:
            opened = os.open(part, asked | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
        finally:
            os.close(here)
        here = opened
    return here


def names_below(root: Path, path: Path, names_max: int) -> list[str]:
    """Return the names in a directory, sorted; of more than ``names_max`` any so many.  Raises as ``open_below``."""
    directory = open_below(root, path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with os.scandir(directory) as entries:
            return sorted(entry.name for entry in islice(entries, names_max))
    finally:
        os.close(directory)


def is_directory_below(root: Path, path: Path) -> bool:
    """False for a link to one, and where it cannot be reached without following one."""
    try:
        os.close(open_below(root, path, _STEP))
    except OSError:
        return False
    return True
