"""Lists settings that are not at their defaults, for administrators to read.

A value is shown only if its type says that it is one number, word, path or list of these.  A table may hold anything,
such as a variable in a pod template, so of a table only its name is shown.  Of an address neither the password nor the
parameters are shown: both may be secrets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Any

from pydantic import BaseModel


@dataclass(frozen=True, slots=True, kw_only=True)
class Differing:
    """Describes one setting.  ``value`` is None for a table; ``source`` is where it was read, empty if unknown."""

    name: str
    value: str | None
    default: str
    source: str


def differing(settings: BaseModel, sources: Mapping[str, str], prefix: str = "") -> Iterator[Differing]:
    """Yield settings that differ from their defaults, in the order of the fields; those of tables by dotted names."""
    for field_name, field in type(settings).model_fields.items():
        name, value = f"{prefix}{field_name}", getattr(settings, field_name)
        if isinstance(value, BaseModel):
            yield from differing(value, sources, f"{name}.")
            continue
        default = None if field.is_required() else field.get_default(call_default_factory=True, validated_data={})
        if value != default:
            yield Differing(
                name=name, value=_shown(value), default=_shown(default) or "", source=_source(name, sources)
            )


def _source(name: str, sources: Mapping[str, str]) -> str:
    """A table is given as a whole, so of a setting in it counts what is known of the table."""
    while name not in sources and "." in name:
        name = name.rpartition(".")[0]
    return sources.get(name, "")


def _shown(value: Any) -> str | None:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float | Path | IPv4Network | IPv6Network):
        return str(value)
    if isinstance(value, str):
        return without_secrets(value)
    if isinstance(value, tuple | frozenset):
        parts = [part for part in map(_shown, value) if part is not None]
        return ", ".join(sorted(parts) if isinstance(value, frozenset) else parts) if len(parts) == len(value) else None
    return None


def without_secrets(text: str) -> str:
    """Return an address without its password and parameters; any other text as it is."""
    scheme, mark, rest = text.partition("://")
    if not mark:
        return text
    if "@" in rest.partition("?")[2]:  # in the password or in a parameter: nobody can know
        return f"{scheme}://…"
    user_info, at, place = rest.rpartition("@")
    user, colon, _ = user_info.partition(":")
    place, question, _ = place.partition("?")
    return f"{scheme}://{user}{colon and ':…'}{at}{place}{question and '?…'}"
