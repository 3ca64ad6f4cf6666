"""One limit on what callers may send.  ``limits`` has the table of them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """One limit, for the code, for ``/prom`` and for the reader of the documents.

    ``name`` is the label in ``/prom``; ``setting`` is named as in docs/configuration.md, or None where it is fixed;
    ``default`` is for readers, with its unit; ``answer`` is what the caller gets; ``hadoop`` what a real Hadoop does.
    """

    name: str
    setting: str | None
    default: str
    what: str
    answer: str
    hadoop: str

    def words(self, value: int, maximum: int) -> str:
        """Of a refusal."""
        where = f"setting {self.setting}" if self.setting else "fixed"
        return f"{self.name} is {value}, where at most {maximum} are allowed ({where})"
