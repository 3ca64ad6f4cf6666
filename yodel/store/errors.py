"""Defines the store's errors besides ``yodel.errors.Unavailable`` (no answer) and ``FencedOut`` (taken over)."""

from __future__ import annotations

from yodel.errors import Unavailable, YodelError


class SchemaNotAtHead(YodelError):
    """The database's tables are none that this version can use: too old, or changed by one that is much newer."""

    def __init__(self, current: str | None, head: str, oldest_head: str | None = None) -> None:
        self.current, self.head, self.oldest_head = current, head, oldest_head
        found = "is empty" if current is None else f"is at version {current}"
        what = "Run `yodel migrate`."
        if current is not None and current > head:
            found += f", for releases from {oldest_head or current} on"
            what = "Install a newer release."
        super().__init__(f"The store's database {found}; this version of Yodel needs {head}. {what}")


class OrphanRow(YodelError):
    """A commit has an attempt without its application or a container without its attempt: a bug of the caller's.

    ``row_id`` is None when the database did not say which.
    """

    def __init__(self, row_id: object | None = None) -> None:
        self.row_id = row_id
        which = "A row" if row_id is None else f"Row {row_id}"
        super().__init__(f"{which} belongs to an application or attempt that the store does not have")


class LeadLost(Unavailable):
    """Another ResourceManager leads, or may: whoever asked us for something asks again, and finds the other one."""

    def __init__(self, holder: str) -> None:
        self.holder = holder
        super().__init__(f"{holder} does not lead, or not any more")
