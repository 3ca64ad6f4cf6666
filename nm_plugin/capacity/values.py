"""A value is held in a file of a group, and what was decided and written outlives the agent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nm_plugin.host.atomic_file import FORMAT, read_or_drop, write_atomically
from yodel.domain.colocation.report import Bound

FILE_NAME = "limits.json"


class Value:
    """Holds the decided value of a file, the last one written, and the one read after that (``bound``).

    That is the same object as long as nothing of it changes.
    """

    def __init__(self, container: str, file: str, decided: int) -> None:
        self.bound = Bound(container=container, file=file, decided=decided, written=None, read=None)

    def hold(
        self, decided: int, found: int | None, write: Callable[[int], None], read: Callable[[], int | None]
    ) -> bool:
        """Write what does not stand there, and read back; return True if somebody else had changed it.

        ``found`` is what was just read.  Raises OSError: it cannot be read any more.
        """
        last = self.bound
        written, why, put_back = last.written, "", last.put_back
        is_foreign = found != decided and written is not None and found != written
        if found == decided:
            written = decided
        else:
            try:
                write(decided)
                written = decided
            except OSError as error:
                why = f"not written: {error.strerror}"
            found = read()
            put_back += is_foreign
        if (decided, written, found, put_back, why) != (last.decided, last.written, last.read, last.put_back, last.why):
            self.bound = replace(last, decided=decided, written=written, read=found, put_back=put_back, why=why)
        return is_foreign


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenValues:
    """Holds the values that an agent has written or is about to write: the groups of pods, and the last decided
    quota."""

    pods: frozenset[str] = frozenset()
    quota_milli: int | None = None

    @property
    def is_nothing(self) -> bool:
        return not self.groups

    @property
    def groups(self) -> int:
        """Return the number of groups."""
        return len(self.pods) + (self.quota_milli is not None)


class Record:
    """Keeps in a file what is written, so that the next life of the agent can take it up or undo it.

    A file that cannot be written holds nobody up: what it should say is known here, is told (``problem``), and goes to
    the file as soon as that can be written.  Blocks.
    """

    def __init__(self, state_dir: Path) -> None:
        self._file = state_dir / FILE_NAME
        self.written = read_or_drop(self._file, _parse) or WrittenValues()
        self.problem = ""

    def pods(self, names: frozenset[str]) -> None:
        self._keep(replace(self.written, pods=names))

    def quota_milli(self, quota_milli: int | None) -> None:
        self._keep(replace(self.written, quota_milli=quota_milli))

    def _keep(self, written: WrittenValues) -> None:
        if written == self.written and not self.problem:
            return
        self.written, self.problem = written, ""
        try:
            if written.is_nothing:
                self._file.unlink(missing_ok=True)
            else:
                said = {"format": FORMAT, "pods": sorted(written.pods), "quota_milli": written.quota_milli}
                write_atomically(self._file, said)
        except OSError as error:
            self.problem = f"written limits cannot be saved for a restart of the agent: {error}"


def _parse(said: dict[str, Any]) -> WrittenValues:
    quota_milli = said.get("quota_milli")
    return WrittenValues(
        pods=frozenset(str(one) for one in said["pods"]),
        quota_milli=None if quota_milli is None else int(quota_milli),
    )
