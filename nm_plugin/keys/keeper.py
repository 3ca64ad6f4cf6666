"""Keeps the RM's keys on disk as they change."""

from __future__ import annotations

import asyncio

import structlog

from nm_plugin.host.users import FileThreads
from nm_plugin.keys.key_file import KeyFile
from nm_plugin.keys.token_secrets import KeyRing, TokenSecrets


class KeyKeeper:
    """``save`` may be called whenever something could have changed."""

    def __init__(self, secrets: TokenSecrets, file: KeyFile, threads: FileThreads) -> None:
        self._secrets, self._file, self._threads = secrets, file, threads
        self._saved: KeyRing | None = None
        self._lock = asyncio.Lock()
        self._log = structlog.get_logger(__name__)

    async def recover(self) -> bool:
        """True when there were keys."""
        self._saved = await self._threads.run(self._file.load)
        if self._saved is not None:
            self._secrets.restore(self._saved)
        return self._saved is not None

    async def save(self) -> None:
        """A disk that refuses costs a restarted agent its keys, and nobody anything now."""
        async with self._lock:
            ring = self._secrets.ring()
            if ring == self._saved:
                return
            try:
                await self._threads.run(self._file.save, ring)
            except OSError as error:
                self._log.error("keys_not_saved", reason=str(error))
            else:
                self._saved = ring
