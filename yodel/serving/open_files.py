"""Raises the number of files and connections that the process may have open above that of a login.

Java raises its own limit as soon as it starts, so Hadoop's daemons have what the administrator allows at most.
"""

from __future__ import annotations

import resource

import structlog

WANTED = 131_072
"""Ten thousand connections to each port, with files and connections to elsewhere.  Not all that is allowed: there are
systems that allow a billion, and programs started from here that close every number up to it."""


def raise_limit() -> int:
    """Towards what is allowed; how many it are now.  To be called once, before anything listens."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= WANTED:
        return soft
    target = WANTED if hard == resource.RLIM_INFINITY else min(WANTED, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (target, hard))
    if target < WANTED:
        structlog.get_logger("yodel.wiring.process").info("open_files_limited", open_files=target, wanted=WANTED)
    return target
