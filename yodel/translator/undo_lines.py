"""Lines for a shell that undo what colocation left on a node, where nobody of Yodel's is there to do it.

On the node itself: what a node agent wrote to control groups.  The lines write what the kubelet gives every best-effort
pod and their group, for both versions of cgroups: a loop over groups that are not there does nothing.

Wherever kubectl is: the names that the ResourceManager published in the status of the node, and its annotation.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Collection
from typing import Final

from yodel.translator.names import PUBLISHED
from yodel.translator.publishing import patch_of

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


def unpublish_line(node: str, names: Collection[str]) -> str:
    """Take these names, and the annotation, away from a Kubernetes node."""
    return f"{_patch(shlex.quote(node))} {shlex.quote(json.dumps(patch_of(dict.fromkeys(sorted(names)))))}"


def unpublish_lines() -> tuple[str, ...]:
    """Take from every node what its annotation names, and the annotation: the same, where nobody knows of which."""
    path = PUBLISHED.replace(".", "\\.")
    each = f'{{range .items[*]}}{{.metadata.name}} {{.metadata.annotations.{path}}}{{"\\n"}}{{end}}'
    patch = json.dumps(patch_of({"NAMES": None})).replace('"NAMES": null', "&")
    nulls = """echo "$names" | sed 's|[^,][^,]*|"&": null|g'"""
    return (
        f"kubectl get nodes -o jsonpath='{each}' | while read -r node names; do",
        f"""  [ -z "$names" ] || {_patch('"$node"')} "$({nulls} | sed 's|.*|{patch}|')" """.rstrip(),
        "done",
    )


def _patch(node: str) -> str:
    return f"kubectl patch node {node} --subresource=status --type=merge --patch"
