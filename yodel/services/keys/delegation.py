"""Delegation tokens: given out, renewed, cancelled, and gone when they expire (RMDelegationTokenSecretManager).

A token is on disk before it is answered, and so is its end; a restarted RM accepts what it gave out.  A new master key
signs from each start on and once a key interval; an old one stays as long as a token that it signed.  Without Kerberos,
Hadoop lets every caller have one, a caller that came with a token or through a proxy too; so does this.
"""

from __future__ import annotations

import asyncio
import hmac
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import structlog

from yodel.domain.delegation_token import DelegationToken, DelegationTokenContent
from yodel.domain.tokens import MASTER_KEY_BYTES, MasterKey, Token, password
from yodel.errors import AccessDenied, InvalidToken, Refused, Unavailable
from yodel.pb_convert.delegation_tokens import delegation_content, delegation_token
from yodel.pb_convert.times import log_time
from yodel.ports.clock import Clock
from yodel.ports.store import Snapshot
from yodel.services.keys.upkeep import repeatedly
from yodel.services.writer.engine import Engine
from yodel.services.writer.transaction import Transaction
from yodel.serving.sites import site_of
from yodel.telemetry.limits import (
    DELEGATION_TOKENS,
    DELEGATION_TOKENS_OF_ADDRESS,
    DELEGATION_TOKENS_OF_OWNER,
    REFUSALS,
)

PURPOSE = "delegation"
TOKENS_MAX = 100_000
TOKENS_OF_OWNER_MAX = 10_000
TOKENS_OF_ADDRESS_MAX = 50_000
"""Names are asserted, so that names alone must not shut others out; a service that gets tokens for all has one address.
Counted since this process started."""
"""Anybody may ask for tokens: beyond this many they are refused until some expire."""
LOOK_INTERVAL_S = 60.0
log = structlog.get_logger("yodel.delegation_tokens")


@dataclass(frozen=True, slots=True, kw_only=True)
class DelegationSettings:
    """Seconds: yarn.resourcemanager.delegation.{key.update-interval, token.max-lifetime, token.renew-interval}.

    ``login_user`` is whom the RM runs as: it may renew in the name of a token's renewer.
    """

    key_update_interval_s: float = 86_400.0
    token_max_lifetime_s: float = 604_800.0
    token_renew_interval_s: float = 86_400.0
    login_user: str = ""


@dataclass(frozen=True, slots=True)
class _Known:
    row: DelegationToken
    content: DelegationTokenContent


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """``real_user`` is who got the token in the owner's name (AbstractDelegationTokenIdentifier.getUser)."""

    owner: str
    real_user: str | None
    password: bytes = field(repr=False)


class DelegationTokens:
    """One instance for the process; what it knows is what the store holds."""

    def __init__(
        self,
        engine: Engine,
        clock: Clock,
        random_bytes: Callable[[int], bytes],
        settings: DelegationSettings,
        stored: Snapshot,
    ) -> None:
        self._engine, self._clock, self._random_bytes, self._settings = engine, clock, random_bytes, settings
        self._keys = {key.key_id: key for purpose, key in stored.master_keys if purpose == PURPOSE}
        self._known = {t.identifier: _Known(t, delegation_content(t.identifier)) for t in stored.delegation_tokens}
        self._owners = Counter(known.content.owner for known in self._known.values())
        self._sites: Counter[str] = Counter()
        self._site_of: dict[bytes, str] = {}
        self._leaving: set[bytes] = set()
        """Known ones whose end is being written: nobody is told of them any more, and none is renewed."""
        self._renewing: Counter[bytes] = Counter()
        """Those whose renewal is being written: they do not expire meanwhile."""
        self._sequence = stored.identity.delegation_sequence
        self._current: MasterKey | None = None
        self._rolled_s = 0.0
        self._rolling = asyncio.Lock()

    async def run(self) -> None:
        await repeatedly(self.look, LOOK_INTERVAL_S, LOOK_INTERVAL_S, log)

    async def look(self) -> None:
        """Make a new key when one is due; remove what has expired, and keys that nothing needs."""
        await self._signing_key()
        now_ms = self._clock.now_ms()
        expired = {
            identifier: known.row.sequence
            for identifier, known in self._known.items()
            if known.row.expires_ms < now_ms and identifier not in self._renewing
        }
        needed = {known.content.master_key_id for known in self._known.values()}
        useless = [key_id for key_id, key in self._keys.items() if key_id not in needed and key is not self._current]
        if not expired and not useless:
            return

        def work(tx: Transaction) -> None:
            tx.secrets.removed_tokens += expired.values()
            tx.secrets.removed_keys += [(PURPOSE, key_id) for key_id in useless]

        new = expired.keys() - self._leaving
        self._leaving |= new  # whoever renews one now is refused, for it goes
        try:
            await self._engine.do(work)
        except Unavailable:
            self._leaving -= new
            raise
        for identifier in expired:
            self._forget(identifier)
        for key_id in useless:
            self._keys.pop(key_id, None)

    async def issue(self, owner: str, renewer: str, real_user: str | None = None, *, host: str = "") -> Token:
        """getDelegationToken: for the caller, who calls from ``host``; ``renewer`` may renew and cancel it.

        Raises:
            Refused: too many tokens are valid: of all, of this owner, or given to this address.
        """
        site = site_of(host)
        self._require_room(owner, site)
        self._count(owner, site, 1)
        try:
            token = await self._issue(owner, renewer, real_user)
        except BaseException:
            self._count(owner, site, -1)
            raise
        self._site_of[token.identifier] = site
        return token

    def _require_room(self, owner: str, site: str) -> None:
        """Raises Refused."""
        for limit, held, maximum in (
            (DELEGATION_TOKENS, self._owners.total(), TOKENS_MAX),
            (DELEGATION_TOKENS_OF_OWNER, self._owners[owner], TOKENS_OF_OWNER_MAX),
            (DELEGATION_TOKENS_OF_ADDRESS, self._sites[site], TOKENS_OF_ADDRESS_MAX),
        ):
            if held >= maximum:
                REFUSALS.tell(limit, caller=f"{owner}@{site}", value=held + 1, maximum=maximum)
                raise Refused(
                    f"{maximum} delegation tokens are valid; no more are given out until some expire "
                    f"({limit.name}: {held + 1}, fixed)"
                )

    def _count(self, owner: str | None, site: str | None, change: int) -> None:
        """None is nobody: of a token from before this process the address is not known."""
        for counts, key in ((self._owners, owner), (self._sites, site)):
            if key is not None:
                counts[key] += change
                if not counts[key]:
                    del counts[key]

    async def _issue(self, owner: str, renewer: str, real_user: str | None) -> Token:
        key = await self._signing_key()
        now_ms = self._clock.now_ms()
        self._sequence += 1
        content = DelegationTokenContent(
            owner=owner,
            renewer=_short_name(renewer),
            real_user=real_user or "",
            issued_ms=now_ms,
            max_ms=now_ms + round(self._settings.token_max_lifetime_s * 1000),
            sequence=self._sequence,
            master_key_id=key.key_id,
        )
        token = delegation_token(key, content)
        row = DelegationToken(
            sequence=content.sequence, identifier=token.identifier, expires_ms=self._renewed_until_ms(content, now_ms)
        )

        def work(tx: Transaction) -> None:
            tx.secrets.tokens.append(row)
            tx.secrets.last_sequence = row.sequence

        await self._engine.do(work)
        self._known[token.identifier] = _Known(row, content)
        return token

    async def renew(self, identifier: bytes, proof: bytes, caller: str) -> int:
        """renewDelegationToken: valid until then (epoch ms).  ``proof`` is the token's password.

        Raises:
            AccessDenied: the caller is not its renewer, or the password is wrong.
            InvalidToken: it is unknown, or older than it may become.
        """
        content, now_ms = delegation_content(identifier), self._clock.now_ms()
        renewer = content.renewer if caller == self._settings.login_user else caller
        self._require_renewable(content, renewer, now_ms)
        key = self._keys.get(content.master_key_id)
        if key is None:
            raise InvalidToken(
                f"Unable to find master key for keyId={content.master_key_id} from cache. Failed to renew an "
                f"unexpired token ({content}) with sequenceNumber={content.sequence}"
            )
        if not hmac.compare_digest(password(key, identifier), proof):
            raise AccessDenied(f"{renewer} is trying to renew a token ({content}) with wrong password")
        known = self._living(identifier)
        if known is None:
            raise InvalidToken(f"Renewal request for unknown token ({content})")
        row = replace(known.row, expires_ms=self._renewed_until_ms(content, now_ms))

        def work(tx: Transaction) -> None:
            if self._living(identifier) is None:  # cancelled while this waited its turn
                raise InvalidToken(f"Renewal request for unknown token ({content})")
            tx.secrets.tokens.append(row)

        self._renewing[identifier] += 1
        try:
            await self._engine.do(work)
        finally:
            self._renewing[identifier] -= 1
            if not self._renewing[identifier]:
                del self._renewing[identifier]
        self._known[identifier] = _Known(row, content)
        return row.expires_ms

    async def cancel(self, identifier: bytes, caller: str) -> None:
        """cancelDelegationToken, by its owner or its renewer.

        Raises:
            AccessDenied: the caller is neither.
            InvalidToken: it is unknown, or has no owner.
        """
        content = delegation_content(identifier)
        if not content.owner:
            raise InvalidToken(f"Token with no owner ({content})")
        if caller != content.owner and (not content.renewer or _short_name(caller) != content.renewer):
            raise AccessDenied(f"{caller} is not authorized to cancel the token ({content})")
        known = self._living(identifier)
        if known is None:
            raise InvalidToken(f"Token not found ({content})")

        def work(tx: Transaction) -> None:
            tx.secrets.removed_tokens.append(known.row.sequence)

        self._leaving.add(identifier)
        try:
            await self._engine.do(work)
        except Unavailable:
            self._leaving.discard(identifier)  # still on disk: the caller hears that it was not cancelled
            raise
        self._forget(identifier)

    def _forget(self, identifier: bytes) -> None:
        known, site = self._known.pop(identifier, None), self._site_of.pop(identifier, None)
        self._count(known.content.owner if known is not None else None, site, -1)
        self._leaving.discard(identifier)

    def _living(self, identifier: bytes) -> _Known | None:
        return None if identifier in self._leaving else self._known.get(identifier)

    def accepted(self, identifier: bytes) -> Accepted:
        """Whom a token speaks for, and the password it must come with.

        Raises:
            InvalidToken: it is unknown or has expired.
        """
        known, now_ms = self._living(identifier), self._clock.now_ms()
        content = delegation_content(identifier) if known is None else known.content
        key = self._keys.get(content.master_key_id)
        if known is None or key is None:
            raise InvalidToken(f"Token for real user: {content.real_user}, can't be found in cache")
        if known.row.expires_ms < now_ms:
            raise InvalidToken(
                f"Token {content.real_user} has expired, current time: {log_time(now_ms)} "
                f"expected renewal time: {log_time(known.row.expires_ms)}"
            )
        real_user = content.real_user if content.real_user != content.owner else ""
        return Accepted(owner=content.owner, real_user=real_user or None, password=password(key, identifier))

    def expires_ms(self, identifier: bytes) -> int:
        """Until when a token is valid, unless it is renewed (getRenewDate).  Raises InvalidToken."""
        known = self._living(identifier)
        if known is None:
            raise InvalidToken(f"No delegation token found for this identifier: {delegation_content(identifier)}")
        return known.row.expires_ms

    def _require_renewable(self, content: DelegationTokenContent, renewer: str, now_ms: int) -> None:
        if content.max_ms < now_ms:
            raise InvalidToken(
                f"{renewer} tried to renew an expired token ({content}) max expiration date: "
                f"{log_time(content.max_ms)} currentTime: {log_time(now_ms)}"
            )
        if not content.renewer:
            raise AccessDenied(f"{renewer} tried to renew a token ({content}) without a renewer")
        if content.renewer != renewer:
            raise AccessDenied(
                f"{renewer} tries to renew a token ({content}) with non-matching renewer {content.renewer}"
            )

    def _renewed_until_ms(self, content: DelegationTokenContent, now_ms: int) -> int:
        return min(content.max_ms, now_ms + round(self._settings.token_renew_interval_s * 1000))

    async def _signing_key(self) -> MasterKey:
        async with self._rolling:
            now_s = self._clock.monotonic_s()
            if self._current is not None and now_s - self._rolled_s < self._settings.key_update_interval_s:
                return self._current
            key = MasterKey(key_id=max(self._keys, default=0) + 1, secret=self._random_bytes(MASTER_KEY_BYTES))

            def work(tx: Transaction) -> None:
                tx.secrets.keys.append((PURPOSE, key))

            await self._engine.do(work)
            self._keys[key.key_id], self._current, self._rolled_s = key, key, now_s
            return key


def _short_name(principal: str) -> str:
    """``yarn/host@REALM`` is ``yarn``: what the default rules make of a principal of the own realm."""
    return principal.split("@", 1)[0].split("/", 1)[0]
