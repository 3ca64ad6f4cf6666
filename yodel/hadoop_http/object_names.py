"""JMX object names and the patterns that ``/jmx?qry=`` matches them with (javax.management.ObjectName)."""

from __future__ import annotations

import fnmatch
import re
from dataclasses import dataclass

from yodel.errors import InvalidValue

NAME_LENGTH_MAX = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class NamePattern:
    """``domain:key=value,…``; ``*`` and ``?`` in the domain and in values, ``*`` for any other properties."""

    domain: re.Pattern[str]
    properties: dict[str, re.Pattern[str]]
    is_open: bool

    @classmethod
    def parse(cls, text: str) -> NamePattern:
        """The empty one is every name's.  Raises InvalidValue."""
        domain, colon, rest = (text or "*:*").partition(":")
        if not colon or not rest or len(text) > NAME_LENGTH_MAX:
            raise InvalidValue("object name", text[:128], "domain:key=value,…")
        properties: dict[str, re.Pattern[str]] = {}
        is_open = False
        for part in rest.split(","):
            key, equals, value = part.partition("=")
            if part == "*" and not is_open:
                is_open = True
            elif not key or not equals or not value or key in properties:
                raise InvalidValue("object name", text[:128], "domain:key=value,…")
            else:
                properties[key] = _wildcards(value)
        return cls(domain=_wildcards(domain), properties=properties, is_open=is_open)

    def matches(self, name: str) -> bool:
        domain, _, rest = name.partition(":")
        given = dict(part.split("=", 1) for part in rest.split(","))
        if not self.domain.fullmatch(domain) or (not self.is_open and given.keys() != self.properties.keys()):
            return False
        return all(key in given and value.fullmatch(given[key]) for key, value in self.properties.items())


def _wildcards(text: str) -> re.Pattern[str]:
    """fnmatch tries no character twice; its brackets mean nothing here."""
    return re.compile(fnmatch.translate(text.replace("[", "[[]")))
