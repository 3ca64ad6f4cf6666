"""Provides the present limits of queues and users: the tree's shares of the cluster, and the ledger of a decision."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from yodel.domain.allocation.demands import Decision
from yodel.domain.allocation.holds import with_holds
from yodel.domain.preemption.rules import PreemptionRules
from yodel.domain.queues.ledger import UsageLedger
from yodel.domain.queues.pools import PoolName, Wholes, above_of
from yodel.domain.queues.queue import (
    ROOT,
    LimitEnforcement,
    Queue,
    applications_max,
    applications_max_of_user,
)
from yodel.domain.queues.shares import QueueShares, Share
from yodel.domain.queues.window import Window
from yodel.domain.queues.windows import NO_WINDOWS, Calendar, InForce, Phase
from yodel.domain.resource import Resource, rounded_down, smaller, total_of
from yodel.ports.clock import Clock
from yodel.services.writer.state import ClusterState


class Quotas:
    """One instance for the process.  ``minimum`` is the minimum allocation, ``am_share`` the scheduler's
    maximum-am-resource-percent as a part of 0 to 1."""

    def __init__(
        self, state: ClusterState, minimum: Resource, am_share: float, preemption: PreemptionRules, clock: Clock
    ) -> None:
        self._state, self._minimum, self.am_share, self._clock = state, minimum, am_share, clock
        self._calendar = Calendar()
        self._windows, self._windows_of = NO_WINDOWS, -1
        """The effect of windows, and the version of the queues that it is of."""
        self.windows_version = 0
        """Grows whenever that is found to be something else."""
        self.preemption = preemption
        self._tree_of: tuple[object, ...] | None = None
        self._tree = QueueShares((), state.total_resource)
        self._tree_without_windows: QueueShares | None = None
        self._active: Mapping[str, Collection[str]] = {}
        self._headrooms: dict[tuple[str, str], Resource] = {}
        self._headrooms_at: tuple[int, InForce] = (-1, NO_WINDOWS)
        """Version and windows at which they held last: every heartbeat comes by, and most change nothing."""
        self._headrooms_of: tuple[object, ...] = ()
        self._headroom_ledger: UsageLedger | None = None

    def use_am_share(self, am_share: float) -> None:
        """Use this share from now on (maximum-am-resource-percent)."""
        self.am_share = am_share

    @property
    def is_enforced(self) -> bool:
        """Return True if limits are enforced; otherwise all applications are in one order, and limits are only
        shown."""
        root = self._state.queues.get(ROOT)
        return root is not None and root.enforcement is LimitEnforcement.LIMIT

    def gives_back(self, queue: Queue) -> bool:
        """Return True if the queue's usage above its guarantee may be preempted."""
        return self.is_enforced and self.preemption.is_enabled and not queue.is_preemption_disabled

    def gives_back_within(self, queue: Queue) -> bool:
        """Return True if applications of a lower priority are preempted for others of the queue."""
        is_on = self.is_enforced and self.preemption.is_enabled and self.preemption.is_intra_queue_enabled
        return is_on and not queue.is_intra_queue_preemption_disabled

    @property
    def windows(self) -> InForce:
        """Return the present effects of windows.

        It is the same object until they change: a caller after an edge sees the new ones, whether it was notified or
        not.
        """
        version = self._state.change_counters.queues
        if version != self._windows_of or (
            self._windows is not NO_WINDOWS and not self._windows.is_of(self._clock.now_ms())
        ):
            before, self._windows_of = self._windows, version
            self._windows = self._calendar.in_force(self._state.queues.values(), self._clock.now_ms())
            self.windows_version += before.holds != self._windows.holds
        return self._windows

    def phases(self, queue: Queue) -> list[tuple[Window, Phase]]:
        """The windows of a queue, with what each is now."""
        return self._calendar.phases(queue, self._clock.now_ms())

    @property
    def is_any_over_window(self) -> bool:
        """Some queue holds more than an open window, its own or of one above, leaves it."""
        if not self.windows.holds:
            return False
        tree, held = self.tree, self._state.queue_use.by_queue
        return any(
            not use.resource.fits_in(tree.shares[path].maximum)
            for path, use in held.items()
            if path in tree.shares and tree.open_over(path) is not None
        )

    @property
    def tree(self) -> QueueShares:
        """Return the queues with their shares of what there is of their pools, made again when either changed."""
        pools = self._state.pools
        names = pools.drawn_on
        # Every heartbeat comes by: of one pool, as most installations have, nothing is gone through.
        totals = pools.of(names[0]).total if len(names) == 1 else tuple(pools.of(name).total for name in names)
        of = (self._state.change_counters.queues, pools.pools, names, totals, self.windows)
        if of != self._tree_of:
            self._tree, self._tree_of = self._tree_with(self._state.queues.values(), self.windows), of
            self._tree_without_windows = None
        return self._tree

    @property
    def _plain_tree(self) -> QueueShares:
        """Return the tree as if no window were open: a queue takes as many applications as ever, they only wait."""
        tree = self.tree
        if not tree.windows.holds:
            return tree
        if self._tree_without_windows is None:
            self._tree_without_windows = self._tree_with(self._state.queues.values(), NO_WINDOWS)
        return self._tree_without_windows

    def shares_of(self, totals: Mapping[PoolName, Resource]) -> Mapping[str, Share]:
        """Return by path what queues would have if there were so much of the pools."""
        return self._tree_with(self._state.queues.values(), self.windows, totals).shares

    def _tree_with(
        self, queues: Iterable[Queue], windows: InForce, totals: Mapping[PoolName, Resource] | None = None
    ) -> QueueShares:
        """These queues, with their shares of what there is of their pools."""
        pools = self._state.pools
        if totals is None:
            totals = {name: pools.of(name).total for name in pools.drawn_on}
        whole = next(iter(totals.values())) if len(totals) == 1 else Wholes(pools=pools.pools, totals=totals)
        return QueueShares(queues, whole, windows)

    def still_ledger(self) -> UsageLedger:
        """Return the ledger of this moment: later usage does not show in it."""
        ledger = self.ledger()
        ledger.hold_still()
        return ledger

    def ledger(self) -> UsageLedger:
        """Return present usage for one decision, including free capacity of reserved nodes."""
        return with_holds(self.ledger_without_holds(), self._state.holds.all)

    def ledger_without_holds(self) -> UsageLedger:
        """Return the present usage of containers."""
        queue_use, pools = self._state.queue_use, self._state.pools
        tops = {above_of(name): replace(pools.used(name)) for name in pools.drawn_on} if len(pools.drawn_on) > 1 else {}
        return UsageLedger(
            self.tree,
            {**queue_use.by_queue, **tops} if tops else queue_use.by_queue,
            queue_use.by_user,
            minimum=self._minimum,
            am_share=self.am_share,
            active=self._active,
            unmanaged=queue_use.unmanaged,
        )

    def note(self, decision: Decision) -> None:
        """Take over the active users that the last decision found."""
        if decision.active != self._active:
            self._active = decision.active
            self._headrooms_at, self._headrooms_of = (-1, NO_WINDOWS), ()

    def refusal(
        self, queue: Queue, user: str, application_id: object, beside: Mapping[tuple[str, str], int]
    ) -> str | None:
        """Return why a leaf takes no further application, in the CapacityScheduler's words; None when it does
        (AbstractLeafQueue.validateSubmitApplication).  ``beside``: the number of others accepted and not
        committed yet, by queue and user."""
        if self.is_enforced and self._state.queue_use.live_count + sum(beside.values()) >= queue.applications_of_all:
            return f"Maximum system application limit reached,cannot accept submission of application: {application_id}"
        return self.refusal_of_move(queue, user, application_id, beside)

    def refusal_of_move(
        self, queue: Queue, user: str, application_id: object, beside: Mapping[tuple[str, str], int]
    ) -> str | None:
        """The same of one that is under way in another queue."""
        if not self.is_enforced:
            return None
        queue_use, capacity = self._state.queue_use, self._plain_tree.shares[queue.path].capacity
        count = queue_use.live_by_queue[queue.path] + sum(n for (path, _), n in beside.items() if path == queue.path)
        whose = f"Queue {queue.path} already has"
        if count >= applications_max(queue, capacity):
            return f"{whose} {count} applications, cannot accept submission of application: {application_id}"
        count = queue_use.live_by_user[queue.path, user] + beside.get((queue.path, user), 0)
        if count >= applications_max_of_user(queue, capacity):
            return (
                f"{whose} {count} applications from user {user} cannot accept submission of application: "
                f"{application_id}"
            )
        return None

    def over_maximum(self, queues: Iterable[Queue]) -> list[tuple[str, Resource, Resource]]:
        """Return by path what is held and what may be, where that is less, with these queues for the present ones."""
        rows = list(queues)
        windows = self._calendar.in_force(rows, self._clock.now_ms())
        shares, held = self._tree_with(rows, windows).shares, self._state.queue_use.by_queue
        return [
            (path, held[path].resource, share.maximum)
            for path, share in sorted(shares.items())
            if path in held and not held[path].resource.fits_in(share.maximum)
        ]

    def headroom(self, queue: str, user: str) -> Resource:
        """Return the headroom of an ApplicationMaster: within the limits of its user and queues, and free
        (CapacityHeadroomProvider.getHeadroom).

        It is the same for all applications of a user in a queue, and cached until usage changes.
        """
        state = self._state
        version, windows = self._headrooms_at
        if version != state.change_counters.version or windows is not self.windows:
            self._headrooms_at = state.change_counters.version, self.windows
            of = (state.queue_use.version, self.tree)
            if of != self._headrooms_of:
                self._headrooms_of, self._headroom_ledger = of, None
                self._headrooms.clear()
        found = self._headrooms.get((queue, user))
        if found is None:
            pool = state.pools.pools.of(queue)
            free = state.pools.of(pool).total - state.pools.used(pool).resource
            free -= total_of(hold.counted for hold in state.holds.of_pool(pool))
            if self.is_enforced:
                ledger = self._headroom_ledger = self._headroom_ledger or self.ledger()
                free = rounded_down(smaller(free, ledger.headroom(queue, user)), self._minimum)
            found = self._headrooms[queue, user] = free.at_least_zero()
        return found
