"""Logs: facts with fields, one line per transition, JSON by default, to stderr.  Secrets never get here.

What libraries say through Python's ``logging`` (uvicorn, asyncio, SQLAlchemy), and warnings, become lines of the same
form, from ``warning`` on: what they tell of each connection is nothing for an operator, unless the level is ``debug``.

A line that cannot be written, as on a full disk, is lost: no process ends for want of room for what it has to say.
"""

from __future__ import annotations

import logging
import sys
from contextlib import suppress
from typing import Any, TextIO, cast

import structlog


class _Routed(logging.Handler):
    """Records of libraries as lines of ours, with the name of their logger."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            log = structlog.get_logger()
            write = getattr(log, record.levelname.lower(), log.warning)
            write(record.getMessage(), logger=record.name, exc_info=record.exc_info or None)
        except Exception:
            self.handleError(record)


class _Lossy:
    """Writes a logger's lines to a stream, and ignores its failures."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        with suppress(OSError):
            self._stream.write(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()


def configure(level: str = "info", style: str = "json") -> None:
    """Set structlog and ``logging`` up for the process.  ``style`` is ``json`` or ``console``."""
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
        logger_factory=structlog.PrintLoggerFactory(cast(TextIO, _Lossy(sys.stderr))),
        cache_logger_on_first_use=False,
    )
    logging.captureWarnings(True)
    logging.getLogger().handlers = [_Routed()]
    _let_libraries_speak(level)


def level() -> str:
    """Return the level in force: ``debug``, ``info``, ``warning``, ``error`` or ``critical``."""
    return logging.getLevelName(int(structlog.get_logger().get_effective_level())).lower()


def set_level(level: str) -> None:
    """Set the level of the whole process; loggers that were bound before keep theirs."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level.upper())))
    _let_libraries_speak(level)


def _let_libraries_speak(level: str) -> None:
    wanted: int = getattr(logging, level.upper())
    logging.getLogger().setLevel(wanted if wanted <= logging.DEBUG else max(wanted, logging.WARNING))
