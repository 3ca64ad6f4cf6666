"""Lines for a node's own shell that undo what a node agent wrote to control groups, where no agent is there to do it.

What they write is what the kubelet gives every best-effort pod and their group, for both versions of cgroups: a loop
over groups that are not there does nothing.
"""

from __future__ import annotations

from typing import Final

MOUNT: Final = "/sys/fs/cgroup"
ANYWHERE: Final = "kubepods*/*besteffort*"
"""Where nobody said which group it is: both drivers of the kubelet, below the root of all groups."""


def undo_lines(best_effort: str) -> tuple[str, ...]:
    """``best_effort`` is the path of the group below the mount, as an agent said it; empty: it is looked for."""
    group = best_effort.strip("/") or ANYWHERE
    return (
        "# cgroup v1",
        _loop(f"cpu/{group}/*pod*", {"cpu.shares": "2"}),
        _loop(f"memory/{group}/*pod*", {"memory.limit_in_bytes": "-1"}),
        _loop(f"cpu/{group}", {"cpu.cfs_quota_us": "-1"}),
        "# cgroup v2",
        _loop(group + "/*pod*", {"cpu.weight": "1", "memory.high": "max", "memory.max": "max"}),
        _loop(group, {"cpu.max": "max"}),
    )


def _loop(groups: str, values: dict[str, str]) -> str:
    writes = "".join(f'[ ! -e "$g/{file}" ] || echo {value} >"$g/{file}"; ' for file, value in values.items())
    return f"for g in {MOUNT}/{groups}; do {writes}done"
