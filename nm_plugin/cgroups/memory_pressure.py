"""Reads how long all processes of the node waited for memory, from the kernel's ``memory.pressure`` if it exists.

It is the kubelet's root group in the hierarchy of version 2, or in the one mounted as ``unified`` next to version 1.
Blocks.
"""

from __future__ import annotations

from pathlib import Path

from nm_plugin.cgroups.detect import Layout
from nm_plugin.cgroups.files import Files, LostReading
from nm_plugin.cgroups.layout import V2
from nm_plugin.cgroups.pressure import UNIFIED

FILE = "memory.pressure"


def full_percent(layout: Layout, files: Files, proc: Path = Path("/proc")) -> float | None:
    """Return the percent of the last ten seconds; None where there is no such file, or no number in it."""
    mount = layout.mount if layout.version is V2 else layout.mount / UNIFIED
    places = [mount / layout.root / FILE, *([proc / "pressure" / "memory"] if layout.is_machine else [])]
    for place in places:
        try:
            return _full(files.content(str(place)))
        except (FileNotFoundError, LostReading):
            continue
    return None


def _full(content: str) -> float | None:
    """The line is ``full avg10=1.23 avg60=… avg300=… total=…``."""
    for line in content.splitlines():
        words = line.split()
        if words[:1] == ["full"] and len(words) == 5 and words[1].startswith("avg10="):
            whole, dot, part = words[1].removeprefix("avg10=").partition(".")
            if dot and whole.isascii() and whole.isdigit() and len(whole) <= 3 and part.isascii() and part.isdigit():
                percent = float(f"{whole}.{part}")
                return percent if percent <= 100 else None
    return None
