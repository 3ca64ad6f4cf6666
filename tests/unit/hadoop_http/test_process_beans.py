"""The beans of a JVM that this process stands for: what alerts and dashboards read of them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from yodel.hadoop_http.process_beans import ProcessorLoads, process_beans

OF_JAVA: dict[str, type] = {
    **dict.fromkeys(("OpenFileDescriptorCount", "MaxFileDescriptorCount", "CommittedVirtualMemorySize"), int),
    **dict.fromkeys(("TotalSwapSpaceSize", "FreeSwapSpaceSize", "ProcessCpuTime", "FreeMemorySize"), int),
    **dict.fromkeys(("TotalMemorySize", "FreePhysicalMemorySize", "TotalPhysicalMemorySize"), int),
    **dict.fromkeys(("CpuLoad", "ProcessCpuLoad", "SystemCpuLoad", "SystemLoadAverage"), float),
    **dict.fromkeys(("Name", "Version", "Arch", "ObjectName"), str),
    "AvailableProcessors": int,
}
"""The attributes of Java 17's OperatingSystemMXBean."""


def bean(kind: str) -> dict[str, Any]:
    beans = process_beans("ResourceManager", "rm", "1", 1_000, 3_000, ProcessorLoads())
    return next(one for one in beans if one["name"] == f"java.lang:type={kind}")


def test_operating_system_has_what_javas_has() -> None:
    found = bean("OperatingSystem")
    assert {name: type(value) for name, value in found.items() if name not in ("name", "modelerType")} == OF_JAVA
    assert all(0.0 <= found[name] <= 1.0 for name in ("CpuLoad", "ProcessCpuLoad", "SystemCpuLoad"))
    assert 0 < found["OpenFileDescriptorCount"] <= found["MaxFileDescriptorCount"]
    assert 0 <= found["FreePhysicalMemorySize"] <= found["TotalPhysicalMemorySize"]
    assert found["CommittedVirtualMemorySize"] > bean("Memory")["HeapMemoryUsage"]["used"]


def test_runtime_is_named_as_a_jvm_names_itself() -> None:
    found = bean("Runtime")
    assert (found["Name"], found["Pid"]) == (f"{os.getpid()}@rm", os.getpid())
    assert (found["StartTime"], found["Uptime"]) == (1_000, 2_000)


def test_loads_are_of_the_time_since_the_look_before(tmp_path: Path) -> None:
    second = os.sysconf("SC_CLK_TCK") * (os.cpu_count() or 1)

    def passed(busy: int, idle: int, waiting: int = 0) -> None:
        (tmp_path / "stat").write_text(f"cpu  {busy} 0 0 {idle} {waiting} 0 0 0 7 7\ncpu0 1 2 3\n")

    passed(1_000, 1_000)
    loads = ProcessorLoads(tmp_path)
    assert loads.look() == (0.0, 0.0)
    passed(1_000 + 3 * second, 1_000 + second // 2, second // 2)
    own, system = loads.look()
    assert (system, 0.0 <= own <= system) == (0.75, True)
    passed(1_000 + 3 * second, 1_000 + second, second // 2)
    assert loads.look() == (own, system)  # less than a second of the processors' time: what was seen stays
    passed(1_000 + 3 * second, 1_000 + 3 * second, second // 2)
    assert loads.look()[1] == 0.0
