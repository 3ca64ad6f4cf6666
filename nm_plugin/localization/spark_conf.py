"""What a Spark application was submitted with: on which signal its executors decommission, above all.

``Client.createConfArchive`` packs what a job was submitted with into ``__spark_conf__.properties`` of an archive that
every executor localizes as ``__spark_conf__``.  The tree is the user's, who may have put anything in its place: it is
walked by descriptors from the agent's own directory on, no link is followed, only a regular file is read, and no more
than BYTES_MAX of it.  Two names are looked for in lines as ``java.util.Properties.store`` writes them; what is written
in another form was not said.

Refuses signals that a JVM catches for itself: whoever catches those need not be Spark.  Functions block, and work with
the rights in force.
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
"""What the JVM on Linux leaves to programs."""


def decommission_signal(said: Mapping[bytes, bytes], *, is_default: bool = False) -> str:
    """A signal's name without ``SIG``; empty when the application did not ask for any, or for one not in SIGNALS.

    ``is_default``: where it says nothing, its queue asks for it.
    """
    if said.get(ENABLED, b"true" if is_default else b"").lower() != b"true":
        return ""
    name = said.get(SIGNAL, DEFAULT_SIGNAL).decode("ascii", errors="replace")
    return name if name in SIGNALS else ""


def read_properties(root: Path, archive: Path) -> dict[bytes, bytes]:
    """Of the unpacked ``archive`` below ``root``, a directory of the agent's; none where it is no such thing.

    Raises:
        OSError: a link, or something else that cannot be walked or read.
    """
    return properties(_content(root, archive / FILE))


def properties(content: bytes) -> dict[bytes, bytes]:
    """By name; the last of a name counts, as for java.util.Properties."""
    return dict(_properties(content))


def _properties(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    for line in content.split(b"\n"):
        name, separator, value = line.partition(b"=")
        if separator:
            yield name.strip(), value.strip()


def _content(root: Path, path: Path) -> bytes:
    """Of a regular file that is not too large; else nothing."""
    file = open_below(root, path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode) or status.st_size > BYTES_MAX:
            return b""
        return os.read(file, BYTES_MAX)
    finally:
        os.close(file)
