"""Binds an application's id to the caller who received it; nobody else may submit an application with it.

Hadoop takes any id from anybody, so a page of another site, which cannot read the answer with a new id, could invent
one.  Ids are kept in memory until they are used.  A restart forgets them, and clients that have received an id must
still be served: for a while after a start, earlier ids may be used by anybody.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from yodel.domain.ids import ApplicationId
from yodel.errors import AccessDenied
from yodel.ports.clock import Clock

IDS_MAX = 100_000
"""Given out and not used: beyond, the oldest of the address that holds most is forgotten."""
EARLIER_ACCEPTED_S = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """Identifies a caller who requests or uses an id; ``user`` is None without a name."""

    user: str | None
    host: str


class GivenIds:
    """``started_s`` is on the monotonic clock; ids up to ``earlier`` are of before the start."""

    def __init__(self, clock: Clock, earlier: ApplicationId) -> None:
        self._clock, self._earlier = clock, earlier
        self._started_s = clock.monotonic_s()
        self._askers: dict[ApplicationId, Asker] = {}
        self._by_host: dict[str, OrderedDict[ApplicationId, None]] = {}

    def __len__(self) -> int:
        return len(self._askers)

    def given(self, application_id: ApplicationId, asker: Asker) -> None:
        self._askers[application_id] = asker
        self._by_host.setdefault(asker.host, OrderedDict())[application_id] = None
        if len(self._askers) > IDS_MAX:
            most = max(self._by_host.values(), key=len)
            self.forget(next(iter(most)))

    def require(self, application_id: ApplicationId, asker: Asker) -> None:
        """Check that the id belongs to the caller; one that nobody has received becomes the caller's.

        Raises:
            AccessDenied: the id was given to somebody else, or to nobody.
        """
        owner = self._askers.get(application_id)
        if owner is None:
            if not self._is_of_before(application_id):
                raise AccessDenied(
                    f"{application_id} was not issued to {_name(asker)}: request a new application id, and use that"
                )
            return
        if owner.user is None and owner.host == asker.host:
            self._askers[application_id] = asker
        elif owner.user is None or owner.user != asker.user:
            raise AccessDenied(f"{application_id} was issued to another caller, not to {_name(asker)}")

    def forget(self, application_id: ApplicationId) -> None:
        """It is an application's by now."""
        asker = self._askers.pop(application_id, None)
        if asker is None:
            return
        of_host = self._by_host[asker.host]
        del of_host[application_id]
        if not of_host:
            del self._by_host[asker.host]

    def _is_of_before(self, application_id: ApplicationId) -> bool:
        """Return True also if it is of another cluster's time: a store that is made again begins a new one."""
        if self._clock.monotonic_s() - self._started_s > EARLIER_ACCEPTED_S:
            return False
        return application_id <= self._earlier and application_id.sequence > 0  # counting begins at 1


def _name(asker: Asker) -> str:
    return asker.user or "a caller without a name"
