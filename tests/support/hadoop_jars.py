"""The jars of the Hadoop rig (``tests/rigs/hadoop/jars``), fetched on first use and kept in the user's cache."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

from tests.support import class_data

FETCH_TIMEOUT_S = 900
RIG = Path(__file__).resolve().parents[1] / "rigs" / "hadoop"
# Newest release of each line; the first is also the servers'.
RELEASES = {"3.5": "3.5.0", "3.4": "3.4.2", "3.3": "3.3.6"}


@cache
def jars(set_name: str, version: str = "") -> Path:
    """The folder of a set; ``version`` instead of the pom's own.  Raises CalledProcessError when Maven cannot."""
    command = [str(RIG / "jars"), set_name, *([version] if version else [])]
    done = subprocess.run(command, check=True, timeout=FETCH_TIMEOUT_S, stdout=subprocess.PIPE, text=True)
    found = Path(done.stdout.strip().splitlines()[-1])
    if set_name in ("hadoop", "client"):
        class_data.for_hadoop(found)
    return found


def client_jars(line: str) -> Path:
    """A Hadoop client of the release line ``3.5``, ``3.4`` or ``3.3``."""
    return jars("hadoop") if line == "3.5" else jars("client", RELEASES[line])
