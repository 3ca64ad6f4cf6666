"""A Hadoop configuration file as its properties with their lines, and back.  Pure.

Nothing is expanded or fetched: a DOCTYPE or an include is refused, so there are no entities but XML's own five.  Sizes
are bounded.  What Hadoop would skip without a word (an element it does not know) is refused with its line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from xml.parsers import expat
from xml.sax.saxutils import escape

from yodel.errors import YodelError

FILE_BYTES_MAX = 8 * 1024 * 1024
PROPERTIES_MAX = 100_000
_IGNORED = frozenset({"description", "final", "source"})
"""Elements of a property that say nothing about it."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A property and the line where its name begins."""

    name: str
    value: str
    line: int


class NotReadable(YodelError):
    """The file is no configuration.  ``line`` is where."""

    def __init__(self, line: int, text: str) -> None:
        self.line = line
        super().__init__(f"line {line}: {text}")


def entries(data: bytes) -> list[Entry]:
    """The properties in their order.

    Raises:
        NotReadable: it is too large, no XML, or holds what is no property.
    """
    if len(data) > FILE_BYTES_MAX:
        raise NotReadable(1, f"the file has {len(data)} bytes; expected at most {FILE_BYTES_MAX}")
    builder = _Builder()
    parser = expat.ParserCreate()
    parser.buffer_text = parser.ordered_attributes = True

    def line() -> int:
        return int(parser.CurrentLineNumber)

    def refuse(text: str) -> None:
        raise NotReadable(line(), text)

    parser.StartDoctypeDeclHandler = lambda *_: refuse("a DOCTYPE is not read: it could name other files")
    parser.StartElementHandler = lambda name, attributes: builder.start(name, attributes, line())
    parser.EndElementHandler = lambda name: builder.end(name, line())
    parser.CharacterDataHandler = lambda text: builder.text(text, line())
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise NotReadable(error.lineno, f"not XML: {expat.errors.messages[error.code]}") from error
    except (LookupError, ValueError) as error:  # of encodings that Python lacks
        raise NotReadable(1, f"not XML: {error}") from error
    return builder.found


def text_of(properties: Mapping[str, str], comment: str) -> str:
    """The file with these properties, by name.  ``comment`` has no two dashes in a row."""
    items = "".join(
        f"  <property>\n    <name>{escape(name)}</name>\n    <value>{escape(value)}</value>\n  </property>\n"
        for name, value in sorted(properties.items())
    )
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<!-- {comment} -->\n<configuration>\n{items}</configuration>\n'


class _Builder:
    """Takes the parser's events: configuration, property, and the elements of a property, nothing within these."""

    def __init__(self) -> None:
        self.found: list[Entry] = []
        self._open: list[str] = []
        self._parts: dict[str, str] = {}
        self._line = 0

    def start(self, name: str, attributes: list[str], line: int) -> None:
        self._require(name, line)
        if attributes and not (name == "configuration" and attributes[0].startswith("xmlns")):
            raise NotReadable(line, f"<{name}> has the attribute {attributes[0]!r}; expected elements only")
        self._open.append(name)
        if name == "property":
            self._parts, self._line = {}, line
        elif name == "name":
            self._line = line
        if len(self._open) == 3:
            if name in self._parts:
                raise NotReadable(line, f"<{name}> twice in one property")
            self._parts[name] = ""

    def _require(self, name: str, line: int) -> None:
        depth = len(self._open)
        if depth < 2:
            expected = ("configuration", "property")[depth]
            if name != expected:
                raise NotReadable(line, f"<{name[:80]}> is not read; expected <{expected}>")
        elif depth > 2 or name not in _IGNORED | {"name", "value"}:
            raise NotReadable(line, f"<{name[:80]}> is not read; expected <name> and <value>")

    def text(self, text: str, line: int) -> None:
        if len(self._open) == 3:
            self._parts[self._open[-1]] += text
        elif text.strip():
            raise NotReadable(line, f"text between elements: {text.strip()[:80]!r}")

    def end(self, name: str, line: int) -> None:
        self._open.pop()
        if name != "property" or len(self._open) != 1:
            return
        if not (full := self._parts.get("name", "").strip()):
            raise NotReadable(self._line or line, "a property without a name")
        if len(self.found) == PROPERTIES_MAX:
            raise NotReadable(self._line, f"more than {PROPERTIES_MAX} properties")
        self.found.append(Entry(full, self._parts.get("value", ""), self._line))
