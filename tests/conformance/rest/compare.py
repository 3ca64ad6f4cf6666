"""Two answers to one call are compared: status, headers that matter, and the body's shape and values.

Ids, times, hosts and sizes of the machine become the names of their kind; of what is measured only the type counts.
The order of XML's elements, of headers and of objects in a list counts as little as Hadoop promises it.
"""

from __future__ import annotations

import gzip
import json
import math
import re
import socket
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.conformance.rest.sides import Answer, Side

HEADERS = (
    *("Content-Type", "Location", "Set-Cookie", "WWW-Authenticate", "Cache-Control", "X-Frame-Options", "Allow"),
    *("Vary", "Content-Encoding", "X-Content-Type-Options", "X-XSS-Protection", "Refresh", "Connection"),
    *("Access-Control-Allow-Origin", "Access-Control-Allow-Credentials", "Access-Control-Allow-Methods"),
    *("Access-Control-Allow-Headers", "Access-Control-Max-Age"),
)
SETS = ("Allow", "Vary", "Access-Control-Allow-Methods", "Access-Control-Allow-Headers")
"""Headers whose words have no order."""
TOKEN = "urlString"
MEASURED = frozenset(
    {
        *("memorySeconds", "vcoreSeconds", "cpuUtilization", "memUtilization", "nodePhysicalMemoryMB"),
        *("nodeVirtualMemoryMB", "nodeCPUUsage", "aggregatedContainersPhysicalMemoryMB", "utilizedMB"),
        *("aggregatedContainersVirtualMemoryMB", "containersCPUUsage", "utilizedVirtualCores", "utilizedMBPercent"),
        *("utilizedVirtualCoresPercent", "rmSchedulerBusyPercent", "schedulerBusy", "containerAssignedPerSecond"),
        *("rmEventQueueSize", "schedulerEventQueueSize", "elapsedTime", "remainingTimeInSeconds", "lastrun"),
        *("rmDispatcherEventQueueSize", "schedulerDispatcherEventQueueSize", "clusterId", "id"),
        TOKEN,
        "logAggregationStatus",  # a node's next heartbeat brings it
    }
)
TIMES = re.compile(r"(?i).*(time|timestamp|startedOn|lastHealthUpdate)$")
KEYS = (
    *("queuePath", "containerId", "id", "key", "name", "accessType", "operation", "partitionName", "username", "state"),
)
"""The names by which an object in a list is known."""
FLOAT_TOLERANCE = 1e-6  # Hadoop counts with 32 bits and prints what it has
_RULES: tuple[tuple[str, str], ...] = (
    (r"\w{3} \w{3} \d\d \d\d:\d\d:\d\d [A-Z]{3,5} \d{4}", "DATE"),
    (r"\w{3}, \d+ \w{3} \d{4} \d\d:\d\d:\d\d GMT", "DATE"),
    (r"\w{3} \w{3} \d\d \d\d:\d\d:\d\d [+-]\d{4} \d{4}", "DATE"),
    (r"\b20\d\d-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:[+-]\d{4}|Z)?", "DATE"),
    (r"\b1[5-9]\d{11}\b", "MILLIS"),
    (r"\b(?:127\.0\.\d+\.\d+|localhost)\b(?!:)", "HOST"),
    (r"(ServletContainer-)[0-9a-f]+", r"\1HASH"),
    (r"hdfs://[^\s,\]\"'<]*", "URL"),
    (r"(?<![\w./])/(?:tmp|var|root|home)/[^\s,:\]\"')<]*", "PATH"),
)
_COMPILED = tuple((re.compile(pattern), replacement) for pattern, replacement in _RULES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """``place``: ``status``, ``header NAME``, or the path into the body, lists without their numbers."""

    call: str
    place: str
    real: str
    yodel: str

    def __str__(self) -> str:
        return f"{self.call}: {self.place}: {self.real} | {self.yodel}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """An answer with its side's ids, ports and times taken out.  ``headers``: those of ``HEADERS`` that it has."""

    status: int
    headers: Mapping[str, str]
    body: Any
    """As JSON or XML say, or a text."""


def differences(call: str, real: Seen, yodel: Seen) -> list[Difference]:
    """Between the real answer and Yodel's.  The bodies of two statuses are not compared: they say different things."""

    def difference(place: str, theirs: object, ours: object) -> Difference:
        return Difference(call=call, place=place, real=_short(theirs), yodel=_short(ours))

    if real.status != yodel.status:
        return [difference("status", f"{real.status} {real.body}", f"{yodel.status} {yodel.body}")]
    found = [
        difference(f"header {name}", real.headers.get(name, ""), yodel.headers.get(name, ""))
        for name in HEADERS
        if real.headers.get(name) != yodel.headers.get(name)
    ]
    parts = dict.fromkeys(_between(real.body, yodel.body, "body"))  # the same in many items is said once
    return found + [difference(*part) for part in parts]


def seen(side: Side, answer: Answer) -> Seen:
    """Return what is comparable of an answer of that side."""
    return _Masking(side, answer).seen()


class _Masking:
    def __init__(self, side: Side, answer: Answer) -> None:
        self._side, self._answer = side, answer

    def seen(self) -> Seen:
        packed = self._header("Content-Encoding") == "gzip"
        text = (gzip.decompress(self._answer.body) if packed else self._answer.body).decode(errors="replace")
        return Seen(
            status=self._answer.status,
            headers={name: value for name in HEADERS if (value := self._header(name))},
            body=self._leaves_masked(self._parsed(text)),
        )

    def _header(self, name: str) -> str:
        """Empty when there is none."""
        values = [value for key, value in self._answer.headers if key.lower() == name.lower()]
        if name == "Set-Cookie":
            return ", ".join(sorted(_cookie(value) for value in values))
        if name in SETS:
            words = (word.strip() for value in values for word in value.split(","))
            return ",".join(sorted(words))
        return self._masked(", ".join(values)).replace("; charset", ";charset")

    def _parsed(self, text: str) -> Any:
        kind = self._header("Content-Type")
        try:
            if "json" in kind:
                return json.loads(text)
            if "xml" in kind and "html" not in kind:
                root = ElementTree.fromstring(text)
                return {_name(root.tag): _element(root)}
        except (ValueError, ElementTree.ParseError):
            pass  # Hadoop sends bare texts under these types
        return "HTML" if "<html" in text[:400].lower() else text.strip()

    def _leaves_masked(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {self._masked(key): self._leaves_masked(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._leaves_masked(item) for item in value]
        return self._masked(value) if isinstance(value, str) else value

    def _masked(self, text: str) -> str:
        side = self._side
        names = {
            f"{side.host}:{side.port}": "RM",
            f"localhost:{side.port}": "RM",
            side.node: "NODE",
            side.node_http: "NODE-HTTP",
            str(side.cluster_id): "CLUSTER",
        }
        for value, name in names.items():
            text = text.replace(value, name)
        text = re.sub(rf"\b{re.escape(socket.gethostname())}\b", "HOST", text)
        for pattern, replacement in _COMPILED:
            text = pattern.sub(replacement, text)
        return text


def _between(real: Any, yodel: Any, path: str) -> Iterator[tuple[str, str, str]]:
    """Place, real and ours."""
    if isinstance(real, dict) and isinstance(yodel, dict):
        for key in sorted(real.keys() | yodel.keys()):
            if key not in yodel:
                yield f"{path}.{key}", f"{_kind(real[key])} {real[key]!r}", "absent"
            elif key not in real:
                yield f"{path}.{key}", "absent", f"{_kind(yodel[key])} {yodel[key]!r}"
            else:
                yield from _between(real[key], yodel[key], f"{path}.{key}")
    elif isinstance(real, list) and isinstance(yodel, list):
        yield from _between_lists(real, yodel, f"{path}[]")
    elif _kind(real) != _kind(yodel):
        yield path, f"{_kind(real)} {real!r}", f"{_kind(yodel)} {yodel!r}"
    elif real != yodel and not _is_measured(path, real, yodel):
        yield path, repr(real), repr(yodel)


def _is_measured(path: str, real: Any, yodel: Any) -> bool:
    if _counts_by_type(path, real):
        return True
    if isinstance(real, float):
        return math.isclose(real, yodel, rel_tol=FLOAT_TOLERANCE)
    return _is_time(path, real) and bool(real) == bool(yodel)  # one that has been, or one that has not


def _counts_by_type(path: str, value: Any) -> bool:
    if _key(path) in MEASURED or ".resourceSecondsMap." in path:
        return True
    return path.startswith("body.beans[]") and not isinstance(value, str)  # what they were up to ten seconds ago


def _is_time(path: str, value: Any) -> bool:
    return TIMES.fullmatch(_key(path)) is not None and not isinstance(value, str | bool)


def _key(path: str) -> str:
    return path.rstrip("[]").rsplit(".", 1)[-1]


def settled(value: Any, path: str = "body") -> Any:
    """A body in which what is measured, times and tokens are one of two values: what is compared is the same."""
    if isinstance(value, dict):
        return {key: settled(item, f"{path}.{key}") for key, item in value.items()}
    if isinstance(value, list):
        return [settled(item, f"{path}[]") for item in value]
    if _key(path) == TOKEN:
        return "TOKEN"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if _counts_by_type(path, value):
        return type(value)()
    return type(value)(bool(value)) if _is_time(path, value) else value


def _kind(value: Any) -> str:
    """Numbers of JSON are of two kinds; a text of XML is of the kind that it shows."""
    return {bool: "boolean", int: "integer", float: "float", str: "text", dict: "object", list: "list"}.get(
        type(value), "null"
    )


def _between_lists(real: list[Any], yodel: list[Any], path: str) -> Iterator[tuple[str, str, str]]:
    """Objects are compared with those of the same name, everything else in its order."""
    theirs, ours = _by_name(real), _by_name(yodel)
    for name in [*theirs, *(name for name in ours if name not in theirs)]:
        if name not in ours:
            yield path, f"with {name}: {theirs[name]!r}", "without"
        elif name not in theirs:
            yield path, "without", f"with {name}: {ours[name]!r}"
        else:
            yield from _between(theirs[name], ours[name], path)


def _by_name(items: list[Any]) -> dict[str, Any]:
    for key in KEYS:
        if items and all(isinstance(item, dict) and key in item for item in items):
            named = {str(item[key]): item for item in items}
            if len(named) == len(items):
                return named
    plain = sorted(items) if all(isinstance(item, str) for item in items) else items
    return {str(number): item for number, item in enumerate(plain)}


def _element(element: ElementTree.Element) -> Any:
    """Children by name, a list where there are several; a leaf's text as what it shows."""
    children: dict[str, Any] = {f"@{_name(name)}": value for name, value in element.attrib.items()}
    grouped: dict[str, list[Any]] = {}
    for child in element:
        grouped.setdefault(_name(child.tag), []).append(_element(child))
    children |= {name: found[0] if len(found) == 1 else found for name, found in grouped.items()}
    return children or _leaf(element.text or "")


def _leaf(text: str) -> Any:
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    if re.fullmatch(r"-?\d+\.\d+(E-?\d+)?", text):
        return float(text)
    return text


def _name(tag: str) -> str:
    return tag.rpartition("}")[2]


def _cookie(value: str) -> str:
    """Its name and attributes, with how many words its value has."""
    pair, *attributes = (part.strip() for part in value.split(";"))
    name, _, text = pair.partition("=")
    words = [word.partition("=")[0] for word in text.strip('"').split("&")]
    return "; ".join([f"{name}={'&'.join(words)}", *(_EXPIRES.sub("DATE", a) for a in attributes)])


_EXPIRES = re.compile(r"(?<=Expires=).*")


def _short(value: object) -> str:
    text = str(value).replace("\n", " ")
    return text if len(text) < 300 else f"{text[:300]}…"
