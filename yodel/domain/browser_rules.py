"""Judges whether a page of another site made a browser send a request, by the browser's own headers.

Scripts cannot change ``Host``, ``Origin`` and ``Sec-Fetch-*``, so these show the origin of a page: ``Sec-Fetch-Site``
and ``Origin`` for pages of other sites, ``Host`` for a foreign name that resolves to us (DNS rebinding).  Programs send
only ``Host``, and are not judged.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

ANY = "*"
READING = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
DEFAULT_PORTS = {"http": "80", "https": "443"}
SHOWN_LENGTH_MAX = 128
_MARKS = ("origin", "referer", "accept-language", "sec-fetch-site", "sec-fetch-mode", "sec-fetch-dest")
_BROWSERS = ("Mozilla", "Opera")
HEADERS = frozenset(name.encode() for name in (*_MARKS, "host", "user-agent"))
"""All that is looked at, as ASGI spells them."""


@dataclass(frozen=True, slots=True)
class HostNames:
    """The names that lead here: exact ones, and those that end in one that begins with a dot.

    Addresses and ``localhost`` are always known, as nobody else can make them lead anywhere; ``*`` knows every name.
    """

    names: frozenset[str]

    @classmethod
    def of(cls, names: Iterable[str]) -> HostNames:
        return cls(frozenset(name.strip().lower().rstrip(".") for name in names if name.strip()))

    def knows(self, authority: str) -> bool:
        """``authority`` is a Host header's value, with or without a port."""
        name = host_of(authority)
        if ANY in self.names or name == "localhost" or name.endswith(".localhost") or name in self.names:
            return True
        if any(known.startswith(".") and name.endswith(known) for known in self.names):
            return True
        try:
            ipaddress.ip_address(name.partition("%")[0])
        except ValueError:
            return False
        return True


def host_of(authority: str) -> str:
    """Return the host without port and brackets, in lower case, without the dot that ends a whole name."""
    text = authority.strip().lower()
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.partition(":")[0].rstrip(".")


def is_browser(headers: Mapping[str, str]) -> bool:
    """Return True if a request looks like a browser's; names of headers are in lower case."""
    return any(name in headers for name in _MARKS) or headers.get("user-agent", "").startswith(_BROWSERS)


def is_own_page(headers: Mapping[str, str], known: HostNames) -> bool:
    """Return True if the browser reports that the requesting page has the origin of the requested one."""
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    if origin is None:
        return site == "same-origin"
    if _is_same(origin, headers.get("host", "")):
        return site in (None, "same-origin")
    # A gateway in between may have changed Host: then the browser's word counts, for a name that is known.
    return site == "same-origin" and known.knows(origin.partition("://")[2])


def says_its_page(headers: Mapping[str, str]) -> bool:
    """Return True if the browser reports the origin of the requesting page, or that there is none."""
    return "origin" in headers or "sec-fetch-site" in headers


def is_referred_by_own_page(headers: Mapping[str, str]) -> bool:
    """Return True if a link or form of our own origin was followed.  A page can hide that, but not forge it."""
    scheme, _, rest = headers.get("referer", "").partition("://")
    return _is_same(f"{scheme}://{rest.partition('/')[0]}", headers.get("host", ""))


def is_elsewhere(headers: Mapping[str, str], known: HostNames) -> bool:
    """Return True if the browser reports that the requesting page has another origin."""
    if is_own_page(headers, known):
        return False
    return "origin" in headers or headers.get("sec-fetch-site") not in (None, "none")


def shown(value: str) -> str:
    """Return the value shortened and quoted, for texts of refusals."""
    return repr(value[:SHOWN_LENGTH_MAX])


def _is_same(origin: str, host: str) -> bool:
    scheme, separator, authority = origin.strip().lower().partition("://")
    default = DEFAULT_PORTS.get(scheme)
    if not separator or default is None:
        return False
    return authority.removesuffix(f":{default}") == host.strip().lower().removesuffix(f":{default}") != ""
