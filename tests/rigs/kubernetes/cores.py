"""One node's pods may have processors apart from the rest of the cluster: for measuring that node by itself.

Nodes have their groups in the cpuset hierarchy anyway.  What runs on the host (the control plane, containerds,
kubelets, HDFS) is put into a group beside them, and back to the root when nothing is said of it any more.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.rigs.kubernetes.daemons import Daemons, RigError
from tests.rigs.kubernetes.layout import CGROUP, Home, node_name
from tests.rigs.kubernetes.node import CGROUPS

CPUSET = CGROUPS / "cpuset"
REST = CPUSET / f"{CGROUP}-rest"
"""The group of what runs on the host."""


def put(home: Home, nodes: Mapping[int, str], rest: str) -> None:
    """``nodes``: processors, as ``0-1``, by the number of a node; who is not named, and an empty ``rest``, has all.

    Raises RigError: there is no such node, or no such processor.
    """
    every = (CPUSET / CGROUP / "cpuset.cpus").read_text().strip()
    numbers = [number for number in range(1, 10) if home.node(number).exists()]
    if unknown := nodes.keys() - set(numbers):
        raise RigError(f"there is no node {min(unknown)}")
    try:
        for number in numbers:
            _give(CPUSET / CGROUP / node_name(number), nodes.get(number, every))
        _put_rest(Daemons(home), rest)
    except OSError as error:
        raise RigError(f"processors: {error}") from error


@contextlib.contextmanager
def apart(home: Home, number: int, *, cpus: str, others: str) -> Iterator[None]:
    """One node has processors of its own as long as this lasts."""
    numbers = [one for one in range(1, 10) if home.node(one).exists()]
    try:
        put(home, {one: cpus if one == number else others for one in numbers}, others)
        yield
    finally:
        put(home, {}, "")


def _give(group: Path, cpus: str) -> None:
    """A group never has a processor that the one above lacks: all first, from above; then less, from below."""
    groups = [Path(folder) for folder, _, _ in os.walk(group)]
    every = (group.parent / "cpuset.cpus").read_text()
    for one in groups:
        (one / "cpuset.cpus").write_text(every)
    for one in reversed(groups):
        with contextlib.suppress(FileNotFoundError):  # a pod has ended
            (one / "cpuset.cpus").write_text(cpus)


def _put_rest(daemons: Daemons, cpus: str) -> None:
    if cpus:
        REST.mkdir(exist_ok=True)
        (REST / "cpuset.mems").write_text((CPUSET / "cpuset.mems").read_text())
        (REST / "cpuset.cpus").write_text(cpus)
        group = REST
    elif REST.exists():
        group = CPUSET
    else:
        return
    found = [daemon.pid for name in daemons.names() if (daemon := daemons.find(name)) is not None]
    found += [] if cpus else [int(word) for word in (REST / "cgroup.procs").read_text().split()]
    for pid in found:
        with contextlib.suppress(ProcessLookupError):
            (group / "cgroup.procs").write_text(str(pid))
    if not cpus:
        REST.rmdir()
