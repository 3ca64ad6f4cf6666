"""Logs: facts with fields, one line per transition, JSON by default, to stderr.  Secrets never get here."""

from __future__ import annotations

import logging
import sys
from typing import Any

import structlog


def configure(level: str = "info", style: str = "json") -> None:
    """Set structlog up for the process.  ``style`` is ``json`` or ``console``."""
    renderer: Any = structlog.processors.JSONRenderer() if style == "json" else structlog.dev.ConsoleRenderer()
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level.upper())),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )


def level() -> str:
    """What is written now: ``debug``, ``info``, ``warning``, ``error`` or ``critical``."""
    return logging.getLevelName(int(structlog.get_logger().get_effective_level())).lower()


def set_level(level: str) -> None:
    """From now on, for the whole process; loggers that were bound before keep theirs."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level.upper())))
