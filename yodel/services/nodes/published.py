"""Tracks what is published on one Kubernetes node, and by whom.

Another engine is used, not fought.  Names that exist before the first write and are not ours are left alone.  A value
with which somebody replaces ours is overwritten at most ``PUT_BACKS_MAX`` times in ``PUT_BACKS_WITHIN_S``; then the
node is the other's, with all names and for later processes too: our annotation is removed.  It is ours again when
publishing is configured again, or an administrator claims it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from yodel.ports.kube_nodes import NodeObservation
from yodel.translator.ledger import is_older
from yodel.translator.names import PUBLISHED, PUBLISHER
from yodel.translator.publishing import LentAmounts, publisher_of, size_of, whole

PUT_BACKS_MAX = 5
PUT_BACKS_WITHIN_S = 600.0
NAMES_MAX = 16
"""Read of our annotation, which others may write."""


@dataclass(slots=True, kw_only=True)
class Published:
    """Changed by its own methods, and by ``Publisher``."""

    observed: NodeObservation
    machine: LentAmounts | None = None
    """Its size; None: the API server does not say it."""
    allocatable: LentAmounts | None = None
    """The amounts that the kubelet leaves of that to pods; None: the API server does not say it."""
    other: str = ""
    """Who publishes there instead of us."""
    has_yielded: bool = False
    is_writing: bool = False
    problem: str = ""
    """Why the last write failed."""
    not_before_s: float = 0.0
    """When a write that failed is tried again."""
    put_back_s: list[float] = field(default_factory=list)
    _written: dict[str, int | None] = field(default_factory=dict)
    _written_version: str = ""

    @property
    def said(self) -> frozenset[str]:
        """Return the names that our annotation claims."""
        names = self.observed.annotations.get(PUBLISHED, "").split(",")
        return frozenset([name.strip() for name in names if name.strip()][:NAMES_MAX])

    @property
    def is_marked(self) -> bool:
        """Our annotation is there: it stays when somebody else takes away, or takes over, the names that it has."""
        return PUBLISHED in self.observed.annotations and not self._is_ahead

    @property
    def ours(self) -> frozenset[str]:
        """Return the existing names that this ResourceManager, or an earlier process of it, has published."""
        if self.has_yielded:
            return frozenset()
        known = self.said.union(name for name, amount in self._written.items() if amount is not None)
        return frozenset(name for name in known if self._is_ours(name, known))

    @property
    def amounts(self) -> dict[str, int]:
        """Return the published amount of each of ``ours``."""
        return {name: amount for name in self.ours if (amount := self.present(name)) is not None}

    def present(self, name: str) -> int | None:
        """Return the published amount of a name, as far as it is known: a written one counts until the watch has shown
        it."""
        if name in self._written and self._is_ahead:
            return self._written[name]
        quantity = self.observed.capacity.get(name)
        return whole(quantity) if quantity is not None else None

    def see(self, node: NodeObservation, names: Collection[str], now_s: float) -> bool:
        """Take over the node as it is now.  ``names`` are those that are to be published.  Return True if somebody
        changed what was written, and it is to be put back."""
        if node.uid != self.observed.uid:  # made anew: nothing that was written is there any more
            self._written, self._written_version, self.put_back_s = {}, "", []
        self.observed = node
        self.machine, self.allocatable = size_of(node.capacity), size_of(node.allocatable)
        if self.has_yielded or self.is_writing:
            return False
        is_changed = False
        if self._written and not self._is_ahead:
            self._written = {name: amount for name, amount in self._written.items() if self._is_owned(name, amount)}
            is_changed = self._is_put_back(now_s)
        if not self.has_yielded:
            self.other = self._other(names)
        return is_changed

    def note_written(self, amounts: Mapping[str, int | None], version: str) -> None:
        self._written |= amounts
        self._written_version, self.problem, self.not_before_s = version, "", 0.0

    def begin_anew(self, names: Collection[str]) -> None:
        """Something else is to be published: whoever writes there is looked at again."""
        self.has_yielded, self.put_back_s = False, []
        self.other = self._other(names)

    def claim(self, names: Collection[str]) -> None:
        """Publish there again, whoever wrote these names: what is there counts as if it had been written by us."""
        self.begin_anew(())
        self._written = {name: found for name in names if (found := self.present(name)) is not None}
        self._written_version = ""

    @property
    def _is_ahead(self) -> bool:
        """Something was written that the watch has not shown yet."""
        return is_older(self.observed.resource_version, self._written_version)

    def _is_owned(self, name: str, amount: int | None) -> bool:
        """A name that was taken away, and is gone, is anybody's."""
        return amount is not None or name in self.observed.capacity

    def _is_ours(self, name: str, known: Collection[str]) -> bool:
        if self.present(name) is None:
            return False
        quantity = self.observed.capacity.get(name)
        if quantity is None or self._written.get(name) is not None:
            return True
        return publisher_of(name, self.observed.capacity_managers, quantity, known, PUBLISHER) == ""

    def _other(self, names: Collection[str]) -> str:
        """Return the publisher of one of these names that this process has never written; empty: there is none."""
        said, node = self.said, self.observed
        for name in sorted(set(names) - self._written.keys()):
            quantity = node.capacity.get(name, node.allocatable.get(name))
            if quantity is not None:
                found = publisher_of(name, node.capacity_managers, quantity, said, PUBLISHER)
                if found:
                    return found
        return ""

    def _is_put_back(self, now_s: float) -> bool:
        changed = [name for name, amount in self._written.items() if self.present(name) != amount]
        if not changed:
            return False
        for name in changed:  # what is there now is known: the same value is not counted again
            self._written[name] = self.present(name)
        who = self.observed.capacity_managers.get(changed[0], "somebody")
        if who == PUBLISHER:  # a write of ours whose answer was lost, or of the leader before
            return False
        self.put_back_s = [at_s for at_s in self.put_back_s if now_s - at_s < PUT_BACKS_WITHIN_S]
        if len(self.put_back_s) >= PUT_BACKS_MAX:
            self.other, self.has_yielded = who, True
            return False
        self.put_back_s.append(now_s)
        return True
