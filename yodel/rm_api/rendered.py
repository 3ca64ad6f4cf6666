"""Bodies of applications that are rendered already.

What has ended never changes, so its bytes are kept with the rows they were made of and serve every later list.  A list
that holds only ended applications is kept whole until a row changes.  Everything is bounded: when full it starts anew.
"""

from __future__ import annotations

from collections.abc import Hashable

from yodel.domain.ids import ApplicationId
from yodel.services.queries import ApplicationView

APPLICATIONS_MAX = 20_000
LISTS_MAX = 32
LIST_BYTES_MAX = 8 * 1024 * 1024


class RenderedApplications:
    """Keyed by the rows' identity: a new row is a new object."""

    def __init__(self) -> None:
        self._applications: dict[ApplicationId, tuple[tuple[object, ...], bytes]] = {}
        self._lists: dict[Hashable, tuple[int, bytes]] = {}

    def application(self, view: ApplicationView) -> bytes | None:
        """The bytes made of these very rows."""
        found = self._applications.get(view.application.id)
        if found is None or any(old is not new for old, new in zip(found[0], _rows(view), strict=True)):
            return None
        return found[1]

    def keep_application(self, view: ApplicationView, body: bytes) -> None:
        """Only for what has ended, seen by somebody who may see all of it."""
        if len(self._applications) >= APPLICATIONS_MAX:
            self._applications.clear()
        self._applications[view.application.id] = (_rows(view), body)

    def list(self, key: Hashable, version: int) -> bytes | None:
        found = self._lists.get(key)
        return found[1] if found is not None and found[0] == version else None

    def keep_list(self, key: Hashable, version: int, body: bytes) -> None:
        if len(body) > LIST_BYTES_MAX:
            return
        if len(self._lists) >= LISTS_MAX:
            self._lists.clear()
        self._lists[key] = (version, body)


def _rows(view: ApplicationView) -> tuple[object, ...]:
    return view.application, view.attempt, view.am_container, view.am_node
