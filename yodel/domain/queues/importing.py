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
from yodel.domain.queues.bounds import OutOfBounds, require_properties
from yodel.domain.queues.limit_properties import APPLICATIONS, PARALLEL, user_of
from yodel.domain.queues.mapping_properties import MAPPING_PROPERTIES
from yodel.domain.queues.properties import (
    ALL_AS_IT_IS,
    AS_IT_IS,
    LEGACY_MODE,
    MAXIMUM_AM_SHARE,
    QUEUE_PROPERTIES,
    described,
)
from yodel.domain.queues.queue import ROOT
from yodel.domain.queues.window_properties import window_of
from yodel.domain.queues.words import owner, tree_of
from yodel.domain.queues.xml_file import Entry
from yodel.domain.scheduler_conf import PREFIX
from yodel.domain.shuffle.words import is_shuffle_word
from yodel.errors import Refused

REFUSALS_MAX = 100
"""Told of one file."""
REFUSED_NAME_LENGTH = 160
"""Of a name that is out of bounds, which may be of any length."""
_ACLS = ("acl_submit_applications", "acl_administer_queue")
_CALCULATOR = "resource-calculator"
_DOMINANT = next(iter(ALL_AS_IT_IS[_CALCULATOR]))
_LEAF_DEFAULTS: Mapping[str, str] = {
    "user-limit-factor": "user-limit-factor",
    "minimum-user-limit-percent": "minimum-user-limit-percent",
    "global-queue-max-application": "maximum-applications",
}
"""Of the whole scheduler there, of each leaf that says nothing itself here."""
_LEFT_OUT: Mapping[str, str] = {
    "node-locality-delay": "use the setting node_locality_delay_s",
    "rack-locality-additional-delay": "use the setting rack_locality_delay_s",
    "rack-locality-full-reset": "locality delays are in seconds, not in missed scheduling opportunities",
    "per-node-heartbeat.": "containers are not allocated on node heartbeats",
    "application.fail-fast": "a queue is kept as long as it has running applications",
    "user-metrics.enable": "usage by user is shown with each queue; JMX has no user beans",
    "reservations-continue-look-all-nodes": "a reserved node does not block other requests",
    "skip-allocate-on-nodes-with-reserved-containers": "free capacity of a reserved node goes to the reservation only",
    "schedule-asynchronously.": "scheduling runs when something has changed",
    "lazy-preemption-enabled": (
        "a container with a preemption notice is stopped at its deadline if its capacity is still needed (preemption)"
    ),
    "multi-node-sorting.": "Kubernetes chooses the node, or with placement bind the ResourceManager by free capacity",
    "queue.auto.refresh.": "configuration files are not watched",
    "workflow-priority-mappings-override.enable": "workflow priority mappings are not supported",
}
"""Of the whole scheduler; a name with a dot at its end stands for all that begin so."""
_MISSING: Mapping[str, str] = {
    "mapping-rule-json-file": "a separate file of mapping rules; put the rules into mapping-rule-json",
    "workflow-priority-mappings": "priorities by workflow",
    "ordering-policy.": "preemption by priority of queues",
    "user.": "limits of parallel applications by user",
}
"""Of the whole scheduler: what does not exist here."""
_MISSING_OF_QUEUES: Mapping[str, str] = {
    "accessible-node-labels": "node labels by queue",
    "accessible-node-labels.": "shares by node label",
    "default-node-label-expression": "a default node label by queue",
    "auto-create-child-queue.": "automatic creation of queues",
    "auto-queue-creation-v2.": "automatic creation of queues",
    "leaf-queue-template.": "automatic creation of queues",
    "default-application-priority": "a default priority of applications by queue",
    "acl_application_max_priority": "a largest priority of applications by user",
    "ordering-policy.": "further settings of an ordering policy",
    "multi-node-sorting.policy": "an order of nodes by queue",
    "reservable": "reservations in advance (yarn.resourcemanager.reservation-system)",
    "allow-zero-capacity-sum": "children with capacity 0 under a parent that has some",
}


_ORDERS: Mapping[bool, frozenset[str]] = {
    False: frozenset({"fifo", "fair", "fifo-with-partitions"}),
    True: frozenset({"utilization", "priority-utilization"}),
}
"""Ordering policies that a parent, and that a leaf has no use of: they are the other's."""
_IGNORED = "is left out, Hadoop ignores this"
_TEMPLATE = "capacity-scheduler"
_IGNORED_OF_QUEUES: Mapping[str, str] = {
    "acl_administer_jobs": "it belongs to MapReduce 1",
}
_IGNORED_OF_ALL: Mapping[str, str] = {
    "default.minimum-user-limit-percent": "it names no queue, because paths begin with root",
}
"""That Ambari's own template writes."""


@dataclass(frozen=True, slots=True, order=True)
class Said:
    """Something about a line of the file."""

    line: int
    text: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.text}"


@dataclass(slots=True, kw_only=True)
class Understood:
    """What a file says.  With ``refusals`` it cannot be taken over; ``properties`` are then what is left without what
    they are about, as far as that is known, and ``refused`` its names."""

    properties: dict[str, str] = field(default_factory=dict)
    notes: list[Said] = field(default_factory=list)
    """What was converted or left out."""
    refusals: list[Said] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Verdict:
    """What becomes of one property.  ``value`` None: it is not taken over as it is."""

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
        found.refusals.append(Said(_line(str(error), _named(str(error), told), once, {}), str(error)))
        found.refused.clear()  # nothing is left of the rest either
        return found
    paths = below.keys()
    if paths == {ROOT}:
        names = once.get(f"{PREFIX}root.queues")
        found.refusals.append(Said(names.line if names else 1, f"{PREFIX}root.queues names no queue"))
        found.refused.clear()
        return found
    of_leaves: dict[str, str] = {}
    parents = {path for path, names in below.items() if names}
    for entry in once.values():
        verdict = _verdict(entry, paths, parents)
        if verdict.refusal:
            found.refusals.append(Said(entry.line, f"{entry.name} {verdict.refusal}"))
            found.refused.append(entry.name)
        elif verdict.note:
            found.notes.append(Said(entry.line, f"{entry.name} {verdict.note}"))
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
    """By name; what is said twice, where Hadoop takes the last, is refused, and so is what is too long to look at."""
    once: dict[str, Entry] = {}
    for entry in entries:
        try:
            require_properties([(entry.name, " ".join(entry.value.split()))])
        except OutOfBounds as error:
            found.refusals.append(Said(entry.line, str(error)))
            found.refused.append(ascii(entry.name[:REFUSED_NAME_LENGTH])[1:-1])
            continue
        value = entry.value if entry.value.isprintable() else " ".join(entry.value.split())
        if (first := once.get(entry.name)) is not None:
            found.refusals.append(Said(entry.line, f"{entry.name} is set twice, also in line {first.line}"))
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
    if not entry.value.strip() and own not in _ACLS:
        return _Verdict(note="is left out: it is empty")
    return _of_queue(path, own, entry.value, paths, parents) if path else _of_all(own, entry.value)


def _of_all(name: str, value: str) -> _Verdict:
    text = value.strip()
    if name == _CALCULATOR and text.endswith(".DefaultResourceCalculator"):
        return _Verdict(_DOMINANT, note="became DominantResourceCalculator: memory and cores both count")
    if f"{PREFIX}{name}" in (MAXIMUM_AM_SHARE, LEGACY_MODE) or name == PARALLEL or name in ALL_AS_IT_IS:
        return _Verdict(value)
    if f"{PREFIX}{name}" in MAPPING_PROPERTIES:
        return _Verdict(value)
    if name == APPLICATIONS:
        return _Verdict(value)
    if name in _LEAF_DEFAULTS:
        own = _LEAF_DEFAULTS[name]
        return _Verdict(note=f"became {own} of each leaf queue that does not set it", of_leaves=own)
    if name == "ordering-policy.priority-utilization.underutilized-preemption.enabled" and text.lower() == "false":
        return _Verdict(note="is left out: preemption by queue priority is not supported")
    if name in _IGNORED_OF_ALL:
        return _ignored(_IGNORED_OF_ALL[name])
    if what := _listed(_MISSING, name):
        return _missing(what)
    if why := _listed(_LEFT_OUT, name):
        return _Verdict(note=f"is left out: {why}")
    return _Verdict(refusal="is unknown or cannot be set")


def _of_queue(path: str, own: str, value: str, paths: Set[str], parents: Set[str]) -> _Verdict:
    text = value.strip()
    if own == APPLICATIONS and path in parents:
        return _ignored(f"{path} is a parent queue, and leaf queues have their own value")
    if own == "ordering-policy" and text.lower() in _ORDERS[path not in parents]:
        whose = (
            "queues, and this is a leaf queue" if path not in parents else "applications, and this is a parent queue"
        )
        return _Verdict(note=f"is left out: {text} orders {whose}; Hadoop's ResourceManager does not start with it")
    if own in _IGNORED_OF_QUEUES:
        return _ignored(_IGNORED_OF_QUEUES[own])
    is_usual = text.lower() in {one.lower() for one in AS_IT_IS.get(own, ())}
    if own in QUEUE_PROPERTIES or user_of(own) or any(window_of(own)) or is_shuffle_word(own) or is_usual:
        return _Verdict(value)
    if own == "acl_application_max_priority" and text == "*":
        return _Verdict(note="is left out: all users may use all priorities")
    if own == "ordering-policy.fair.enable-size-based-weight" and text.lower() == "false":
        return _Verdict(note="is left out: size-based weight is off")
    if what := _listed(_MISSING_OF_QUEUES, own):
        return _missing(what)
    name, dot, rest = own.partition(".")
    if dot and name:
        if _is_of_queue(rest):
            nearest = next(iter(get_close_matches(f"{path}.{name}", paths, n=1)), path)
            return _ignored(f"no queues property names {path}.{name}; the nearest queue is {nearest}")
        return _Verdict(refusal=f"names no queue: {path} has no child queue {name} and no property with that prefix")
    return _Verdict(refusal="is unknown")


def _is_of_queue(own: str) -> bool:
    """Whether something is a queue's property, or of a queue further down."""
    parts = own.split(".")
    names = (".".join(parts[at:]) for at in range(len(parts)))
    return any(one in QUEUE_PROPERTIES or one in AS_IT_IS or bool(user_of(one)) for one in names)


def _ignored(why: str) -> _Verdict:
    return _Verdict(note=f"{_IGNORED}: {why}")


def _missing(what: str) -> _Verdict:
    return _Verdict(refusal=f"is not supported here yet: {what}")


def _listed(names: Mapping[str, str], name: str) -> str:
    """What is said of a name, or of the beginning of it that ends with a dot."""
    if name in names:
        return names[name]
    return next((said for start, said in names.items() if start.endswith(".") and name.startswith(start)), "")


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
                found.refusals.append(Said(_line(text, name, once, below), text))
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
    """Of the property, or of the first that is said of a queue that the text names."""
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
