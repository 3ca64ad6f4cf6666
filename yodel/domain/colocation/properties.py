"""Whether and how capacity is lent, as properties of the scheduler: ``yodel.colocation.enabled`` and so on.

They are words of the tree of queues, kept with the root's: version, author, history, import and export are those of
queues.  Refused where they are said: a name that is none, a number out of range, ``native``, and a number that nothing
would come of.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Final

from yodel.domain.colocation.policy import FORMULA_RANGES, SHAPING_RANGES, Formula, Policy, Shaping
from yodel.domain.colocation.presets import PRESETS
from yodel.domain.colocation.switch import OFF, Colocation
from yodel.errors import Refused, did_you_mean

PREFIX: Final = "yodel.colocation."
LIMITS: Final = f"{PREFIX}limits"
QUOTA: Final = f"{PREFIX}quota"
NOTICE: Final = f"{PREFIX}notice-s"
NOTICE_RANGE: Final = (0, 3600)
ENABLED, PRESET, DIALECT = f"{PREFIX}enabled", f"{PREFIX}preset", f"{PREFIX}dialect"
PRESET_DEFAULT: Final = "koordinator"
VERSION_LENGTH: Final = 16
_UNITS: Final = {"cpu": "milli", "memory": "mib"}
_AMOUNTS: Final = {"reserved": "reserved", "kept": "kept", "static_amount": "static"}
_COUNTS_SYSTEM: Final = "counts-system"
_STATIC_TOO: Final = frozenset({"static_amount", "most_percent"})
"""Numbers of a formula that count beside a static amount."""


def formula_names(resource: str) -> dict[str, str]:
    """Properties of one resource (``cpu``, ``memory``) by the number that each says, ``counts_system`` apart."""
    own = f"{PREFIX}{resource}."
    return {
        number: own + (f"{_AMOUNTS[number]}-{_UNITS[resource]}" if number in _AMOUNTS else number.replace("_", "-"))
        for number in FORMULA_RANGES
    }


SHAPING_NAMES: Final = {number: PREFIX + number.replace("_", "-") for number in SHAPING_RANGES}
NAMES: Final = frozenset(
    {
        *(ENABLED, PRESET, DIALECT, LIMITS, QUOTA, NOTICE),
        *SHAPING_NAMES.values(),
        *(name for resource in _UNITS for name in formula_names(resource).values()),
        *(f"{PREFIX}{resource}.{_COUNTS_SYSTEM}" for resource in _UNITS),
    }
)
"""All that may be said."""


def colocation_of(properties: Mapping[str, str]) -> Colocation:
    """Return what they say; other properties are not looked at.

    Raises:
        Refused: names the property, its value and what was expected.
    """
    said = {name: text.strip() for name, text in properties.items() if name.startswith(PREFIX)}
    for name in sorted(said):
        if name not in NAMES:
            known = ", ".join(sorted(one.removeprefix(PREFIX) for one in NAMES))
            hint = did_you_mean(name.removeprefix(PREFIX), known.split(", ")) or "it has no effect;"
            raise Refused(f"Property {name} is not supported: {hint} below {PREFIX} are {known}")
    is_on = _flag(said, ENABLED, default=False)
    dialect = said.get(DIALECT, "")
    if dialect == "native":
        raise _refused(DIALECT, dialect, "a dialect other than native: the kubelet publishes cpu and memory")
    policy = _policy(said)
    notice_s = _numbers(said, {"notice_s": NOTICE}, {"notice_s": NOTICE_RANGE}).get("notice_s", OFF.notice_s)
    return Colocation(dialect=dialect, policy=policy if is_on else None, is_bounding=policy.bounds, notice_s=notice_s)


def version_of(policy: Policy) -> str:
    """A hash of all that a policy says, so that equal policies have equal versions in every life of every process."""
    said = sorted(asdict(replace(policy, version="")).items())
    return hashlib.sha256(repr(said).encode()).hexdigest()[:VERSION_LENGTH]


def _policy(said: Mapping[str, str]) -> Policy:
    name = said.get(PRESET, PRESET_DEFAULT)
    preset = PRESETS.get(name)
    if preset is None:
        raise _refused(PRESET, name, f"one of {', '.join(sorted(PRESETS))}")
    shaping = Shaping(**_numbers(said, SHAPING_NAMES, SHAPING_RANGES))
    policy = Policy(
        version="",
        preset=name,
        cpu=_formula(said, "cpu", preset.cpu),
        memory=_formula(said, "memory", preset.memory),
        shaping=shaping,
        limits=_flag(said, LIMITS, default=False),
        quota=_flag(said, QUOTA, default=False),
    )
    return replace(policy, version=version_of(policy))


def _formula(said: Mapping[str, str], resource: str, base: Formula) -> Formula:
    names, counts = formula_names(resource), f"{PREFIX}{resource}.{_COUNTS_SYSTEM}"
    numbers = _numbers(said, names, FORMULA_RANGES)
    is_static = base.static_amount is not None or "static_amount" in numbers
    without_effect = [names[number] for number in numbers if is_static and number not in _STATIC_TOO]
    if is_static and counts in said:
        without_effect.append(counts)
    if without_effect:
        raise Refused(f"Property {without_effect[0]} has no effect with a static amount of {resource}")
    known = {number: getattr(base, number) for number in FORMULA_RANGES}
    return Formula(counts_system=_flag(said, counts, default=base.counts_system), **{**known, **numbers})


def _numbers(
    said: Mapping[str, str], names: Mapping[str, str], ranges: Mapping[str, tuple[int, int]]
) -> dict[str, int]:
    found: dict[str, int] = {}
    for number, name in names.items():
        if name not in said:
            continue
        (least, most), text = ranges[number], said[name]
        is_whole = text.isascii() and text.isdecimal() and len(text) <= len(str(most))
        if not is_whole or not least <= int(text) <= most:
            raise _refused(name, text, f"a whole number from {least} to {most}")
        found[number] = int(text)
    return found


def _flag(said: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = said.get(name, "true" if default else "false").lower()
    if text not in ("true", "false"):
        raise _refused(name, text, "true or false")
    return text == "true"


def _refused(name: str, value: str, expected: str) -> Refused:
    return Refused(f"Invalid {name}: {value[:80]!r}; expected {expected}")
