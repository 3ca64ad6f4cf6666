"""Prints the conditions of a measurement: the interpreter, the processors and the load, which every program prints
first."""

from __future__ import annotations

import os
import platform
import re
import sys
from pathlib import Path


def processors() -> str:
    """Return the number of processors of this process, and what they are."""
    found = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return f"{len(os.sched_getaffinity(0))} cores of {found[1] if found else platform.machine()}"


def print_machine() -> None:
    """Prints one line; the load is the average of the last minute."""
    program = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
    print(
        f"{platform.python_implementation()} {platform.python_version()} ({program}),"
        f" {processors()}, load {os.getloadavg()[0]:.1f}",
        flush=True,
    )
