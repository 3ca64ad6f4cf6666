"""The MBeans of the JVM, with what this process uses: its resident memory stands for the heap.

Alerts of Ambari's multiply ``SystemCpuLoad`` by a hundred and name ``AvailableProcessors``; a figure that has no source
is absent.
"""

from __future__ import annotations

import gc
import os
import resource
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from yodel.hadoop_http.beans import Bean
from yodel.hadoop_http.java_numbers import java_float

OPEN_FILES = Path("/proc/self/fd")
MIB = 1024.0 * 1024.0
JAVA_NAMES = {"x86_64": "amd64"}
"""Java's names of machines that the kernel calls otherwise."""


class ProcessorLoads:
    """Shares of the machine's processors, 0 to 1, that were busy since the look before; of this process first.

    Looks that come within a second of the processors' time see what the one before saw: whoever asks for one bean after
    the other must not make the time that is looked at ever shorter.
    """

    def __init__(self, proc: Path = Path("/proc")) -> None:
        self._proc = proc
        self._ticks_per_s = os.sysconf("SC_CLK_TCK")
        self._before = self._ticks()
        self._loads = (0.0, 0.0)

    def look(self) -> tuple[float, float]:
        now = self._ticks()
        own, busy, total = (new - old for new, old in zip(now, self._before, strict=True))
        if total >= self._ticks_per_s * (os.cpu_count() or 1):
            self._before, self._loads = now, (_share(own, total), _share(busy, total))
        return self._loads

    def _ticks(self) -> tuple[int, int, int]:
        """Return the ticks of this process, and of the machine: busy, and passed.  Guests count for their host."""
        fields = [int(text) for text in (self._proc / "stat").read_text().split("\n", 1)[0].split()[1:9]]
        usage = os.times()
        total, idle = sum(fields), sum(fields[3:5])
        return round((usage.user + usage.system) * self._ticks_per_s), total - idle, total


def _share(part: int, whole: int) -> float:
    return min(1.0, max(0.0, part / whole))


def process_beans(
    service: str, host: str, version: str, started_ms: int, now_ms: int, loads: ProcessorLoads
) -> list[Bean]:
    """Return the beans of the daemon ``service`` (ResourceManager, NodeManager)."""
    return beans_of(process_facts(started_ms, now_ms, loads), service, host, version)


def process_facts(started_ms: int, now_ms: int, loads: ProcessorLoads) -> dict[str, float]:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    page = os.sysconf("SC_PAGE_SIZE")
    pages, memory_kib = _pages(), _memory_kib()
    process_load, system_load = loads.look()
    return {
        "process_load": process_load,
        "system_load": system_load,
        "virtual_bytes": pages[0] * page,
        "free_bytes": memory_kib["MemFree"] << 10,
        "swap_bytes": memory_kib["SwapTotal"] << 10,
        "free_swap_bytes": memory_kib["SwapFree"] << 10,
        "open_files_max": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        "pid": os.getpid(),
        "resident_bytes": pages[1] * page,
        "memory_bytes": os.sysconf("SC_PHYS_PAGES") * page,
        "threads": threading.active_count(),
        "collections": sum(generation["collections"] for generation in gc.get_stats()),
        "processors": os.cpu_count() or 1,
        "load_average": os.getloadavg()[0],
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "open_files": sum(1 for _ in OPEN_FILES.iterdir()),
        "started_ms": started_ms,
        "uptime_ms": max(0, now_ms - started_ms),
    }


def _pages() -> tuple[int, int]:
    """Return the pages of its address space, and the resident ones; reading them does not touch a disk."""
    size, resident, *_ = Path("/proc/self/statm").read_text().split()
    return int(size), int(resident)


def _memory_kib() -> dict[str, int]:
    lines = (line.partition(":") for line in Path("/proc/meminfo").read_text().splitlines())
    return {name: int(rest.split()[0]) for name, _, rest in lines}


def beans_of(facts: Mapping[str, float], service: str, host: str, version: str) -> list[Bean]:
    """Pure."""
    return [
        _jvm_metrics(facts, service, host),
        _platform(
            "Memory",
            "sun.management.MemoryImpl",
            HeapMemoryUsage={
                "committed": int(facts["resident_bytes"]),
                "init": 0,
                "max": int(facts["memory_bytes"]),
                "used": int(facts["resident_bytes"]),
            },
            NonHeapMemoryUsage={"committed": 0, "init": 0, "max": -1, "used": 0},
            ObjectPendingFinalizationCount=0,
            Verbose=False,
        ),
        _platform(
            "Threading",
            "sun.management.ThreadImpl",
            ThreadCount=int(facts["threads"]),
            PeakThreadCount=int(facts["threads"]),
            DaemonThreadCount=0,
        ),
        _platform(
            "OperatingSystem",
            "com.sun.management.internal.OperatingSystemImpl",
            OpenFileDescriptorCount=int(facts["open_files"]),
            MaxFileDescriptorCount=int(facts["open_files_max"]),
            CommittedVirtualMemorySize=int(facts["virtual_bytes"]),
            TotalSwapSpaceSize=int(facts["swap_bytes"]),
            FreeSwapSpaceSize=int(facts["free_swap_bytes"]),
            ProcessCpuTime=int(facts["cpu_s"] * 1e9),
            FreeMemorySize=int(facts["free_bytes"]),
            TotalMemorySize=int(facts["memory_bytes"]),
            CpuLoad=facts["system_load"],
            ProcessCpuLoad=facts["process_load"],
            FreePhysicalMemorySize=int(facts["free_bytes"]),
            TotalPhysicalMemorySize=int(facts["memory_bytes"]),
            SystemCpuLoad=facts["system_load"],
            Name="Linux",
            Version=os.uname().release,
            AvailableProcessors=int(facts["processors"]),
            Arch=JAVA_NAMES.get(os.uname().machine, os.uname().machine),
            SystemLoadAverage=facts["load_average"],
        ),
        _platform(
            "Runtime",
            "sun.management.RuntimeImpl",
            Name=f"{int(facts['pid'])}@{host}",
            Pid=int(facts["pid"]),
            StartTime=int(facts["started_ms"]),
            Uptime=int(facts["uptime_ms"]),
            VmName="Yodel",
            VmVersion=version,
        ),
    ]


def _platform(kind: str, modeler: str, **attributes: Any) -> Bean:
    name = f"java.lang:type={kind}"
    return {"name": name, "modelerType": modeler, **attributes, "ObjectName": name}


def _jvm_metrics(facts: Mapping[str, float], service: str, host: str) -> Bean:
    used, most = (java_float(facts[name] / MIB) for name in ("resident_bytes", "memory_bytes"))
    zeros = (
        *("GcTimeMillis", "GcNumWarnThresholdExceeded", "GcNumInfoThresholdExceeded", "GcTotalExtraSleepTime"),
        *("ThreadsNew", "ThreadsBlocked", "ThreadsWaiting", "ThreadsTimedWaiting", "ThreadsTerminated"),
        *("LogFatal", "LogError", "LogWarn", "LogInfo"),
    )
    return {
        "name": f"Hadoop:service={service},name=JvmMetrics",
        "modelerType": "JvmMetrics",
        "tag.Context": "jvm",
        "tag.ProcessName": service,
        "tag.SessionId": None,
        "tag.Hostname": host,
        "MemNonHeapUsedM": 0.0,
        "MemNonHeapCommittedM": 0.0,
        "MemNonHeapMaxM": -1.0,
        "MemHeapUsedM": used,
        "MemHeapCommittedM": used,
        "MemHeapMaxM": most,
        "MemMaxM": most,
        "GcCount": int(facts["collections"]),
        "ThreadsRunnable": int(facts["threads"]),
        **dict.fromkeys(zeros, 0),
    }
