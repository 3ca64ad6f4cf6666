"""What there is to know of one service: a table of settings, and of options that a queue may say of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A setting that the service takes by itself.  ``needs`` is an option without which it is left out."""

    key: str
    value: str
    why: str
    needs: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """A setting that a queue may say.  ``accepts`` judges its text, in which names are not filled in yet; ``needs`` is
    another one without which it would do nothing."""

    accepts: Callable[[str], bool]
    expected: str
    why: str
    needs: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """``told`` names the settings that node agents have to know, by what they are called in the container token."""

    name: str
    settings: tuple[Setting, ...]
    options: Mapping[str, Option]
    told: Mapping[str, str] = field(default_factory=dict)
