"""Proves to a node agent that the ResourceManager calls it, and for whom (decision 0111).

A call carries a header: HMAC-SHA256 with the secret that both share (``node_token``) over the node's name, the method,
the path with its query, the user and the second.  The secret itself never travels.  A header is good for one call,
for 30 s: who reads it on the way can neither repeat it nor ask for anything else, nor use it at another node.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable
from urllib.parse import quote, unquote

from yodel.errors import InvalidValue
from yodel.serving.http_cookie import checked_user

HEADER = "x-yodel-call"
VALID_S = 30
"""How far the second of a call may be from the node's clock."""
SEEN_MAX = 4096
"""Calls that an agent remembers, each for a minute at most; the ResourceManager makes eight at once."""
_FORM = re.compile(r"([0-9]{1,12}) ([0-9a-f]{32}) (\S{1,1000}) ([0-9a-f]{64})", re.ASCII)


def call_header(secret: bytes, node_name: str, method: str, target: str, user: str, now_s: float) -> str:
    """Return the header of one call; ``target`` is the path with its query as it is sent."""
    head = f"{int(now_s)} {secrets.token_hex(16)} {quote(user, safe='')}"
    return f"{head} {_mac(secret, node_name, method, target, head)}"


def _mac(secret: bytes, node_name: str, method: str, target: str, head: str) -> str:
    message = "\0".join(("yodel-call", node_name, method, target, head)).encode("utf-8", "surrogateescape")
    return hmac.new(secret, message, hashlib.sha256).hexdigest()


class CallJudge:
    """Judges such headers at a node, and takes each once.  ``now_s`` is of the epoch."""

    def __init__(self, secret: bytes, node_name: str, now_s: Callable[[], float]) -> None:
        self._secret, self._node_name, self._now_s = secret, node_name, now_s
        self._started_s = int(now_s())
        self._seen: dict[str, int] = {}
        """Calls that were taken, with the second from which on they are too old anyway."""

    def user_of(self, method: str, target: str, header: str) -> str:
        """Return the user on whose behalf the ResourceManager calls.

        Raises:
            InvalidValue: the header is malformed, too old, of a clock that differs, used before, or not made with the
                secret for this node and this call.
        """
        now_s = int(self._now_s())
        found = _FORM.fullmatch(header)
        if found is None:
            raise InvalidValue(HEADER, header[:80], "second, nonce, user and HMAC")
        second, user, mac = int(found[1]), unquote(found[3]), found[4]
        if not hmac.compare_digest(mac, _mac(self._secret, self._node_name, method, target, header[: -len(mac) - 1])):
            raise InvalidValue(HEADER, "<HMAC>", f"one for this call, with the node token of {self._node_name}")
        if abs(now_s - second) > VALID_S or second < self._started_s:
            raise InvalidValue(HEADER, second, f"a second at most {VALID_S} s from {now_s}, since the agent started")
        self._forget(now_s)
        if mac in self._seen or len(self._seen) >= SEEN_MAX:
            raise InvalidValue(HEADER, "<HMAC>", f"one that was not used before, of at most {SEEN_MAX} in a minute")
        self._seen[mac] = second + VALID_S
        return checked_user("user", user)

    def _forget(self, now_s: int) -> None:
        if len(self._seen) >= SEEN_MAX // 2:
            self._seen = {mac: until_s for mac, until_s in self._seen.items() if until_s >= now_s}
