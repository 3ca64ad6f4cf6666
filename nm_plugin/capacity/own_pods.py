"""Whether a pod's group is one of Yodel's: the ResourceManager has named its uid for a container, and in it runs a
process with that container's mark, as the container's user.  Blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from nm_plugin.cgroups.writer import BestEffort
from nm_plugin.launch.survivors import ENVIRON_BYTES_MAX, Marks


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """A running container: its mark, and its user's number."""

    marks: Marks
    user_uid: int


def is_own(groups: BestEffort, name: str, owner: Owner, proc: Path = Path("/proc")) -> bool:
    """In each hierarchy one of the container's processes is in the group."""
    try:
        return all(any(_is_its(pid, owner, proc) for pid in pids) for pids in groups.pids(name))
    except OSError:
        return False


def _is_its(pid: int, owner: Owner, proc: Path) -> bool:
    directory = proc / str(pid)
    try:
        status = (directory / "status").read_text(encoding="utf-8", errors="replace")
        fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        if set(fields.get("Uid", "").split()) != {str(owner.user_uid)}:
            return False
        with (directory / "environ").open("rb") as file:
            return owner.marks.are_in(file.read(ENVIRON_BYTES_MAX))
    except OSError:
        return False
