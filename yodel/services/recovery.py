"""After a start: what of the rows has to be looked at again (RMStateStore recovery, work-preserving).

Running containers are left alone.  ApplicationMasters register again and repeat their requests, so containers that
were planned or bound but never handed out are given back: asking for them again is how they come to be wanted.

All rows are gone through in batches: the lease is renewed, and probes are answered, between them.  What comes to be
meanwhile needs no recovery; what there was is looked at as it is when its batch comes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import structlog

from yodel.domain.events import StopRequested
from yodel.domain.ids import ApplicationAttemptId, ContainerId
from yodel.domain.queues.queue import LimitEnforcement, Queue, differing, with_enforcement
from yodel.domain.queues.settings_change import by_settings
from yodel.domain.queues.words import are_said, said_properties, with_words
from yodel.domain.states import AttemptState, ContainerExitStatus, ContainerState
from yodel.ports.clock import Clock
from yodel.ports.store import Commit, Row, Snapshot, Store
from yodel.services.keys.tokens import missing_keys
from yodel.services.writer.engine import Engine
from yodel.services.writer.outbox import AttemptOutbox
from yodel.services.writer.state import ClusterState
from yodel.services.writer.submission_room import without_launch_context
from yodel.serving.pieces import taking_turns

NOT_HANDED_OUT = (ContainerState.PLANNED, ContainerState.ALLOCATED)
BATCH = 500
"""Rows looked at in one turn of the loop: five milliseconds."""
log = structlog.get_logger("yodel.recovery")


async def opened(
    store: Store,
    clock: Clock,
    queues: Sequence[Queue],
    random_bytes: Callable[[int], bytes],
    enforcement: LimitEnforcement | None = None,
) -> Snapshot:
    """Open the store and return its content.

    Keys that a new store lacks, and ``queues`` whose settings have changed, are written first; queues that were changed
    through the ResourceManager stay as they are.  ``enforcement`` is the setting for limits; None: as it is stored.

    Raises:\n  Unavailable, InvalidValue: the store cannot be used.
    """
    found = await store.open(now_ms=clock.now_ms(), default_queues=with_enforcement(queues, {}, enforcement))
    new_keys = missing_keys(found.master_keys, random_bytes)
    stored = {queue.path: queue for queue in found.queues}
    rows = _said_rows(found)
    changed = differing(found.queues, with_enforcement(rows if are_said(rows) else queues, stored, enforcement))
    made = None if are_said(rows) else by_settings(found.scheduler_conf, found.queues, changed, clock.now_ms())
    conf = found.scheduler_conf if made is None else made[0]
    written: list[Row] = [*changed, *(made or ())[:1]]
    if new_keys or written:
        await store.commit(Commit(rows=written, master_keys=new_keys, tree_changes=(made or ())[1:]))
    by_path = {queue.path: queue for queue in (*found.queues, *changed)}
    keys = (*found.master_keys, *new_keys)
    return replace(found, master_keys=keys, queues=tuple(by_path.values()), scheduler_conf=conf)


def _said_rows(found: Snapshot) -> Sequence[Queue]:
    """The queues with what was said of them.  The release before knows only the copy in the version's row: where that
    says something else, it was written last."""
    copy = found.scheduler_conf.mapping()
    if copy == said_properties(found.queues):
        return found.queues
    if not copy:
        return [replace(queue, said=()) for queue in found.queues]
    return with_words(found.queues, copy)


async def expect_attempts(engine: Engine, clock: Clock) -> None:
    """Make a runtime for every attempt that lives, with the completions and updates its AM has not acknowledged.

    Called before the engine runs.
    """
    state = engine.state
    async for attempt in taking_turns(list(state.attempts.values()), BATCH):
        if attempt.state.is_final:
            continue
        outbox = AttemptOutbox.of(state.unheard_completions(attempt.id), state.unheard_updates(attempt.id))
        runtime = state.masters.expect(attempt.id, clock.monotonic_s(), outbox)
        if attempt.state is AttemptState.FINISHING:
            runtime.dialogue.found_registered()


async def resume(
    engine: Engine,
    clock: Clock,
    launch: Callable[[ApplicationAttemptId], object],
    reconcile: Callable[[ContainerId], object],
) -> None:
    """Take up what was under way.  Called once the engine runs."""
    state = engine.state
    given_back = 0
    live, ended, allocated = list(state.live_containers()), list(state.container_index.ended), _allocated(state)
    async for container_id in taking_turns([container.id for container in live], BATCH):
        container = state.containers.get(container_id)
        if container is None:
            continue
        if container.is_live and container.state in NOT_HANDED_OUT and not container.is_am:
            text = "Container was not handed out before the ResourceManager restarted"
            event = StopRequested(ContainerExitStatus.ABORTED, text, clock.now_ms())
            engine.tell_later(container.id, event)
            given_back += 1
        reconcile(container.id)
    async for container_id in taking_turns(ended, BATCH):
        reconcile(container_id)
    await _shrink_ended(engine)
    async for attempt_id in taking_turns(allocated, BATCH):
        attempt = state.attempts.get(attempt_id)
        if attempt is not None and attempt.state is AttemptState.ALLOCATED:
            launch(attempt_id)
    log.info(
        "recovered",
        applications=len(state.applications),
        live_attempts=len(state.masters.runtimes),
        live_containers=len(live),
        given_back=given_back,
        epoch=state.identity.epoch,
    )


def _allocated(state: ClusterState) -> list[ApplicationAttemptId]:
    """Before anybody else has a turn: who comes to be allocated later is launched by what allocates it."""
    return [attempt.id for attempt in state.attempts.values() if attempt.state is AttemptState.ALLOCATED]


async def _shrink_ended(engine: Engine) -> None:
    """Launch contexts of applications that ended under a release that kept them."""
    async for application_id in taking_turns(list(engine.state.applications), BATCH):
        application = engine.state.applications.get(application_id)
        if application is not None and without_launch_context(application) is not application:
            engine.shrink_later(application.id)
