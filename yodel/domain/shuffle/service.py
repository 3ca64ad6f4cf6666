"""Defines a shuffle service: a table of its settings, and of the options that a queue may set.

``{endpoints}``, ``{queue}``, ``{user}`` and ``{application}`` in the value of a setting stand for the queue's
endpoints, its path, the user's name and the application's id.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Describes a setting that the service sets by itself.  ``needs`` is an option without which it is left out.

    ``when_away`` is the word of the queue that it belongs to; empty: both.  The node agent, which sees what the
    submitter set, judges two conditions: ``is_for_dynamic_allocation``, only where that is on, and
    ``is_never_fallback``, only where no shuffle can fall back to Spark's own.  ``outside`` is its value in a
    submitter's own file, where no application id is known yet.
    """

    key: str
    value: str
    why: str
    needs: str = ""
    when_away: str = ""
    is_for_dynamic_allocation: bool = False
    is_never_fallback: bool = False
    outside: str = ""

    @property
    def has_conditions(self) -> bool:
        return self.is_for_dynamic_allocation or self.is_never_fallback


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """A setting that a queue may say.  ``accepts`` judges its text, in which names are not filled in yet; ``needs`` is
    another one without which it would do nothing."""

    accepts: Callable[[str], bool]
    expected: str
    why: str
    needs: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """Describes the service's own program in the JVMs of an application: a jar that the queue names, with its
    ``endpoints``.

    ``managers`` are its shuffle managers, any of which a submitter may name himself; ``sparks`` the releases of Spark
    that it is made for.  Dynamic allocation needs Spark ``dynamic_from``, and by the queue's ``when-away`` an auxiliary
    service of the nodes.  ``can_fall_back`` judges an application's settings: what it is not sure of can.
    ``files`` are the names under which its jar is published.
    """

    managers: frozenset[str]
    sparks: frozenset[tuple[int, int]]
    scala: str
    files: re.Pattern[str]
    dynamic_from: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    dynamic_needs: Mapping[str, str] = field(default_factory=dict)
    can_fall_back: Callable[[Mapping[str, str]], bool] = lambda _: True


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """``told`` names the settings that node agents have to know, by what they are called in the container token."""

    name: str
    settings: tuple[Setting, ...]
    options: Mapping[str, Option]
    told: Mapping[str, str] = field(default_factory=dict)
    client: Client | None = None
