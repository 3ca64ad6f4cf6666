"""Starts ApplicationMasters (AMLauncher): builds the launch context and hands it to the node agent.

A round that finds nothing to do is success, so launching is repeated after a restart and after an answer that was lost.
A refusal by the node agent fails the attempt with its words.
"""

from __future__ import annotations

import structlog

from yodel.domain.events import AmLaunched, AmLaunchFailed
from yodel.domain.ids import ApplicationAttemptId
from yodel.domain.states import AttemptState
from yodel.errors import Refused, Unavailable
from yodel.pb_convert.submission import am_launch_context, log_aggregation_context
from yodel.ports.clock import Clock
from yodel.ports.node_agents import AmStart, NodeAgents
from yodel.services.keys.tokens import TokenIssuer, told_of
from yodel.services.writer.engine import Engine

LAUNCH_PATIENCE_S = 180.0  # NMProxy: yarn.client.nodemanager-connect.max-wait-ms
RETRY_S = 1.0
log = structlog.get_logger("yodel.launcher")


class AmLauncher:
    """The handler of a work queue keyed by attempt."""

    def __init__(self, engine: Engine, agents: NodeAgents, tokens: TokenIssuer, clock: Clock) -> None:
        self._engine, self._agents, self._tokens, self._clock = engine, agents, tokens, clock
        self._since_s: dict[ApplicationAttemptId, float] = {}

    async def launch(self, attempt_id: ApplicationAttemptId) -> float | None:
        """One round.  Returns the seconds after which to try again, or None.

        Raises:
            Unavailable: the store did not answer; the queue tries again.
        """
        start = self._start(attempt_id)
        if start is None:
            self._since_s.pop(attempt_id, None)
            return None
        shuffle = self._engine.state.attempts[attempt_id].shuffle
        if shuffle is not None and shuffle.refusal:
            await self._fail(start, shuffle.refusal)
            return None
        try:
            await self._agents.start_am(start)
        except Refused as error:
            await self._fail(start, f"Error launching {attempt_id}. Got exception: {error}")
            return None
        except Unavailable as error:
            return await self._again(start, attempt_id, error)
        now_ms = self._clock.now_ms()
        # The application may have been killed and forgotten meanwhile.
        await self._engine.do(lambda tx: tx.tell(attempt_id, AmLaunched(now_ms)) if tx.has(attempt_id) else None)
        self._since_s.pop(attempt_id, None)
        log.info("ApplicationMaster launched", attempt_id=str(attempt_id), node_id=str(start.node_id))
        return None

    def _start(self, attempt_id: ApplicationAttemptId) -> AmStart | None:
        state = self._engine.state
        attempt = state.attempts.get(attempt_id)
        if attempt is None or attempt.state is not AttemptState.ALLOCATED or attempt.am_container_id is None:
            return None
        container = state.containers[attempt.am_container_id]
        if container.node_id is None or not container.is_live:
            return None
        application = state.applications[attempt_id.application_id]
        submission = application.submission
        environment = {
            "APPLICATION_WEB_PROXY_BASE": f"/proxy/{application.id}",
            "APP_SUBMIT_TIME_ENV": str(application.submitted_ms),
        }
        lines = attempt.shuffle.lines if attempt.shuffle is not None else ()
        context = am_launch_context(submission.context, self._tokens.amrm_token(attempt_id), environment, lines)
        log_context = log_aggregation_context(submission.context)
        return AmStart(
            node_id=container.node_id,
            container_id=container.id,
            user=submission.user,
            launch_context=context,
            container_token=self._tokens.container_token(
                container, self._clock.now_ms(), log_context, told_of(attempt)
            ),
            nm_token=self._tokens.nm_token(attempt_id, container.node_id, submission.user),
        )

    async def _again(self, start: AmStart, attempt_id: ApplicationAttemptId, error: Unavailable) -> float | None:
        now_s = self._clock.monotonic_s()
        if now_s - self._since_s.setdefault(attempt_id, now_s) < LAUNCH_PATIENCE_S:
            return RETRY_S
        await self._fail(start, f"Error launching {attempt_id}. Got exception: {error}")
        return None

    async def _fail(self, start: AmStart, diagnostics: str) -> None:
        self._since_s.pop(start.container_id.attempt_id, None)
        log.warning("launch failed", container_id=str(start.container_id), diagnostics=diagnostics)
        event = AmLaunchFailed(diagnostics, self._clock.now_ms())
        attempt_id = start.container_id.attempt_id
        await self._engine.do(lambda tx: tx.tell(attempt_id, event) if tx.has(attempt_id) else None)
