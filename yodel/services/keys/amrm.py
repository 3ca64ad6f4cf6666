"""The key that ApplicationMasters' tokens are signed with is changed now and then (AMRMTokenSecretManager).

A new key signs at once, and the one before stays good: each running ApplicationMaster gets its new token with the
answer to its next heartbeat (``am_rm_token``), long before the next change drops the old key.  Hadoop keeps two phases
for this because its keys are told to nobody before they are in use; here both keys are simply on disk.
"""

from __future__ import annotations

from collections.abc import Callable

import structlog

from yodel.domain.tokens import MASTER_KEY_BYTES, MasterKey
from yodel.ports.clock import Clock
from yodel.services.keys.tokens import AMRM, TokenIssuer
from yodel.services.keys.upkeep import repeatedly
from yodel.services.writer.engine import Engine
from yodel.services.writer.transaction import Transaction

ROLLING_INTERVAL_S = 86_400.0  # yarn.resourcemanager.am-rm-tokens.master-key-rolling-interval-secs
LOOK_INTERVAL_S = 1.0
RETRY_S = 10.0
log = structlog.get_logger("yodel.amrm_keys")


class AmrmKeys:
    """One instance for the process."""

    def __init__(
        self,
        engine: Engine,
        tokens: TokenIssuer,
        clock: Clock,
        random_bytes: Callable[[int], bytes],
        interval_s: float = ROLLING_INTERVAL_S,
    ) -> None:
        self._engine, self._tokens, self._clock, self._random_bytes = engine, tokens, clock, random_bytes
        self._interval_s, self._since_s = interval_s, clock.monotonic_s()

    async def run(self) -> None:
        await repeatedly(self.look, LOOK_INTERVAL_S, RETRY_S, log)

    async def look(self) -> None:
        """Change the key when it is due.  Raises Unavailable: nothing has changed."""
        if self._clock.monotonic_s() - self._since_s < self._interval_s:
            return
        key = MasterKey(key_id=self._tokens.current(AMRM).key_id + 1, secret=self._random_bytes(MASTER_KEY_BYTES))
        outdated = self._tokens.outdated_by(AMRM)

        def work(tx: Transaction) -> None:
            tx.secrets.keys.append((AMRM, key))
            tx.secrets.removed_keys += [(AMRM, old.key_id) for old in outdated]

        await self._engine.do(work)
        self._tokens.roll(AMRM, key)
        self._since_s = self._clock.monotonic_s()
        log.info("master key changed", purpose=AMRM, key_id=key.key_id)
