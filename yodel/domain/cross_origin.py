"""Decides which pages of other origins may read our answers (CrossOriginFilter).

A page that may not is answered all the same, only without the headers: the browser keeps the answer from it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

REGEX_PREFIX = "regex:"


@dataclass(frozen=True, slots=True)
class CrossOriginRules:
    """The properties under ``hadoop.http.cross-origin.``

    An origin is spelled out, has ``*`` for any characters, or is a regular expression behind ``regex:``.  PUT and
    DELETE are not among the methods unless they are named.

    Raises:
        re.error: a regular expression that is none.
    """

    origins: Sequence[str] = ("*",)
    methods: Sequence[str] = ("GET", "POST", "HEAD")
    headers: Sequence[str] = ("X-Requested-With", "Content-Type", "Accept", "Origin")
    max_age_s: int = 1800
    _patterns: tuple[re.Pattern[str], ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_patterns", tuple(_pattern(origin) for origin in self.origins))

    def headers_for(self, origin: str, method: str | None, headers: str | None) -> tuple[tuple[str, str], ...]:
        """Return the headers of the answer.  ``method`` and ``headers`` are those of a
        preflight request, else None.

        Names of headers are compared without case, as browsers send them in lower case; Hadoop does not find them then.
        """
        origin = origin.strip()
        if not origin or not self._is_origin_allowed(origin):
            return ()
        if method is not None and method not in self.methods:
            return ()
        allowed = {name.lower() for name in self.headers}
        if headers is not None and not {name.strip().lower() for name in headers.split(",")} <= allowed:
            return ()
        return (
            ("Access-Control-Allow-Origin", origin),
            ("Access-Control-Allow-Credentials", "true"),
            ("Access-Control-Allow-Methods", ",".join(self.methods)),
            ("Access-Control-Allow-Headers", ",".join(self.headers)),
            ("Access-Control-Max-Age", str(self.max_age_s)),
        )

    def lets_in(self, origin: str) -> bool:
        return self._is_origin_allowed(origin.strip())

    def _is_origin_allowed(self, origins: str) -> bool:
        """Return True if one of the origins in the header is allowed."""
        return any(pattern.fullmatch(origin) for origin in origins.split() for pattern in self._patterns)


def _pattern(origin: str) -> re.Pattern[str]:
    if origin.startswith(REGEX_PREFIX):
        return re.compile(origin.removeprefix(REGEX_PREFIX))
    return re.compile(".*".join(re.escape(part) for part in origin.split("*")))
