"""Measures the use of the whole machine for ``yarn node -status``: memory, swap and processors from ``/proc``.

Follows ``NodeResourceMonitorImpl``: used is total less available, of memory alone and of memory with swap.  Blocks.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

INT_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredUse:
    """Holds the use of containers or of the node; ``cpu_vcores`` counts processors."""

    pmem_mib: int = 0
    vmem_mib: int = 0
    cpu_vcores: float = 0.0


class NodeUsage:
    """Remembers the processors' times of the last look."""

    def __init__(self, proc: Path = Path("/proc")) -> None:
        self._proc = proc
        self._times: tuple[int, int] | None = None

    def look(self) -> MeasuredUse:
        """Raises OSError, ValueError: ``/proc`` is not as expected."""
        memory = self._memory_kib()
        used_kib = memory["MemTotal"] - memory["MemAvailable"]
        swapped_kib = memory.get("SwapTotal", 0) - memory.get("SwapFree", 0)
        return MeasuredUse(
            pmem_mib=min(used_kib >> 10, INT_MAX),
            vmem_mib=min((used_kib + swapped_kib) >> 10, INT_MAX),
            cpu_vcores=self._busy_cores(),
        )

    def _memory_kib(self) -> dict[str, int]:
        lines = (self._proc / "meminfo").read_text().splitlines()
        pairs = (line.split(":", 1) for line in lines if line.endswith(" kB"))
        return {name: int(value.split()[0]) for name, value in pairs}

    def _busy_cores(self) -> float:
        lines = (self._proc / "stat").read_text().splitlines()
        numbers = [int(number) for number in lines[0].split()[1:9]]
        cores = sum(line.startswith("cpu") for line in lines) - 1
        times = sum(numbers), numbers[3] + numbers[4]  # all, idle and waiting for a disk
        before, self._times = self._times, times
        if before is None or times[0] <= before[0]:
            return 0.0
        idle = (times[1] - before[1]) / (times[0] - before[0])
        return max(0.0, min(1.0, 1.0 - idle)) * (cores or os.cpu_count() or 1)
