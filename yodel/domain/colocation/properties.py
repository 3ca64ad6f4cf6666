"""Defines colocation as properties of the scheduler: ``yodel.colocation.enabled`` and so on.

They are kept with the root queue's: version, author, history, import and export are those of queues.  Refused when they
are set: an unknown name, a number out of range, ``native``, and a number without effect.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any, Final

from yodel.domain.colocation.policy import FORMULA_RANGES, SHAPING_RANGES, Formula, Policy, Shaping
from yodel.domain.colocation.presets import PRESETS
from yodel.domain.colocation.switch import OFF, ColocationSwitch
from yodel.domain.property_row import FLAG, PropertyKind, PropertyRow, PropertyScope, choice, count, matching
from yodel.errors import Refused, did_you_mean

PREFIX: Final = "yodel.colocation."
LIMITS: Final = f"{PREFIX}limits"
QUOTA: Final = f"{PREFIX}quota"
NOTICE: Final = f"{PREFIX}notice-s"
ENABLED, PRESET, DIALECT = f"{PREFIX}enabled", f"{PREFIX}preset", f"{PREFIX}dialect"
VERSION_LENGTH: Final = 16
_UNITS: Final = {"cpu": "milli", "memory": "mib"}
_AMOUNTS: Final = {"reserved": "reserved", "kept": "kept", "static_amount": "static"}
_COUNTS_SYSTEM: Final = "counts-system"
_STATIC_TOO: Final = {
    "static_amount": "fixed amount to lend, independent of measurements",
    "most_percent": "maximum part of a node that is lent",
}
"""Numbers of a formula that count beside a static amount, and what they do."""
_SHAPING: Final = {
    "window_s": "period of the mean, in seconds",
    "step_up_percent": "largest increase a second, of the node",
    "dead_band_percent": "smallest change, of the node",
    "dead_band_cpu_milli": "smallest change in any case",
    "dead_band_memory_mib": "smallest change in any case",
    "round_cpu_milli": "rounding unit",
    "round_memory_mib": "rounding unit",
}


def formula_names(resource: str) -> dict[str, str]:
    """Properties of one resource (``cpu``, ``memory``) by the number that each says, ``counts_system`` apart."""
    own = f"{PREFIX}{resource}."
    return {
        number: own + (f"{_AMOUNTS[number]}-{_UNITS[resource]}" if number in _AMOUNTS else number.replace("_", "-"))
        for number in FORMULA_RANGES
    }


SHAPING_NAMES: Final = {number: PREFIX + number.replace("_", "-") for number in SHAPING_RANGES}


def _row(name: str, kind: PropertyKind, default: str, why: str, field: str = "") -> PropertyRow:
    return PropertyRow(name, PropertyScope.COLOCATION, kind, default, why, (field,) if field else ())


def _formula_rows(resource: str) -> Iterator[PropertyRow]:
    formula = "[the formula](#the-formula); default: the preset's"
    yield _row(f"{PREFIX}{resource}.{_COUNTS_SYSTEM}", FLAG, "", formula, "counts_system")
    for number, name in formula_names(resource).items():
        default = "100" if number == "most_percent" else ""
        yield _row(name, count(*FORMULA_RANGES[number]), default, _STATIC_TOO.get(number, formula), number)


_NATIVE = "a dialect other than native: the kubelet publishes cpu and memory"
_PRESET = choice({name: name for name in PRESETS}, is_lower=False, expected=f"one of {', '.join(sorted(PRESETS))}")
# fmt: off
ROWS: Final = (
    _row(ENABLED, FLAG, "false", "lend capacity"),
    _row(PRESET, _PRESET, "koordinator", "the numbers that are not set explicitly"),
    _row(DIALECT, matching(lambda text: text != "native", _NATIVE), "",
        "resource names to publish; default: the only dialect besides `native` that queues use; `native` is refused, "
        "because `cpu` and `memory` are the kubelet's"),
    *(row for resource in _UNITS for row in _formula_rows(resource)),
    _row(LIMITS, FLAG, "false", "[limit batch pods](#batch-pods-are-bounded)"),
    _row(QUOTA, FLAG, "false", "[limit the processor time of all best-effort pods](#the-quota-of-best-effort-pods)"),
    _row(NOTICE, count(0, 3600), str(OFF.notice_s),
        "seconds from the notice to the end when a node has [less capacity than is in use](#preemption-on-a-node)"),
    *(_row(name, count(*SHAPING_RANGES[number]), str(getattr(Shaping(), number)), _SHAPING[number], number)
        for number, name in SHAPING_NAMES.items()),
)
# fmt: on
_BY_NAME: Final = {row.name: row for row in ROWS}
NAMES: Final = _BY_NAME.keys()
"""All that may be said."""


def colocation_of(properties: Mapping[str, str]) -> ColocationSwitch:
    """Return the colocation settings of the properties; others are ignored.

    Raises:
        Refused: names the property, its value and what was expected.
    """
    said = {name: text.strip() for name, text in properties.items() if name.startswith(PREFIX)}
    for name in sorted(said):
        if name not in NAMES:
            known = ", ".join(sorted(one.removeprefix(PREFIX) for one in NAMES))
            hint = did_you_mean(name.removeprefix(PREFIX), known.split(", ")) or "it has no effect;"
            raise Refused(f"Property {name} is not supported: {hint} below {PREFIX} are {known}")
    values = {name: _BY_NAME[name].kind.parse(name, text) for name, text in said.items()}
    policy = _policy(values)
    return ColocationSwitch(
        dialect=values.get(DIALECT, ""),
        policy=policy if values.get(ENABLED, False) else None,
        is_bounding=policy.bounds,
        notice_s=values.get(NOTICE, OFF.notice_s),
    )


def version_of(policy: Policy) -> str:
    """A hash of all that a policy says, so that equal policies have equal versions in every life of every process."""
    said = sorted(asdict(replace(policy, version="")).items())
    return hashlib.sha256(repr(said).encode()).hexdigest()[:VERSION_LENGTH]


def _policy(values: Mapping[str, Any]) -> Policy:
    name = values.get(PRESET, _BY_NAME[PRESET].default)
    preset = PRESETS[name]
    policy = Policy(
        version="",
        preset=name,
        cpu=_formula(values, "cpu", preset.cpu),
        memory=_formula(values, "memory", preset.memory),
        shaping=Shaping(**{number: values[own] for number, own in SHAPING_NAMES.items() if own in values}),
        limits=values.get(LIMITS, False),
        quota=values.get(QUOTA, False),
    )
    return replace(policy, version=version_of(policy))


def _formula(values: Mapping[str, Any], resource: str, base: Formula) -> Formula:
    names = formula_names(resource) | {"counts_system": f"{PREFIX}{resource}.{_COUNTS_SYSTEM}"}
    said = {number: values[name] for number, name in names.items() if name in values}
    if base.static_amount is not None or "static_amount" in said:
        void = next((number for number in said if number not in _STATIC_TOO), None)
        if void is not None:
            raise Refused(f"Property {names[void]} has no effect with a static amount of {resource}")
    return replace(base, **said)
