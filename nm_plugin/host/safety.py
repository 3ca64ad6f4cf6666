"""The threads of what protects a node.

How much users give the file threads to do, and how slow what they name is, is up to them.  None of it stands before the
reading of counters, what follows from that, the kill of a container and the record of it: each of these has threads
that do nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import partial

from nm_plugin.host.users import FileThreads


@dataclass(frozen=True, slots=True, kw_only=True)
class SafetyThreads:
    """``close`` them."""

    reading: FileThreads = field(default_factory=partial(FileThreads, 1, "reading"))
    """Counters of the node, each second."""
    emergency: FileThreads = field(default_factory=partial(FileThreads, 1, "emergency"))
    """Who is ended while memory runs short."""
    bounds: FileThreads = field(default_factory=partial(FileThreads, 1, "bounds"))
    """Limits of pods, and the quota."""
    memory: FileThreads = field(default_factory=partial(FileThreads, 1, "memory"))
    """The memory check of containers."""
    survivors: FileThreads = field(default_factory=partial(FileThreads, 2, "survivors"))
    """Processes that a container left behind."""
    signals: FileThreads = field(default_factory=partial(FileThreads, 2, "signals"))
    """The threads that signal pods that run."""
    records: FileThreads = field(default_factory=partial(FileThreads, 2, "records"))
    """The threads for records that the agent must have after a restart."""

    def close(self) -> None:
        for pool in fields(self):
            getattr(self, pool.name).close()
