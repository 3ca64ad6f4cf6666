"""What the user of ``yodel local`` chooses, checked before anything is touched.  Refuses, naming the option."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import psutil

from yodel.errors import InvalidValue

NODES_MAX = 50
NODE_MEMORY_MAX_MIB = 8192
"""``yarn.nodemanager.resource.memory-mb``'s default."""
NODE_MEMORY_MIN_MIB = 2048
_PLAIN_PATH = re.compile(r"[\w./+@=~-]+")
"""The directory becomes part of Java class paths, URLs, comma lists and launch scripts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalOptions:
    """``directory`` is made absolute.  ``memory_mib`` and ``vcores`` are of each node.  Raises InvalidValue."""

    directory: Path
    nodes: int = 1
    ports: Literal["standard", "auto"] = "standard"
    memory_mib: int = NODE_MEMORY_MAX_MIB
    vcores: int = 8
    minimum_allocation_mib: int = 1024
    dialect: str = "native"

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


def default_memory_mib(nodes: int) -> int:
    """Three quarters of the machine, shared by the nodes, in whole GiB, at most YARN's own default."""
    share_mib = psutil.virtual_memory().total // (1024 * 1024) * 3 // 4 // max(1, nodes)
    return max(NODE_MEMORY_MIN_MIB, min(NODE_MEMORY_MAX_MIB, share_mib // 1024 * 1024))
