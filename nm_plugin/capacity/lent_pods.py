"""Finds which containers run on lent capacity, and what each uses, in the kubelet's best-effort group.

A pod there is a container's when one of its processes carries the container's id, as the container's user: the pod's
own shell does for as long as the pod is there, whatever the container starts.  What a pod uses is what the kernel
charges to its group: processes, files that were read again, files in memory.  Reads only.  Blocks.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from nm_plugin.cgroups.detect import Layout
from nm_plugin.cgroups.files import FILE_BYTES_MAX, LostReading, number_in
from nm_plugin.launch.survivors import ENVIRON_BYTES_MAX
from yodel.domain.ids import ContainerId

LISTED_MAX = 4_096
"""Of pods, of the containers in one, of its processes: a kubelet has a few hundred at most."""
_NAMES = (b"YODEL_CONTAINER_ID", b"CONTAINER_ID")


def used_mib(layout: Layout, owners: Mapping[ContainerId, int], proc: Path = Path("/proc")) -> dict[ContainerId, int]:
    """Return those of ``owners`` (each with its user's number) that run on lent capacity, with what their pods use."""
    known = {str(container_id).encode(): container_id for container_id in owners}
    root = layout.mount / layout.version.memory.controller / layout.best_effort
    found: dict[ContainerId, int] = {}
    for pod in _below(root):
        for container_id in _containers(pod, known, owners, proc):
            if container_id not in found:
                found[container_id] = _working_set_mib(layout, pod)
                break
    return found


def _containers(
    pod: Path, known: Mapping[bytes, ContainerId], owners: Mapping[ContainerId, int], proc: Path
) -> Iterator[ContainerId]:
    """By the processes of a pod, the oldest first."""
    users = {str(uid) for uid in owners.values()}
    for pid in sorted(pid for group in (pod, *_below(pod)) for pid in _pids(group))[:LISTED_MAX]:
        uid = _uid(proc / str(pid))
        container_id = known.get(_marked(proc / str(pid))) if uid in users else None
        if container_id is not None and str(owners[container_id]) == uid:
            yield container_id


def _below(group: Path) -> list[Path]:
    try:
        with os.scandir(group) as entries:
            found = [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]
    except FileNotFoundError:
        return []  # the pod has ended meanwhile
    return sorted(found)[:LISTED_MAX]


def _pids(group: Path) -> list[int]:
    try:
        return [int(word) for word in _content(group / "cgroup.procs").split() if word.isdigit()]
    except OSError:
        return []


def _working_set_mib(layout: Layout, pod: Path) -> int:
    """0 where it cannot be read: who cannot be shown to use too much goes by his rank."""
    version = layout.version
    try:
        memory, inactive_file = (
            number_in(number.file, _content(pod / number.file), number.key, number.word)
            for number in (version.memory, version.inactive_file)
        )
    except (OSError, LostReading):
        return 0
    return max(0, memory - inactive_file) >> 20


def _marked(process: Path) -> bytes:
    try:
        with (process / "environ").open("rb") as file:
            entries = file.read(ENVIRON_BYTES_MAX).split(b"\0")
    except OSError:
        return b""
    variables = dict(entry.partition(b"=")[::2] for entry in entries)
    return next((variables[name] for name in _NAMES if name in variables), b"")


def _uid(process: Path) -> str:
    """Empty where it has ended, or has several."""
    try:
        status = _content(process / "status")
    except OSError:
        return ""
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    uids = set(fields.get("Uid", "").split())
    return uids.pop() if len(uids) == 1 else ""


def _content(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(FILE_BYTES_MAX).decode("utf-8", errors="replace")
