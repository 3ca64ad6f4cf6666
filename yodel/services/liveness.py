"""Deadlines: ApplicationMasters and nodes that fell silent, containers nobody started, increases nobody passed on,
applications past their lifetime.

One task looks once a second at what lives in memory.  After a restart every deadline starts again: nobody is punished
for the RM's own absence (AMLivelinessMonitor, NMLivelinessMonitor, ContainerAllocationExpirer, RMAppLifetimeMonitor).
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import structlog

from yodel.domain.attempt import Attempt
from yodel.domain.events import AmExpired, IncreaseExpired, KillRequested, NodeExpired, StopRequested
from yodel.domain.ids import ContainerId
from yodel.domain.states import ApplicationState, AttemptState, ContainerExitStatus, ContainerState
from yodel.ports.clock import Clock
from yodel.services.nodes.agents import Agents
from yodel.services.writer.engine import Engine

LOOK_INTERVAL_S = 1.0
WAITING_FOR_AM = (AttemptState.LAUNCHED, AttemptState.RUNNING, AttemptState.FINISHING)
UNSTARTED = (ContainerState.ALLOCATED, ContainerState.ACQUIRED)
log = structlog.get_logger("yodel.liveness")


@dataclass(frozen=True, slots=True, kw_only=True)
class LivenessSettings:
    """Seconds.  ``am_expiry_s`` is yarn.am.liveness-monitor.expiry-interval-ms, ``node_expiry_s`` yarn.nm.…,
    ``container_expiry_s`` yarn.resourcemanager.rm.container-allocation.expiry-interval-ms."""

    am_expiry_s: float = 600.0
    node_expiry_s: float = 600.0
    container_expiry_s: float = 600.0


class Liveness:
    def __init__(self, engine: Engine, nodes: Agents, clock: Clock, settings: LivenessSettings) -> None:
        self._engine, self._nodes, self._clock, self._settings = engine, nodes, clock, settings
        self._unstarted_since_s: dict[ContainerId, float] = {}
        self._grown_since_s: dict[ContainerId, tuple[int, float]] = {}
        """The version that an unconfirmed increase made, and when it was first seen."""

    async def run(self) -> None:
        while True:
            await asyncio.sleep(LOOK_INTERVAL_S)
            self.look()

    def look(self) -> None:
        """One look at everything that has a deadline."""
        now_s, now_ms = self._clock.monotonic_s(), self._clock.now_ms()
        self._look_at_attempts(now_s, now_ms)
        self._look_at_nodes(now_ms)
        self._look_at_containers(now_s, now_ms)
        self._look_at_increases(now_s)
        self._look_at_lifetimes(now_ms)

    def _look_at_attempts(self, now_s: float, now_ms: int) -> None:
        for runtime in list(self._engine.state.masters.runtimes.values()):
            attempt = self._engine.state.attempts[runtime.attempt_id]
            if attempt.state not in WAITING_FOR_AM or self._is_explained_soon(attempt):
                runtime.dialogue.heard(now_s)
            elif now_s - runtime.dialogue.last_seen_s > self._settings.am_expiry_s:
                log.warning("ApplicationMaster expired", attempt_id=str(attempt.id))
                runtime.dialogue.heard(now_s)
                self._engine.tell_later(attempt.id, AmExpired(now_ms))

    def _is_explained_soon(self, attempt: Attempt) -> bool:
        """Its ApplicationMaster is over, which is told with its node agent's words, or when that is lost."""
        master = self._engine.state.containers.get(attempt.am_container_id) if attempt.am_container_id else None
        return master is not None and master.awaits_agent

    def _look_at_nodes(self, now_ms: int) -> None:
        for node in list(self._engine.state.nodes.values()):
            if not node.is_registered:
                continue
            if self._nodes.silent_s(node.id) > self._settings.node_expiry_s:
                log.warning("node expired", node_id=str(node.id))
                self._nodes.give_up(node.id)
                self._engine.tell_later(node.id, NodeExpired(now_ms))

    def _look_at_containers(self, now_s: float, now_ms: int) -> None:
        unstarted = {c.id for c in self._engine.state.live_containers() if c.state in UNSTARTED and not c.is_am}
        for container_id in self._unstarted_since_s.keys() - unstarted:
            del self._unstarted_since_s[container_id]
        for container_id in unstarted:
            since_s = self._unstarted_since_s.setdefault(container_id, now_s)
            if now_s - since_s > self._settings.container_expiry_s:
                text = "Container expired since it was unused"
                event = StopRequested(ContainerExitStatus.ABORTED, text, now_ms)
                self._engine.tell_later(container_id, event)

    def _look_at_increases(self, now_s: float) -> None:
        """Each new size has the whole time, as a container has."""
        unconfirmed = self._engine.state.container_index.unconfirmed
        for container_id in self._grown_since_s.keys() - unconfirmed.keys():
            del self._grown_since_s[container_id]
        for container_id, container in unconfirmed.items():
            version = container.version
            seen_version, since_s = self._grown_since_s.get(container_id, (version, now_s))
            if seen_version != version:
                since_s = now_s
            self._grown_since_s[container_id] = (version, since_s)
            if now_s - since_s > self._settings.container_expiry_s:
                log.info("increase expired: it was not passed to the node", container_id=str(container_id))
                self._engine.tell_later(container_id, IncreaseExpired())

    def _look_at_lifetimes(self, now_ms: int) -> None:
        for runtime in self._engine.state.masters.runtimes.values():
            application = self._engine.state.applications[runtime.attempt_id.application_id]
            is_under_way = application.state in (ApplicationState.ACCEPTED, ApplicationState.RUNNING)
            if is_under_way and 0 < application.expires_ms < now_ms:
                text = "Application is killed by ResourceManager as it has exceeded the lifetime period."
                self._engine.tell_later(application.id, KillRequested(text, now_ms))
