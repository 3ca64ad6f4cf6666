"""The keys that node agents verify with change now and then.

Follows NMTokenSecretManagerInRM and RMContainerTokenSecretManager.  A new key is made, stored and told with the next
heartbeats; only after ``activation_delay_s``, when every living agent has it, tokens are signed with it.  Agents keep
the one before for the tokens that are out.  What is pending is a row of its own purpose (``nm.next``), so a crash at
any point leaves one key that signs and at most one that will.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import structlog

from yodel.domain.tokens import MASTER_KEY_BYTES, MasterKey
from yodel.ports.clock import Clock
from yodel.services.keys.tokens import TokenIssuer
from yodel.services.keys.upkeep import repeatedly
from yodel.services.writer.engine import Engine
from yodel.services.writer.transaction import Transaction

LOOK_INTERVAL_S = 1.0
RETRY_S = 10.0
KEY_ID_MASK = 0x7FFFFFFF  # an int32 on the wire
log = structlog.get_logger("yodel.master_keys")


@dataclass(frozen=True, slots=True, kw_only=True)
class RollingSettings:
    """Seconds: yarn.resourcemanager.{nm,container}-tokens.master-key-rolling-interval-secs; the delay is 1.5 times
    yarn.nm.liveness-monitor.expiry-interval-ms."""

    nm_interval_s: float = 86_400.0
    container_interval_s: float = 86_400.0
    activation_delay_s: float = 900.0


@dataclass(slots=True)
class _Rolling:
    purpose: str
    interval_s: float
    since_s: float
    pending: MasterKey | None = None


class MasterKeys:
    """One instance for the process; ``stored`` is the snapshot's master keys."""

    def __init__(
        self,
        engine: Engine,
        tokens: TokenIssuer,
        clock: Clock,
        random_bytes: Callable[[int], bytes],
        settings: RollingSettings,
        stored: Sequence[tuple[str, MasterKey]] = (),
    ) -> None:
        self._engine, self._tokens, self._clock, self._random_bytes = engine, tokens, clock, random_bytes
        self._activation_delay_s = settings.activation_delay_s
        now_s = clock.monotonic_s()
        self._rolling = {
            "nm": _Rolling("nm", settings.nm_interval_s, now_s),
            "container": _Rolling("container", settings.container_interval_s, now_s),
        }
        for purpose, key in stored:
            rolling = self._rolling.get(purpose.removesuffix(".next"))
            if rolling is not None and purpose.endswith(".next"):
                rolling.pending = key

    async def run(self) -> None:
        await repeatedly(self.look, LOOK_INTERVAL_S, RETRY_S, log)

    async def look(self) -> None:
        """Make or activate what is due.  Raises Unavailable: nothing has changed."""
        now_s = self._clock.monotonic_s()
        for rolling in self._rolling.values():
            age_s = now_s - rolling.since_s
            if rolling.pending is not None and age_s >= self._activation_delay_s:
                await self._activate(rolling, rolling.pending)
            elif rolling.pending is None and age_s >= rolling.interval_s:
                await self._announce(rolling)

    def key_for(self, purpose: str, known_id: int | None) -> MasterKey | None:
        """Return the key to send to an agent that has ``known_id``: the one in use first, then the next one; None: it
        has both."""
        current, pending = self._tokens.current(purpose), self._rolling[purpose].pending
        if known_id == current.key_id:
            return pending
        return current if pending is None or known_id != pending.key_id else None

    async def _announce(self, rolling: _Rolling) -> None:
        next_id = (self._tokens.current(rolling.purpose).key_id + len(self._rolling)) & KEY_ID_MASK
        key = MasterKey(key_id=next_id, secret=self._random_bytes(MASTER_KEY_BYTES))

        def work(tx: Transaction) -> None:
            tx.secrets.keys.append((f"{rolling.purpose}.next", key))

        await self._engine.do(work)
        rolling.pending, rolling.since_s = key, self._clock.monotonic_s()
        log.info("master key announced", purpose=rolling.purpose, key_id=key.key_id)

    async def _activate(self, rolling: _Rolling, key: MasterKey) -> None:
        old = self._tokens.current(rolling.purpose)

        def work(tx: Transaction) -> None:
            tx.secrets.keys.append((rolling.purpose, key))
            tx.secrets.removed_keys += [(rolling.purpose, old.key_id), (f"{rolling.purpose}.next", key.key_id)]

        await self._engine.do(work)
        self._tokens.activate(rolling.purpose, key)
        rolling.pending, rolling.since_s = None, self._clock.monotonic_s()
        log.info("master key in use", purpose=rolling.purpose, key_id=key.key_id)
