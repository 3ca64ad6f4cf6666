"""Waits until the machine is quiet, and measures the speed of the core, between the runs of a measurement.

A reading covers the seconds after its own beginning, so that the condition before it is not in it; an average of the
kernel's (``avg10``) reaches back.
"""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from tests.e2e.colocated import OWN_CORE

BUSY = 0.20
"""A machine is busy if some process waits for a processor in a larger part of the time."""
READING_S = 3.0
PRESSURE = Path("/proc/pressure/cpu")
WORK = """
import hashlib, time
BLOCK = bytes(1 << 20)
def once():
    began = time.thread_time()
    for _ in range(20):
        hashlib.sha256(BLOCK).digest()
    return time.thread_time() - began
once()
print(min(once() for _ in range(5)) * 1000)
"""


def waiting_s(text: str) -> float:
    """Return for how long some process has waited for a processor since the machine's start, of a pressure file."""
    found = re.search(r"^some .*total=(\d+)", text, re.MULTILINE)
    if found is None:
        raise ValueError(f"{PRESSURE}: {text!r} has no total of 'some'")
    return int(found[1]) / 1e6


def _pause(seconds: float) -> None:
    threading.Event().wait(seconds)


def wait_until_quiet(
    give_up_s: float,
    read: Callable[[], str] = PRESSURE.read_text,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], object] = _pause,
) -> float:
    """Return the part of the last reading in which a process waited.  Above BUSY: it did not become quiet in time."""
    end_s = clock() + give_up_s
    while True:
        began_s, waited_s = clock(), waiting_s(read())
        sleep(READING_S)
        share = (waiting_s(read()) - waited_s) / (clock() - began_s)
        if share <= BUSY or clock() >= end_s:
            return share


def core_ms() -> float:
    """Return the processor time of a fixed piece of work on the measured core: least of five, in milliseconds."""
    words = ["taskset", "--cpu-list", str(OWN_CORE), sys.executable, "-c", WORK]
    return float(subprocess.run(words, check=True, capture_output=True, text=True, timeout=60).stdout)
