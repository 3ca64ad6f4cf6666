"""Simple authentication over HTTP: ``user.name`` on any URL, or the ``hadoop.auth`` cookie that follows it.

Follows PseudoAuthenticationHandler, AuthenticationToken and Signer.  The name is taken without proof, as Hadoop's
simple mode does; the cookie proves only that this RM was told the name before.  A bad, old or forged one is ignored.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from dataclasses import dataclass
from urllib.parse import parse_qsl

from yodel.errors import InvalidValue

COOKIE_NAME = "hadoop.auth"
TOKEN_TYPE = "simple-dt"  # DelegationTokenAuthenticationHandler's name for simple
COOKIE_LENGTH_MAX = 4096
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._@/$+-]{0,254}")
_COOKIE = re.compile(rf'(?:^|;)\s*{re.escape(COOKIE_NAME)}="?([^";]*)"?')


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who calls.  ``user`` is None for somebody who gave no name; ``cookie`` is a Set-Cookie value to answer with."""

    user: str | None
    cookie: str | None = None


@dataclass(frozen=True, slots=True)
class CookieSigner:
    """Makes and checks cookies.  Times are epoch milliseconds."""

    secret: bytes
    validity_s: int

    def __repr__(self) -> str:
        return "CookieSigner()"

    def issue(self, user: str, now_ms: int) -> str:
        """The whole Set-Cookie value."""
        text = f"u={user}&p={user}&t={TOKEN_TYPE}&e={now_ms + self.validity_s * 1000}"
        return f'{COOKIE_NAME}="{text}&s={self._signature(text)}"; Path=/; HttpOnly'

    def user_of(self, value: str, now_ms: int) -> str | None:
        """The user of a cookie's value; None when it is not ours, not whole, or too old."""
        text, separator, signature = value.rpartition("&s=")
        if not separator or not _is_same(signature, self._signature(text)):
            return None
        facts = dict(part.partition("=")[::2] for part in text.split("&"))
        expires_ms = facts.get("e", "")
        if not expires_ms.isdecimal() or int(expires_ms) < now_ms:
            return None
        return facts.get("u") or None

    def _signature(self, text: str) -> str:
        return base64.b64encode(hmac.new(self.secret, text.encode(), hashlib.sha256).digest()).decode()


def caller_of(query: bytes, cookie_header: str, signer: CookieSigner, now_ms: int) -> Caller:
    """Who a request is from; the first ``user.name`` counts.

    Raises:
        InvalidValue: a user name no account could have.
    """
    if b"user.name" in query:
        for name, value in parse_qsl(query.decode("latin-1"), keep_blank_values=False, max_num_fields=1000):
            if name == "user.name":
                user = _checked(value)
                return Caller(user=user, cookie=signer.issue(user, now_ms))
    found = _COOKIE.search(cookie_header[:COOKIE_LENGTH_MAX]) if cookie_header else None
    return Caller(user=signer.user_of(found[1], now_ms) if found else None)


def _checked(user: str) -> str:
    """Ampersands and equal signs would forge cookie fields; control characters would split headers and logs."""
    if _USER.fullmatch(user) is None:
        raise InvalidValue("user.name", user[:80], "a user name of letters, digits and ._@/$+-")
    return user


def _is_same(given: str, expected: str) -> bool:
    try:
        return hmac.compare_digest(base64.b64decode(given, validate=True), base64.b64decode(expected))
    except (binascii.Error, ValueError):
        return False
