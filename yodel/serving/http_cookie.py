"""The signed ``hadoop.auth`` cookie, by which a name that was given once need not be given again.

Follows AuthenticationToken, Signer and AuthenticationFilter.createAuthCookie.  The cookie proves only that this daemon,
or another one with the same secret file, was told the name before.  A bad, old or forged one is ignored.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import quote, unquote

from yodel.errors import InvalidValue

COOKIE_NAME = "hadoop.auth"
COOKIE_LENGTH_MAX = 4096
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._@/$+-]{0,254}|(?!-)[^/:,\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
"""A Kerberos principal has a slash, and nothing unusual else."""
_USER_BYTES_MAX = 255
_COOKIE = re.compile(rf'(?:^|;)\s*{re.escape(COOKIE_NAME)}="?([^";]*)"?')


@dataclass(frozen=True, slots=True, kw_only=True)
class CookieSigner:
    """Makes and checks cookies.  Times are epoch milliseconds.

    ``token_type`` tells how the user was known: DelegationTokenAuthenticationHandler says ``simple-dt`` or
    ``kerberos-dt``.
    """

    secret: bytes
    validity_s: int
    token_type: str = "simple-dt"
    domain: str = ""
    is_persistent: bool = False

    def __repr__(self) -> str:
        return "CookieSigner()"

    def issue(self, user: str, now_ms: int, *, principal: str = "", is_secure: bool = False) -> str:
        """The whole Set-Cookie value."""
        expires_ms = now_ms + self.validity_s * 1000
        text = f"u={_encoded(user)}&p={_encoded(principal or user)}&t={self.token_type}&e={expires_ms}"
        return self._cookie(f'"{text}&s={self._signature(text)}"', expires_ms, is_secure)

    def cleared(self, *, is_secure: bool = False) -> str:
        """The Set-Cookie value with which a refusal takes the cookie away."""
        return self._cookie("", 0, is_secure)

    def user_in(self, cookie_header: str, now_ms: int) -> str | None:
        """The user of a request's cookie; None without one that is ours."""
        found = _COOKIE.search(cookie_header[:COOKIE_LENGTH_MAX]) if cookie_header else None
        return self.user_of(found[1], now_ms) if found else None

    def user_of(self, value: str, now_ms: int) -> str | None:
        """The user of a cookie's value; None when it is not ours, not whole, of another type or too old."""
        text, separator, signature = value.rpartition("&s=")
        if not separator or not _is_same(signature, self._signature(text)):
            return None
        facts = dict(part.partition("=")[::2] for part in text.split("&"))
        expires_ms = facts.get("e", "")
        if facts.get("t") != self.token_type or not expires_ms.isdecimal() or int(expires_ms) < now_ms:
            return None
        return unquote(facts.get("u", "")) or None

    def _cookie(self, value: str, expires_ms: int, is_secure: bool) -> str:
        parts = [f"{COOKIE_NAME}={value}", "Path=/"]
        if self.domain:
            parts.append(f"Domain={self.domain}")
        if self.is_persistent:
            parts.append(f"Expires={datetime.fromtimestamp(expires_ms / 1000, UTC):%a, %d-%b-%Y %H:%M:%S GMT}")
        if is_secure:
            parts.append("Secure")
        return "; ".join((*parts, "HttpOnly"))

    def _signature(self, text: str) -> str:
        return base64.b64encode(hmac.new(self.secret, text.encode(), hashlib.sha256).digest()).decode()


def checked_user(parameter: str, user: str) -> str:
    """Control characters would split headers and logs, commas and colons the lists and paths that names stand in.

    Raises:
        InvalidValue: a user name no account could have.
    """
    if _USER.fullmatch(user) is None or len(user.encode()) > _USER_BYTES_MAX or user in (".", ".."):
        expected = f"1 to {_USER_BYTES_MAX} bytes without control characters, colon, comma, slash, or - in front"
        raise InvalidValue(parameter, user[:80], expected)
    return user


def _encoded(name: str) -> str:
    """Ampersands and equal signs would forge fields; a name without anything unusual stays as Hadoop writes it."""
    return quote(name, safe="@/$+")


def _is_same(given: str, expected: str) -> bool:
    try:
        return hmac.compare_digest(base64.b64decode(given, validate=True), base64.b64decode(expected))
    except (binascii.Error, ValueError):
        return False
