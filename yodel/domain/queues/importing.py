"""A ``capacity-scheduler.xml`` as a configuration of this scheduler: each property is taken over, converted, left out
because nothing here depends on it, or refused; and each of these is told with its line.  Pure.

A file with one refusal is refused whole, so nothing of it is lost without a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from difflib import get_close_matches

from yodel.domain.colocation.properties import PREFIX as COLOCATION
from yodel.domain.property_row import PropertyEffect, PropertyRow
from yodel.domain.queues.bounds import OutOfBounds, require_properties
from yodel.domain.queues.properties import described
from yodel.domain.queues.property_table import BY_QUEUE, BY_SCHEDULER, DOMINANT
from yodel.domain.queues.queue import ROOT
from yodel.domain.queues.words import owner, tree_of
from yodel.domain.queues.xml_file import Entry
from yodel.domain.scheduler_conf import PREFIX
from yodel.errors import Refused

REFUSALS_MAX = 100
"""Told of one file."""
REFUSED_NAME_LENGTH = 160
"""The shown length of a name that is out of bounds, which may be of any length."""
_ORDERS: Mapping[bool, frozenset[str]] = {
    False: frozenset({"fifo", "fair", "fifo-with-partitions"}),
    True: frozenset({"utilization", "priority-utilization"}),
}
"""Ordering policies that a parent, and that a leaf has no use of: they are the other's."""
_IGNORED = "is left out, Hadoop ignores this"
_TEMPLATE = "capacity-scheduler"
"""That Ambari's own template writes."""


@dataclass(frozen=True, slots=True, order=True)
class ImportRemark:
    """Something about a line of the file."""

    line: int
    text: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.text}"


@dataclass(slots=True, kw_only=True)
class Understood:
    """Holds the result of reading a file.  With ``refusals`` it cannot be applied; ``properties`` are then those
    without the refused ones, as far as those are known, and ``refused`` their names."""

    properties: dict[str, str] = field(default_factory=dict)
    notes: list[ImportRemark] = field(default_factory=list)
    """The properties that were converted or left out."""
    refusals: list[ImportRemark] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Verdict:
    """Holds the treatment of one property.  ``value`` None: it is not taken over as it is."""

    value: str | None = None
    note: str = ""
    refusal: str = ""
    of_leaves: str = ""
    """The property of each leaf that it becomes."""


def understood(entries: Iterable[Entry]) -> Understood:
    """The configuration, with what is to be told of it."""
    found = Understood()
    once = _once(entries, found)
    told = {name: entry.value for name, entry in once.items()}
    try:
        below = tree_of(told)
    except Refused as error:
        found.refusals.append(ImportRemark(_line(str(error), _named(str(error), told), once, {}), str(error)))
        found.refused.clear()  # nothing is left of the rest either
        return found
    paths = below.keys()
    if paths == {ROOT}:
        names = once.get(f"{PREFIX}root.queues")
        found.refusals.append(ImportRemark(names.line if names else 1, f"{PREFIX}root.queues names no queue"))
        found.refused.clear()
        return found
    of_leaves: dict[str, str] = {}
    parents = {path for path, names in below.items() if names}
    for entry in once.values():
        verdict = _verdict(entry, paths, parents)
        if verdict.refusal:
            found.refusals.append(ImportRemark(entry.line, f"{entry.name} {verdict.refusal}"))
            found.refused.append(entry.name)
        elif verdict.note:
            found.notes.append(ImportRemark(entry.line, f"{entry.name} {verdict.note}"))
        if verdict.value is not None:
            found.properties[entry.name] = verdict.value
        if verdict.of_leaves:
            of_leaves[verdict.of_leaves] = entry.value.strip()
    leaves = [path for path, names in below.items() if not names] if of_leaves else []
    for leaf in leaves:
        for name, value in of_leaves.items():
            found.properties.setdefault(f"{PREFIX}{leaf}.{name}", value)
    _judge(found, once, below)
    found.notes.sort()
    found.refusals.sort()
    return found


def ignored(properties: Mapping[str, str]) -> dict[str, str]:
    """Properties of a whole configuration that Hadoop ignores, each with what is told of it."""
    below = tree_of(properties)
    parents = {path for path, names in below.items() if names}
    verdicts = ((name, _verdict(Entry(name, text, 0), below.keys(), parents)) for name, text in properties.items())
    return {name: verdict.note for name, verdict in verdicts if verdict.note.startswith(_IGNORED)}


def _once(entries: Iterable[Entry], found: Understood) -> dict[str, Entry]:
    """Return entries by name; refuse one that occurs twice, where Hadoop takes the last, or is too long to look at."""
    once: dict[str, Entry] = {}
    for entry in entries:
        try:
            require_properties([(entry.name, " ".join(entry.value.split()))])
        except OutOfBounds as error:
            found.refusals.append(ImportRemark(entry.line, str(error)))
            found.refused.append(ascii(entry.name[:REFUSED_NAME_LENGTH])[1:-1])
            continue
        value = entry.value if entry.value.isprintable() else " ".join(entry.value.split())
        if (first := once.get(entry.name)) is not None:
            found.refusals.append(ImportRemark(entry.line, f"{entry.name} is set twice, also in line {first.line}"))
        else:
            once[entry.name] = Entry(entry.name, value, entry.line)
    return once


def _verdict(entry: Entry, paths: Set[str], parents: Set[str]) -> _Verdict:
    if entry.name == _TEMPLATE and entry.value.strip() == "null":
        return _ignored("Ambari writes it into every file")
    if entry.name.startswith(COLOCATION):
        return _Verdict(entry.value)
    if not entry.name.startswith(PREFIX):
        return _Verdict(refusal="is not a property of the CapacityScheduler")
    if "${" in entry.value:
        return _Verdict(refusal=f"contains a variable, which is not expanded: {entry.value[:80]!r}")
    short = entry.name.removeprefix(PREFIX)
    path, own = owner(short, paths) if short.startswith(f"{ROOT}.") else ("", short)
    row = BY_QUEUE.find(own) if path else BY_SCHEDULER.find(own)
    if not entry.value.strip() and not (row is not None and row.kind.is_blank_meant):
        return _Verdict(note="is left out: it is empty")
    if path and own == "ordering-policy" and (order := entry.value.strip()).lower() in _ORDERS[path not in parents]:
        whose = "applications, and this is a parent" if path in parents else "queues, and this is a leaf"
        return _Verdict(
            note=f"is left out: {order} orders {whose} queue; Hadoop's ResourceManager does not start with it"
        )
    if path in parents and own == "maximum-applications":
        return _ignored(f"{path} is a parent queue, and leaf queues have their own value")
    if row is not None:
        return _by_row(row, entry.value)
    return _unknown(path, own, paths) if path else _Verdict(refusal="is unknown or cannot be set")


def _by_row(row: PropertyRow, value: str) -> _Verdict:
    if row.accepts == DOMINANT and value.strip().endswith(".DefaultResourceCalculator"):
        return _Verdict(DOMINANT, note="became DominantResourceCalculator: memory and cores both count")
    if row.harmless and row.is_accepted(value):
        return _Verdict(note=f"is left out: {row.harmless}")
    match row.effect:
        case PropertyEffect.OF_LEAVES:
            return _Verdict(note=f"became {row.why} of each leaf queue that does not set it", of_leaves=row.why)
        case PropertyEffect.LEFT_OUT:
            return _Verdict(note=f"is left out: {row.why}")
        case PropertyEffect.IGNORED:
            return _ignored(row.why)
        case PropertyEffect.MISSING:
            return _Verdict(refusal=f"is not supported here yet: {row.why}")
        case PropertyEffect.FIXED if row.why and not row.is_accepted(value):
            return _Verdict(refusal=f"is not supported here yet: {row.why}")
    return _Verdict(value)


def _unknown(path: str, own: str, paths: Set[str]) -> _Verdict:
    name, dot, rest = own.partition(".")
    if not dot or not name:
        return _Verdict(refusal="is unknown")
    if _is_of_queue(rest):
        nearest = next(iter(get_close_matches(f"{path}.{name}", paths, n=1)), path)
        return _ignored(f"no queues property names {path}.{name}; the nearest queue is {nearest}")
    return _Verdict(refusal=f"names no queue: {path} has no child queue {name} and no property with that prefix")


def _is_of_queue(own: str) -> bool:
    """Return True for a property of a queue, or of a queue further down."""
    parts = own.split(".")
    rows = (BY_QUEUE.find(".".join(parts[at:])) for at in range(len(parts)))
    return any(row is not None and row.may_be_set for row in rows)


def _ignored(why: str) -> _Verdict:
    return _Verdict(note=f"{_IGNORED}: {why}")


def _judge(found: Understood, once: Mapping[str, Entry], below: Mapping[str, Sequence[str]]) -> None:
    """Refusals of the whole, one after another: what is wrong with one property is told, and looked away from."""
    properties = found.properties
    while len(found.refusals) < REFUSALS_MAX:
        try:
            described(properties, pools=None)
        except Refused as error:
            text = " ".join((str(error), *getattr(error, "__notes__", ())))
            name = _named(text, properties)
            if name or not found.refusals:  # a sum may be wrong because of what was taken out
                found.refusals.append(ImportRemark(_line(text, name, once, below), text))
            if not name or name.endswith(".queues"):
                return
            del properties[name]
            found.refused.append(name)
        else:
            return


def _named(text: str, properties: Mapping[str, str]) -> str:
    """The property that a refusal is about; empty: it is about more than one."""
    named = [name for name in re.findall(r"yarn\.scheduler\.capacity\.[^\s:,']+", text) if name in properties]
    return max(named, key=len, default="")


def _line(text: str, name: str, once: Mapping[str, Entry], below: Mapping[str, Sequence[str]]) -> int:
    """Return the line of the property, or of the first property of a queue that the text names."""
    if name in once:
        return once[name].line
    for path in re.findall(r"\broot(?:\.[A-Za-z0-9_-]+)*", text.replace("label=", " label=")):
        own = f"{PREFIX}{path}."
        about = ("maximum-capacity", "capacity") if "maximum" in text else ("capacity",)
        names = [*(own + kind for kind in about), *(f"{own}{child}.capacity" for child in below.get(path, ()))]
        for said in (*names, f"{own}queues"):
            if said in once:
                return once[said].line
    return min((entry.line for entry in once.values()), default=1)
