"""Reads the properties with which a Spark application was submitted, above all the signal for decommissioning.

``Client.createConfArchive`` packs them into ``__spark_conf__.properties`` of an archive that every executor localizes
as ``__spark_conf__``.  The tree is the user's, who may have replaced anything in it: it is walked by descriptors from
the agent's own directory, no link is followed, and of a regular file at most BYTES_MAX are read.  Lines are expected as
``java.util.Properties.store`` writes them; other forms are ignored.

Refuses signals that a JVM catches for itself: a process that catches those may not be Spark.  Functions block, and use
the current rights.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from nm_plugin.localization.below import open_below

LINK = "__spark_conf__"  # Client.LOCALIZED_CONF_DIR
FILE = "__spark_conf__.properties"  # Client.SPARK_CONF_FILE
BYTES_MAX = 1 << 20
ENABLED = b"spark.decommission.enabled"
SIGNAL = b"spark.executor.decommission.signal"
DEFAULT_SIGNAL = b"PWR"
SIGNALS = frozenset({"PWR", "USR1", "ALRM", "VTALRM", "WINCH", "URG", "IO"})
"""The signals that the JVM on Linux leaves to programs."""


def decommission_signal(said: Mapping[bytes, bytes], *, is_default: bool = False) -> str:
    """A signal's name without ``SIG``; empty when the application did not ask for any, or for one not in SIGNALS.

    ``is_default``: where it says nothing, its queue asks for it.
    """
    if said.get(ENABLED, b"true" if is_default else b"").lower() != b"true":
        return ""
    name = said.get(SIGNAL, DEFAULT_SIGNAL).decode("ascii", errors="replace")
    return name if name in SIGNALS else ""


def read_properties(root: Path, archive: Path) -> dict[bytes, bytes]:
    """Return the properties of the unpacked ``archive`` below the agent's directory ``root``; empty if it has none.

    Raises:
        OSError: a link, or something else that cannot be walked or read.
    """
    return properties(_content(root, archive / FILE))


def properties(content: bytes) -> dict[bytes, bytes]:
    """Return the properties by name; the last of a name counts, as for java.util.Properties."""
    return dict(_properties(content))


def _properties(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    for line in content.split(b"\n"):
        name, separator, value = line.partition(b"=")
        if separator:
            yield name.strip(), value.strip()


def _content(root: Path, path: Path) -> bytes:
    """Return the content of a regular file; empty if it is too large or not a regular file."""
    file = open_below(root, path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode) or status.st_size > BYTES_MAX:
            return b""
        return os.read(file, BYTES_MAX)
    finally:
        os.close(file)
