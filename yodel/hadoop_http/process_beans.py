"""The MBeans of the JVM, with what this process uses: its resident memory stands for the heap."""

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


def process_beans(service: str, host: str, version: str, started_ms: int, now_ms: int) -> list[Bean]:
    """Of the daemon ``service`` (ResourceManager, NodeManager)."""
    return beans_of(process_facts(started_ms, now_ms), service, host, version)


def process_facts(started_ms: int, now_ms: int) -> dict[str, float]:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    page = os.sysconf("SC_PAGE_SIZE")
    return {
        "resident_bytes": _resident_pages() * page,
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


def _resident_pages() -> int:
    """The second field of statm; reading it does not touch a disk."""
    return int(Path("/proc/self/statm").read_text().split()[1])


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
            AvailableProcessors=int(facts["processors"]),
            SystemLoadAverage=facts["load_average"],
            ProcessCpuTime=int(facts["cpu_s"] * 1e9),
            OpenFileDescriptorCount=int(facts["open_files"]),
            TotalPhysicalMemorySize=int(facts["memory_bytes"]),
            Name="Linux",
        ),
        _platform(
            "Runtime",
            "sun.management.RuntimeImpl",
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
