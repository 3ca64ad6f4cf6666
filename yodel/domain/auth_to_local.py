"""Maps Kerberos principals to short names by the rules of hadoop.security.auth_to_local (``KerberosName``).

A rule is ``DEFAULT``, for principals of the default realm, or ``RULE:[n:format](match)s/from/to/g/L``: for principals
of n components ``format`` is filled ($0 the realm, $1 the first component), and if it matches, ``from`` is replaced.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import regex

from yodel.domain import java_patterns
from yodel.errors import InvalidValue

SETTING = "security.auth_to_local"
NO_MATCHING_RULE = "org.apache.hadoop.security.authentication.util.KerberosName$NoMatchingRule"
RULES_LENGTH_MAX = 100_000
"""Characters of all rules."""
NAME_LENGTH_MAX = 1024
"""Characters of a principal."""
MATCH_TIMEOUT_S = 0.1

Mechanism = Literal["hadoop", "mit"]
_NAME = re.compile(r"([^/@]+)(?:/([^/@]+))?(?:@([^/@]+))?")
_RULE = re.compile(
    r"\s*(?:(?P<default>DEFAULT)|RULE:\[(?P<count>\d{1,9}):(?P<format>[^\]]*)\](?:\((?P<match>[^)]*)\))?"
    r"(?:s/(?P<from>[^/]*)/(?P<to>[^/]*)/(?P<all>g)?)?)/?(?P<lower>L)?"
)
_PARAMETER = re.compile(r"\$(\d*)")
_REPLACEMENT = re.compile(r"\\(?P<escaped>.)|\$(?P<number>\d+)", re.DOTALL)


class NoMatchingRule(InvalidValue):
    """Raised where no rule applies to a principal; ``rule`` is the one that gave a name which is none, if one did."""

    def __init__(self, principal: str, reason: str) -> None:
        super().__init__(SETTING, principal, "a principal that a rule maps to a user")
        self.args = (f"{NO_MATCHING_RULE}: {reason}",)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortName:
    """Holds a principal's short name, and the rule that gave it; empty for a name that needs none."""

    name: str
    rule: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
    text: str
    count: int | None = None
    """Components that the principal has; None for DEFAULT."""
    format: str = ""
    match: regex.Pattern[str] | None = field(default=None, repr=False)
    replaced: regex.Pattern[str] | None = field(default=None, repr=False)
    replacement: str = ""
    is_repeated: bool = False
    is_lower: bool = False

    def applied(self, parts: Sequence[str], default_realm: str) -> str | None:
        """``parts`` are the realm and the components.  Raises ValueError, TimeoutError."""
        if self.count is None:
            found = parts[1] if parts[0] == default_realm else None
        elif len(parts) - 1 != self.count:
            found = None
        else:
            found = self._formatted(parts)
        return found.lower() if found is not None and self.is_lower else found

    def _formatted(self, parts: Sequence[str]) -> str | None:
        base = _PARAMETER.sub(lambda found: parts[int(found[1])], self.format)
        if self.match is not None and self.match.fullmatch(base, timeout=MATCH_TIMEOUT_S) is None:
            return None
        if self.replaced is None:
            return base
        count = 0 if self.is_repeated else 1
        return self.replaced.sub(self._replacement_of, base, count=count, timeout=MATCH_TIMEOUT_S)

    def _replacement_of(self, found: regex.Match[str]) -> str:
        """Fill the replacement as ``java.util.regex.Matcher.appendReplacement`` does."""

        def one(part: re.Match[str]) -> str:
            if part["escaped"] is not None:
                return part["escaped"]
            group, rest = _group_of(part["number"], found.re.groups)
            return (found[group] or "") + rest

        return _REPLACEMENT.sub(one, self.replacement)


class AuthToLocal:
    """Holds all rules in their order.

    With the mechanism ``hadoop`` a name that a rule gives must be simple, and a principal to which no rule applies has
    none; with ``mit`` any name will do, and without a rule the principal is the name.
    """

    def __init__(self, rules: str, mechanism: Mechanism, default_realm: str) -> None:
        """Raises InvalidValue naming the rule."""
        if len(rules) > RULES_LENGTH_MAX:
            raise InvalidValue(SETTING, f"{rules[:100]}…", f"at most {RULES_LENGTH_MAX} characters")
        self._rules = tuple(_parsed(rules))
        self._mechanism, self._default_realm = mechanism, default_realm

    def short_name(self, principal: str) -> ShortName:
        """Raises NoMatchingRule; InvalidValue: it is no principal."""
        match = _NAME.fullmatch(principal) if len(principal) <= NAME_LENGTH_MAX else None
        if match is None and ("@" in principal or len(principal) > NAME_LENGTH_MAX):
            raise InvalidValue("Kerberos name", principal[:NAME_LENGTH_MAX], "component[/component][@REALM]")
        service, host, realm = (principal, None, None) if match is None else match.groups()
        if host is None and realm is None:
            return ShortName(name=service)
        parts = [realm or "", service] if host is None else [realm or "", service, host]
        for rule in self._rules:
            try:
                found = rule.applied(parts, self._default_realm)
            except TimeoutError:
                raise NoMatchingRule(principal, f"{rule.text} took more than {MATCH_TIMEOUT_S} s") from None
            if found is None:
                continue
            if self._mechanism == "hadoop" and ("/" in found or "@" in found):
                raise NoMatchingRule(principal, f"Non-simple name {found} after auth_to_local rule {rule.text}")
            return ShortName(name=found, rule=rule.text)
        if self._mechanism == "hadoop":
            raise NoMatchingRule(principal, f"No rules applied to {principal}")
        return ShortName(name=principal)


def _parsed(rules: str) -> list[_Rule]:
    found, remaining = [], rules.strip()
    while remaining:
        match = _RULE.match(remaining)
        if match is None:
            raise InvalidValue(SETTING, remaining[:200], "DEFAULT or RULE:[n:format](match)s/from/to/g/L")
        found.append(_rule(match))
        remaining = remaining[match.end() :]
    return found


def _rule(match: re.Match[str]) -> _Rule:
    text = match[0].strip()
    if match["default"] is not None:
        return _Rule(text=text, is_lower=match["lower"] is not None)
    count = int(match["count"])
    for parameter in _PARAMETER.finditer(match["format"]):
        if not parameter[1] or len(parameter[1]) > 9 or int(parameter[1]) > count:
            raise InvalidValue(SETTING, text, f"$0 to ${count} in its format, not {parameter[0]}")
    replaced, replacement = match["from"], match["to"] or ""
    pattern = None if replaced is None else _compiled(replaced, text)
    if pattern is not None:
        _check_replacement(replacement, pattern, text)
    return _Rule(
        text=text,
        count=count,
        format=match["format"],
        match=None if match["match"] is None else _compiled(match["match"], text),
        replaced=pattern,
        replacement=replacement,
        is_repeated=match["all"] is not None,
        is_lower=match["lower"] is not None,
    )


def _compiled(pattern: str, rule: str) -> regex.Pattern[str]:
    try:
        return java_patterns.compiled(pattern)
    except java_patterns.PatternRefused as error:
        raise InvalidValue(SETTING, rule, f"patterns that can be read: {error}") from error


def _check_replacement(replacement: str, pattern: regex.Pattern[str], rule: str) -> None:
    if {"\\", "$"} & {*_REPLACEMENT.sub("", replacement)}:
        raise InvalidValue(SETTING, rule, "a replacement in which \\ and $ are escaped, or name a group by its number")
    for part in _REPLACEMENT.finditer(replacement):
        if part["number"] is not None and int(part["number"][0]) > pattern.groups:
            raise InvalidValue(SETTING, rule, f"a replacement that names groups of the pattern, not {part[0]}")


def _group_of(digits: str, groups: int) -> tuple[int, str]:
    """Return the group that the longest possible run of digits names, and the digits left over."""
    end = 1
    while end < len(digits) and int(digits[: end + 1]) <= groups:
        end += 1
    return int(digits[:end]), digits[end:]
