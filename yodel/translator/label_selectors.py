"""Label selectors as ``labels.Parse`` of apimachinery reads them.

Equality (``a=b``, ``a==b``, ``a!=b``) and sets (``a in (b,c)``, ``a notin (b)``, ``a``, ``!a``), with commas between.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

REQUIREMENTS_MAX = 100
_KEY = r"(?:[A-Za-z0-9.-]{1,253}/)?[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?"
_VALUE = r"[A-Za-z0-9]?(?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?"
_SET = re.compile(rf"({_KEY})\s+(in|notin)\s*\(([^()]*)\)")
_EQUALITY = re.compile(rf"({_KEY})\s*(==|=|!=)\s*({_VALUE})")
_EXISTS = re.compile(rf"(!?)\s*({_KEY})")
_LABEL_VALUE = re.compile(_VALUE)


class NotASelector(ValueError):
    """Reports the requirement that cannot be read."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """``operator`` is In, NotIn, Exists or DoesNotExist, as in node affinities."""

    key: str
    operator: str
    values: frozenset[str]

    def matches(self, labels: Mapping[str, str]) -> bool:
        present = self.key in labels
        if self.operator == "Exists":
            return present
        if self.operator == "DoesNotExist":
            return not present
        inside = present and labels[self.key] in self.values
        return inside if self.operator == "In" else not inside


def parse_labels(text: str) -> tuple[Requirement, ...]:
    """All have to hold; none: everything is selected.  Raises NotASelector."""
    return tuple(_label_requirement(part, text) for part in _split_outside_parentheses(text))


def _split_outside_parentheses(text: str) -> list[str]:
    if not text.strip():
        return []
    parts = [part.strip() for part in re.split(r",(?![^(]*\))", text)]
    if len(parts) > REQUIREMENTS_MAX:
        raise NotASelector(f"more than {REQUIREMENTS_MAX} requirements in a selector")
    return parts


def _label_requirement(part: str, whole: str) -> Requirement:
    if match := _SET.fullmatch(part):
        values = frozenset(value.strip() for value in match[3].split(","))
        if all(_LABEL_VALUE.fullmatch(value) for value in values):
            return Requirement(match[1], "In" if match[2] == "in" else "NotIn", values)
    elif match := _EQUALITY.fullmatch(part):
        return Requirement(match[1], "NotIn" if match[2] == "!=" else "In", frozenset({match[3]}))
    elif match := _EXISTS.fullmatch(part):
        return Requirement(match[2], "DoesNotExist" if match[1] else "Exists", frozenset())
    raise NotASelector(f"unable to parse requirement: {part!r} in selector {whole!r}")
