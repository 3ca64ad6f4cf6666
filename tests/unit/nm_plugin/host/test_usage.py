"""The machine's load from a made-up ``/proc``."""

from __future__ import annotations

from pathlib import Path

from nm_plugin.host.usage import MeasuredUse, NodeUsage


def write(proc: Path, idle: int) -> None:
    memory = "MemTotal: 8192 kB\nMemFree: 1 kB\nMemAvailable: 4096 kB\nSwapTotal: 2048 kB\nSwapFree: 1024 kB\n"
    (proc / "meminfo").write_text(memory)
    busy = 400 - idle
    (proc / "stat").write_text(f"cpu  {busy} 0 0 {idle} 0 0 0 0 0 0\ncpu0 1\ncpu1 1\nintr 5\n")


def test_memory_swap_and_processors(tmp_path: Path) -> None:
    usage = NodeUsage(tmp_path)
    (tmp_path / "meminfo").write_text("")
    write(tmp_path, 400)
    assert usage.look() == MeasuredUse(pmem_mib=4, vmem_mib=5, cpu_vcores=0.0)
    (tmp_path / "stat").write_text("cpu  150 0 0 450 0 0 0 0 0 0\ncpu0 1\ncpu1 1\n")
    assert usage.look().cpu_vcores == 1.5


def test_real_proc_is_understood() -> None:
    look = NodeUsage().look()
    assert look.pmem_mib > 0
    assert look.vmem_mib >= look.pmem_mib
