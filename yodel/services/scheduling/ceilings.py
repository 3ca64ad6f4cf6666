"""Less that is lent ends nothing: what queues have to be within is what was said of what there was when it was said.

A maximum is a part of a pool, and a pool may shrink at any time, to nothing.  Then nothing new starts; but only who
says less, in a row or by a window, asks for what is held.  So for each queue is known how much of its pool there was at
most since that was said.  Known in memory: after a start, that is what nodes may have at most.
"""

from __future__ import annotations

from collections.abc import Mapping

from yodel.domain.queues.pools import PoolName
from yodel.domain.resource import NONE, Resource, larger, smaller
from yodel.services.writer.quotas import Quotas
from yodel.services.writer.state import ClusterState


class Ceilings:
    """Read once a round.  What is new costs the number of queues, else that of those whose maximum was changed."""

    def __init__(self, state: ClusterState, quotas: Quotas) -> None:
        self._state, self._quotas = state, quotas
        self._seen: tuple[int, int] | None = None
        self._said: Mapping[str, object] = {}
        """By path, the maximum in the words of the row and of the window that is open."""
        self._since: dict[str, Resource] = {}
        """By path, the most that there was of its pool since its maximum was changed."""
        self._most: dict[PoolName, Resource] = {}
        """By pool, the most that there was since the start."""

    def note(self) -> None:
        """Note the present limits, and the changes since the last call."""
        windows, change_counters = self._quotas.windows, self._state.change_counters
        seen = (change_counters.queues, self._quotas.windows_version)
        if seen != self._seen:
            said = {
                path: (
                    queue.maximum_capacity_percent,
                    queue.maximum_amounts,
                    None
                    if (hold := windows.holds.get(path)) is None or hold.open is None
                    else hold.open.maximum_percent,
                )
                for path, queue in self._state.queues.items()
            }
            changed = [path for path in said if path in self._said and said[path] != self._said[path]]
            self._since = {path: whole for path, whole in self._since.items() if path in said}
            self._since |= dict.fromkeys(changed, NONE)
            self._said, self._seen = said, seen
        pools = self._state.pools
        for name in pools.drawn_on:
            self._most[name] = larger(self._most.get(name, NONE), pools.of(name).total)
        for path, whole in self._since.items():
            self._since[path] = larger(whole, pools.of(pools.pools.of(path)).total)

    def maxima(self) -> dict[str, Resource]:
        """Return by path, for queues that hold more than they may now, what they may by what was said."""
        tree, held = self._quotas.tree, self._state.queue_use.by_queue
        over = [
            path
            for path, share in tree.shares.items()
            if path in held and not held[path].resource.fits_in(share.maximum)
        ]
        pools = self._state.pools
        ever = {name: larger(self._most[name], pools.of(name).ever) for name in pools.drawn_on} if over else {}
        by_whole: dict[tuple[PoolName, Resource], list[str]] = {}
        for path in over:
            name = pools.pools.of(path)
            by_whole.setdefault((name, self._whole(path, ever[name])), []).append(path)
        found: dict[str, Resource] = {}
        for (name, whole), paths in by_whole.items():
            shares = self._quotas.shares_of({**{one: pools.of(one).total for one in pools.drawn_on}, name: whole})
            found |= {path: larger(shares[path].maximum, tree.shares[path].maximum) for path in paths}
        return found

    def _whole(self, path: str, most: Resource) -> Resource:
        """The most that there was of a queue's pool since something was said of it or of one above."""
        while path:
            if path in self._since:
                most = smaller(most, self._since[path])
            path = path.rpartition(".")[0]
        return most
