"""The process that unpacks one archive, with the rights of whom it is for and no others.

``python -P -m nm_plugin.localization.unpacker SOURCE TARGET [UID:GID:GROUP,…]``: two inherited descriptors, the archive
and the empty directory to fill, and whom to become once all modules are loaded (that one need not be able to read the
agent's Python).  What is wanted comes as a line of JSON on standard input, what came of it leaves as a line on standard
output: ``{"bytes": n}`` or ``{"error": text}``.  Then it waits for its end.  Started by ``unpacking``.

Before it reads a byte of the archive it has given up the right to start processes: whatever an archive makes of it, who
ends it has ended all that has the archive's directory open.
"""

from __future__ import annotations

import codecs
import json
import os
import resource
import sys
import zlib
from typing import Any

from nm_plugin.host.identity import become, end_with_parent, start_nothing
from nm_plugin.host.name_patterns import TIMEOUT_S, PatternTooHard
from nm_plugin.localization.archive import ArchiveLimits, unpack
from nm_plugin.localization.tree import UnsafeArchive
from yodel.errors import YodelError

MEMORY_BYTES_MAX = 2 << 30
"""Address space: the list of entries of the largest zip that is read, twice over."""
ERROR_LENGTH_MAX = 1000
_LATER = ("cp437", "utf-8", "ascii", "latin-1", "idna")
"""Codecs that zipfile and tarfile would look for when they meet the first such name."""


def main(arguments: list[str]) -> None:
    source, target, *identity = arguments
    order = json.loads(sys.stdin.readline())
    for codec in _LATER:
        codecs.lookup(codec)
    for text in identity:
        become(text)
    end_with_parent()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))
    start_nothing()
    print(json.dumps(carry_out(order, int(source), int(target))), flush=True)
    sys.stdin.read()  # until it is killed, or the agent is gone


def carry_out(order: dict[str, Any], source: int, target: int) -> dict[str, Any]:
    """Never raises: whatever goes wrong is the archive's fault, or the disk's, and is told."""
    try:
        with os.fdopen(source, "rb") as file:
            return {"bytes": unpack(file, order["name"], target, ArchiveLimits(**order["limits"]), order["pattern"])}
    except MemoryError:
        return {"error": f"Archive takes more than {MEMORY_BYTES_MAX >> 20} MiB of memory to unpack"}
    except UnsafeArchive as error:
        told = {"limit": error.limit, "value": error.value, "maximum": error.maximum}
        return {"error": str(error)[:ERROR_LENGTH_MAX], **told}
    except PatternTooHard as error:
        seconds = round(TIMEOUT_S)
        return {
            "error": str(error)[:ERROR_LENGTH_MAX],
            "limit": "pattern_seconds",
            "value": seconds,
            "maximum": seconds,
        }
    except (YodelError, OSError, zlib.error) as error:
        return {"error": str(error)[:ERROR_LENGTH_MAX]}
    except Exception as error:
        # The boundary of a helper process: the archive libraries raise their own, struct's and Python's exceptions.
        return {"error": f"{type(error).__name__}: {error}"[:ERROR_LENGTH_MAX]}


if __name__ == "__main__":
    main(sys.argv[1:])
