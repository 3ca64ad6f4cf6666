"""A value that is held in a file of a group, and what of it outlives the agent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nm_plugin.host.atomic_file import FORMAT, read_or_drop, write_atomically
from yodel.domain.colocation.report import Bound

FILE_NAME = "limits.json"


@dataclass(slots=True, kw_only=True)
class Value:
    """What is to stand in a file, what was written to it last, and what was read from it after that.

    ``put_back`` counts how often somebody else had changed it.
    """

    decided: int
    written: int | None = None
    read: int | None = None
    put_back: int = 0
    why: str = ""

    def hold(self, decided: int, read: Callable[[], int | None], write: Callable[[int], None]) -> bool:
        """Write what does not stand there, and read back; return True if somebody else had changed it.

        Raises OSError: it cannot be read.
        """
        self.decided, self.read, self.why = decided, read(), ""
        if self.read == decided:
            self.written = decided
            return False
        is_foreign = self.written is not None and self.read != self.written
        try:
            write(decided)
            self.written = decided
        except OSError as error:
            self.why = f"not written: {error.strerror}"
        self.read = read()
        self.put_back += is_foreign
        return is_foreign

    def bound(self, container: str, file: str) -> Bound:
        return Bound(
            container=container,
            file=file,
            decided=self.decided,
            written=self.written,
            read=self.read,
            put_back=self.put_back,
            why=self.why,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What an agent has written or is about to write: the groups of pods, and the quota that it decided last."""

    pods: frozenset[str] = frozenset()
    quota_milli: int | None = None

    @property
    def is_nothing(self) -> bool:
        return not self.groups

    @property
    def groups(self) -> int:
        """Return how many groups they are."""
        return len(self.pods) + (self.quota_milli is not None)


class Record:
    """Keeps in a file what is written, so that the next life of the agent can take it up or undo it.  Blocks."""

    def __init__(self, state_dir: Path) -> None:
        self._file = state_dir / FILE_NAME
        self.written = read_or_drop(self._file, _parse) or Written()

    def pods(self, names: frozenset[str]) -> None:
        self._keep(replace(self.written, pods=names))

    def quota_milli(self, quota_milli: int | None) -> None:
        self._keep(replace(self.written, quota_milli=quota_milli))

    def _keep(self, written: Written) -> None:
        if written == self.written:
            return
        if written.is_nothing:
            self._file.unlink(missing_ok=True)
        else:
            said = {"format": FORMAT, "pods": sorted(written.pods), "quota_milli": written.quota_milli}
            write_atomically(self._file, said)
        self.written = written


def _parse(said: dict[str, Any]) -> Written:
    quota_milli = said.get("quota_milli")
    return Written(
        pods=frozenset(str(one) for one in said["pods"]),
        quota_milli=None if quota_milli is None else int(quota_milli),
    )
