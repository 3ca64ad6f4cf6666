"""Checks the options of ``yodel local`` before anything is changed.  Refuses, naming the option."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypedDict

import psutil

from yodel.domain.colocation.presets import PRESETS
from yodel.errors import InvalidValue

NODES_MAX = 50
NODE_MEMORY_MAX_MIB = 8192
"""``yarn.nodemanager.resource.memory-mb``'s default."""
NODE_MEMORY_MIN_MIB = 2048
VCORES_DEFAULT = 8
WAIT_MAX_S = 600
_PLAIN_PATH = re.compile(r"[\w./+@=~-]+")
"""The directory becomes part of Java class paths, URLs, comma lists and launch scripts."""


class Size(TypedDict):
    """Holds the size of each node."""

    memory_mib: int
    vcores: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalOptions:
    """``directory`` is made absolute.  ``memory_mib`` and ``vcores`` are of each node.  Raises InvalidValue."""

    directory: Path
    nodes: int = 1
    ports: Literal["standard", "auto"] = "standard"
    memory_mib: int = NODE_MEMORY_MAX_MIB
    vcores: int = VCORES_DEFAULT
    minimum_allocation_mib: int = 1024
    dialect: str = "native"
    colocation: str | None = None
    """The preset by which what is unused on this machine is lent; None: nothing is."""
    wait_s: int = WAIT_MAX_S
    """How long processes that live may take to start."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "directory", Path(os.path.abspath(self.directory)))
        if not _PLAIN_PATH.fullmatch(str(self.directory)):
            expected = (
                "a path of letters, digits and . / + @ = ~ _ - only: it becomes part of Java class paths and URLs"
            )
            raise InvalidValue("--dir", str(self.directory), expected)
        if not 1 <= self.nodes <= NODES_MAX:
            raise InvalidValue("--nodes", self.nodes, f"1 to {NODES_MAX}")
        if self.minimum_allocation_mib < 1:
            raise InvalidValue("--minimum-allocation-mib", self.minimum_allocation_mib, "at least 1 (MiB)")
        if self.memory_mib < self.minimum_allocation_mib:
            expected = f"at least {self.minimum_allocation_mib} (MiB, the smallest container)"
            raise InvalidValue("--memory-mib", self.memory_mib, expected)
        if self.vcores < 1:
            raise InvalidValue("--vcores", self.vcores, "at least 1")
        if not 1 <= self.wait_s <= WAIT_MAX_S:
            raise InvalidValue("--wait-s", self.wait_s, f"1 to {WAIT_MAX_S} (seconds)")
        if self.colocation is not None:
            self._check_colocation(self.colocation)

    def _check_colocation(self, preset: str) -> None:
        if preset not in PRESETS:
            raise InvalidValue("--colocation", preset, f"one of {', '.join(PRESETS)}")
        if self.nodes != 1:
            raise InvalidValue("--nodes", self.nodes, "1 with --colocation: each node would offer the whole machine")
        if self.dialect == "native":
            expected = "another one with --colocation: the kubelet publishes cpu and memory"
            raise InvalidValue("--dialect", self.dialect, expected)

    @property
    def milli_per_vcore(self) -> int:
        """Finer where capacity is measured: of two cores whole ones would be lent one or none."""
        return 1000 if self.colocation is None else 100

    @property
    def cpu_milli(self) -> int:
        return self.vcores * self.milli_per_vcore


def default_memory_mib(nodes: int) -> int:
    """Three quarters of the machine, shared by the nodes, in whole GiB, at most YARN's own default."""
    share_mib = psutil.virtual_memory().total // (1024 * 1024) * 3 // 4 // max(1, nodes)
    return max(NODE_MEMORY_MIN_MIB, min(NODE_MEMORY_MAX_MIB, share_mib // 1024 * 1024))


def size_of(nodes: int, memory_mib: int | None, vcores: int | None, colocation: str | None) -> Size:
    """Return the size of each node, of which the user said some or none.

    Raises:
        InvalidValue: it was said of a node that is as large as the machine.
    """
    if colocation is None:
        return {
            "memory_mib": memory_mib if memory_mib is not None else default_memory_mib(nodes),
            "vcores": vcores if vcores is not None else VCORES_DEFAULT,
        }
    for option, value in (("--memory-mib", memory_mib), ("--vcores", vcores)):
        if value is not None:
            raise InvalidValue(option, value, "no value with --colocation: the node is as large as the machine")
    return {"memory_mib": psutil.virtual_memory().total >> 20, "vcores": (os.cpu_count() or 1) * 10}
