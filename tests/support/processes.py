"""Processes that may end while they are looked at."""

from __future__ import annotations

import psutil


def has_ended(process: psutil.Process) -> bool:
    """Also when whoever has to has not yet asked how: init may take seconds."""
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def command_of(process: psutil.Process) -> str:
    """Its words, a space between them; empty when it has ended."""
    try:
        return " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return ""
