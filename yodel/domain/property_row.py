"""Defines a row of the table of scheduler properties (``yodel.domain.queues.property_table``), and kinds of values.

A row says everything that is known of one property: how its text is read and written, what Hadoop takes where nothing
is said, and what becomes of it here.  A kind refuses a text with the property's full name and what was expected.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, Flag, auto
from typing import Any

from yodel.domain.numerals import plain
from yodel.errors import Refused


class PropertyScope(Enum):
    """Lists the objects that have properties."""

    SCHEDULER = "the whole scheduler"
    MAPPING = "mapping rules"
    COLOCATION = "colocation"
    QUEUE = "queue"
    LEAF = "leaf"
    PARENT = "parent"
    USER = "user of a queue"
    LABEL = "node label of a queue"
    WINDOW = "window of a queue"
    SHUFFLE = "remote shuffle of a queue"

    @property
    def is_of_queue(self) -> bool:
        return self not in (PropertyScope.SCHEDULER, PropertyScope.MAPPING, PropertyScope.COLOCATION)


class PropertyEffect(Enum):
    """Lists the effects that a property can have."""

    KEPT = "it has an effect"
    FIXED = "there is one way only, and it may be set to the value that says so"
    OF_LEAVES = "import sets it on each leaf that does not set it"
    LEFT_OUT = "nothing here depends on it"
    IGNORED = "Hadoop ignores it too"
    MISSING = "it does not exist here"


@dataclass(frozen=True, slots=True)
class PropertyKind:
    """Defines a kind of values: ``name`` is for pages; ``parse`` takes the full name of a property, for a refusal, and
    the text; ``text`` is the reverse."""

    name: str
    parse: Callable[[str, str], Any]
    text: Callable[[Any], str] = str
    is_blank_meant: bool = False
    """Spaces alone are a value; of every other kind they say nothing."""


def refused(name: str, value: str, expected: str) -> Refused:
    return Refused(f"Invalid {name}: {value[:80]!r}; expected {expected}")


def number_text(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)


def number(least: float, most: float, *, is_whole: bool = False, unit: str = "", expected: str = "") -> PropertyKind:
    """Return the kind of a number in ASCII, behind which a unit may stand; ``expected`` replaces the range in a
    refusal."""
    wanted = expected or (f"a number from {least:g} to {most:g}" if math.isfinite(least) else "a number")

    def parse(name: str, text: str) -> float:
        try:
            value = float(plain(text.strip().removesuffix(unit)))
        except ValueError:
            value = math.nan
        if not math.isfinite(value) or not least <= value <= most:
            raise refused(name, text, wanted)
        if is_whole and value != int(value):
            raise refused(name, text, "a whole number")
        return int(value) if is_whole else value

    return PropertyKind("whole number" if is_whole else "number", parse, number_text)


def count(least: int, most: int, expected: str = "a whole number") -> PropertyKind:
    """Return the kind of a whole number that is written in digits alone."""

    def parse(name: str, text: str) -> int:
        said = text.strip()
        if re.fullmatch(r"[+-]?[0-9]+", said) is None or not least <= int(said) <= most:
            raise refused(name, text, f"{expected} from {least} to {most}")
        return int(said)

    return PropertyKind("whole number", parse)


def choice(values: Mapping[str, Any], *, is_lower: bool = True, expected: str = "") -> PropertyKind:
    """Return the kind of one of a few texts, each with what it means."""
    wanted = expected or " or ".join(sorted(values))

    def parse(name: str, text: str) -> Any:
        said = text.strip().lower() if is_lower else text.strip()
        if said not in values:
            raise refused(name, text, wanted)
        return values[said]

    return PropertyKind(
        " or ".join(values), parse, lambda value: next(text for text, meant in values.items() if meant == value)
    )


def matching(is_one: Callable[[str], object], expected: str) -> PropertyKind:
    """Return the kind of a text that a function accepts."""

    def parse(name: str, text: str) -> str:
        if not is_one(text):
            raise refused(name, text, expected)
        return text

    return PropertyKind("text", parse)


FLAG = choice({"true": True, "false": False}, expected="true or false")
TEXT = PropertyKind("text", lambda _, text: text)


class Mark(Flag):
    """Marks properties with special rules."""

    NONE = 0
    INHERITED = auto()
    """The value of the queue above applies if none is set."""
    ALWAYS_SAID = auto()
    """An export has it for every queue below root; others only where it differs from what applies without it."""
    SAID_OF_LEAVES = auto()
    """The same of every leaf."""
    ALIAS = auto()
    """An export writes others for it."""
    DELEGATED = auto()
    """Administrators of the queue above may change it."""


@dataclass(frozen=True, slots=True)
class PropertyRow:
    """Describes one property.

    ``name`` is what follows the scheduler's prefix, or a queue's path; capitals in it stand for any name, a dot at its
    end for every name that begins so.  ``default`` is Hadoop's, or Yodel's where Hadoop does not know the property;
    empty: there is none.  ``fields`` are those of what it is kept in, a queue or a window; of several the kind's value
    is a mapping.  ``why`` is what it does, or why it does nothing.  ``accepts`` is what a FIXED one may be set to; of a
    MISSING one it changes nothing, for the reason in ``harmless``.
    """

    name: str
    scope: PropertyScope
    kind: PropertyKind
    default: str
    why: str
    fields: tuple[str, ...] = ()
    marks: Mark = Mark.NONE
    effect: PropertyEffect = PropertyEffect.KEPT
    accepts: str = ""
    harmless: str = ""
    pattern: re.Pattern[str] | None = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        escaped = re.escape(self.name)
        name = re.sub("[A-Z]{3,}", "([A-Za-z0-9_-]{1,128})" if self.scope is PropertyScope.WINDOW else "(.+)", escaped)
        object.__setattr__(self, "pattern", None if name == escaped else re.compile(name))

    def variable(self, name: str) -> str:
        """Return the variable part of a property's full name; empty: it is another property."""
        found = self.pattern.fullmatch(name) if self.pattern is not None else None
        return "" if found is None else found[1]

    def is_said(self, text: str | None) -> bool:
        return text is not None and (self.kind.is_blank_meant or bool(text.strip()))

    def value(self, name: str, text: str | None) -> Any:
        """Return the parsed text, or the default; None: there is neither.  ``name`` is the full one.

        Raises:\n  Refused: the text is none of this kind.
        """
        said = text if text is not None and self.is_said(text) else self.default
        return self.kind.parse(name, said) if said else None

    @property
    def may_be_set(self) -> bool:
        return self.effect in (PropertyEffect.KEPT, PropertyEffect.FIXED)

    def is_accepted(self, text: str) -> bool:
        return bool(self.accepts) and text.strip().lower() == self.accepts.lower()
