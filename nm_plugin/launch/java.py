"""Expands ``<ADD_OPENS>`` in a command to Hadoop's flags for the java that containers run.

A NodeManager looks at its own JVM (``ContainerLaunch.expandEnvironment``).  The agent has none and reads the file
``release`` of JAVA_HOME; where there is none to read it takes a java for new enough, as all since 9 know the flags.
"""

from __future__ import annotations

import re
from pathlib import Path

ADD_OPENS = (
    "--add-opens=java.base/java.lang=ALL-UNNAMED "
    "--add-exports=java.base/sun.net.dns=ALL-UNNAMED --add-exports=java.base/sun.net.util=ALL-UNNAMED"
)
NEEDS_THEM_SINCE = 17
RELEASE_BYTES_MAX = 1 << 16
_VERSION = re.compile(r'^JAVA_VERSION="(?:1\.)?(\d+)', re.MULTILINE)


def add_opens(java_home: str) -> str:
    """The flags, or nothing for a java before 17.  Blocks for one small read."""
    version = java_version(java_home)
    return ADD_OPENS if version is None or version >= NEEDS_THEM_SINCE else ""


def java_version(java_home: str) -> int | None:
    """The feature release (8, 17, 21); None when it cannot be told."""
    if not java_home:
        return None
    try:
        with (Path(java_home) / "release").open(encoding="utf-8", errors="replace") as file:
            found = _VERSION.search(file.read(RELEASE_BYTES_MAX))
    except OSError:
        return None
    return int(found[1]) if found else None
