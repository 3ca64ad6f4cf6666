"""Holds the maximum that a node lends, by order of an administrator."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LentLimit:
    cpu_milli: int
    memory_mib: int
