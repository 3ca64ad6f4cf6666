"""After a start: what of the rows has to be looked at again (RMStateStore recovery, work-preserving).

Running containers are left alone.  ApplicationMasters register again and say anew what they want, so containers that
were planned or bound but never handed out are given back: asking for them again is how they come to be wanted.
"""

from __future__ import annotations

from collections.abc import Callable

import structlog

from yodel.domain.ask_book import AskBook
from yodel.domain.events import StopRequested
from yodel.domain.ids import ApplicationAttemptId, ContainerId
from yodel.domain.states import AttemptState, ContainerExitStatus, ContainerState
from yodel.ports.clock import Clock
from yodel.services.writer.attempt_runtime import AttemptRuntime
from yodel.services.writer.engine import Engine
from yodel.services.writer.submission_room import without_launch_context

NOT_HANDED_OUT = (ContainerState.PLANNED, ContainerState.ALLOCATED)
log = structlog.get_logger("yodel.recovery")


def expect_attempts(engine: Engine, clock: Clock) -> None:
    """Make a runtime for every attempt that lives, with the completions and updates its AM has not acknowledged."""
    state = engine.state
    for attempt in state.attempts.values():
        if attempt.state.is_final:
            continue
        now_s, asks = clock.monotonic_s(), AskBook(state.wanted)
        runtime = state.runtimes[attempt.id] = AttemptRuntime(attempt_id=attempt.id, last_seen_s=now_s, asks=asks)
        runtime.completed = state.unheard_completions(attempt.id)
        runtime.updated = dict.fromkeys(state.unheard_updates(attempt.id))
        if attempt.state is AttemptState.FINISHING:
            runtime.is_registered = True


def resume(
    engine: Engine,
    clock: Clock,
    launch: Callable[[ApplicationAttemptId], object],
    reconcile: Callable[[ContainerId], object],
) -> None:
    """Take up what was under way.  Called once the engine runs."""
    state = engine.state
    given_back = 0
    for container in list(state.live_containers()):
        if container.state in NOT_HANDED_OUT and not container.is_am:
            text = "Container was not handed out before the ResourceManager restarted"
            event = StopRequested(ContainerExitStatus.ABORTED, text, clock.now_ms())
            engine.tell_later(container.id, event)
            given_back += 1
        reconcile(container.id)
    for container_id in state.ended_containers():
        reconcile(container_id)
    _shrink_ended(engine)
    for attempt in state.attempts.values():
        if attempt.state is AttemptState.ALLOCATED:
            launch(attempt.id)
    live = sum(1 for _ in state.live_containers())
    log.info(
        "recovered",
        applications=len(state.applications),
        live_attempts=len(state.runtimes),
        live_containers=live,
        given_back=given_back,
        epoch=state.identity.epoch,
    )


def _shrink_ended(engine: Engine) -> None:
    """Launch contexts of applications that ended under a release that kept them."""
    for application in list(engine.state.applications.values()):
        if without_launch_context(application) is not application:
            engine.shrink_later(application.id)
