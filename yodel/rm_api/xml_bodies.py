"""XML bodies as the same plain values that JSON ones give.

Nothing is ever expanded or fetched: a document with a DOCTYPE is refused before its first element, so there are no
entities but XML's own five.  Depth and the numbers of elements and attributes are bounded.  Namespaces are not looked
at: a prefix is dropped, whatever it stands for.  XML has no types: what Hadoop's beans declare as numbers, flags and
lists is named here; everything else is text.
"""

from __future__ import annotations

import re
from typing import Any
from xml.parsers import expat

from yodel.errors import InvalidValue

DEPTH_MAX = 32
ELEMENTS_MAX = 200_000
ATTRIBUTES_MAX = 200_000
"""By their equals signs, so those of texts count too.  Nothing is read from attributes, but all of an element's are
kept at once."""
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
        "reservation-request",
    }
)
NUMBERS = frozenset(
    {
        *("memory", "vCores", "priority", "max-app-attempts", "size", "timestamp", "overCommitTimeout"),
        *("attempt-failures-validity-interval", "num-containers", "min-concurrency", "duration"),
        *("arrival", "deadline", "failure-threshold"),
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
        *("resourceInformations", "global-updates", "params", "reservation-definition", "reservation-requests"),
    }
)
"""What is an object even when it is empty."""


def parse_object(data: bytes, root: str | None = None) -> dict[str, Any]:
    """The document as the object its JSON form would be.

    Raises:
        InvalidValue: for what is no XML, has a DOCTYPE, is too deep or too long, or has another root than ``root``.
    """
    if data.count(b"=") > ATTRIBUTES_MAX:
        raise InvalidValue("body", "too many attributes", f"at most {ATTRIBUTES_MAX}")
    builder = _Builder()
    # Not with namespaces: each element's name would come with the whole address, which may be as long as the body.
    parser = expat.ParserCreate()
    parser.buffer_text = parser.ordered_attributes = True
    parser.StartDoctypeDeclHandler = builder.doctype
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.text
    try:
        parser.Parse(data, True)
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


class _Builder:
    """Expat's events; a frame is an element's name, its children, and its text."""

    def __init__(self) -> None:
        self.document: tuple[str, Any] = ("", {})
        self._frames: list[tuple[str, dict[str, Any], list[str]]] = []
        self._elements = 0

    def doctype(self, *_: object) -> None:
        raise InvalidValue("body", "a DOCTYPE", "a document without one")

    def start(self, name: str, _: object) -> None:
        self._elements += 1
        if len(self._frames) >= DEPTH_MAX or self._elements > ELEMENTS_MAX:
            raise InvalidValue("body", "too many elements", f"at most {ELEMENTS_MAX}, nested {DEPTH_MAX} deep")
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
    """What cannot be read as its kind stays text: the route refuses it in its own words."""
    bare = text.strip()
    if name in OBJECTS and not bare:
        return {}
    if name in NUMBERS and _INTEGER.fullmatch(bare):
        return int(bare)
    if name in FLAGS and bare in ("true", "false"):
        return bare == "true"
    return text
