"""The ResourceManager's keys in ``keys.json`` of the state directory: mode 0600 in a directory of 0700.

All functions block; call them in the file threads.
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

from nm_plugin.host.atomic_file import FORMAT, read_or_drop, write_atomically
from nm_plugin.keys.token_secrets import KeyRing
from yodel.domain.ids import ApplicationAttemptId
from yodel.domain.tokens import MasterKey


class KeyFile:
    """One for an agent."""

    def __init__(self, state_dir: Path) -> None:
        state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path = state_dir / "keys.json"

    def save(self, ring: KeyRing) -> None:
        content = {
            "format": FORMAT,
            "rm_identifier": ring.rm_identifier,
            "nm": [_key_to_json(key) for key in ring.nm],
            "container": [_key_to_json(key) for key in ring.container],
            "attempts": {str(attempt): _key_to_json(key) for attempt, key in ring.attempts.items()},
        }
        write_atomically(self._path, content)

    def load(self) -> KeyRing | None:
        """None when there are none yet, or none that can be read."""
        return read_or_drop(self._path, _ring_from_json) if self._path.exists() else None


def _key_to_json(key: MasterKey | None) -> list[Any] | None:
    return None if key is None else [key.key_id, base64.b64encode(key.secret).decode("ascii")]


def _key_from_json(content: list[Any] | None) -> MasterKey | None:
    return None if content is None else MasterKey(key_id=int(content[0]), secret=base64.b64decode(content[1]))


def _ring_from_json(content: dict[str, Any]) -> KeyRing:
    nm, container = ([_key_from_json(key) for key in content[kind]] for kind in ("nm", "container"))
    kept = {ApplicationAttemptId.parse(text): _key_from_json(key) for text, key in content["attempts"].items()}
    return KeyRing(
        nm=(nm[0], nm[1]),
        container=(container[0], container[1]),
        attempts={attempt: key for attempt, key in kept.items() if key is not None},
        rm_identifier=content["rm_identifier"],
    )
