"""XML bodies as the same plain values that JSON ones give.

Nothing is ever expanded or fetched: a document with a DOCTYPE is refused before its first element, so there are no
entities but XML's own five.  Depth and the numbers of elements and attributes are bounded.  Namespaces are not looked
at: a prefix is dropped, whatever it stands for.  XML has no types: what Hadoop's beans declare as numbers, flags and
lists is named here; everything else is text.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import Any
from xml.parsers import expat

from yodel.errors import InvalidValue
from yodel.telemetry.limit import Limit
from yodel.telemetry.limits import REST_ATTRIBUTES, REST_VALUES

DEPTH_MAX = 32
ELEMENTS_MAX = 50_000
"""A submission of 10,000 variables has 30,000."""
ATTRIBUTES_MAX = 20_000
"""By their equals signs, so those of texts count too.  Nothing is read from attributes, but all of an element's are
kept at once, and read in one turn."""
TURN_BYTES = 32 * 1024
"""Read at a time: some 8,000 of the shortest elements, 8 ms."""
_INTEGER = re.compile(r"-?[0-9]{1,20}")
KEPT_ROOTS = frozenset({"timeout"})
"""Roots that the JSON form has too."""
LISTS = frozenset(
    {
        "entry",
        "command",
        "tag",
        "nodeLabelInfo",
        "nodeToLabels",
        "labels",
        "resourceInformation",
        "add-queue",
        "update-queue",
        "remove-queue",
    }
)
NUMBERS = frozenset(
    {
        *("memory", "vCores", "priority", "max-app-attempts", "size", "timestamp", "overCommitTimeout"),
        *("attempt-failures-validity-interval", "failure-threshold"),
    }
)
FLAGS = frozenset(
    {
        *("unmanaged-AM", "cancel-tokens-when-complete", "keep-containers-across-application-attempts"),
        *("exclusivity", "am-black-listing-enabled"),
    }
)
OBJECTS = frozenset(
    {
        *("am-container-spec", "local-resources", "environment", "commands", "service-data", "credentials", "tokens"),
        *("secrets", "application-acls", "resource", "application-tags", "log-aggregation-context"),
        *("resourceInformations", "global-updates", "params"),
    }
)
"""Elements that are objects even when they are empty."""


class TooMany(InvalidValue):
    """More than a body may have of something that is counted."""

    def __init__(self, limit: Limit, value: int, maximum: int) -> None:
        self.limit, self.count, self.maximum = limit, value, maximum
        super().__init__("body", value, f"at most {maximum} by the limit {limit.name}")


def object_in_turns(data: bytes, root: str | None = None) -> Generator[None, None, dict[str, Any]]:
    """Parse the document into the object of its JSON form, with a stop after each TURN_BYTES, so that others are
    served.

    Raises:
        InvalidValue: for what is no XML, has a DOCTYPE, is too deep, or has another root than ``root``.
        TooMany: elements or attributes.
    """
    if (count := data.count(b"=")) > ATTRIBUTES_MAX:
        raise TooMany(REST_ATTRIBUTES, count, ATTRIBUTES_MAX)
    builder = _ElementBuilder()
    # Not with namespaces: each element's name would come with the whole address, which may be as long as the body.
    parser = expat.ParserCreate()
    parser.buffer_text = parser.ordered_attributes = True
    parser.StartDoctypeDeclHandler = builder.doctype
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.text
    try:
        for start in range(0, len(data), TURN_BYTES):
            parser.Parse(data[start : start + TURN_BYTES], False)
            yield
        parser.Parse(b"", True)
    except InvalidValue:
        raise
    except (expat.ExpatError, LookupError, ValueError) as error:  # the last two: of encodings that Python lacks
        raise InvalidValue("body", "not XML", "an XML document") from error
    name, value = builder.document
    if root is not None and name != root:
        raise InvalidValue("body", name[:128], f"the root element {root}")
    if name in KEPT_ROOTS or not isinstance(value, dict):
        return {name: value}
    return value


class _ElementBuilder:
    """Expat's events; a frame is an element's name, its children, and its text."""

    def __init__(self) -> None:
        self.document: tuple[str, Any] = ("", {})
        self._frames: list[tuple[str, dict[str, Any], list[str]]] = []
        self._elements = 0

    def doctype(self, *_: object) -> None:
        raise InvalidValue("body", "a DOCTYPE", "a document without one")

    def start(self, name: str, _: object) -> None:
        self._elements += 1
        if self._elements > ELEMENTS_MAX:
            raise TooMany(REST_VALUES, self._elements, ELEMENTS_MAX)
        if len(self._frames) >= DEPTH_MAX:
            raise InvalidValue("body", "elements nested too deep", f"at most {DEPTH_MAX} deep")
        self._frames.append((name.rpartition(":")[2], {}, []))

    def text(self, data: str) -> None:
        self._frames[-1][2].append(data)

    def end(self, _: str) -> None:
        name, children, texts = self._frames.pop()
        value = children or _scalar(name, "".join(texts))
        if not self._frames:
            self.document = (name, value if value != "" else {})
            return
        siblings = self._frames[-1][1]
        if name in LISTS:
            siblings.setdefault(name, []).append(value)
        elif name not in siblings:
            siblings[name] = value
        elif isinstance(siblings[name], list):
            siblings[name].append(value)
        else:
            siblings[name] = [siblings[name], value]


def _scalar(name: str, text: str) -> Any:
    """Convert a value to its kind; one that cannot be read stays text, which the route refuses in its own words."""
    bare = text.strip()
    if name in OBJECTS and not bare:
        return {}
    if name in NUMBERS and _INTEGER.fullmatch(bare):
        return int(bare)
    if name in FLAGS and bare in ("true", "false"):
        return bare == "true"
    return text
