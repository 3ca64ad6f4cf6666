"""Builds the demands of ApplicationMasters for a decision, again for those that have changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from yodel.domain.allocation.demands import Demand, Increase
from yodel.domain.ask_book import ANYWHERE, AskKey, Wish
from yodel.domain.container import Placement
from yodel.domain.ids import ApplicationAttemptId, ApplicationId, ContainerId
from yodel.domain.queues.ledger import UsageLedger
from yodel.domain.resource import NONE, Resource
from yodel.domain.states import AttemptState
from yodel.ports.clock import Clock
from yodel.services.scheduling.placement_inputs import PlacementInputs
from yodel.services.writer.attempt_runtime import AttemptRuntime
from yodel.services.writer.state import ClusterState
from yodel.services.writer.wishes import Wishes


@dataclass(frozen=True, slots=True, eq=False)
class _Waited(Mapping[AskKey, float]):
    """Maps wishes to their waiting time in seconds at the moment of reading; equal for equal wishes."""

    wishes: Wishes
    clock: Clock

    def __getitem__(self, key: AskKey) -> float:
        return self.clock.monotonic_s() - self.wishes.waits_since_s[key]

    def __iter__(self) -> Iterator[AskKey]:
        return iter(self.wishes.waits_since_s)

    def __len__(self) -> int:
        return len(self.wishes.waits_since_s)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Waited) and other.wishes is self.wishes

    __hash__ = None  # type: ignore[assignment]


class Demands:
    """``binds_itself``: whether this ResourceManager chooses the nodes for a queue's pods."""

    def __init__(
        self, state: ClusterState, clock: Clock, placement_inputs: PlacementInputs, binds_itself: Callable[[str], bool]
    ) -> None:
        self._state, self._clock, self._placement_inputs, self._binds_itself = (
            state,
            clock,
            placement_inputs,
            binds_itself,
        )
        self._known: dict[ApplicationId, tuple[ApplicationAttemptId, ...]] = {}
        """Attempts that something was told of, by application."""

    def let_run(self, ledger: UsageLedger | None) -> None:
        """Unmanaged ApplicationMasters are launched by themselves, so it is their wishes that wait while too many
        applications run at once, as in the CapacityScheduler; those that came first first, and after a restart those
        that have containers.  Without a ledger no limit counts."""
        state = self._state
        rows = [state.applications[i] for i in state.queue_use.over_parallel_limit]
        running = {row.id for row in rows if (use := state.usage.by_application.get(row.id)) and use.containers}
        for row in sorted(rows, key=lambda row: row.id not in running):
            has_containers = row.id in running
            if ledger is None or has_containers or not any(ledger.too_many(row.submission.queue, NONE)):
                state.queue_use.let_run(row)
                state.change_counters.requests_changed(row.id)

    def all(self) -> list[Demand]:
        """Return all requests, pending and in progress."""
        found = map(self._demand, self._state.masters.runtimes.values())
        return [demand for demand in found if demand is not None]

    def changed(self, at_most: int | None = None) -> Iterator[tuple[ApplicationAttemptId, Demand | None]]:
        """Yield by attempt what is wanted now where it may be something else than the last time; None: nothing.  Of all
        applications, or of some."""
        for application_id in self._state.change_counters.take_changed_applications(at_most):
            yield from self._of(application_id)

    def read_anew(self) -> None:
        """All that is wanted counts as changed."""
        for application_id in {*self._known, *(i.application_id for i in self._state.masters.runtimes)}:
            self._state.change_counters.requests_changed(application_id)

    def _of(self, application_id: ApplicationId) -> Iterator[tuple[ApplicationAttemptId, Demand | None]]:
        before = self._known.pop(application_id, ())
        runtimes = self._state.masters.runtimes
        now = [i.id for i in self._state.attempts_of(application_id) if i.id in runtimes]
        for attempt_id in before:
            if attempt_id not in now:
                yield attempt_id, None
        for attempt_id in now:
            yield attempt_id, self._demand(runtimes[attempt_id])
        if now:
            self._known[application_id] = tuple(now)

    def _demand(self, runtime: AttemptRuntime) -> Demand | None:
        """Return what an attempt wants, pending and in progress; None: nothing."""
        state = self._state
        attempt = state.attempts[runtime.attempt_id]
        application = state.applications[attempt.id.application_id]
        needs_am = state.needs_master(attempt)
        may_wish = attempt.state is AttemptState.RUNNING and application.id not in state.queue_use.over_parallel_limit
        wishes = runtime.wishes.asks.wishes() if may_wish else ()
        in_flight = {key: len(ids) for key, ids in runtime.wishes.in_flight.items()}
        increases = [i for i in (self._increase(*asked) for asked in runtime.wishes.increases.items()) if i is not None]
        waited_s = self._waited_s(runtime, wishes, in_flight)
        if not (needs_am or wishes or in_flight or increases):
            return None
        used = state.usage.by_application.get(application.id)
        return Demand(
            attempt_id=attempt.id,
            priority=application.submission.priority,
            submitted_ms=application.submitted_ms,
            queue=application.submission.queue,
            user=application.submission.user,
            held_mib=used.resource.memory_mib if used is not None else 0,
            am_capability=application.submission.am_capability if needs_am else None,
            am_placement=self._am_placement(application.submission.am_node_label) if needs_am else ANYWHERE,
            wishes=wishes,
            in_flight=in_flight,
            avoid=tuple(sorted(runtime.wishes.blacklist)),
            increases=increases,
            most=runtime.dialogue.sizes.told if wishes else None,
            waited_s=waited_s,
            may_have_rules=not self._binds_itself(application.submission.queue),
        )

    def _am_placement(self, node_label: str) -> Placement:
        return Placement(node_label=self._placement_inputs.label(node_label))

    def _waited_s(
        self, runtime: AttemptRuntime, wishes: Sequence[Wish], in_flight: Mapping[AskKey, int]
    ) -> Mapping[AskKey, float]:
        waiting = [
            wish.key
            for wish in wishes
            if (wish.placement.hosts or wish.placement.racks)
            and not wish.placement.is_strict
            and wish.number > in_flight.get(wish.key, 0)
        ]
        if not waiting and not runtime.wishes.waits_since_s:
            return {}
        runtime.wishes.wait(waiting, self._clock.monotonic_s())
        return _Waited(runtime.wishes, self._clock) if waiting else {}

    def _increase(self, container_id: ContainerId, target: Resource) -> Increase | None:
        """None for a container that ended, or is being resized already."""
        container = self._state.containers.get(container_id)
        if container is None or not container.is_live or container.node_id is None or container.resize_to != NONE:
            return None
        extra = target - container.capability
        return Increase(container_id=container_id, node_id=container.node_id, target=target, extra=extra)
