"""One limit on what callers may send.  ``limits`` has the table of them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Flag, auto


class Daemon(Flag):
    """Names the daemons that check a limit, and can refuse by it."""

    RESOURCE_MANAGER = auto()
    NODE_AGENT = auto()
    BOTH = RESOURCE_MANAGER | NODE_AGENT


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """One limit, for the code, for ``/prom`` and for the reader of the documents.

    ``name`` is the label in ``/prom``; ``setting`` is named as in docs/configuration.md, or None where it is fixed;
    ``default`` is for readers, with its unit; ``answer`` is what the caller gets; ``hadoop`` what a real Hadoop does.
    ``daemons`` count it: a count of who never looks would be 0 for ever.
    """

    name: str
    setting: str | None
    default: str
    what: str
    answer: str
    hadoop: str
    daemons: Daemon = Daemon.RESOURCE_MANAGER

    def words(self, value: int, maximum: int) -> str:
        """Return the text of a refusal."""
        where = f"setting {self.setting}" if self.setting else "fixed"
        return f"{self.name} is {value}, where at most {maximum} are allowed ({where})"
